"""Jobs that are cancelled at every seam of a worker's part in them, tried again, and removed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import URL, select

from schemas.errors import JobStateError
from schemas.states import JobState
from schemas.tables import Base, ClaimRow, JobRow, WebhookEventRow
from tests.job_rows import add_job, job_state
from tests.small_job import write_checkpoint
from tests.workers.seams import at_every_seam, before_and_after, happening
from tests.workers.site import LAYERS, Killed, Site, make_site
from workers import claims, conversion, conversion_work, job_endings
from workers.database import Database
from workers.storage import Storage
from workers.sweeper import sweep


@pytest.fixture
def site(tmp_path: Path, database: Database) -> Site:
    return make_site(tmp_path / "data", database)


@pytest.fixture
def sqlite_site(tmp_path: Path, sqlite_database: Database) -> Site:
    return make_site(tmp_path / "data", sqlite_database)


@pytest.fixture(scope="module")
def digests(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The SHA-256 of what an undisturbed worker makes, and of what it makes of other sources."""
    folder = tmp_path_factory.mktemp("undisturbed")
    database = Database(URL.create("sqlite", database=str(folder / "ninforge.sqlite3")))
    database.upgrade()
    site = make_site(folder / "data", database)
    first = site.advance(site.submit())
    _change_sources(site)
    second = site.advance(site.submit())
    database.close()
    return first.parts[0].sha256, second.parts[0].sha256


@at_every_seam
@before_and_after
def test_a_job_cancelled_at_any_seam_stays_so_and_leaves_nothing_on_disk(
    site: Site, monkeypatch: pytest.MonkeyPatch, module: Any, step: str, moment: str
) -> None:
    job_id = site.submit()
    happened = happening(monkeypatch, module, step, moment, lambda: _cancel(site, job_id))
    job = site.advance(job_id)
    assert happened
    assert (job.state, job.error, job.parts) == (JobState.CANCELLED, None, [])
    assert job.finished_at is not None
    assert (site.work_files(), site.artifacts()) == ([], {})
    with site.database.reading() as session:
        assert session.scalars(select(ClaimRow)).all() == []
    assert sweep(site.database, site.storage) is None
    assert site.advance(job_id).state is JobState.CANCELLED


@at_every_seam
@before_and_after
def test_a_job_that_another_worker_does_anew_meanwhile_is_not_disturbed(
    sqlite_site: Site,
    digests: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    step: str,
    moment: str,
) -> None:
    """Cancelled and tried again with other sources, done by one worker while the first is still at its old step."""
    site, job_id = sqlite_site, sqlite_site.submit()

    def do_anew() -> None:
        _cancel(site, job_id)
        _retry(site, job_id)
        _change_sources(site)
        assert site.advance(job_id, site.worker("successor")).state is JobState.READY

    happening(monkeypatch, module, step, moment, do_anew)
    job = site.advance(job_id, site.worker("late"))
    assert (job.state, [part.sha256 for part in job.parts]) == (JobState.READY, [digests[1]])
    assert (site.work_files(), list(site.artifacts())) == ([], [digests[1]])


@pytest.mark.parametrize("step", ["encode_objects", "verify_artifact"])
@before_and_after
def test_a_worker_that_is_late_works_by_the_new_plan_from_then_on(
    sqlite_site: Site, digests: tuple[str, str], monkeypatch: pytest.MonkeyPatch, step: str, moment: str
) -> None:
    """Tried again with other sources and only planned by another: the first worker does the rest."""
    site, job_id = sqlite_site, sqlite_site.submit()
    planner = site.worker("planner")
    planner.stopping.set()

    def plan_anew() -> None:
        _cancel(site, job_id)
        _retry(site, job_id)
        _change_sources(site)
        assert site.advance(job_id, planner).state is JobState.CONVERTING

    happening(monkeypatch, conversion_work, step, moment, plan_anew)
    site.advance(job_id)
    job = site.advance(job_id)
    assert (job.state, [part.sha256 for part in job.parts], job.error) == (JobState.READY, [digests[1]], None)
    assert (site.work_files(), list(site.artifacts())) == ([], [digests[1]])


@at_every_seam
@before_and_after
def test_a_job_removed_at_any_seam_leaves_no_row_and_no_file(
    sqlite_site: Site,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    module: Any,
    step: str,
    moment: str,
) -> None:
    site, job_id = sqlite_site, sqlite_site.submit()

    def cancel_and_remove() -> None:
        _cancel(site, job_id)
        _remove(site, job_id)

    happening(monkeypatch, module, step, moment, cancel_and_remove)
    conversion.Conversion(site.worker(), job_id).advance()
    _assert_no_rows(site.database)
    assert (site.work_files(), site.artifacts()) == ([], {})
    assert "Traceback" not in caplog.text


@at_every_seam
@before_and_after
def test_what_a_worker_leaves_that_is_killed_after_its_job_was_cancelled_is_swept(
    sqlite_site: Site, monkeypatch: pytest.MonkeyPatch, module: Any, step: str, moment: str
) -> None:
    site, job_id = sqlite_site, sqlite_site.submit()
    real = getattr(module, step)

    def be_cancelled_and_die(*arguments: Any, **options: Any) -> None:
        if moment == "after":
            real(*arguments, **options)
        with site.database.writing() as session:  # and the canceller dies too: nothing is discarded
            job_endings.cancel(session, session.get_one(JobRow, job_id))
        raise Killed

    monkeypatch.setattr(module, step, be_cancelled_and_die)
    site.die(job_id)
    assert job_state(site.database, job_id) is JobState.CANCELLED
    assert site.work_files() == []
    assert not (site.settings.data / "work" / str(job_id)).exists()


def test_sweeping_leaves_the_work_of_active_jobs_and_what_is_not_ours(sqlite_site: Site) -> None:
    job_id = sqlite_site.submit()
    planner = sqlite_site.worker()
    planner.stopping.set()
    sqlite_site.advance(job_id, planner)
    (sqlite_site.settings.data / "work" / "lost+found").mkdir()
    before = sqlite_site.work_files()
    sweep(sqlite_site.database, sqlite_site.storage)
    assert before
    assert sqlite_site.work_files() == before


@pytest.mark.parametrize("end", [JobState.FAILED, JobState.CANCELLED])
def test_trying_again_begins_anew_and_keeps_what_was(site: Site, digests: tuple[str, str], end: JobState) -> None:
    job_id = site.submit()
    planner = site.worker()
    planner.stopping.set()
    site.advance(job_id, planner)
    if end is JobState.CANCELLED:
        _cancel(site, job_id)
    else:
        _change_sources(site)
        assert site.advance(job_id).state is JobState.FAILED
        write_checkpoint(site.settings.data / "sources" / "small", layers=LAYERS)
    ended = site.job(job_id)
    _retry(site, job_id)
    queued = site.job(job_id)
    assert queued.state is JobState.QUEUED
    assert (queued.created_at, queued.started_at, queued.finished_at, queued.error) == (
        ended.created_at,
        None,
        None,
        None,
    )
    assert (queued.objects_total, queued.payload_bytes, queued.file_bytes, queued.fingerprint) == (None,) * 4
    assert sweep(site.database, site.storage) == job_id
    job = site.advance(job_id)
    assert (job.state, [part.sha256 for part in job.parts]) == (JobState.READY, [digests[0]])
    with site.database.reading() as session:
        [attempt] = session.get_one(JobRow, job_id).attempts
    assert (attempt.state, attempt.error) == (end, ended.error)
    assert (attempt.started_at, attempt.finished_at) == (ended.started_at, ended.finished_at)


@pytest.mark.parametrize("state", JobState)
def test_a_job_is_changed_in_the_right_state_only(database: Database, state: JobState) -> None:
    active = state in {JobState.QUEUED, JobState.PLANNING, JobState.CONVERTING, JobState.VERIFYING}
    allowed = {
        job_endings.cancel: active,
        job_endings.retry: state in {JobState.FAILED, JobState.CANCELLED},
        job_endings.remove: not active,
    }
    for change, is_allowed in allowed.items():
        job_id = add_job(database, state, [1, 2])
        with database.writing() as session:
            job = claims.locked_job(session, job_id)
            assert job is not None
            if is_allowed:
                change(session, job)
            else:
                with pytest.raises(JobStateError, match=f"found it {state}"):
                    change(session, job)
        with database.reading() as session:
            left = session.get(JobRow, job_id)
            assert (left is not None and left.state is state) is not is_allowed


def test_a_file_that_two_jobs_made_goes_with_the_last_of_them(site: Site, digests: tuple[str, str]) -> None:
    jobs = [site.submit(), site.submit()]
    for job_id in jobs:
        site.advance(job_id)
    assert list(site.artifacts()) == [digests[0]]
    _remove(site, jobs[0])
    assert list(site.artifacts()) == [digests[0]]
    _remove(site, jobs[1])
    assert site.artifacts() == {}
    _assert_no_rows(site.database)


def test_a_file_goes_if_it_is_removed_before_another_job_has_verified_the_same(
    site: Site, digests: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = site.submit(), site.submit()
    site.advance(first)
    happening(monkeypatch, Storage, "publish", "before", lambda: _remove(site, first))
    assert site.advance(second).state is JobState.READY
    assert list(site.artifacts()) == [digests[0]]


def test_a_file_that_an_active_upgrade_reads_stays(site: Site, digests: tuple[str, str]) -> None:
    job_id = site.submit()
    site.advance(job_id)
    upgrade = add_job(site.database, JobState.CONVERTING)
    with site.database.writing() as session:
        job = session.get_one(JobRow, upgrade)
        job.upgrade = {"artifact": str(job_id), "chat_template": None, "stored_sha256": digests[0]}
    _remove(site, job_id)
    assert list(site.artifacts()) == [digests[0]]
    _cancel(site, upgrade)
    assert site.artifacts() == {}


def test_a_late_verifier_removes_nothing_of_its_successor(
    site: Site, digests: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = site.submit()

    def be_overtaken() -> None:
        site.expire_claims()
        assert site.advance(job_id, site.worker("successor")).state is JobState.READY

    happening(monkeypatch, Storage, "publish", "before", be_overtaken)
    assert site.advance(job_id).state is JobState.READY
    assert list(site.artifacts()) == [digests[0]]


def _change(site: Site, job_id: UUID, change: Callable[..., job_endings.Leftovers]) -> None:
    with site.database.writing() as session:
        job = claims.locked_job(session, job_id)
        assert job is not None
        leftovers = change(session, job)
    job_endings.discard(site.database, site.storage, leftovers)


def _cancel(site: Site, job_id: UUID) -> None:
    _change(site, job_id, job_endings.cancel)


def _remove(site: Site, job_id: UUID) -> None:
    _change(site, job_id, job_endings.remove)


def _retry(site: Site, job_id: UUID) -> None:
    with site.database.writing() as session:
        job_endings.retry(session, session.get_one(JobRow, job_id))


def _change_sources(site: Site) -> None:
    write_checkpoint(site.settings.data / "sources" / "small", layers=LAYERS, seed=2)


def _assert_no_rows(database: Database) -> None:
    with database.reading() as session:
        for name, table in Base.metadata.tables.items():
            if name != WebhookEventRow.__tablename__:  # its end is told of all the same
                assert session.execute(select(table)).all() == [], name
