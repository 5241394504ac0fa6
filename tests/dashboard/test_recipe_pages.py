"""Pages of recipes: source, expansion, differences, storing and deleting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml
from httpx import Response
from playwright.sync_api import Browser, expect

from service.dashboard.differences import MOST_LINES, DifferenceLine, differences
from service.dashboard.highlighted import MOST_SHOWN_LINES, highlighted_lines, readable
from tests.running_service import RunningService, running_service
from tests.service.test_authentication import READ, TOKENS, bearer
from tests.small_job import recipe_document
from workers.engine.recipe.registered import registered_text

PAGE = {"accept": "text/html"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("recipes") / "data") as service:
        yield service


def _document(revision: int = 1, **members: Any) -> dict[str, Any]:
    return {**recipe_document(layers=3), "revision": revision, **members}


def _yaml(document: dict[str, Any]) -> str:
    return f"# why <b>this</b> & that\n{yaml.safe_dump(document, sort_keys=False)}"


def _send(service: RunningService, text: str) -> Response:
    return service.client.post("/store-recipe", files={"text": (None, text)}, headers=PAGE)


def _page(service: RunningService, path: str, status: int = 200) -> str:
    answer = service.client.get(path, headers=PAGE)
    assert answer.status_code == status, answer.text
    return answer.text


def _text(markup: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", markup))


@pytest.mark.parametrize("recipe_id", ["all-minilm-l6-v2.demo", "qwen3.6-27b.nvfp4"])
def test_the_source_reads_as_it_was_written(shared: RunningService, recipe_id: str) -> None:
    page = _page(shared, f"/recipes/{recipe_id}")
    lines = re.findall(r'<span class="line" id="L(\d+)">(.*?)\n</span>', page, re.DOTALL)
    assert [number for number, _ in lines] == [str(number + 1) for number in range(len(lines))]
    assert "\n".join(_text(line) for _, line in lines) == registered_text(recipe_id).removesuffix("\n")
    assert 'class="nt"' in page


def test_lines_keep_everything_that_yaml_can_hold() -> None:
    text = '\n# <script>\nkey: "\\u2028 &amp; é"  \n\n  - [a, {b: 1}]\n|\n\ttab\n\n\n'
    lines = highlighted_lines(readable({}, text))
    assert [_text(line) for line in lines] == text.removesuffix("\n").split("\n")
    assert not any("<script" in line for line in lines)
    long = "x: " + "y" * 400_000
    assert highlighted_lines(readable({}, long)) == (long,)


@pytest.mark.parametrize("line", ["", "#" + "-" * 100])
def test_of_a_text_of_very_many_lines_the_first_are_shown(shared: RunningService, line: str) -> None:
    text = _yaml(_document(id="many-lines", title=f"of {len(line)}", revision=1 + len(line)))
    text += f"{line}\n" * (MOST_SHOWN_LINES + 5)
    assert _send(shared, text).status_code == 303
    page = _page(shared, "/recipes/many-lines")
    assert page.count('<span class="line"') == MOST_SHOWN_LINES
    beyond = text.count("\n") - MOST_SHOWN_LINES
    assert f"{beyond} more lines are not shown here" in _text(page)
    answer = _send(shared, "\n" * 500_000)
    assert answer.status_code == 422
    assert len(re.findall("<span[^>]*>[0-9]+</span>", answer.text)) == MOST_SHOWN_LINES


def test_a_recipe_is_stored_by_the_form(shared: RunningService) -> None:
    text = _yaml(_document(id="by-form"))
    answer = _send(shared, text.replace("\n", "\r\n"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/recipes/by-form?revision=1")
    assert shared.client.get("/v1/recipes/by-form").json()["text"] == text
    assert "why &lt;b&gt;this&lt;/b&gt; &amp; that" in _page(shared, "/recipes/by-form")
    download = shared.client.get("/recipes/by-form/text")
    assert download.text == text
    assert "by-form.r1.yaml" in download.headers["content-disposition"]


def test_faults_are_shown_at_their_lines_and_the_text_is_kept(shared: RunningService) -> None:
    text = "# kept <i>\nrecipe: 1\nid: Own\nrevision: 0\n"
    answer = _send(shared, text)
    assert answer.status_code == 422
    for line in (3, 4):
        assert f'href="#line-{line}"' in answer.text
        assert f'<span id="line-{line}" class="faulty">' in answer.text
    [kept] = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", answer.text, re.DOTALL)
    assert unescape(kept) == text
    assert "What to do next" in answer.text


@pytest.mark.parametrize(
    ("members", "words"),
    [({"id": "taken", "title": "other"}, "next revision"), ({"id": "all-minilm-l6-v2.demo"}, "id of your own")],
)
def test_what_cannot_be_stored_is_told_with_what_to_do(
    shared: RunningService, members: dict[str, Any], words: str
) -> None:
    _send(shared, _yaml(_document(id="taken")))
    answer = _send(shared, _yaml(_document(**members)))
    assert answer.status_code == 409
    assert words in answer.text


def test_the_form_begins_with_another_recipe(shared: RunningService) -> None:
    page = _page(shared, "/store-recipe?like=all-minilm-l6-v2.demo")
    [text] = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert unescape(text) == registered_text("all-minilm-l6-v2.demo")
    _page(shared, "/store-recipe?like=none-such", 404)


def test_the_expansion_has_every_object_in_words(shared: RunningService) -> None:
    page = _text(_page(shared, "/recipes/all-minilm-l6-v2.demo/expansion"))
    assert "concat(base:encoder.layer.0.attention.self.query.weight, base:encoder.layer.0.attention.self.key" in page
    assert "92 of 92" in page
    chosen = _page(shared, "/recipes/all-minilm-l6-v2.demo/expansion?text=ENCODER/3&format=Q4G64_F16S")
    assert re.findall(r'<th scope="row">(encoder[^<]*)</th>', chosen) == ["encoder/3/attention/query_key"]


def test_a_long_expansion_comes_in_parts(shared: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.dashboard.object_rows.MOST_ROWS", 50)
    path, found = "/recipes/all-minilm-l6-v2.demo/expansion?", list[str]()
    while True:
        page = _page(shared, path)
        found += re.findall(r'<tr><td class="number">(\d+)</td>', page)
        following = re.search(r'href="([^"]*)" rel="next"', page)
        if following is None:
            break
        path = unescape(following[1])
    assert found == [str(number) for number in range(92)]


def test_two_revisions_are_compared_with_signs(shared: RunningService) -> None:
    for revision, title in ((1, "first"), (2, "second"), (3, "third")):
        _send(shared, _yaml(_document(revision, id="changing", title=title)))
    page = _page(shared, "/recipes/changing/differences")
    assert "From changing, revision 2, to revision 3" in _text(page)
    assert "<del>title: second</del>" in page
    assert "<ins>title: third</ins>" in page
    assert page.count("removed</span>") == page.count("added</span>") == 2
    far = _page(shared, "/recipes/changing/differences?revision=3&other=changing&other_revision=1")
    assert "<del>title: first</del>" in far
    same = _page(shared, "/recipes/changing/differences?revision=3&other=changing&other_revision=3")
    assert "They are the same" in same
    other = _page(shared, "/recipes/changing/differences?other=all-minilm-l6-v2.demo")
    assert "From all-minilm-l6-v2.demo, revision 1, to changing, revision 3" in _text(other)
    _page(shared, "/recipes/changing/differences?other=none-such", 404)
    _page(shared, "/recipes/changing/differences?other_revision=9", 404)


def test_json_is_compared_with_yaml_as_json(shared: RunningService) -> None:
    _send(shared, _yaml(_document(1, id="mixed")))
    shared.client.post("/v1/recipes", json=_document(2, id="mixed"))
    page = _page(shared, "/recipes/mixed/differences")
    assert "their JSON is compared" in page
    assert "<del> &#34;revision&#34;: 1,</del>" in page


def test_differences_have_the_lines_of_both() -> None:
    old, new = [f"line {number}" for number in range(40)], [f"line {number}" for number in range(40)]
    new[20:21] = ["changed", "and more"]
    [group] = differences(old, new)
    assert [line for line in group if line.sign != "same"] == [
        DifferenceLine("removed", 21, None, "line 20"),
        DifferenceLine("added", None, 21, "changed"),
        DifferenceLine("added", None, 22, "and more"),
    ]
    assert group[0] == DifferenceLine("same", 18, 18, "line 17")
    assert group[-1] == DifferenceLine("same", 24, 25, "line 23")
    with pytest.raises(ValueError, match=f"expected at most {MOST_LINES} lines"):
        differences(old, ["x"] * (MOST_LINES + 1))


def test_a_revision_and_then_a_recipe_is_deleted(shared: RunningService) -> None:
    for revision in (1, 2):
        _send(shared, _yaml(_document(revision, id="going")))
    asked = _page(shared, "/recipes/going/delete?revision=2")
    assert "Delete revision 2 for good" in asked
    assert "Delete all 2 revisions for good" in asked
    first = shared.client.post("/recipes/going/delete?revision=2", headers=PAGE)
    assert (first.status_code, first.headers["location"]) == (303, "/recipes/going")
    assert shared.client.get("/v1/recipes/going").json()["revisions"] == [1]
    second = shared.client.post("/recipes/going/delete", headers=PAGE)
    assert (second.status_code, second.headers["location"]) == (303, "/recipes")
    _page(shared, "/recipes/going", 404)


def test_a_registered_recipe_is_not_deleted(shared: RunningService) -> None:
    page = _page(shared, "/recipes/all-minilm-l6-v2.demo/delete")
    assert "cannot be deleted" in page
    assert 'action="/recipes/all-minilm-l6-v2.demo/delete"' not in page
    assert shared.client.post("/recipes/all-minilm-l6-v2.demo/delete", headers=PAGE).status_code == 409


def test_a_page_of_another_origin_changes_nothing(shared: RunningService) -> None:
    headers = {**PAGE, "origin": "https://evil.example"}
    for path in ("/store-recipe", "/recipes/going/delete"):
        assert shared.client.post(path, headers=headers).status_code == 403


def test_a_token_for_reading_is_offered_nothing_to_change(tmp_path: Path) -> None:
    with running_service(tmp_path / "data", tokens=TOKENS) as service:
        for path in ("/recipes", "/recipes/all-minilm-l6-v2.demo", "/store-recipe", "/inspect"):
            page = service.client.get(path, headers={**PAGE, **bearer(READ)})
            assert page.status_code == 200
            assert 'method="post" action="/store-recipe"' not in page.text
            assert 'method="post" action="/inspect"' not in page.text
            assert 'href="/store-recipe' not in page.text


def test_a_fault_leads_to_its_place_in_the_text(browser: Browser, shared: RunningService) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{shared.client.base_url}/store-recipe")
    page.get_by_label("Text of the recipe").fill("recipe: 1\nid: fine\nrevision: 0\n")
    page.get_by_role("button", name="Check and store").click()
    page.get_by_role("link", name="Line 3, column 1").click()
    text = page.get_by_label("Text of the recipe")
    expect(text).to_be_focused()
    assert text.evaluate("element => element.selectionStart") == len("recipe: 1\nid: fine\n")
    context.close()
