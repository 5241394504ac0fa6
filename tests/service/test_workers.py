"""`GET /v1/workers`: which workers there are, and what each is at."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import update

from schemas.states import JobState, ObjectState, Stage
from schemas.tables import ClaimRow, ObjectRow, WorkerRow
from tests.job_rows import add_job, worker_row
from tests.running_service import RunningService, assert_problem
from workers import claims
from workers.database import Database, database_time

LEASE = timedelta(minutes=1)


def listed(service: RunningService) -> dict[str, dict[str, Any]]:
    answer = service.client.get("/v1/workers")
    assert answer.status_code == 200, answer.text
    return {worker["name"]: worker for worker in answer.json()["items"]}


def add_workers(database: Database, *names: str) -> None:
    with database.writing() as session:
        session.add_all(worker_row(name) for name in names)


def claimed_objects(database: Database, job_id: UUID, worker: str) -> claims.Claim:
    with database.writing() as session:
        claim = claims.claim_objects(session, job_id, worker=worker, lease=LEASE, max_bytes=60)
    assert claim is not None
    return claim


def test_an_idle_worker_is_told_with_what_it_serves(either: RunningService) -> None:
    with either.database.writing() as session:
        session.add(worker_row("gpu", host="box", pid=42, device="cuda", threads=8, version="9.9"))
    worker = listed(either)["gpu"]
    assert [worker.pop(name) is None for name in ("started_at", "heartbeat_at", "ended_at")] == [False, False, True]
    assert worker == {
        "name": "gpu",
        "host": "box",
        "pid": 42,
        "device": "cuda",
        "queues": ["cuda", "cpu"],
        "threads": 8,
        "version": "9.9",
        "state": "idle",
        "task": None,
    }


def test_lost_and_ended_workers_are_told_apart(either: RunningService) -> None:
    add_workers(either.database, "lost", "ended")
    with either.database.writing() as session:
        now = database_time(session)
        session.get_one(WorkerRow, "lost").expires_at = now
        session.get_one(WorkerRow, "ended").ended_at = now
    assert {name: worker["state"] for name, worker in listed(either).items()} == {"lost": "lost", "ended": "ended"}


def test_the_object_is_the_first_of_the_claim_that_is_not_done(either: RunningService) -> None:
    add_workers(either.database, "a", "b")
    job_id = add_job(either.database, JobState.CONVERTING, (10, 30, 20, 5, 50))
    claimed_objects(either.database, job_id, "a")
    claim = claimed_objects(either.database, job_id, "b")
    assert claim.indices == (1, 2, 0), "largest first"
    task = {"job": str(job_id), "job_name": "acme", "stage": "encoding"}
    assert listed(either)["a"]["task"] == {**task, "object": "object-4"}
    assert listed(either)["b"]["task"] == {**task, "object": "object-1"}
    with either.database.writing() as session:
        claims.renew(session, claim, lease=LEASE, progress={1: 30, 2: 7})
    found = listed(either)
    assert (found["a"]["state"], found["b"]["state"]) == ("busy", "busy")
    assert (found["a"]["task"]["object"], found["b"]["task"]["object"]) == ("object-4", "object-2")


def test_planning_has_no_object_and_verifying_goes_in_order(either: RunningService) -> None:
    add_workers(either.database, "planner", "verifier")
    planned = add_job(either.database)
    verified = add_job(either.database, JobState.CONVERTING, (10, 30))
    with either.database.writing() as session:
        session.execute(
            update(ObjectRow).where(ObjectRow.job_id == verified).values(state=ObjectState.ENCODED, bytes_done=0)
        )
        for job_id, stage, worker in ((planned, Stage.PLANNING, "planner"), (verified, Stage.VERIFYING, "verifier")):
            assert claims.claim_job(session, job_id, stage, worker=worker, lease=LEASE)
    found = listed(either)
    assert (found["planner"]["task"]["stage"], found["planner"]["task"]["object"]) == ("planning", None)
    assert (found["verifier"]["task"]["stage"], found["verifier"]["task"]["object"]) == ("verifying", "object-0")


def test_a_claim_that_expired_makes_nobody_busy(either: RunningService) -> None:
    add_workers(either.database, "a")
    job_id = add_job(either.database, JobState.CONVERTING, (10,))
    claimed_objects(either.database, job_id, "a")
    with either.database.writing() as session:
        session.execute(update(ClaimRow).values(expires_at=database_time(session)))
    assert (listed(either)["a"]["state"], listed(either)["a"]["task"]) == ("idle", None)


def test_pages_follow_the_names(service: RunningService) -> None:
    add_workers(service.database, "c", "a", "b")
    first = service.client.get("/v1/workers", params={"limit": 2}).json()
    assert ([one["name"] for one in first["items"]], first["next"]) == (["a", "b"], "b")
    second = service.client.get("/v1/workers", params={"limit": 2, "cursor": first["next"]}).json()
    assert ([one["name"] for one in second["items"]], second["next"]) == (["c"], None)
    assert_problem(service.client.get("/v1/workers", params={"cursor": ""}), 422, "request")
