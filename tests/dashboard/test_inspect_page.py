"""The page on which artifacts are inspected: chosen by links, by a path, by a job, or sent by their beginning."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from service.dashboard.quantities import shape
from tests.container.samples import TEXT_2, document, file_bytes
from tests.dashboard.large_job import OBJECTS
from tests.processor_time import processor_seconds
from tests.running_service import RunningService, running_service

PAGE = {"accept": "text/html"}
SERVER_SECONDS = 0.1


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    data = tmp_path_factory.mktemp("inspect") / "data"
    with running_service(data) as service:
        folder = data / "sources" / "models & more"
        folder.mkdir()
        (folder / "tiny.ninfer").write_bytes(file_bytes(TEXT_2))
        (folder / "large.ninfer").write_bytes(_large_file())
        yield service


def _large_file() -> bytes:
    """As many objects as the largest registered model has, with names as long."""
    value = document()
    value["objects"] = [
        {
            "name": f"text/layers/{number}/attention/query_key_value",
            "kind": "tensor",
            "shape": [2],
            "format": "BF16" if number % 2 else "FP32",
            "layout": "contiguous-le-v1",
            "offset": 256 * number,
            "bytes": 4 if number % 2 else 8,
        }
        for number in range(OBJECTS)
    ]
    return file_bytes(json.dumps(value), bytes(256 * OBJECTS))


def _page(service: RunningService, path: str, status: int = 200) -> str:
    answer = service.client.get(path, headers=PAGE)
    assert answer.status_code == status, answer.text
    return answer.text


def _cells(page: str) -> list[str]:
    """The first names in the rows of the last table."""
    return re.findall(r'<th scope="row">([^<]*)</th>', page.rpartition("<tbody>")[2])


def test_links_lead_to_a_directory(shared: RunningService) -> None:
    path = "/inspect"
    for label in ("models & more/", "models & more/tiny.ninfer"):
        page = _page(shared, path)
        links = {
            unescape(text): unescape(target) for target, text in re.findall(r'<a href="([^"]*)">([^<]*)</a>', page)
        }
        path = links[label]
    page = _page(shared, path)
    assert _cells(page) == ["frontend/é.json", "bias", "weight", "scalar"]
    assert "an older engine that reads framing 2" in page
    assert "5.38 kB" in page
    assert shape([2, 130]) in page


def test_what_a_job_made(shared: RunningService) -> None:
    job = shared.work(shared.submit())
    page = _page(shared, f"/inspect?artifact={job['id']}")
    assert _cells(page)[1:] == [f"layers/{layer}" for layer in range(8)]
    assert "Bytes between and after the objects are zero" in page


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("artifact=small", "expected a regular file, found a directory"),
        ("artifact=small/tokenizer.json", "expected a header of 16 bytes, found 14 bytes"),
        ("artifact=/etc/passwd", "a place outside of them"),
        ("artifact=019b0000-0000-7000-8000-000000000000", "found the id of none"),
        ("under=../..", "a place outside of them"),
    ],
)
def test_what_cannot_be_shown_is_told_with_what_to_do(shared: RunningService, query: str, words: str) -> None:
    page = _page(shared, f"/inspect?{query}", 422)
    assert words in unescape(page)
    assert "What to do next" in page
    assert str(shared.settings.data) not in page


def test_objects_are_filtered_and_come_in_parts(shared: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.dashboard.object_rows.MOST_ROWS", 500)
    path, found = "/inspect?artifact=models+%26+more/large.ninfer&format=BF16", list[str]()
    while True:
        page = _page(shared, path)
        found += _cells(page)
        following = re.search(r'href="([^"]*)" rel="next"', page)
        if following is None:
            break
        path = unescape(following[1])
    assert found == [f"text/layers/{number}/attention/query_key_value" for number in range(1, OBJECTS, 2)]
    nothing = _page(shared, "/inspect?artifact=models+%26+more/large.ninfer&text=none-such")
    assert "No object is like that" in nothing


def test_a_directory_of_1307_objects_is_made_in_time_and_small(shared: RunningService) -> None:
    path = "/inspect?artifact=models+%26+more/large.ninfer"
    answer = shared.client.get(path, headers=PAGE)
    assert len(_cells(answer.text)) == OBJECTS
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.num_bytes_downloaded < 100_000
    assert processor_seconds(lambda: shared.client.get(path, headers=PAGE), enough=SERVER_SECONDS) < SERVER_SECONDS


def _sent(service: RunningService, content: bytes, name: str = "mine.ninfer") -> Any:
    return service.client.post("/inspect", files={"beginning": (name, content)}, headers=PAGE)


def test_a_beginning_that_is_sent(shared: RunningService) -> None:
    answer = _sent(shared, file_bytes(TEXT_2)[:4096], "<b>mine</b>.ninfer")
    assert answer.status_code == 200
    assert _cells(answer.text) == ["frontend/é.json", "bias", "weight", "scalar"]
    assert "&lt;b&gt;mine&lt;/b&gt;.ninfer" in answer.text
    assert "not known from the beginning alone" in answer.text


def test_what_is_sent_and_is_no_beginning_is_told(shared: RunningService) -> None:
    for content, words in ((b"GGUF" + bytes(99), "expected NINFER"), (file_bytes(TEXT_2)[:100], "the first 524 bytes")):
        answer = _sent(shared, content)
        assert answer.status_code == 422
        assert words in answer.text
    assert shared.client.post("/inspect", data={"beginning": "text"}, headers=PAGE).status_code in {400, 422}


def test_scripts_send_header_and_directory_alone(browser: Browser, shared: RunningService, tmp_path: Path) -> None:
    file = tmp_path / "mine.ninfer"
    content = file_bytes(TEXT_2)
    with file.open("wb") as sparse:
        sparse.write(content)
        sparse.truncate(len(content) + 100_000_000)
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{shared.client.base_url}/inspect")
    page.get_by_label("A .ninfer file").set_input_files(file)
    with page.expect_request(lambda request: request.method == "POST") as sent:
        page.get_by_role("button", name="Send and inspect").click()
    expect(page.get_by_role("heading", name="mine.ninfer")).to_be_visible()
    expect(page.get_by_role("row", name="weight")).to_be_visible()
    assert int(sent.value.all_headers()["content-length"]) < 2000
    context.close()


def test_places_are_completed_while_they_are_typed(browser: Browser, shared: RunningService) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{shared.client.base_url}/inspect")
    page.get_by_label("Path below the source roots").press_sequentially("small/")
    expect(page.locator("#places option")).to_have_count(2)
    context.close()
