"""What nothing refers to is found and removed, and nothing else, whatever workers are at meanwhile."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import event, update

from schemas.states import JobState
from schemas.tables import JobRow
from tests.cli.commands import installed, refused
from tests.job_rows import add_job
from tests.workers.seams import SEAMS, happening
from tests.workers.site import Site, make_site
from workers import claims, job_endings
from workers.database import Database
from workers.garbage import Garbage, GarbageKind, find_garbage, remove_garbage
from workers.identifiers import time_ordered_id

CONTENT = b"words that no job has" * 1000
DIGEST = sha256(CONTENT).hexdigest()


@pytest.fixture
def site(tmp_path: Path, database: Database) -> Site:
    return make_site(tmp_path / "data", database)


@pytest.fixture
def sqlite_site(tmp_path: Path, sqlite_database: Database) -> Site:
    """Where `ninforge` looks for a database without being told of another."""
    site = make_site(tmp_path / "data", sqlite_database)
    (site.settings.data / "ninforge.sqlite3").symlink_to(tmp_path / "ninforge.sqlite3")
    return site


def found(site: Site) -> list[Garbage]:
    return find_garbage(site.database, site.storage)


def remove(site: Site, garbage: Sequence[Garbage]) -> None:
    for one in garbage:
        remove_garbage(site.database, site.storage, one)


def litter(site: Site) -> list[tuple[GarbageKind, str]]:
    """Files of the store and of work that nothing refers to."""
    unknown, ended = time_ordered_id(), add_job(site.database, JobState.CANCELLED)
    for job_id in (unknown, ended):
        folder = site.settings.data / "work" / str(job_id) / "0"
        folder.mkdir(parents=True)
        (folder / "artifact.ninfer").write_bytes(CONTENT)
    site.storage.artifact(DIGEST).write_bytes(CONTENT)
    works = sorted(str(job_id) for job_id in (unknown, ended))
    return [*((GarbageKind.WORK, name) for name in works), (GarbageKind.ARTIFACT, DIGEST)]


def test_what_nothing_refers_to_is_found_with_its_size_and_removed(site: Site) -> None:
    ready = site.submit()
    site.advance(ready)
    kept = site.artifacts()
    expected = litter(site)
    foreign = site.settings.data / "artifacts" / "notes.txt"
    foreign.write_text("not one of the service's files")
    garbage = found(site)
    assert [(one.kind, one.name) for one in garbage] == expected
    assert all(len(CONTENT) <= one.bytes < len(CONTENT) + 65536 for one in garbage)
    remove(site, garbage)
    assert found(site) == []
    assert foreign.is_file()
    foreign.unlink()
    assert (site.work_files(), site.artifacts()) == ([], kept)


def test_stored_files_are_asked_for_many_at_a_time(site: Site) -> None:
    site.advance(site.submit())
    unused = {sha256(str(number).encode()).hexdigest() for number in range(450)}
    read = sha256(b"read by an upgrade").hexdigest()
    upgrading = add_job(site.database, JobState.CONVERTING)
    with site.database.writing() as session:
        session.get_one(JobRow, upgrading).upgrade = {"stored_sha256": read}
    statements: list[str] = []
    event.listen(site.database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    found = job_endings.unreferenced(site.database, [*unused, *site.artifacts(), read])
    assert found == unused
    assert sum(one.startswith("SELECT artifact_parts") for one in statements) == 3


def test_a_folder_that_is_not_the_service_s_stays(site: Site) -> None:
    job_id = site.submit()
    work = site.settings.data / "work" / str(job_id)
    for name in ("3", "17", "lost+found"):
        (work / name).mkdir(parents=True)
    site.storage.discard_superseded(job_id, 17)
    assert sorted(folder.name for folder in work.iterdir()) == ["17", "lost+found"]


def test_nothing_of_a_job_at_work_is_garbage(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[Garbage]] = []
    for module, step in SEAMS:
        for moment in ("before", "after"):
            happening(monkeypatch, module, step, moment, lambda: seen.append(found(site)))
    assert site.advance(site.submit()).state is JobState.READY
    assert seen == [[]] * 2 * len(SEAMS)


def test_what_has_come_into_use_since_it_was_found_stays(site: Site) -> None:
    job_id = site.submit()
    site.advance(job_id)
    [digest] = site.artifacts()
    active = add_job(site.database, JobState.CONVERTING)
    with site.database.writing() as session:
        job = claims.locked_job(session, active)
        assert job is not None
        number = claims.revoke_all(session, job)
    entry = site.storage.work_entry(active, site.storage.new_work_files(active, number))
    entry.write_bytes(CONTENT)
    remove(site, [Garbage(GarbageKind.WORK, str(active), 1), Garbage(GarbageKind.ARTIFACT, digest, 1)])
    assert entry.read_bytes() == CONTENT
    assert list(site.artifacts()) == [digest]


def keep_fetched(site: Site, name: str, days: float) -> None:
    """Something that was fetched of a source that long ago, and what has come of another file of it."""
    folder = site.settings.data / "fetched" / name
    (folder / "blobs").mkdir(parents=True)
    (folder / "blobs" / "0").write_bytes(CONTENT)
    (folder / "blobs" / "1.incomplete").write_bytes(CONTENT)
    (folder / "link").symlink_to("blobs/0")
    moment = time.time() - days * 86_400
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (moment, moment), follow_symlinks=False)


HUB, WEB = "hub/models--org--name", f"web/{DIGEST}"


def test_what_was_fetched_stays_for_a_day_and_as_long_as_a_job_needs_it(site: Site) -> None:
    places = {
        "hub": "hf:org/name@main/below",
        "web": f"https://files.example/a/model.safetensors#sha256={DIGEST.upper()}",
    }
    for name in (HUB, WEB, "hub/models--org--other"):
        keep_fetched(site, name, days=2)
    keep_fetched(site, "hub/models--org--young", days=0.5)
    listing = site.settings.data / "fetched/listings/models--org--name/0.json"
    listing.parent.mkdir(parents=True)
    listing.write_text("{}")
    jobs = [add_job(site.database, JobState.CONVERTING) for _ in places]
    with site.database.writing() as session:
        for job_id, (name, where) in zip(jobs, places.items(), strict=True):
            session.get_one(JobRow, job_id).sources = {name: where}
    assert [(one.kind, one.name) for one in found(site)] == [(GarbageKind.FETCHED, "hub/models--org--other")]
    with site.database.writing() as session:
        session.execute(update(JobRow).values(state=JobState.READY))
    garbage = found(site)
    assert [one.name for one in garbage] == [HUB, "hub/models--org--other", WEB]
    assert all(2 * len(CONTENT) <= one.bytes < 2 * len(CONTENT) + 65536 for one in garbage)
    remove(site, garbage)
    left = {path.name for path in (site.settings.data / "fetched").glob("*/*")}
    assert left == {"models--org--young"}


def test_what_a_new_job_is_to_be_made_of_stays(site: Site) -> None:
    keep_fetched(site, HUB, days=2)
    garbage = found(site)
    job_id = add_job(site.database)
    with site.database.writing() as session:
        session.get_one(JobRow, job_id).resources = {"vocab": "hf:org/name@main/vocab.txt"}
    remove(site, garbage)
    assert [one.name for one in garbage] == [HUB]
    assert (site.settings.data / "fetched" / HUB / "blobs" / "0").read_bytes() == CONTENT


def test_the_command_shows_first_and_removes_when_told_to(sqlite_site: Site) -> None:
    expected = litter(sqlite_site)
    environment = {"NINFORGE_DATA": str(sqlite_site.settings.data)}
    for _ in range(2):
        shown = installed("gc", env=environment)
        assert shown.returncode == 0, shown.stderr
        lines = shown.stdout.decode().splitlines()
        assert [tuple(line.split()[:2]) for line in lines[1:-1]] == expected
        assert lines[-1].startswith("to remove with --delete: 3 items, ")
    removed = json.loads(installed("gc", "--delete", "--json", env=environment).stdout)
    assert [(one["kind"], one["name"]) for one in removed["items"]] == expected
    assert removed["deleted"] is True
    assert removed["bytes"] == sum(one["bytes"] for one in removed["items"]) > 3 * len(CONTENT)
    nothing = installed("gc", "--json", env=environment)
    assert json.loads(nothing.stdout) == {"deleted": False, "bytes": 0, "items": []}
    assert (sqlite_site.work_files(), sqlite_site.artifacts()) == ([], {})


def test_files_without_their_database_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "data" / "artifacts"
    store.mkdir(parents=True)
    (store / f"{DIGEST}.ninfer").write_bytes(CONTENT)
    monkeypatch.setenv("NINFORGE_DATA", str(tmp_path / "data"))
    assert "NINFORGE_DATABASE_URL" in refused("gc", "--delete")
    assert [path.name for path in (tmp_path / "data").rglob("*")] == ["artifacts", f"{DIGEST}.ninfer"]
