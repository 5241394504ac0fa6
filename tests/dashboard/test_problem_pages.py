"""Problems as pages for browsers, and as problem documents for all others."""

from __future__ import annotations

import pytest

from tests.dashboard.seeded import SeededService
from tests.running_service import assert_problem

NO_JOB = "019b0000-0000-7000-8000-000000000000"
HTML = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("path", "status", "told", "next_step"),
    [
        ("/none", 404, "GET /none", "Go back to the list of jobs"),
        (f"/jobs/{NO_JOB}", 404, "There is no job", "Go back to the list of jobs"),
        ("/jobs/<script>", 404, "There is no job &lt;script&gt;", "Go back to the list of jobs"),
        ("/jobs?state=lost", 422, "not as the interface describes it", "mend what is named here"),
    ],
)
def test_a_browser_gets_a_page_that_says_what_to_do_next(
    seeded: SeededService, path: str, status: int, told: str, next_step: str
) -> None:
    answer = seeded.service.client.get(path, headers=HTML)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert int(answer.headers["content-length"]) > 0
    assert "content-security-policy" in answer.headers
    assert told in answer.text
    assert next_step in answer.text
    assert "<script>" not in answer.text


def test_a_page_of_a_job_that_has_moved_on_says_so(seeded: SeededService) -> None:
    answer = seeded.service.client.post(f"/jobs/{seeded.jobs['ready']}/cancel", headers=HTML)
    assert answer.status_code == 409
    assert "load the page again" in answer.text


def test_others_get_the_problem_document(seeded: SeededService) -> None:
    assert_problem(seeded.service.client.get("/none"), 404, "not-found")
    assert_problem(seeded.service.client.get(f"/v1/jobs/{NO_JOB}", headers=HTML), 404, "not-found")
    assert_problem(seeded.service.client.get(f"/jobs/{NO_JOB}", headers={"Accept": "*/*"}), 404, "not-found")


def test_allowed_methods_are_told_with_the_page(seeded: SeededService) -> None:
    answer = seeded.service.client.put("/jobs/new", headers=HTML)
    assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, {"GET", "POST"})
    assert "<h1>" in answer.text


@pytest.mark.parametrize("accept", [HTML["Accept"], "*/*"])
def test_head_is_answered_as_get_is(seeded: SeededService, accept: str) -> None:
    headers = {"Accept": accept, "Host": "elsewhere"}
    get, head = (seeded.service.client.request(method, "/jobs", headers=headers) for method in ("GET", "HEAD"))
    assert (get.status_code, head.status_code, head.content) == (400, 400, b"")
    assert head.headers["content-type"] == get.headers["content-type"]
    assert head.headers["content-length"] == get.headers["content-length"]
