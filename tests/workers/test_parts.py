"""A job whose artifact has several files: published whole whatever happens, and refused where no engine runs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import URL

from schemas.errors import OutputError
from schemas.states import JobState
from schemas.tables import JobRow
from tests.parted_job import (
    PART_BYTES,
    PARTS,
    RECIPE_ID,
    parted_recipe,
    parted_sources,
    unexecutable_recipe,
    write_parted_model,
)
from tests.workers.site import Killed, Site, make_site
from workers import conversion, conversion_work, job_records, storage
from workers.database import Database
from workers.engine.container.output_file import sync_folder
from workers.engine.container.reader import ArtifactReader
from workers.engine.file_stamp import FileStamp
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan
from workers.engine.verify import Verification, verify_artifact
from workers.storage import Storage, VerifiedFile

STEPS = (
    *(f"{step} {part}" for part in range(1, PARTS) for step in ("link", "name", "unlink")),
    "sync parts",
    "name entry",
    "sync entry",
)
"""What publishing does to the disk, in this order."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "parted"
    write_parted_model(folder)
    return folder


@pytest.fixture
def site(tmp_path: Path, sqlite_database: Database, model: Path) -> Site:
    return _site(tmp_path / "data", sqlite_database, model)


def _site(data: Path, database: Database, model: Path) -> Site:
    site = make_site(data, database)
    shutil.copytree(model, data / "sources" / "parted")
    return site


def submit(site: Site, model: Path, **members: Any) -> UUID:
    packaging = Packaging(None, PART_BYTES)
    return site.submit(
        **{"document": parted_recipe(model), "sources": parted_sources("parted"), "packaging": packaging, **members}
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, model: Path) -> dict[str, bytes]:
    """The files that an undisturbed worker publishes, by SHA-256, the entry first."""
    folder = tmp_path_factory.mktemp("undisturbed")
    database = Database(URL.create("sqlite", database=str(folder / "ninforge.sqlite3")))
    database.upgrade()
    site = _site(folder / "data", database, model)
    job = site.advance(submit(site, model))
    database.close()
    published = site.artifacts()
    return {part.sha256: published[part.sha256] for part in job.parts}


def _assert_published(site: Site, job: JobRow, expected: dict[str, bytes]) -> None:
    assert (job.state, job.error) == (JobState.READY, None)
    assert [part.sha256 for part in job.parts] == list(expected)
    assert site.artifacts() == expected
    assert list((site.settings.data / "work").iterdir()) == []


def test_all_files_are_published_and_open_together_under_their_names(
    site: Site, model: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    job = site.advance(submit(site, model))
    _assert_published(site, job, undisturbed)
    assert (job.framing, len(job.parts)) == (3, PARTS)
    assert job.file_bytes == sum(map(len, undisturbed.values()))
    entry_name = f"{RECIPE_ID}.v3.ninfer"
    assert [part.name for part in job.parts] == [entry_name, *(f"{entry_name}.part-000{i}" for i in range(1, PARTS))]
    for part, (digest, content) in zip(job.parts, undisturbed.items(), strict=True):
        assert (part.bytes, sha256(content).hexdigest()) == (len(content), digest)
        assert len(content) <= PART_BYTES
        (tmp_path / part.name).write_bytes(content)
    with ArtifactReader(tmp_path / entry_name) as reader:
        assert [one.name for one in reader.artifact.slices] == [None, *(part.name for part in job.parts[1:])]
        assert sum(one.file_bytes for one in reader.artifact.slices) == job.file_bytes


class _Death:
    """Ends a worker before or after one of the steps of publishing: nothing that it does to the disk after that counts,
    as its handlers run here and do not run in a process that was killed."""

    def __init__(self, step: int, moment: str) -> None:
        self._step, self._moment = step, moment
        self._begun = False
        self._done = 0

    def install(self, patch: pytest.MonkeyPatch) -> None:
        publish = Storage.publish

        def begin(*arguments: Any) -> None:
            self._begun = True
            publish(*arguments)
            self._begun = False

        patch.setattr(Storage, "publish", begin)
        for name in ("hardlink_to", "replace", "unlink"):
            patch.setattr(Path, name, self._mortal(getattr(Path, name)))
        patch.setattr(storage, "sync_folder", self._mortal(sync_folder))

    def _mortal(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            if not self._begun:
                return real(*arguments, **options)
            if self._done > self._step:
                raise Killed
            at_the_step = self._done == self._step
            self._done += 1
            if at_the_step and self._moment == "before":
                raise Killed
            done = real(*arguments, **options)
            if at_the_step:
                raise Killed
            return done

        return step

    @property
    def steps_begun(self) -> int:
        return self._done


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", range(len(STEPS)), ids=STEPS)
def test_a_worker_killed_while_publishing_is_followed_by_one_that_finishes(
    site: Site, model: Path, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, step: int, moment: str
) -> None:
    job_id = submit(site, model)
    death = _Death(step, moment)
    with monkeypatch.context() as patch:
        death.install(patch)
        site.die(job_id)
    assert death.steps_begun == step + 1
    job = site.advance(job_id)
    _assert_published(site, job, undisturbed)


def test_publishing_has_no_other_steps(site: Site, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    death = _Death(len(STEPS), "before")
    death.install(monkeypatch)
    assert site.advance(submit(site, model)).state is JobState.READY
    assert death.steps_begun == len(STEPS)


@pytest.mark.parametrize(
    ("module", "step"),
    [
        (conversion, "create_work_files"),
        (conversion_work, "inscribe_artifact_id"),
        (conversion_work, "verify_artifact"),
        (job_records, "record_verified"),
        (job_records, "record_ready"),
    ],
)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_worker_killed_around_publishing_is_followed_by_one_that_finishes(
    site: Site,
    model: Path,
    undisturbed: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    step: str,
    moment: str,
) -> None:
    job_id = submit(site, model)
    real = getattr(module, step)

    def do_and_die(*arguments: Any, **options: Any) -> Any:
        if moment == "after":
            real(*arguments, **options)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(module, step, do_and_die)
        site.die(job_id)
    _assert_published(site, site.advance(job_id), undisturbed)


def test_a_damaged_file_in_the_store_is_replaced_by_the_verified_one(
    site: Site, model: Path, undisturbed: dict[str, bytes]
) -> None:
    for digest in undisturbed:
        site.storage.artifact(digest).write_bytes(b"damaged")
    _assert_published(site, site.advance(submit(site, model)), undisturbed)


@pytest.mark.parametrize("number", range(PARTS))
def test_one_file_that_changes_after_it_was_verified_keeps_all_from_being_published(
    site: Site, model: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def changing(plan: Plan, path: Path, **options: Any) -> Verification:
        verification = verify_artifact(plan, path, **options)
        file = sorted(path.parent.iterdir())[number]
        os.utime(file)
        with file.open("r+b") as opened:
            opened.seek(-1, 2)
            opened.write(b"\x55")
        return verification

    monkeypatch.setattr(conversion_work, "verify_artifact", changing)
    job = site.advance(submit(site, model))
    assert job.state is JobState.FAILED
    assert job.error is not None
    assert job.error["type"] == "urn:ninforge:problem:verification"
    assert (site.artifacts(), site.work_files()) == ({}, [])


def test_disk_is_reserved_and_counted_for_all_files(site: Site, model: Path, undisturbed: dict[str, bytes]) -> None:
    job_id = submit(site, model)
    stopping = site.worker()
    stopping.stopping.set()
    job = site.advance(job_id, stopping)
    assert job.state is JobState.CONVERTING
    assert job.file_bytes == sum(map(len, undisturbed.values())) > PART_BYTES
    assert len(site.work_files()) == PARTS
    assert site.storage.allocated_bytes(job_id) >= job.file_bytes
    assert site.advance(job_id).state is JobState.READY
    assert site.storage.allocated_bytes(job_id) == 0


def test_a_disk_too_small_for_all_files_together_is_refused(
    site: Site, model: Path, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = sum(map(len, undisturbed.values()))
    monkeypatch.setattr(Storage, "free_bytes", lambda _: needed - 1)
    job = site.advance(submit(site, model))
    assert job.error is not None
    assert job.error["type"] == "urn:ninforge:problem:output"
    assert f"{needed} bytes free for the artifact" in job.error["detail"]


def test_a_file_system_without_hard_links_keeps_all_from_being_published(
    site: Site, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    job = site.advance(submit(site, model))
    assert job.state is JobState.FAILED
    assert job.error is not None
    assert job.error["type"] == "urn:ninforge:problem:output"
    assert "hard links" in job.error["detail"]
    assert (site.artifacts(), site.work_files()) == ({}, [])


def test_the_entry_is_not_published_before_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Storage(tmp_path)
    store.prepare()
    files = list(_verified(tmp_path))
    order: list[str] = []
    real = Path.replace

    def note(self: Path, target: Path) -> Path:
        order.append(target.stem)
        return real(self, target)

    monkeypatch.setattr(Path, "replace", note)
    store.publish(files)
    assert order == [file.sha256 for file in (*files[1:], files[0])]


def test_publishing_says_where_no_link_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Storage(tmp_path)
    store.prepare()
    files = list(_verified(tmp_path))

    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with pytest.raises(OutputError, match=r"hard links.*Operation not permitted"):
        store.publish(files)
    assert all(file.path.exists() for file in files)


def _verified(folder: Path) -> Iterator[VerifiedFile]:
    for number in range(3):
        file = folder / "work" / f"{number}"
        file.write_bytes(bytes([number]))
        yield VerifiedFile(file, sha256(bytes([number])).hexdigest(), FileStamp.of(file.lstat()))


def test_what_no_engine_runs_is_refused_with_its_reasons(site: Site, model: Path) -> None:
    job = site.advance(submit(site, model, document=unexecutable_recipe(model)))
    assert job.state is JobState.FAILED
    assert job.error is not None
    assert (job.error["type"], job.error["status"]) == ("urn:ninforge:problem:plan", 422)
    assert "allow_unexecutable" in job.error["detail"]
    assert {fault["at"] for fault in job.error["errors"]} == {"/objects"}
    assert len(job.error["errors"]) == 4, "one for each layer with a gated delta net"
    assert all("query_key' in Q6G64_F16S" in fault["message"] for fault in job.error["errors"])
    assert (site.artifacts(), site.work_files()) == ({}, [])


def test_what_no_engine_runs_is_made_where_that_is_allowed(site: Site, model: Path) -> None:
    job = site.advance(submit(site, model, document=unexecutable_recipe(model), allow_unexecutable=True))
    assert (job.state, job.error) == (JobState.READY, None)
    assert job.execution is not None
    assert job.execution["verdict"] == "loads and fails at start"
    assert len(job.execution["reasons"]) == 4
