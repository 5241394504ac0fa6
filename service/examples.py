"""Examples of bodies and answers in the description of the interface, from examples.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any

import yaml

from schemas.problems import MEDIA_TYPE
from service.problems import status_problem

_PAGE = "Page_"


def add_examples(described: dict[str, Any]) -> None:
    """Adds one to each body and each answer of a description that there is one for."""
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            place = f"{method.upper()} {path}"
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                _add(operation["requestBody"], kind, _example(f"{place} {kind}", content))
            for status, response in operation["responses"].items():
                for kind, content in response.get("content", {}).items():
                    _add(response, kind, _problem(status) if kind == MEDIA_TYPE else _example(place, content))


def _add(body: dict[str, Any], kind: str, example: object) -> None:
    """Adds an example of one kind to what may have that kind in common with others."""
    if example is not None:
        body["content"] = {**body["content"], kind: {**body["content"][kind], "example": example}}


def _problem(status: str) -> object:
    if status == str(HTTPStatus.UNPROCESSABLE_ENTITY.value):
        return _examples()["Problem"]
    found = HTTPStatus(int(status))
    return status_problem(found, "").model_dump(mode="json", exclude_none=True)


def _example(place: str, content: Mapping[str, Any]) -> object:
    return _examples().get(place, _schema_example(content.get("schema", {})))


def _schema_example(schema: Mapping[str, Any]) -> object:
    name = schema.get("$ref", "").rpartition("/")[2] or schema.get("title", "")
    if name.startswith(_PAGE):
        item = _examples().get(name.removeprefix(_PAGE).removesuffix("_"))
        return None if item is None else {"items": [item], "next": None}
    if "anyOf" in schema:
        return next(filter(None, map(_schema_example, schema["anyOf"])), None)
    return _examples().get(name)


@cache
def _examples() -> Mapping[str, Any]:
    text = files("service").joinpath("examples.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found
