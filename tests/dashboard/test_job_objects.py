"""The page of a job with more objects than one page shows, and what its buttons do."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from schemas.states import JobState
from service.dashboard.object_rows import MOST_ROWS
from tests.job_rows import add_job
from tests.running_service import RunningService, running_service

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("service") / "data") as service:
        yield service


def shown(service: RunningService, place: str) -> tuple[str, list[int]]:
    """A page, and the indices of the objects in its table."""
    answer = service.client.get(place, headers=HTML)
    assert answer.status_code == 200, answer.text
    return answer.text, [int(index) for index in re.findall(r'<tr data-object="(\d+)"', answer.text)]


def test_a_page_shows_a_part_of_very_many_objects(service: RunningService) -> None:
    job_id = add_job(service.database, JobState.CONVERTING, [1] * (2 * MOST_ROWS + 10))
    page, first = shown(service, f"/jobs/{job_id}")
    assert first == list(range(MOST_ROWS))
    assert page.count('data-object="') == 2 * MOST_ROWS  # in the map, too
    _, last = shown(service, f"/jobs/{job_id}?start={2 * MOST_ROWS}")
    assert last == list(range(2 * MOST_ROWS, 2 * MOST_ROWS + 10))
    following = re.search(r'href="(/jobs/[^"]*start=\d+)[^"]*" rel="next"', page)
    assert following is not None
    assert shown(service, following[1].replace("&amp;", "&"))[1] == list(range(MOST_ROWS, 2 * MOST_ROWS))


def test_objects_are_found_among_very_many(service: RunningService) -> None:
    job_id = add_job(service.database, JobState.CONVERTING, [1] * (MOST_ROWS + 600))
    _, found = shown(service, f"/jobs/{job_id}?text=OBJECT-209")
    assert found == [209, *range(2090, 2100)]
    assert shown(service, f"/jobs/{job_id}?text=%25")[1] == []


def test_a_job_of_one_page_has_no_parts(service: RunningService) -> None:
    page, found = shown(service, f"/jobs/{add_job(service.database, JobState.CONVERTING, [1, 2])}")
    assert found == [0, 1]
    assert 'rel="next"' not in page
    assert 'name="text"' not in page


def test_throughput_is_to_be_had_alone(service: RunningService) -> None:
    job_id = add_job(service.database, JobState.CONVERTING, [1])
    answer = service.client.get(f"/jobs/{job_id}/throughput", headers=HTML)
    assert answer.status_code == 200
    assert answer.text.startswith('<section class="card" aria-labelledby="throughput-heading" data-live="throughput">')
    assert answer.text in shown(service, f"/jobs/{job_id}")[0]
    assert service.client.get(f"/jobs/{'0' * 32}/throughput", headers=HTML).status_code == 404


def test_a_job_is_pinned_and_unpinned_by_its_buttons(service: RunningService) -> None:
    job_id = add_job(service.database, JobState.FAILED)
    assert f'action="/jobs/{job_id}/pin"' in shown(service, f"/jobs/{job_id}")[0]
    assert service.client.post(f"/jobs/{job_id}/pin", headers=HTML).status_code == 303
    page, _ = shown(service, f"/jobs/{job_id}")
    assert f'action="/jobs/{job_id}/unpin"' in page
    assert f"/jobs/{job_id}/delete" not in page
    assert service.client.post(f"/jobs/{job_id}/delete", headers=HTML).status_code == 409
    assert service.client.post(f"/jobs/{job_id}/unpin", headers=HTML).status_code == 303
    assert service.client.post(f"/jobs/{job_id}/delete", headers=HTML).status_code == 303
