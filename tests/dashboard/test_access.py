"""Pages where tokens are configured: signing in, and what a token for reading sees and may do. How pages are sent."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from httpx import Client
from playwright.sync_api import Browser, expect

from tests.dashboard.seeded import SeededService
from tests.running_service import RunningService, running_service
from tests.small_job import job_body
from workers.tokens import parse_tokens

READ, SUBMIT = "r" * 40, "s" * 40
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    tokens = parse_tokens([f"viewer:read:{READ}", f"maker:submit:{SUBMIT}"])
    with running_service(tmp_path_factory.mktemp("guarded") / "data", tokens=tokens) as service:
        yield service


@pytest.fixture(scope="module")
def job(guarded: RunningService) -> str:
    """A job that failed: it could be tried again and deleted."""
    guarded.client.headers["Authorization"] = f"Bearer {SUBMIT}"
    job_id = guarded.submit(where="not-there")
    guarded.work(job_id)
    del guarded.client.headers["Authorization"]
    return job_id


def reader(guarded: RunningService) -> Client:
    address = str(guarded.client.base_url)
    return Client(base_url=address, headers={**HTML, "Origin": address, "Authorization": f"Bearer {READ}"}, timeout=60)


@pytest.mark.parametrize(
    "path", ["/", "/jobs", "/jobs/new", "/jobs/{job}", "/jobs/{job}/artifact", "/jobs/{job}/delete"]
)
def test_every_page_asks_to_sign_in(guarded: RunningService, job: str, path: str) -> None:
    answer = guarded.client.get(path.replace("{job}", job), headers=HTML)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


def test_changes_of_the_list_ask_for_a_token(guarded: RunningService) -> None:
    assert guarded.client.get("/jobs/changes").status_code == 401


@pytest.mark.parametrize("path", ["/jobs", "/jobs/{job}", "/jobs/new", "/recipes", "/recipes/all-minilm-l6-v2.demo"])
def test_a_token_for_reading_sees_no_buttons(guarded: RunningService, job: str, path: str) -> None:
    with reader(guarded) as client:
        answer = client.get(path.replace("{job}", job))
    assert answer.status_code == 200
    posting = re.findall('<form [^>]*method="post"[^>]*>', answer.text)
    assert [form for form in posting if "/sign-out" not in form] == []
    assert len(posting) == 1
    assert 'href="/jobs/new"' not in answer.text.partition("<main")[2]
    assert "/delete" not in answer.text
    assert "viewer (reads only)" in answer.text


@pytest.mark.parametrize("action", ["/jobs/{job}/cancel", "/jobs/{job}/retry", "/jobs/{job}/delete", "/jobs/new"])
def test_a_token_for_reading_changes_nothing(guarded: RunningService, job: str, action: str) -> None:
    with reader(guarded) as client:
        answer = client.post(action.replace("{job}", job))
        assert answer.status_code == 403
        assert "a token that has the scope submit" in answer.text
        assert client.get(f"/v1/jobs/{job}", headers={"Accept": "*/*"}).json()["attempts"] == []


def test_what_pages_are_drawn_with_is_for_everybody(guarded: RunningService) -> None:
    for name, kind in (("style.css", "text/css"), ("live.js", "text/javascript"), ("icon.svg", "image/svg+xml")):
        answer = guarded.client.get(f"/static/{name}")
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, kind)
    assert guarded.client.get("/static/../page.py").status_code == 401
    assert guarded.client.get("/static/%2e%2e/page.py").status_code == 404


def test_a_browser_signs_in_works_and_signs_out(browser: Browser, guarded: RunningService) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{guarded.client.base_url}/jobs")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not one of the service's tokens")
    page.get_by_label("Token").fill(SUBMIT)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    with Client(base_url=str(guarded.client.base_url), headers={"Authorization": f"Bearer {SUBMIT}"}) as client:
        job_id = client.post("/v1/jobs", json=job_body(name="mine")).json()["id"]
    page.goto(f"{guarded.client.base_url}/jobs/{job_id}")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".heading .state")).to_contain_text("cancelled")
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    expect(page.get_by_text("mine")).to_have_count(0)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sign in")
    context.close()


def test_pages_are_compressed_and_artifacts_are_not(seeded: SeededService) -> None:
    client = seeded.service.client
    accepted = {"Accept-Encoding": "gzip"}
    page = client.get(f"/jobs/{seeded.jobs['ready']}", headers=accepted)
    assert page.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in page.headers["vary"]
    plain = client.get(f"/jobs/{seeded.jobs['ready']}", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    for path in ("artifact", "report"):
        assert "content-encoding" not in client.get(f"/v1/jobs/{seeded.jobs['ready']}/{path}", headers=accepted).headers


def test_events_come_at_once_though_pages_are_compressed(seeded: SeededService) -> None:
    url = f"/v1/jobs/{seeded.jobs['ready']}/events"
    with seeded.service.client.stream("GET", url, headers={"Accept-Encoding": "gzip"}) as answer:
        assert "content-encoding" not in answer.headers
        assert any(line == "event: snapshot" for line in answer.iter_lines())
