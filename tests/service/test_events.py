"""Server-sent events of jobs: as they happen, replayed, and over when the job is."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from schemas.states import EventKind, JobState
from schemas.tables import EventRow, JobRow
from service import event_streams
from service.routes import events as events_route
from tests import service_processes as processes
from tests.job_rows import job_row
from tests.running_service import RunningService, assert_problem, running_service
from tests.small_job import job_body, write_checkpoint
from workers import claims, job_events

OBJECTS = 9


@dataclass(frozen=True)
class Sent:
    """One event as it was sent."""

    kind: str
    id: int
    data: dict[str, Any]


def _sent(lines: Iterator[str]) -> Iterator[Sent]:
    members: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line:
            members[name] = value
            continue
        if "data" in members:
            yield Sent(members["event"], int(members["id"]), json.loads(members["data"]))
        members = {}


def _watch(service: RunningService, job_id: str, last: int | None = None) -> list[Sent]:
    """Everything that is sent until the stream ends."""
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    with service.client.stream("GET", f"/v1/jobs/{job_id}/events", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        return list(_sent(answer.iter_lines()))


def test_whoever_watches_sees_a_job_from_its_state_to_its_end(either: RunningService) -> None:
    job_id = either.submit()
    begun = threading.Event()

    def watch() -> list[Sent]:
        seen = []
        with either.client.stream("GET", f"/v1/jobs/{job_id}/events") as answer:
            for sent in _sent(answer.iter_lines()):
                seen.append(sent)
                begun.set()
        return seen

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        assert begun.wait(60)
        job = either.work(job_id)
        seen = watching.result(60)
    assert seen[0].kind == "snapshot"
    assert (seen[0].data["id"], seen[0].data["state"]) == (job_id, "queued")
    states = [sent.data["state"] for sent in seen if sent.kind == "state"]
    assert states == ["planning", "converting", "verifying", "ready"]
    for state in ("encoded", "verified"):
        indices = [
            i for sent in seen if sent.kind == "object" and sent.data["state"] == state for i in sent.data["indices"]
        ]
        assert sorted(indices) == list(range(OBJECTS))
    progress = [sent.data for sent in seen if sent.kind == "progress"]
    assert (progress[-1]["objects_done"], progress[-1]["bytes_done"]) == (OBJECTS, job["progress"]["bytes_total"])
    assert [sent.id for sent in seen] == sorted({sent.id for sent in seen})


def test_events_after_the_last_one_seen_are_replayed(either: RunningService) -> None:
    job_id = either.submit()
    either.work(job_id)
    everything = _watch(either, job_id, 0)
    assert [sent.data["state"] for sent in everything if sent.kind == "state"] == [
        "queued", "planning", "converting", "verifying", "ready",
    ]  # fmt: skip
    for position, sent in enumerate(everything[:-1]):
        assert _watch(either, job_id, sent.id) == everything[position + 1 :]


def test_a_client_that_has_seen_the_end_is_told_to_stay_away(service: RunningService) -> None:
    job_id = service.submit()
    job = service.work(job_id)
    [snapshot] = _watch(service, job_id)
    assert (snapshot.kind, snapshot.data) == ("snapshot", job)
    headers = {"Last-Event-ID": str(snapshot.id)}
    answer = service.client.get(f"/v1/jobs/{job_id}/events", headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")


def test_a_client_too_far_behind_gets_the_job_as_it_is(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_events, "KEPT", 4)
    monkeypatch.setattr(events_route, "KEPT", 4)
    job_id = service.submit()
    job = service.work(job_id)
    with service.database.reading() as session:
        last = session.get_one(JobRow, UUID(job_id)).last_event
        numbers = session.scalars(select(EventRow.number).where(EventRow.job_id == UUID(job_id))).all()
    assert min(numbers) > last - 4
    assert [sent.kind for sent in _watch(service, job_id, last - 5)] == ["snapshot"]
    assert [sent.kind for sent in _watch(service, job_id, last + 1)] == ["snapshot"], "of another database"
    kept = _watch(service, job_id, last - 4)
    assert [sent.id for sent in kept] == sorted(numbers)
    assert kept[-1].data == {"state": "ready", "error": None}
    assert _watch(service, job_id, 0)[0].data == job


def test_progress_is_kept_once_however_often_it_is_told(either: RunningService) -> None:
    job_id = UUID(either.submit())
    for _ in range(50):
        with either.database.writing() as session:
            job = claims.locked_job(session, job_id)
            assert job is not None
            job_events.record_progress(session, job)
    with either.database.reading() as session:
        assert session.get_one(JobRow, job_id).last_event == 51
        kinds = session.scalars(select(EventRow.kind).where(EventRow.job_id == job_id).order_by(EventRow.number)).all()
    assert kinds == [EventKind.STATE, EventKind.PROGRESS]


def test_a_job_that_fails_says_why_and_goes_on_when_tried_again(service: RunningService) -> None:
    job_id = service.submit(where="not-there")
    job = service.work(job_id)
    failed = _watch(service, job_id, 0)[-1]
    assert failed.data["state"] == "failed"
    assert failed.data["error"]["detail"] == job["error"]["detail"]
    service.client.post(f"/v1/jobs/{job_id}/retry")
    service.client.post(f"/v1/jobs/{job_id}/cancel")
    states = [sent.data["state"] for sent in _watch(service, job_id, failed.id)]
    assert states == ["queued", "cancelled"]


def test_many_clients_are_fed_by_one_poller(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    job_ids = [service.submit() for _ in range(3)]
    feed = service.application.state.service.events
    polls: list[int] = []
    real = feed._events_after

    def counted(numbers: Mapping[UUID, int]) -> Any:
        polls.append(len(numbers))
        return real(numbers)

    monkeypatch.setattr(feed, "_events_after", counted)
    begun = threading.Semaphore(0)

    def watch(job_id: str) -> list[str]:
        states = []
        with service.client.stream("GET", f"/v1/jobs/{job_id}/events") as answer:
            for sent in _sent(answer.iter_lines()):
                begun.release()
                states.append(sent.data["state"])
        return states

    with ThreadPoolExecutor(30) as pool:
        watching = [pool.submit(watch, job_ids[number % 3]) for number in range(30)]
        for _ in watching:
            assert begun.acquire(timeout=60)
        before = len(polls)
        threading.Event().wait(2.2)
        during = len(polls) - before
        assert 1 <= during <= 6, "one question each half second, whoever asks"
        for job_id in job_ids:
            service.client.post(f"/v1/jobs/{job_id}/cancel")
        assert [future.result(60) for future in watching] == [["queued", "cancelled"]] * 30
    threading.Event().wait(1.5)
    after = len(polls)
    threading.Event().wait(1.5)
    assert len(polls) == after, "nobody watches, nobody asks"
    assert feed._watched == {}


def test_as_many_jobs_may_be_watched_as_clients_like(either: RunningService) -> None:
    """More than the terms that SQLite takes in one expression."""
    watched = 1100
    with either.database.writing() as session:
        rows = [job_row(JobState.QUEUED) for _ in range(watched)]
        for row in rows:
            row.last_event = 2
        session.add_all(rows)
        session.flush()
        job_ids = [row.id for row in rows]
        state = {"state": "queued", "error": None}
        session.add_all(
            EventRow(job_id=job_id, number=number, kind=EventKind.STATE, data=state)
            for job_id in job_ids
            for number in (1, 2)
        )
    found = either.application.state.service.events._events_after({**dict.fromkeys(job_ids, 1), uuid4(): 1})
    assert set(found) == set(job_ids)
    assert {tuple(event.number for event in events) for events in found.values()} == {(2,)}


def test_one_stream_more_than_may_be_open_is_told_to_come_back(tmp_path: Path) -> None:
    with running_service(tmp_path / "data", max_event_streams=2) as service:
        path = f"/v1/jobs/{service.submit()}/events"
        streams = service.application.state.service.streams
        with service.client.stream("GET", path) as first, service.client.stream("GET", "/jobs/changes") as second:
            assert (first.status_code, second.status_code) == (200, 200)
            for refused in (path, "/jobs/changes"):
                answer = service.client.get(refused)
                problem = assert_problem(answer, 503, "unavailable")
                assert answer.headers["retry-after"] == "10"
                assert "2 streams of events" in problem["detail"]
            assert streams._open == 2
        for _ in range(600):
            if streams._open == 0:
                break
            threading.Event().wait(0.05)
        with service.client.stream("GET", path) as again:
            assert again.status_code == 200


def test_a_client_that_leaves_is_forgotten(service: RunningService) -> None:
    job_id = service.submit()
    feed = service.application.state.service.events
    with service.client.stream("GET", f"/v1/jobs/{job_id}/events") as answer:
        sent = _sent(answer.iter_lines())
        next(sent)
        assert list(feed._watched) == [UUID(job_id)]
    _until_forgotten(feed)


def test_a_service_that_ends_ends_its_streams_first(tmp_path: Path) -> None:
    """Cut off, a stream would raise here."""
    write_checkpoint(tmp_path / "data" / "sources" / "small")
    with processes.service("serve", {"NINFORGE_DATA": str(tmp_path / "data")}) as serving:
        job_id = serving.submit(job_body())
        with serving.client.stream("GET", f"/v1/jobs/{job_id}/events") as answer:
            sent = _sent(answer.iter_lines())
            assert next(sent).kind == "snapshot"
            assert serving.terminate() == 0
            assert list(sent) == []


def test_a_job_that_is_removed_ends_its_streams(service: RunningService) -> None:
    job_id = service.submit()
    with service.client.stream("GET", f"/v1/jobs/{job_id}/events") as answer:
        sent = _sent(answer.iter_lines())
        next(sent)
        service.client.post(f"/v1/jobs/{job_id}/cancel")
        service.client.delete(f"/v1/jobs/{job_id}")
        assert [one.kind for one in sent] in ([], ["state"])
    assert_problem(service.client.get(f"/v1/jobs/{job_id}/events"), 404, "not-found")


def test_a_quiet_stream_shows_that_it_lives(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "PING_SECONDS", 0.1)
    with service.client.stream("GET", f"/v1/jobs/{service.submit()}/events") as answer:
        pings = (line for line in answer.iter_lines() if line == ": ping")
        assert [next(pings), next(pings)] == [": ping"] * 2


@pytest.mark.parametrize("last", ["-1", "x", str(2**31)])
def test_what_is_no_event_s_id_is_told(service: RunningService, last: str) -> None:
    answer = service.client.get(f"/v1/jobs/{service.submit()}/events", headers={"Last-Event-ID": last})
    problem = assert_problem(answer, 422, "request")
    assert [fault["at"] for fault in problem["errors"]] == ["/last-event-id"]


def _until_forgotten(feed: Any) -> None:
    for _ in range(600):
        if not feed._watched:
            return
        threading.Event().wait(0.05)
    pytest.fail("still watched")
