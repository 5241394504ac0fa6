"""Examples in the description of the interface: there is one of everything, each is as its schema says, and what they
show of recipes is what the service answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.running_service import RunningService, running_service

_WITHOUT = {"application/octet-stream", "multipart/byteranges"}
"""Files: no example shows them better than what is said of them."""


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningService, dict[str, Any]]]:
    with running_service(tmp_path_factory.mktemp("service") / "data") as service:
        yield service, service.client.get("/openapi.json").json()


def _contents(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Place, media type and content of each body and each answer."""
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            bodies = {"request": operation.get("requestBody", {}), **operation["responses"]}
            for what, body in bodies.items():
                for kind, content in body.get("content", {}).items():
                    yield f"{method} {path} {what}", kind, content


def test_everything_has_an_example_that_is_as_its_schema_says(
    described: tuple[RunningService, dict[str, Any]],
) -> None:
    _, description = described
    seen = 0
    for place, kind, content in _contents(description):
        if kind in _WITHOUT:
            continue
        assert "example" in content, f"{place} {kind}"
        schema = {**content.get("schema", {}), "components": description["components"]}
        faults = [error.message for error in Draft202012Validator(schema).iter_errors(content["example"])]
        assert faults == [], f"{place} {kind}"
        seen += 1
    assert seen > 100


def test_a_problem_s_example_has_its_status(described: tuple[RunningService, dict[str, Any]]) -> None:
    for place, kind, content in _contents(described[1]):
        if kind == "application/problem+json":
            assert str(content["example"]["status"]) == place.rpartition(" ")[2]


@pytest.mark.parametrize("kind", ["application/yaml", "application/json"])
def test_the_recipe_that_is_shown_is_stored_as_it_is_shown(
    described: tuple[RunningService, dict[str, Any]], kind: str
) -> None:
    service, description = described
    operation = description["paths"]["/v1/recipes"]["post"]
    example = operation["requestBody"]["content"][kind]["example"]
    sent = {"content": example} if isinstance(example, str) else {"json": example}
    answer = service.client.post("/v1/recipes", headers={"content-type": kind}, **sent)
    assert answer.status_code in {200, 201}
    shown = operation["responses"]["201"]["content"]["application/json"]["example"]
    assert {**answer.json(), "created_at": None} == {**shown, "created_at": None}
