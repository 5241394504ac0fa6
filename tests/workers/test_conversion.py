"""One job through planning, encoding, verifying and publishing, undisturbed and disturbed at every seam."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import URL, select

from schemas.errors import OutputError
from schemas.problems import INTERNAL
from schemas.report import EncodedObject
from schemas.states import JobState, ObjectState, Stage
from schemas.tables import ClaimRow, ObjectHistogramRow, ObjectRow, SourceTensorRow, VerificationCheckRow
from tests.job_rows import object_states
from tests.small_job import write_checkpoint
from tests.workers.site import LAYERS, Killed, Site, make_site
from workers import claims, conversion, conversion_work, job_endings, job_records
from workers.claims import Claim, ClaimLostError
from workers.conversion import Conversion
from workers.database import Database
from workers.engine.encode import create_work_files, encode_objects
from workers.engine.plan import Plan
from workers.engine.verify import Verification, verify_artifact
from workers.storage import Storage
from workers.sweeper import MAX_LOST_CLAIMS, sweep

OBJECTS = LAYERS + 1


@pytest.fixture
def site(tmp_path: Path, database: Database) -> Site:
    return make_site(tmp_path / "data", database)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The SHA-256 of what an undisturbed worker makes."""
    folder = tmp_path_factory.mktemp("undisturbed")
    database = Database(URL.create("sqlite", database=str(folder / "ninforge.sqlite3")))
    database.upgrade()
    site = make_site(folder / "data", database)
    job = site.advance(site.submit())
    database.close()
    return job.parts[0].sha256


def test_a_submitted_job_becomes_a_published_artifact(site: Site) -> None:
    job_id = site.submit()
    job = site.advance(job_id)
    assert (job.state, job.error, job.framing, job.objects_total) == (JobState.READY, None, 2, OBJECTS)
    [(name, content)] = site.artifacts().items()
    assert name == job.parts[0].sha256 == sha256(content).hexdigest()
    assert len(content) == job.file_bytes
    assert object_states(site.database, job_id) == [ObjectState.VERIFIED] * OBJECTS
    assert not (site.settings.data / "work" / str(job_id)).exists()
    with site.database.reading() as session:
        assert session.scalars(select(ClaimRow)).all() == []
        digests = session.scalars(select(SourceTensorRow.blake3).where(SourceTensorRow.job_id == job_id)).all()
        rows = session.scalars(select(ObjectRow).where(ObjectRow.job_id == job_id)).all()
        checks = session.scalars(select(VerificationCheckRow).where(VerificationCheckRow.job_id == job_id)).all()
        histograms = session.scalars(select(ObjectHistogramRow).where(ObjectHistogramRow.job_id == job_id)).all()
    assert len(digests) == LAYERS
    assert all(digest is not None and len(digest) == 64 for digest in digests)
    assert all(row.bytes_done == row.bytes and row.claim_id is None and row.worker == "a" for row in rows)
    assert {check.object_index for check in checks} == {row.index for row in rows}
    assert all(check.passed for check in checks)
    assert {one.object_index for one in histograms} == {row.index for row in rows if row.format not in (None, "BF16")}


def test_a_job_that_is_ready_is_left_alone(site: Site) -> None:
    job_id = site.submit()
    before = site.advance(job_id)
    assert site.advance(job_id).finished_at == before.finished_at


def test_a_message_for_no_job_does_nothing(site: Site) -> None:
    Conversion(site.worker(), UUID(int=7)).advance()


def test_what_planning_finds_out_fails_the_job_and_shows_no_path(site: Site) -> None:
    job = site.advance(site.submit(sources={"base": "nothing-here"}))
    assert job.state is JobState.FAILED
    assert job.finished_at is not None
    assert job.error is not None
    assert (job.error["type"], job.error["status"]) == ("urn:ninforge:problem:plan", 422)
    assert [fault["at"] for fault in job.error["errors"]] == ["/sources/base"]
    assert str(site.settings.data) not in str(job.error)
    assert site.work_files() == []


def test_a_word_that_cannot_be_stored_fails_the_job_and_frees_its_disk(site: Site) -> None:
    file = site.settings.data / "sources" / "small" / "model.safetensors"
    words = bytearray(file.read_bytes())
    words[-2:] = b"\x80\x7f"  # infinity, in the layer that is kept as it is
    file.write_bytes(words)
    job = site.advance(site.submit())
    assert job.state is JobState.FAILED
    assert job.error is not None
    assert job.error["type"] == "urn:ninforge:problem:word"
    assert site.work_files() == []
    assert site.artifacts() == {}


def test_a_fault_of_the_program_fails_the_job_and_is_logged(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(conversion_work, "encode_objects", _raise(ZeroDivisionError("at /secret/place")))
    job = site.advance(site.submit())
    assert job.state is JobState.FAILED
    assert job.error == INTERNAL.model_dump(exclude_none=True)
    assert "ZeroDivisionError: at /secret/place" in caplog.text


def test_a_payload_that_changed_after_it_was_encoded_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def encode_and_damage(plan: Plan, path: Path, indices: Sequence[int], **options: Any) -> list[EncodedObject]:
        encoded = encode_objects(plan, path, indices, **options)
        with path.open("r+b") as file:
            file.seek(plan.arrangement.payload_offset + plan.objects[indices[0]].offset)
            byte = file.read(1)[0]
            file.seek(-1, 1)
            file.write(bytes([byte ^ 1]))
        return encoded

    monkeypatch.setattr(conversion_work, "encode_objects", encode_and_damage)
    job = site.advance(site.submit())
    assert job.state is JobState.FAILED
    assert job.error is not None
    assert job.error["type"] == "urn:ninforge:problem:verification"
    assert site.artifacts() == {}
    assert site.work_files() == []


def test_a_source_that_changes_after_planning_fails_the_job(site: Site) -> None:
    job_id = site.submit()
    stopping = site.worker()
    stopping.stopping.set()
    assert site.advance(job_id, stopping).state is JobState.CONVERTING
    write_checkpoint(site.settings.data / "sources" / "small", layers=LAYERS, seed=2)
    job = site.advance(job_id)
    assert job.error is not None
    assert job.error["type"] == "urn:ninforge:problem:source"


def test_disk_is_reserved_over_all_jobs(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    size = site.advance(site.submit()).file_bytes
    assert size is not None
    monkeypatch.setattr(Storage, "free_bytes", lambda _: 2 * size - 1)
    monkeypatch.setattr(Storage, "allocated_bytes", lambda *_: 0)
    first, second = site.submit(), site.submit()
    stopping = site.worker()
    stopping.stopping.set()
    assert site.advance(first, stopping).state is JobState.CONVERTING
    refused = site.advance(second)
    assert refused.state is JobState.FAILED
    assert refused.error is not None
    assert (refused.error["type"], refused.error["status"]) == ("urn:ninforge:problem:output", 507)
    assert f"{size} are reserved" in refused.error["detail"]
    assert site.advance(first).state is JobState.READY, "what is reserved is there for its own job"
    assert site.advance(site.submit()).state is JobState.READY, "and free again once that has ended"


def test_disk_that_a_job_has_been_given_is_not_counted_twice(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    size = site.advance(site.submit()).file_bytes
    assert size is not None
    first, second = site.submit(), site.submit()
    stopping = site.worker()
    stopping.stopping.set()
    site.advance(first, stopping)
    monkeypatch.setattr(Storage, "free_bytes", lambda _: size + 4096)
    assert site.advance(second).state is JobState.READY


def test_two_that_reserve_disk_at_once_do_not_both_get_the_last(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Storage, "free_bytes", lambda _: 150)
    jobs = [site.submit() for _ in range(2)]
    with site.database.writing() as session:
        lease = timedelta(minutes=1)
        taken = [claims.claim_job(session, job, Stage.PLANNING, worker="a", lease=lease) for job in jobs]

    def reserve(claim: Claim | None) -> None:
        assert claim is not None
        with site.database.writing() as session:
            job_records.reserve_disk(session, claim, 100, site.storage)

    with ThreadPoolExecutor(1) as pool:
        with site.database.writing() as session:
            assert taken[0] is not None
            job_records.reserve_disk(session, taken[0], 100, site.storage)
            second = pool.submit(reserve, taken[1])
            assert not wait([second], timeout=0.3).done
        with pytest.raises(OutputError, match="of which 100 are reserved"):
            second.result(30)


def test_who_reserves_disk_locks_no_other_job(site: Site) -> None:
    """Not even where its own has ended: whoever has that again may come to the others."""
    ended, other = site.submit(), site.submit()
    with site.database.writing() as session:
        claim = claims.claim_job(session, ended, Stage.PLANNING, worker="a", lease=timedelta(minutes=1))
        job = claims.locked_job(session, ended)
        assert claim is not None
        assert job is not None
        job_endings.cancel(session, job)

    def reserve() -> None:
        with site.database.writing() as session:
            job_records.reserve_disk(session, claim, 1, site.storage)

    with ThreadPoolExecutor(1) as pool:
        with site.database.writing() as session:
            claims.locked_job(session, ended)
            reserved = pool.submit(reserve)
            wait([reserved], timeout=0.3)
            claims.locked_job(session, other)
        with pytest.raises(ClaimLostError):
            reserved.result(30)


def test_a_worker_that_is_to_stop_hands_its_claim_back(
    site: Site, undisturbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, worker = site.submit(), site.worker()

    def stop_then_encode(*arguments: Any, **options: Any) -> list[EncodedObject]:
        worker.stopping.set()
        return encode_objects(*arguments, **options)

    monkeypatch.setattr(conversion_work, "encode_objects", stop_then_encode)
    job = site.advance(job_id, worker)
    assert (job.state, job.lost_claims) == (JobState.CONVERTING, 0)
    assert object_states(site.database, job_id) == [ObjectState.PENDING] * OBJECTS
    monkeypatch.setattr(conversion_work, "encode_objects", encode_objects)
    assert site.advance(job_id).parts[0].sha256 == undisturbed


def _raise(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


@pytest.mark.parametrize("calls_before", [0, 1, 2])
def test_a_worker_killed_while_encoding_costs_its_batch_only(
    site: Site, undisturbed: str, monkeypatch: pytest.MonkeyPatch, calls_before: int
) -> None:
    job_id = site.submit()
    calls: list[Sequence[int]] = []

    def encode_until_killed(*arguments: Any, **options: Any) -> list[EncodedObject]:
        encoded = encode_objects(*arguments, **options)
        calls.append(arguments[2])
        if len(calls) > calls_before:
            raise Killed
        return encoded

    monkeypatch.setattr(conversion_work, "encode_objects", encode_until_killed)
    site.die(job_id)
    kept = object_states(site.database, job_id).count(ObjectState.ENCODED)
    assert kept == sum(len(indices) for indices in calls[:calls_before])
    assert object_states(site.database, job_id).count(ObjectState.PENDING) == OBJECTS - kept
    monkeypatch.setattr(conversion_work, "encode_objects", encode_objects)
    assert site.advance(job_id).parts[0].sha256 == undisturbed
    assert list(site.artifacts()) == [undisturbed]


@pytest.mark.parametrize(
    ("module", "step"),
    [
        (conversion_work, "plan_fetched"),
        (job_records, "reserve_disk"),
        (conversion, "create_work_files"),
        (job_records, "record_plan"),
        (job_records, "record_encoded"),
        (conversion_work, "verify_artifact"),
        (job_records, "record_verified"),
        (Storage, "publish"),
        (job_records, "record_ready"),
    ],
)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_worker_killed_at_any_seam_is_followed_by_one_that_finishes(
    site: Site, undisturbed: str, monkeypatch: pytest.MonkeyPatch, module: Any, step: str, moment: str
) -> None:
    """A kill after a record that was written is one after its transaction, since both are simulated inside it: the
    transaction is rolled back, as a database does with one whose client is gone."""
    job_id = site.submit()
    real = getattr(module, step)

    def do_and_die(*arguments: Any, **options: Any) -> Any:
        if moment == "after":
            real(*arguments, **options)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(module, step, do_and_die)
        site.die(job_id)
    job = site.advance(job_id)
    assert (job.state, job.parts[0].sha256, job.error) == (JobState.READY, undisturbed, None)
    assert list(site.artifacts()) == [undisturbed]
    assert site.work_files() == []


def test_what_has_been_published_is_not_verified_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = site.submit()
    with monkeypatch.context() as patch:
        patch.setattr(job_records, "record_ready", _raise(Killed()))
        site.die(job_id)
    assert site.job(job_id).state is JobState.VERIFYING
    monkeypatch.setattr(conversion_work, "verify_artifact", _raise(AssertionError("verified again")))
    assert site.advance(job_id).state is JobState.READY


def test_a_late_worker_changes_nothing_that_its_successor_did(
    site: Site, undisturbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = site.submit()
    late: list[str] = []

    def be_overtaken(*arguments: Any, **options: Any) -> list[EncodedObject]:
        encoded = encode_objects(*arguments, **options)
        if not late:
            late.append(options["worker"])
            site.expire_claims()
            assert site.advance(job_id, site.worker("successor")).state is JobState.READY
        return encoded

    monkeypatch.setattr(conversion_work, "encode_objects", be_overtaken)
    job = site.advance(job_id, site.worker("late"))
    assert (job.state, job.parts[0].sha256, job.lost_claims) == (JobState.READY, undisturbed, 0)
    with site.database.reading() as session:
        workers = set(session.scalars(select(ObjectRow.worker).where(ObjectRow.job_id == job_id)))
    assert workers == {"successor"}
    assert list(site.artifacts()) == [undisturbed]


def test_a_late_planner_removes_nothing_of_its_successor(
    site: Site, undisturbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = site.submit()
    late: list[Path] = []
    stopping = site.worker("successor")
    stopping.stopping.set()

    def be_overtaken(plan: Plan, path: Path) -> None:
        if not late:
            late.append(path)
            site.expire_claims()
            assert site.advance(job_id, stopping).state is JobState.CONVERTING
        create_work_files(plan, path)

    monkeypatch.setattr(conversion, "create_work_files", be_overtaken)
    assert site.advance(job_id, site.worker("late")).parts[0].sha256 == undisturbed
    assert not late[0].exists()


def test_workers_share_one_job(site: Site, undisturbed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = site.submit()
    both_at_it = threading.Barrier(2, timeout=60)
    met: set[str] = set()

    def meet_and_encode(*arguments: Any, **options: Any) -> list[EncodedObject]:
        if options["worker"] not in met:
            met.add(options["worker"])
            both_at_it.wait()
        return encode_objects(*arguments, **options)

    stopping = site.worker()
    stopping.stopping.set()
    site.advance(job_id, stopping)
    monkeypatch.setattr(conversion_work, "encode_objects", meet_and_encode)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: site.advance(job_id, site.worker(name)), ("a", "b")))
    job = site.job(job_id)
    assert (job.state, job.parts[0].sha256) == (JobState.READY, undisturbed)
    with site.database.reading() as session:
        assert set(session.scalars(select(ObjectRow.worker).where(ObjectRow.job_id == job_id))) == {"a", "b"}


def test_a_job_whose_workers_keep_dying_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = site.submit()
    monkeypatch.setattr(conversion_work, "encode_objects", _raise(Killed()))
    for _ in range(MAX_LOST_CLAIMS):
        assert site.job(job_id).state is not JobState.FAILED
        site.die(job_id)
    job = site.job(job_id)
    assert job.state is JobState.FAILED
    assert job.error is not None
    assert job.error["type"] == "urn:ninforge:problem:worker-lost"
    assert site.work_files() == []
    assert sweep(site.database, site.storage) is None


def test_deaths_with_progress_between_them_are_forgiven(
    site: Site, undisturbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = site.submit()
    patience = replace(site, settings=site.settings.model_copy(update={"batch_bytes": 1}))

    def die_at_every_second_batch() -> Callable[..., list[EncodedObject]]:
        calls: list[None] = []

        def one_then_die(*arguments: Any, **options: Any) -> list[EncodedObject]:
            if calls:
                raise Killed
            calls.append(None)
            return encode_objects(*arguments, **options)

        return one_then_die

    for _ in range(OBJECTS - 1):
        with monkeypatch.context() as patch:
            patch.setattr(conversion_work, "encode_objects", die_at_every_second_batch())
            patience.die(job_id)
    job = site.advance(job_id)
    assert (job.state, job.parts[0].sha256) == (JobState.READY, undisturbed)


def _flip(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(-1, 2)
        [last] = opened.read(1)
        opened.seek(-1, 2)
        opened.write(bytes([last ^ 1]))


def _replace(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(b"evil")
    other.replace(file)


def _link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/etc/hostname")


@pytest.mark.parametrize("change", [_flip, _replace, _link, Path.unlink])
def test_a_file_that_changes_after_it_was_verified_is_not_published(
    site: Site, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    def changing(plan: Plan, path: Path, **options: Any) -> Verification:
        verification = verify_artifact(plan, path, **options)
        change(path)
        return verification

    monkeypatch.setattr(conversion_work, "verify_artifact", changing)
    job = site.advance(site.submit())
    assert job.state is JobState.FAILED
    assert job.error is not None
    assert job.error["type"] == "urn:ninforge:problem:verification"
    assert list(site.artifacts()) == []
