"""Thousands of damaged recipes: each expands or gives faults that point into the document."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from schemas.errors import RecipeError
from workers.engine.recipe.document_text import read_text_document
from workers.engine.recipe.load import expand_document, load_recipe
from workers.engine.recipe.registered import registered_text

SAMPLE = registered_text("all-minilm-l6-v2.demo")

ODD_VALUES: list[object] = [
    None,
    True,
    -1,
    0,
    1,
    2**53,
    2**63,
    1.5,
    "",
    "=",
    "=H",
    "=H-99999",
    "{l}",
    "{",
    "x" * 600,
    "\0",
    "copy",
    "NVFP4",
    "I32",
    [],
    [0],
    ["=H", "{l}"],
    {},
    {"tensor": "w"},
    {"value": "rounded"},
    {"use": "norm"},
    {"from": 0, "to": 3},
    {"for": "l", "in": "all", "objects": []},
]

Place = tuple[Any, Any]
"""A container and the member name or index of one of its nodes."""


def places_in(node: object) -> list[Place]:
    found: list[Place] = []
    waiting = [node]
    while waiting:
        container = waiting.pop()
        members = container.items() if isinstance(container, dict) else enumerate(container)  # type: ignore[arg-type]
        for key, item in list(members):
            found.append((container, key))
            if isinstance(item, dict | list):
                waiting.append(item)
    return found


def replace_by_odd(rng: random.Random, places: list[Place]) -> None:
    container, key = rng.choice(places)
    container[key] = copy.deepcopy(rng.choice(ODD_VALUES))


def replace_by_other(rng: random.Random, places: list[Place]) -> None:
    (container, key), (other, other_key) = rng.choice(places), rng.choice(places)
    container[key] = copy.deepcopy(other[other_key])


def remove(rng: random.Random, places: list[Place]) -> None:
    container, key = rng.choice(places)
    del container[key]


def add_twice(rng: random.Random, places: list[Place]) -> None:
    container, key = rng.choice(places)
    if isinstance(container, list):
        container.insert(key, copy.deepcopy(container[key]))
    else:
        container[f"{key}2"] = container[key]


def rename(rng: random.Random, places: list[Place]) -> None:
    container, key = rng.choice(places)
    if isinstance(container, dict):
        container[rng.choice(["tensor", "value", "name", "for", "with", "from", "", "a/b"])] = container.pop(key)


MUTATIONS: list[Callable[[random.Random, list[Place]], None]] = [
    replace_by_odd,
    replace_by_odd,
    replace_by_other,
    remove,
    add_twice,
    rename,
]


def points_into(document: object, pointer: str) -> bool:
    node = document
    for escaped in pointer.split("/")[1:]:
        token = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and token.isdigit() and int(token) < len(node):
            node = node[int(token)]
        elif isinstance(node, dict) and token in node:
            node = node[token]
        else:
            return False
    return True


def check_mutation(seed: int) -> bool:
    """Damages the sample in one to four places; whether it still expands."""
    rng = random.Random(seed)  # noqa: S311 (repeatable damage, no secret)
    document = copy.deepcopy(read_text_document(SAMPLE, where="sample").data)
    for _ in range(rng.randint(1, 4)):
        rng.choice(MUTATIONS)(rng, places_in(document))
    try:
        expanded = expand_document(document, where="mutation")
    except RecipeError as error:
        assert error.faults
        for fault in error.faults:
            assert points_into(document, fault.at) or fault.at == "/evidence", (seed, fault)
            assert fault.message
        return False
    assert len(expanded.sha256) == 64
    return True


def check_text_mutation(seed: int) -> None:
    """Damages the text of the sample in one to four places."""
    rng = random.Random(seed)  # noqa: S311 (repeatable damage, no secret)
    text = SAMPLE
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        cut = rng.choice([0, 0, 1, 1, 2, 10, 40])
        insertion = rng.choice(
            ["", " ", "\n", ":", "-", "[", "}", "&a ", "*a", "!x ", '"', "'", "#", "\t", "é", "1", "="]
        )
        text = text[:at] + insertion + text[at + cut :]
    try:
        load_recipe(text, where="mutation")
    except RecipeError as error:
        assert all(fault.message for fault in error.faults)


@pytest.mark.parametrize("block", range(5))
def test_damaged_documents(block: int) -> None:
    outcomes = [check_mutation(seed) for seed in range(block * 60, (block + 1) * 60)]
    assert any(outcomes)
    assert not all(outcomes)


@pytest.mark.parametrize("block", range(3))
def test_damaged_texts(block: int) -> None:
    for seed in range(block * 50, (block + 1) * 50):
        check_text_mutation(seed)


@pytest.mark.soak
def test_three_thousand_damaged_documents() -> None:
    expanded = [check_mutation(seed) for seed in range(3000)]
    assert 0 < sum(expanded) < 3000


@pytest.mark.soak
def test_three_thousand_damaged_texts() -> None:
    for seed in range(3000):
        check_text_mutation(seed)
