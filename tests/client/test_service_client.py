"""The client against a real service, with connections that break in the middle."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from schemas.errors import ServiceError
from schemas.interface import Job, JobRequest, ObjectsEvent, Progress, StateEvent
from schemas.states import JobState
from schemas.tables import JobRow
from service.client import Happening, RefusedError, ServiceClient, connection, watching
from service.routes import events as events_route
from tests.client.relay import Relay, relay
from tests.client.script import EVENTS, PROBLEM, Line, scripted
from tests.running_service import RunningService, running_service
from tests.small_job import job_body
from workers.tokens import parse_tokens

REQUEST = JobRequest.model_validate(job_body())
SOME_JOB = UUID("01890a5d-ac96-774b-bcce-b302099a8057")


@pytest.fixture
def client(service: RunningService) -> Iterator[ServiceClient]:
    with ServiceClient(str(service.client.base_url)) as client:
        yield client


@pytest.fixture
def cutting(service: RunningService) -> Iterator[Relay]:
    with relay(service.client) as made:
        yield made


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_PAUSES", (0.01, 0.02))
    monkeypatch.setattr(watching, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(events_route, "_RETRY_MILLISECONDS", 10)


def jobs(service: RunningService) -> int:
    with service.database.reading() as session:
        return len(session.scalars(select(JobRow.id)).all())


def states(happenings: list[Happening]) -> list[JobState]:
    return [one.state for one in happenings if isinstance(one, Job | StateEvent)]


def test_from_submission_to_download(service: RunningService, client: ServiceClient, tmp_path: Path) -> None:
    job = client.submit(REQUEST)
    assert job == Job.model_validate(service.client.get(f"/v1/jobs/{job.id}").json())
    service.work(str(job.id))
    happened = list(client.watch(job.id))
    assert states(happened)[-1] is JobState.READY
    ready = client.show(job.id)
    assert ready.artifact is not None
    downloaded = client.download(job.id, tmp_path)
    [part] = downloaded.manifest.parts
    assert downloaded.fetched == {0: part.bytes}
    assert sha256(downloaded.path(part).read_bytes()).hexdigest() == ready.artifact.sha256
    assert client.download(job.id, tmp_path).fetched == {}


def test_a_job_is_cancelled_and_tried_again(client: ServiceClient) -> None:
    job = client.submit(REQUEST)
    assert client.cancel(job.id).state is JobState.CANCELLED
    with pytest.raises(RefusedError, match="expected one that is") as refused:
        client.cancel(job.id)
    assert refused.value.problem is not None
    assert (refused.value.status, refused.value.problem.type) == (409, "urn:ninforge:problem:wrong-state")
    assert client.retry(job.id).state is JobState.QUEUED


def test_a_refusal_tells_every_fault_of_the_problem_document(client: ServiceClient) -> None:
    with pytest.raises(RefusedError) as refused:
        client.submit(JobRequest.model_validate({**job_body(), "sources": {"other": "small", "more": "small"}}))
    assert refused.value.problem is not None
    faults = refused.value.problem.errors or ()
    assert {fault.at for fault in faults} == {"/sources", "/sources/other", "/sources/more"}
    assert all(f"{fault.at}: {fault.message}" in str(refused.value) for fault in faults)


@pytest.mark.parametrize("answered", [0, 20])
def test_a_submission_whose_answer_is_lost_is_one_job(service: RunningService, cutting: Relay, answered: int) -> None:
    cutting.limits = [answered, answered]
    with ServiceClient(cutting.address) as client:
        job = client.submit(REQUEST)
    assert (cutting.connections, jobs(service)) == (3, 1)
    assert service.client.get(f"/v1/jobs/{job.id}").status_code == 200


def test_two_submissions_are_two_jobs_unless_they_have_the_same_key(
    service: RunningService, client: ServiceClient
) -> None:
    assert client.submit(REQUEST).id != client.submit(REQUEST).id
    assert client.submit(REQUEST, key="k").id == client.submit(REQUEST, key="k").id
    assert jobs(service) == 3


def test_a_service_that_is_away_for_a_moment_is_asked_again(service: RunningService) -> None:
    away, job_id = Line(503, PROBLEM, "{}"), service.submit()
    answer = Line(202, body=service.client.get(f"/v1/jobs/{job_id}").text)
    with scripted(away, away, answer) as script, ServiceClient(script.address) as client:
        assert str(client.submit(REQUEST).id) == job_id
        keys = [headers["idempotency-key"] for headers in script.requests]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_a_service_that_stays_away_is_told(cutting: Relay) -> None:
    cutting.limits = [0, 0, 0]
    with ServiceClient(cutting.address) as client, pytest.raises(ServiceError, match="expected an answer"):
        client.submit(REQUEST)
    assert cutting.connections == 3


def test_other_changes_are_never_sent_twice(service: RunningService, cutting: Relay) -> None:
    job_id = UUID(service.submit())
    cutting.limits = [0]
    with ServiceClient(cutting.address) as client, pytest.raises(ServiceError):
        client.cancel(job_id)
    assert cutting.connections == 1


@pytest.mark.parametrize("seed", range(4))
def test_events_are_told_once_over_connections_that_break(service: RunningService, cutting: Relay, seed: int) -> None:
    """Cut anywhere: in headers, within a line, between events; the first one once the job as it is has come."""
    job_id = service.submit()
    places = random.Random(seed)  # noqa: S311 - where to cut is no secret
    snapshot = len(service.client.get(f"/v1/jobs/{job_id}").content)
    cutting.limits = [snapshot + places.randrange(750, 1100), *(places.randrange(50, 720) for _ in range(8))]
    with ServiceClient(cutting.address) as client:
        happened = []
        for happening in client.watch(UUID(job_id)):
            happened.append(happening)
            if len(happened) == 1:
                job = service.work(job_id)
    assert cutting.connections > 5
    assert isinstance(happened[0], Job)
    assert states(happened) == ["queued", "planning", "converting", "verifying", "ready"]
    for state in ("encoded", "verified"):
        told = [one.indices for one in happened if isinstance(one, ObjectsEvent) and one.state == state]
        assert sorted(index for indices in told for index in indices) == list(range(job["progress"]["objects_total"]))
    assert any(isinstance(one, Progress) for one in happened)


def test_a_job_that_has_ended_is_told_at_once(service: RunningService, client: ServiceClient) -> None:
    job_id = service.submit(where="not-there")
    service.work(job_id)
    [only] = client.watch(UUID(job_id))
    assert isinstance(only, Job)
    assert (only.state, only.error is None) == (JobState.FAILED, False)


def test_a_job_that_is_not_there_cannot_be_watched(client: ServiceClient) -> None:
    with pytest.raises(RefusedError, match="There is no job") as refused:
        list(client.watch(uuid4()))
    assert refused.value.status == 404


def test_a_service_that_is_away_for_longer_ends_the_watching(cutting: Relay) -> None:
    cutting.limits = [0] * 10_000
    with ServiceClient(cutting.address) as client, pytest.raises(ServiceError, match="expected an answer"):
        list(client.watch(SOME_JOB, patience_seconds=2))
    assert cutting.connections > 1


def test_a_stream_is_taken_up_by_its_last_id_until_there_is_no_more() -> None:
    answers = [
        Line(200, EVENTS, "retry: 1\n\n: ping\n\n" + event(3, "state", {"state": "planning", "error": None})),
        Line(503, PROBLEM, "{}"),
        Line(
            200,
            EVENTS,
            event(4, "weather", {"sun": True}) + event(5, "state", {"state": "queued", "error": None, "x": 1}),
        ),
        Line(204),
    ]
    with scripted(*answers) as script, ServiceClient(script.address) as client:
        assert states(list(client.watch(SOME_JOB))) == [JobState.PLANNING, JobState.QUEUED]
        assert [headers.get("last-event-id") for headers in script.requests] == [None, "3", "3", "5"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Line(200, "text/html", "welcome"), "expected server-sent events"),
        (Line(200, EVENTS, "event: state\nid: 1\ndata: {}\n\n"), "expected what the interface calls StateEvent"),
        (Line(404, "text/html", "<html>"), "404: Not Found"),
    ],
)
def test_what_are_no_events_is_told_at_once(answer: Line, message: str) -> None:
    with scripted(answer) as script, ServiceClient(script.address) as client:
        with pytest.raises(ServiceError, match=message):
            list(client.watch(SOME_JOB))
        assert script.answers == []


def test_members_that_a_newer_service_adds_are_passed_over(service: RunningService) -> None:
    document = service.client.get(f"/v1/jobs/{service.submit()}").json()
    newer = json.dumps({**document, "weather": "fine", "progress": {**document["progress"], "mood": 3}})
    with scripted(Line(200, body=newer)) as script, ServiceClient(script.address) as client:
        assert client.show(SOME_JOB) == Job.model_validate(document)


def test_the_token_is_shown(tmp_path: Path) -> None:
    secret = "s" * 40
    with running_service(tmp_path / "data", tokens=parse_tokens([f"ci:submit:{secret}"])) as guarded:
        address = str(guarded.client.base_url)
        with ServiceClient(address) as nobody, pytest.raises(RefusedError) as refused:
            nobody.submit(REQUEST)
        assert refused.value.status == 401
        with ServiceClient(address, secret) as somebody:
            assert somebody.submit(REQUEST).state is JobState.QUEUED


def event(number: int, kind: str, data: object) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\nid: {number}\n\n"
