"""The list of jobs: filters, pages of it, and that it changes."""

from __future__ import annotations

import re
import threading
from urllib.parse import quote

import pytest
from httpx import Client

from schemas.states import JobState
from tests.job_rows import job_row
from tests.running_service import RunningService


def shown(service: RunningService, query: str = "") -> list[str]:
    """Names in the list that a query gives."""
    answer = service.client.get(f"/jobs{query}")
    assert answer.status_code == 200, answer.text
    return re.findall(r'<a href="/jobs/[0-9a-f-]{36}">([^<]*)</a><br>', answer.text)


@pytest.fixture
def listed(service: RunningService) -> RunningService:
    """A service with 120 jobs, every third one failed."""
    with service.database.writing() as session:
        for number in range(120):
            row = job_row(JobState.FAILED if number % 3 == 0 else JobState.CANCELLED)
            row.name = f"job {number:03} <&>"
            session.add(row)
            session.flush()
    return service


def test_jobs_are_listed_newest_first_and_page_by_page(listed: RunningService) -> None:
    names = [f"job {number:03} &lt;&amp;&gt;" for number in reversed(range(120))]
    seen, path = [], ""
    for _ in range(3):
        page = listed.client.get(f"/jobs{path}").text
        seen += shown(listed, path)
        link = re.search(r'href="/jobs(\?[^"]+)" rel="next"', page)
        path = link[1].replace("&amp;", "&") if link else "none"
    assert seen == names
    assert path == "none"


def test_filters_are_kept_from_page_to_page(listed: RunningService) -> None:
    query = f"?state=cancelled&text={quote('<&>')}"
    page = listed.client.get(f"/jobs{query}").text
    link = re.search(r'href="/jobs(\?[^"]+)" rel="next"', page)
    assert link is not None
    following = shown(listed, link[1].replace("&amp;", "&"))
    assert len(shown(listed, query)) + len(following) == 80
    assert 'value="&lt;&amp;&gt;"' in page
    assert '<option value="cancelled" selected>' in page


def test_empty_filters_are_none(listed: RunningService) -> None:
    assert shown(listed, "?state=&text=") == shown(listed)
    assert shown(listed, "?state=failed&text=job+11") == [f"job {n} &lt;&amp;&gt;" for n in (117, 114, 111)]
    assert "No job is like that" in listed.client.get("/jobs?text=none").text


def test_the_first_page_leads_to_the_list(service: RunningService) -> None:
    answer = service.client.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "/jobs")
    assert "No job yet." in service.client.get("/jobs").text


def test_changes_of_the_list_are_told(service: RunningService) -> None:
    told: list[str] = []
    opened, changed = threading.Event(), threading.Event()

    def listen() -> None:
        with Client(timeout=60) as client, client.stream("GET", f"{service.client.base_url}/jobs/changes") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            opened.set()
            for line in answer.iter_lines():
                told.append(line)
                if line.startswith("event: "):
                    changed.set()
                    return

    listener = threading.Thread(target=listen)
    listener.start()
    assert opened.wait(30)
    assert not changed.wait(2.5)  # nothing has happened
    service.submit()
    assert changed.wait(30)
    listener.join()
    assert "event: changed" in told
