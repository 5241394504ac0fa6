"""Jobs that are pinned stay, until they are unpinned."""

from __future__ import annotations

import pytest

from tests.running_service import RunningService, assert_problem


def test_a_pinned_job_is_not_removed_until_it_is_unpinned(either: RunningService) -> None:
    job_id = either.submit()
    assert either.work(job_id)["pinned"] is False
    place = f"/v1/jobs/{job_id}"
    for _ in range(2):
        answer = either.client.put(f"{place}/pin")
        assert (answer.status_code, answer.json()["pinned"]) == (200, True)
    problem = assert_problem(either.client.delete(place), 409, "wrong-state")
    assert "pinned" in problem["detail"]
    assert either.client.get(place).json()["pinned"] is True
    assert either.client.get(f"{place}/artifact").status_code == 200
    for _ in range(2):
        answer = either.client.delete(f"{place}/pin")
        assert (answer.status_code, answer.json()["pinned"]) == (200, False)
    assert either.client.delete(place).status_code == 204


def test_a_job_can_be_pinned_before_it_has_ended(service: RunningService) -> None:
    job_id = service.submit()
    assert service.client.put(f"/v1/jobs/{job_id}/pin").json()["state"] == "queued"
    job = service.work(job_id)
    assert (job["state"], job["pinned"]) == ("ready", True)
    assert_problem(service.client.delete(f"/v1/jobs/{job_id}"), 409, "wrong-state")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize("job_id", ["01890a5d-ac96-774b-bcce-b302099a8057", "17"])
def test_a_job_that_is_not_there_is_not_pinned(service: RunningService, method: str, job_id: str) -> None:
    assert_problem(service.client.request(method, f"/v1/jobs/{job_id}/pin"), 404, "not-found")
