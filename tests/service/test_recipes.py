"""Recipes that are stored over HTTP and used by their ids, on both databases."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from httpx import Response
from sqlalchemy import select

from schemas.tables import RecipeRow
from tests.running_service import RunningService, assert_problem, running_service
from tests.service.test_authentication import READ, SUBMIT, TOKENS, bearer
from tests.small_job import recipe_document
from workers.engine.recipe.registered import registered_ids, registered_text

YAML = {"content-type": "application/yaml"}
ID = "small.mixed"


def _document(revision: int = 3, **members: Any) -> dict[str, Any]:
    return {**recipe_document(), "revision": revision, **members}


def _post(service: RunningService, document: dict[str, Any]) -> Response:
    return service.client.post("/v1/recipes", json=document)


def _shown(service: RunningService, query: str = "") -> dict[str, Any]:
    shown: dict[str, Any] = service.client.get(f"/v1/recipes/{ID}{query}").json()
    return shown


def _documents(service: RunningService) -> int:
    with service.database.reading() as session:
        return len(session.scalars(select(RecipeRow.sha256)).all())


def test_a_recipe_is_stored_once_and_shown(either: RunningService) -> None:
    first = _post(either, _document())
    again = _post(either, dict(reversed(_document().items())))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.headers["location"] == again.headers["location"] == f"/v1/recipes/{ID}?revision=3"
    assert first.json() == again.json()
    shown = either.client.get(first.headers["location"]).json()
    assert {name: shown[name] for name in first.json()} == first.json()
    assert (shown["registered"], shown["objects"]) == (False, 9)
    assert (shown["document"], shown["text"], shown["revisions"]) == (_document(), None, [3])


def test_yaml_is_kept_as_it_was_written(either: RunningService) -> None:
    text = f"# why it is as it is: ä\n{yaml.safe_dump(_document(), sort_keys=False)}"
    answer = either.client.post("/v1/recipes", content=text.encode(), headers=YAML)
    assert answer.status_code == 201
    assert (_shown(either)["text"], _shown(either)["document"]) == (text, _document())
    assert _post(either, _document()).status_code == 200, "the same document in another spelling"
    assert _shown(either)["text"] == text


def test_another_document_takes_another_revision(either: RunningService) -> None:
    _post(either, _document())
    assert_problem(_post(either, _document(title="another")), 409, "recipe-taken")
    assert _post(either, _document(4, title="another")).status_code == 201
    assert (_shown(either)["title"], _shown(either)["revisions"]) == ("another", [4, 3])
    assert _shown(either, "?revision=3")["title"] is None
    assert_problem(either.client.get(f"/v1/recipes/{ID}?revision=5"), 404, "not-found")


@pytest.mark.parametrize("recipe_id", registered_ids()[:1])
def test_registered_recipes_stay_as_they_are(either: RunningService, recipe_id: str) -> None:
    own = _document(id=recipe_id)
    assert_problem(_post(either, own), 409, "registered-recipe")
    same = either.client.post("/v1/recipes", content=registered_text(recipe_id).encode(), headers=YAML)
    assert_problem(same, 409, "registered-recipe")
    assert_problem(either.client.delete(f"/v1/recipes/{recipe_id}"), 409, "registered-recipe")
    shown = either.client.get(f"/v1/recipes/{recipe_id}?revision=1").json()
    assert (shown["registered"], shown["text"]) == (True, registered_text(recipe_id))
    assert_problem(either.client.get(f"/v1/recipes/{recipe_id}?revision=99"), 404, "not-found")


def test_recipes_are_deleted_one_revision_or_all(either: RunningService) -> None:
    for revision in (3, 4, 5):
        _post(either, _document(revision))
    assert either.client.delete(f"/v1/recipes/{ID}?revision=5").status_code == 204
    assert _shown(either)["revisions"] == [4, 3]
    assert_problem(either.client.delete(f"/v1/recipes/{ID}?revision=5"), 404, "not-found")
    assert either.client.delete(f"/v1/recipes/{ID}").status_code == 204
    assert_problem(either.client.get(f"/v1/recipes/{ID}"), 404, "not-found")
    assert_problem(either.client.delete(f"/v1/recipes/{ID}"), 404, "not-found")
    assert _documents(either) == 0


def test_a_job_takes_the_newest_stored_one_and_keeps_it(either: RunningService) -> None:
    for revision in (3, 4):
        _post(either, _document(revision))
    body = {"recipe": ID, "sources": {"base": "small"}}
    plan = either.client.post("/v1/plans", json=body).json()
    submitted = either.client.post("/v1/jobs", json=body).json()
    assert submitted["recipe"] == {"id": ID, "revision": 4, "sha256": _shown(either)["sha256"]}
    either.client.delete(f"/v1/recipes/{ID}")
    assert _documents(either) == 1
    done = either.work(submitted["id"])
    assert (done["state"], done["artifact"]["bytes"]) == ("ready", plan["file_bytes"])
    problem = assert_problem(either.client.post("/v1/jobs", json=body), 422, "recipe")
    assert [fault["at"] for fault in problem["errors"]] == ["/recipe"]
    either.client.delete(f"/v1/jobs/{submitted['id']}")
    assert _documents(either) == 0


def test_lists_go_by_pages_and_texts(either: RunningService) -> None:
    for name in ("zeta", "alpha", "qwen3.6-own"):
        _post(either, _document(id=name, title=f"All of {name.upper()}"))
    _post(either, _document(9, id="alpha"))
    expected = sorted([*registered_ids(), "zeta", "alpha", "qwen3.6-own"])
    found, query = [], "limit=2"
    while True:
        page = either.client.get(f"/v1/recipes?{query}").json()
        assert len(page["items"]) <= 2
        found += [recipe["id"] for recipe in page["items"]]
        if page["next"] is None:
            break
        query = f"limit=2&cursor={page['next']}"
    assert found == expected
    listed = either.client.get("/v1/recipes").json()["items"]
    assert {recipe["id"]: recipe["revision"] for recipe in listed if not recipe["registered"]} == {
        "alpha": 9, "qwen3.6-own": 3, "zeta": 3,
    }  # fmt: skip
    texts = {"of ZETA": ["zeta"], "OWN": ["qwen3.6-own"], "%": [], "minilm": ["all-minilm-l6-v2.demo"]}
    for text, ids in texts.items():
        page = either.client.get("/v1/recipes", params={"text": text}).json()
        assert [recipe["id"] for recipe in page["items"]] == ids


def test_every_fault_is_told_with_its_line(service: RunningService) -> None:
    text = "recipe: 1\nid: Own\nrevision: 0\nmodel_id: m\nweights_id: w\nsources: {}\nobjects: []\nevidence: []\n"
    answer = service.client.post("/v1/recipes", content=text, headers=YAML)
    problem = assert_problem(answer, 422, "recipe")
    told = {fault["at"]: (fault["line"], fault["column"]) for fault in problem["errors"]}
    assert told["/id"] == (2, 1)
    assert told["/revision"] == (3, 1)
    assert len(told) >= 3
    assert _documents(service) == 0


def test_faults_of_json_have_lines_too(service: RunningService) -> None:
    text = json.dumps(_document(revision=0), indent=1)
    headers = {"content-type": "application/json; charset=utf-8"}
    problem = assert_problem(service.client.post("/v1/recipes", content=text, headers=headers), 422, "recipe")
    [fault] = problem["errors"]
    line = text[: text.index('"revision"')].count("\n") + 1
    assert (fault["at"], fault["line"]) == ("/revision", line)


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("application/yaml", b"a: [1,\nb: }", "line 2"),
        ("application/yaml", b"\xff", "UTF-8"),
        ("application/yaml", b"", ""),
        ("application/yaml", b"- 1", "object"),
        ("application/json", b"recipe: 1", "JSON"),
        ("application/json", b"{", "JSON"),
        ("application/json", b'{"recipe": 1, "recipe": 1}', "recipe"),
        ("application/json", b"[]", "object"),
        ("application/json", b"[" * 50_000, "nest"),
        ("application/json", b'"\\ud800"', ""),
    ],
)
def test_a_text_that_is_no_recipe_is_refused(service: RunningService, kind: str, text: bytes, reason: str) -> None:
    answer = service.client.post("/v1/recipes", content=text, headers={"content-type": kind})
    problem = assert_problem(answer, 422, "recipe")
    assert any(reason in f"line {fault.get('line')}: {fault['message']}" for fault in problem["errors"]), problem


def test_other_content_is_refused(service: RunningService) -> None:
    for headers in ({"content-type": "text/plain"}, {"content-type": ""}):
        answer = service.client.post("/v1/recipes", content=b"recipe: 1", headers=headers)
        problem = assert_problem(answer, 415, "unsupported-media-type")
        assert "application/yaml" in problem["detail"]


@pytest.mark.parametrize("recipe_id", ["A", "a%00b", "%F0%9F%98%80", "a" * 101, "-a", "a%0a"])
def test_what_is_no_id_is_not_found(either: RunningService, recipe_id: str) -> None:
    for method in ("GET", "DELETE"):
        assert_problem(either.client.request(method, f"/v1/recipes/{recipe_id}"), 404, "not-found")


@pytest.mark.parametrize("query", ["cursor=A", "cursor=%00", "text=", "text=%00", "limit=0", "limit=x"])
def test_a_query_that_is_wrong_is_told(either: RunningService, query: str) -> None:
    assert_problem(either.client.get(f"/v1/recipes?{query}"), 422, "request")


def test_reading_and_writing_take_their_scopes(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running_service(tmp_path_factory.mktemp("service") / "data", tokens=TOKENS) as service:
        stored = service.client.post("/v1/recipes", json=_document(), headers=bearer(SUBMIT))
        assert stored.status_code == 201
        assert service.client.get(f"/v1/recipes/{ID}", headers=bearer(READ)).status_code == 200
        for answer in (
            service.client.post("/v1/recipes", json=_document(4), headers=bearer(READ)),
            service.client.delete(f"/v1/recipes/{ID}", headers=bearer(READ)),
        ):
            assert_problem(answer, 403, "forbidden")
        assert_problem(service.client.get("/v1/recipes"), 401, "unauthenticated")


def test_the_commands_of_the_page_store_and_show_a_recipe(service: RunningService, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    [commands] = re.findall(r"^## Recipes.*?```\n(.*?)```", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(_document(1)))
    here = commands.replace("localhost:8000", f"127.0.0.1:{service.client.base_url.port}").replace("\n", "\necho\n")
    done = subprocess.run(
        ["bash", "-euc", here],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "ID": ID},
        capture_output=True,
        text=True,
        check=True,
    )
    stored, shown = (json.loads(line) for line in done.stdout.splitlines() if line)
    assert {name: shown[name] for name in stored} == stored
    assert shown["document"] == _document(1)
