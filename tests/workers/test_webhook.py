"""Each end of a job reaches the webhook: from receivers that fail, hang, redirect or die, and signed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select, text, update
from standardwebhooks.webhooks import Webhook as Receiver
from standardwebhooks.webhooks import WebhookVerificationError

from schemas.states import JobState
from schemas.tables import JobRow, WebhookEventRow
from tests.job_rows import add_job
from tests.service_processes import QUICK, service, until
from tests.small_job import job_body, write_checkpoint
from workers import claims, job_endings, webhook, webhook_events
from workers.database import Database, database_time
from workers.webhook import Webhook, deliver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - the example of Standard Webhooks


@dataclass
class Received:
    """What came: headers and body of each request. `answers` are given in turn, then 204."""

    url: str
    answers: list[int]
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.requests]


HANG = 0


@contextmanager
def receiver(*answers: int) -> Iterator[Received]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
            status = received.answers.pop(0) if received.answers else 204
            if status == HANG:
                received.released.wait(60)
                return
            self.send_response(status)
            if status == 307:
                self.send_header("Location", f"{received.url}/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:
            received.requests.append(({}, b"{}"))

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        received = Received(f"http://127.0.0.1:{server.server_address[1]}", list(answers))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield received
        finally:
            received.released.set()
            server.shutdown()
            thread.join()


def end_job(database: Database, state: JobState = JobState.CANCELLED) -> UUID:
    job_id = add_job(database, JobState.CONVERTING)
    with database.writing() as session:
        job = claims.locked_job(session, job_id)
        assert job is not None
        claims.enter_state(session, job, state)
    return job_id


def deliver_all(database: Database, received: Received, secret: str | None = None) -> None:
    deliver(database, Webhook(f"{received.url}/hook", secret), lambda: False)


def make_due(database: Database) -> None:
    with database.writing() as session:
        session.execute(update(WebhookEventRow).values(due_at=database_time(session)))


def outbox(database: Database) -> list[WebhookEventRow]:
    with database.reading() as session:
        return list(session.scalars(select(WebhookEventRow)))


@pytest.mark.parametrize("state", [JobState.CANCELLED, JobState.FAILED])
def test_the_end_of_a_job_is_sent_once_as_the_job_was_then(database: Database, state: JobState) -> None:
    job_id = end_job(database, state)
    with database.writing() as session:
        session.delete(session.get_one(JobRow, job_id))
    with receiver() as received:
        for _ in range(2):
            deliver_all(database, received)
    [event] = received.events()
    assert (event["id"], event["state"], event["finished_at"] is None) == (str(job_id), state, False)
    assert outbox(database) == []


def test_what_is_not_an_end_is_not_told(database: Database) -> None:
    job_id = add_job(database)
    with database.writing() as session:
        job = claims.locked_job(session, job_id)
        assert job is not None
        claims.enter_state(session, job, JobState.PLANNING)
    assert outbox(database) == []


def test_an_end_that_is_rolled_back_is_not_told(database: Database) -> None:
    job_id = add_job(database)

    def cancel_and_fail() -> None:
        with database.writing() as session:
            job = claims.locked_job(session, job_id)
            assert job is not None
            job_endings.cancel(session, job)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        cancel_and_fail()
    assert outbox(database) == []


@pytest.mark.parametrize("answer", [500, 404, 307, HANG])
def test_what_a_receiver_does_not_take_comes_again_under_the_same_id(
    database: Database, monkeypatch: pytest.MonkeyPatch, answer: int
) -> None:
    monkeypatch.setattr(webhook, "ANSWER_SECONDS", 0.3)
    end_job(database)
    with receiver(answer) as received:
        deliver_all(database, received)
        assert len(received.requests) == 1  # nor was a redirect followed
        deliver_all(database, received)
        assert len(received.requests) == 1
        make_due(database)
        deliver_all(database, received)
    (first, body), (second, same) = received.requests
    assert first["webhook-id"] == second["webhook-id"]
    assert body == same
    assert outbox(database) == []


def test_a_receiver_that_is_not_there_is_tried_less_and_less_often_and_given_up(database: Database) -> None:
    end_job(database)
    nowhere = Webhook("http://127.0.0.1:1/", None)
    delays = []
    for _ in range(10):
        make_due(database)
        [before] = outbox(database)
        deliver(database, nowhere, lambda: False)
        [after] = outbox(database)
        delays.append((after.due_at - before.due_at).total_seconds())
    assert [round(delay, -1) for delay in delays] == [20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]
    with database.writing() as session:
        webhook_events.give_up(session)
    assert len(outbox(database)) == 1
    with database.writing() as session:
        session.execute(
            update(WebhookEventRow).values(created_at=database_time(session) - timedelta(days=1, seconds=1))
        )
        webhook_events.give_up(session)
    assert outbox(database) == []


def test_one_that_fails_keeps_no_other_event_waiting(database: Database) -> None:
    jobs = [end_job(database) for _ in range(3)]
    with receiver(500) as received:
        deliver_all(database, received)
    assert [event["id"] for event in received.events()] == [str(job_id) for job_id in jobs]
    assert [row.job_id for row in outbox(database)] == jobs[:1]


def test_of_several_processes_one_sends_an_event(database: Database) -> None:
    jobs = {str(end_job(database)) for _ in range(12)}
    with receiver() as received, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: deliver_all(database, received), range(4)))
    assert len(received.requests) == len(jobs)
    assert {event["id"] for event in received.events()} == jobs


def test_nothing_is_locked_while_a_receiver_takes_its_time(database: Database) -> None:
    job_id = end_job(database)
    with receiver(HANG) as received, ThreadPoolExecutor(1) as pool:
        sending = pool.submit(deliver_all, database, received)
        until(lambda: received.requests, bool)
        started = time.monotonic()
        with database.writing() as session:
            session.delete(session.get_one(JobRow, job_id))
            session.execute(text("DELETE FROM webhook_events"))
        assert time.monotonic() - started < webhook.ANSWER_SECONDS / 2
        received.released.set()
        sending.result()


def test_a_signature_is_what_receivers_libraries_check(database: Database) -> None:
    end_job(database)
    with receiver() as received:
        deliver_all(database, received, SECRET)
    [(headers, body)] = received.requests
    assert headers["content-type"] == "application/json"
    assert Receiver(SECRET).verify(body, headers) == json.loads(body)
    for wrong in (body.replace(b"cancelled", b"ready"), body + b" "):
        with pytest.raises(WebhookVerificationError):
            Receiver(SECRET).verify(wrong, headers)
    with pytest.raises(WebhookVerificationError):
        Receiver(SECRET[:-4] + "AAAA").verify(body, headers)


def test_without_a_secret_there_is_no_signature(database: Database) -> None:
    end_job(database)
    with receiver() as received:
        deliver_all(database, received)
    [(headers, _)] = received.requests
    assert "webhook-signature" not in headers
    assert UUID(headers["webhook-id"]).version == 7


def test_a_running_service_tells_each_end(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "data" / "sources" / "small", layers=8)
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    with receiver() as received:
        environment = {
            "NINFORGE_DATA": str(tmp_path / "data"),
            "NINFORGE_WEBHOOK_URL": f"{received.url}/hook",
            "NINFORGE_WEBHOOK_SECRET_FILE": str(tmp_path / "secret"),
            **QUICK,
        }
        with service("up", environment) as running:
            ready = running.finished(running.submit(job_body()))
            failed = running.finished(running.submit(job_body("not-there")))
            until(lambda: len(received.requests), lambda count: count == 2)
            jobs = [running.job(job["id"]) for job in (ready, failed)]
    assert received.events() == jobs
    assert [job["state"] for job in jobs] == ["ready", "failed"]
    for headers, body in received.requests:
        Receiver(SECRET).verify(body, headers)
