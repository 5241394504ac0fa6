"""Finished jobs go with their artifacts once they are older than the retention, but for those that are pinned."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import select, update

from schemas.states import JobState
from schemas.tables import JobRow
from tests.job_rows import add_job
from tests.service_processes import QUICK, service, until
from tests.small_job import job_body, write_checkpoint
from tests.workers.site import Site, make_site
from workers import job_endings
from workers.database import Database, database_time
from workers.storage import Storage
from workers.sweeper import sweep

RETENTION = timedelta(days=30)


@pytest.fixture
def site(tmp_path: Path, database: Database) -> Site:
    return make_site(tmp_path / "data", database)


def age(site: Site, job_id: UUID, days: float, **members: object) -> None:
    """Makes a job one that ended that long ago."""
    with site.database.writing() as session:
        moment = database_time(session) - timedelta(days=days)
        session.execute(update(JobRow).where(JobRow.id == job_id).values(finished_at=moment, **members))


def kept(site: Site) -> set[UUID]:
    with site.database.reading() as session:
        return set(session.scalars(select(JobRow.id)))


def test_what_is_older_goes_whatever_its_end_and_pinned_and_active_ones_stay(site: Site) -> None:
    old = {state: add_job(site.database, state) for state in JobState}
    pinned, young = add_job(site.database, JobState.FAILED), add_job(site.database, JobState.READY)
    for job_id in old.values():
        age(site, job_id, 31)
    age(site, pinned, 31, pinned=True)
    age(site, young, 29)
    sweep(site.database, site.storage)
    assert len(kept(site)) == len(old) + 2
    sweep(site.database, site.storage, retention=RETENTION)
    active = {job_id for state, job_id in old.items() if state not in job_endings.FINAL_STATES}
    assert kept(site) == {*active, pinned, young}


def test_an_artifact_goes_with_the_last_job_that_has_it(site: Site) -> None:
    first, second = site.submit(), site.submit()
    for job_id in (first, second):
        assert site.advance(job_id).state is JobState.READY
    [digest] = site.artifacts()
    age(site, first, 31)
    sweep(site.database, site.storage, retention=RETENTION)
    assert (kept(site), list(site.artifacts())) == ({second}, [digest])
    age(site, second, 31)
    sweep(site.database, site.storage, retention=RETENTION)
    assert (kept(site), site.artifacts()) == (set(), {})


@pytest.mark.parametrize("change", ["pin", "retry"])
def test_a_job_that_changes_meanwhile_stays(site: Site, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    oldest, changing = add_job(site.database, JobState.FAILED), add_job(site.database, JobState.FAILED)
    age(site, oldest, 41)
    age(site, changing, 31)
    discard = job_endings.discard

    def change_first(database: Database, storage: Storage, leftovers: job_endings.Leftovers) -> None:
        assert leftovers.job_id == oldest
        with database.writing() as session:
            job = session.get_one(JobRow, changing)
            if change == "pin":
                job.pinned = True
            else:
                job_endings.retry(session, job)
        discard(database, storage, leftovers)

    monkeypatch.setattr(job_endings, "discard", change_first)
    job_endings.remove_outlived(site.database, site.storage, RETENTION)
    assert kept(site) == {changing}


def test_the_service_removes_what_is_older_than_its_setting(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "data" / "sources" / "small", layers=8)
    seconds = 2
    environment = {
        "NINFORGE_DATA": str(tmp_path / "data"),
        "NINFORGE_RETENTION_DAYS": str(seconds / 86_400),
        **QUICK,
    }
    with service("up", environment) as running:
        pinned, plain = (running.submit(job_body()) for _ in range(2))
        running.client.put(f"/v1/jobs/{pinned}/pin")
        until(
            lambda: running.client.get("/v1/jobs").json()["items"], lambda jobs: [job["id"] for job in jobs] == [pinned]
        )
        assert running.client.get(f"/v1/jobs/{plain}").status_code == 404
        assert running.finished(pinned)["state"] == "ready"
        assert running.client.get(f"/v1/jobs/{pinned}/artifact").status_code == 200
