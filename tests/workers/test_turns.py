"""Jobs of one worker take turns: none waits for the end of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import select

from schemas.states import JobState, ObjectState, Stage
from schemas.tables import ObjectRow
from tests.job_rows import add_job
from tests.workers.site import Site, make_site
from workers import claims
from workers.claims import Claim
from workers.conversion import Conversion
from workers.database import Database
from workers.turns import take_turns

LEASE = timedelta(minutes=1)


@pytest.fixture
def site(tmp_path: Path, sqlite_database: Database) -> Site:
    """Whose workers claim an object at a time."""
    made = make_site(tmp_path / "data", sqlite_database)
    return replace(made, settings=made.settings.model_copy(update={"batch_bytes": 1}))


@pytest.fixture
def claimed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[UUID]]:
    """The jobs of the batches that are claimed, as they are."""
    order: list[UUID] = []
    claim_objects = claims.claim_objects

    def noted(*arguments: object, **members: object) -> Claim | None:
        claim: Claim | None = claim_objects(*arguments, **members)  # type: ignore[arg-type]
        if claim is not None:
            order.append(claim.job_id)
        return claim

    monkeypatch.setattr(claims, "claim_objects", noted)
    yield order


def test_jobs_that_wait_have_a_batch_each_in_turn(site: Site, claimed: list[UUID]) -> None:
    jobs = [site.submit() for _ in range(3)]
    take_turns(site.worker(), jobs[1])
    assert [site.job(job_id).state for job_id in jobs] == [JobState.READY] * 3
    first_rounds = claimed[:9]
    assert first_rounds == [jobs[1], jobs[2], jobs[0]] * 3
    assert len({site.job(job_id).parts[0].sha256 for job_id in jobs}) == 1


def test_advancing_tells_whether_anything_was_due(site: Site) -> None:
    job_id = site.submit()
    worker = site.worker()
    assert Conversion(worker, job_id).advance()
    assert site.job(job_id).state is JobState.READY
    assert not Conversion(worker, job_id).advance()


def test_a_job_that_others_are_at_is_not_waited_for(site: Site, claimed: list[UUID]) -> None:
    busy, job_id = site.submit(), site.submit()
    with site.database.writing() as session:
        assert claims.claim_job(session, busy, Stage.PLANNING, worker="other", lease=LEASE)
    take_turns(site.worker(), job_id)
    assert set(claimed) == {job_id}
    assert (site.job(busy).state, site.job(job_id).state) == (JobState.PLANNING, JobState.READY)


def test_jobs_for_other_devices_are_left_alone(site: Site) -> None:
    job_id, other = site.submit(), site.submit(device="cuda")
    take_turns(site.worker(), job_id)
    take_turns(site.worker(), job_id)
    assert (site.job(job_id).state, site.job(other).state) == (JobState.READY, JobState.QUEUED)


def test_a_job_that_fails_does_not_keep_the_next_one_waiting(site: Site) -> None:
    failing, job_id = site.submit(sources={"base": "not-there"}), site.submit()
    take_turns(site.worker(), failing)
    assert (site.job(failing).state, site.job(job_id).state) == (JobState.FAILED, JobState.READY)


def test_a_worker_that_is_to_end_begins_no_other_job(site: Site) -> None:
    worker = site.worker()
    worker.stopping.set()
    job_id = site.submit()
    take_turns(worker, job_id)
    assert site.job(job_id).state is JobState.QUEUED


def test_the_turn_goes_round_by_age(database: Database) -> None:
    jobs = [add_job(database) for _ in range(4)]
    ended = add_job(database, JobState.CANCELLED)

    def turns(start: UUID, count: int) -> list[UUID]:
        order = [start]
        with database.reading() as session:
            for _ in range(count):
                following = claims.unattended_job(session, order[-1])
                assert following is not None
                order.append(following)
        return order

    assert turns(jobs[2], 4) == [jobs[2], jobs[3], jobs[0], jobs[1], jobs[2]]
    assert turns(ended, 1) == [ended, jobs[0]]
    with database.writing() as session:
        assert claims.claim_job(session, jobs[3], Stage.PLANNING, worker="w", lease=LEASE)
    assert turns(jobs[2], 2) == [jobs[2], jobs[0], jobs[1]]


def test_a_job_of_which_some_is_claimed_is_attended(database: Database) -> None:
    job_id = add_job(database, JobState.CONVERTING, (1, 2, 3))
    with database.writing() as session:
        assert claims.claim_objects(session, job_id, worker="w", lease=LEASE, max_bytes=1)
    with database.reading() as session:
        pending = select(ObjectRow.index).where(ObjectRow.state == ObjectState.PENDING)
        assert len(session.scalars(pending).all()) == 2
        assert claims.unattended_job(session, add_job(database)) is None
        assert claims.waiting_job(session) is not None
