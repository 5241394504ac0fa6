"""Jobs cancelled, tried again and removed over HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

import pytest

from tests.running_service import RunningService, assert_problem

ACTIONS = [("POST", "/cancel"), ("POST", "/retry"), ("DELETE", "")]


def test_a_queued_job_is_cancelled_and_queued_again(service: RunningService) -> None:
    job_id = service.submit()
    cancelled = service.client.post(f"/v1/jobs/{job_id}/cancel")
    assert (cancelled.status_code, cancelled.json()["state"]) == (200, "cancelled")
    assert cancelled.json() == service.client.get(f"/v1/jobs/{job_id}").json()
    before = len(service.messages)
    queued = service.client.post(f"/v1/jobs/{job_id}/retry")
    assert (queued.status_code, queued.json()["state"], queued.json()["id"]) == (202, "queued", job_id)
    assert len(service.messages) == before + 1
    job = service.work(job_id)
    assert job["state"] == "ready"
    assert job["attempts"] == [
        {"state": "cancelled", "started_at": None, "finished_at": cancelled.json()["finished_at"], "error": None}
    ]


def test_every_attempt_is_kept_with_its_error(service: RunningService) -> None:
    job_id = service.submit(where="not-there")
    errors = []
    for _ in range(3):
        errors.append(service.work(job_id)["error"])
        assert service.client.post(f"/v1/jobs/{job_id}/retry").status_code == HTTPStatus.ACCEPTED
    job = service.client.get(f"/v1/jobs/{job_id}").json()
    assert [attempt["error"] for attempt in job["attempts"]] == errors
    assert job["error"] is None
    assert service.client.get("/v1/jobs").json()["items"] == [job]


def test_a_finished_job_is_removed_with_its_artifact(service: RunningService) -> None:
    job_id = service.submit()
    service.work(job_id)
    answer = service.client.delete(f"/v1/jobs/{job_id}")
    assert (answer.status_code, answer.content) == (204, b"")
    for path in ("", "/artifact", "/objects"):
        assert_problem(service.client.get(f"/v1/jobs/{job_id}{path}"), 404, "not-found")
    assert list((service.settings.data / "artifacts").iterdir()) == []


@pytest.mark.parametrize(
    ("state", "refused"),
    [
        ("queued", {"/retry", ""}),
        ("ready", {"/cancel", "/retry"}),
        ("failed", {"/cancel"}),
        ("cancelled", {"/cancel"}),
    ],
)
def test_what_the_state_of_a_job_does_not_allow_is_a_conflict(
    service: RunningService, state: str, refused: set[str]
) -> None:
    job_id = service.submit(where="not-there" if state == "failed" else "small")
    if state == "cancelled":
        service.client.post(f"/v1/jobs/{job_id}/cancel")
    elif state != "queued":
        service.work(job_id)
    before = service.client.get(f"/v1/jobs/{job_id}").json()
    assert before["state"] == state
    for method, path in ACTIONS:
        if path in refused:
            problem = assert_problem(service.client.request(method, f"/v1/jobs/{job_id}{path}"), 409, "wrong-state")
            assert state in problem["detail"]
            assert job_id in problem["detail"]
    assert service.client.get(f"/v1/jobs/{job_id}").json() == before


@pytest.mark.parametrize("job_id", ["01890a5d-ac96-774b-bcce-b302099a8057", "17"])
@pytest.mark.parametrize(("method", "path"), ACTIONS)
def test_a_job_that_is_not_there_cannot_be_changed(
    service: RunningService, method: str, path: str, job_id: str
) -> None:
    assert_problem(service.client.request(method, f"/v1/jobs/{job_id}{path}"), 404, "not-found")


@pytest.mark.parametrize(("method", "path"), ACTIONS)
def test_of_many_that_change_a_job_at_once_one_does(service: RunningService, method: str, path: str) -> None:
    job_id = service.submit()
    if path != "/cancel":
        service.client.post(f"/v1/jobs/{job_id}/cancel")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: service.client.request(method, f"/v1/jobs/{job_id}{path}"), range(8)))
    assert sorted(answer.is_success for answer in answers) == [False] * 7 + [True]
    assert {answer.status_code for answer in answers if not answer.is_success} == {404 if path == "" else 409}
