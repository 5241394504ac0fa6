"""Recipes as a user's own: only what was asked for changes, in either spelling."""

from __future__ import annotations

import json
from dataclasses import replace
from difflib import ndiff

import pytest

from schemas.errors import RecipeError
from tests.targets.targets import IDS
from workers.engine.recipe.adaptation import adapt_recipe_text
from workers.engine.recipe.document_text import read_text_document
from workers.engine.recipe.load import load_recipe
from workers.engine.recipe.registered import load_registered, registered_text

DIGEST = "ab" * 32

TEXT = """\
# a comment, with id: in it
recipe: 1
id: {id} # of this recipe
revision: 1
model_id: m
weights_id: w
target:   {target}
let: {{ H: {H}, D: "=2*H",   set: [1, 2] }}
sources: {{ base: {{ kind: checkpoint }} }}
resources:
  - name: one
    source: base
    file: one.json
    sha256: {one}
  - {{ name: two, source: base, file: two.json, sha256: "{two}" }}
  - {{ name: three, source: base, file: three.json }}
objects:
  - {{ name: a, shape: ["=D"], format: BF16, value: {{ tensor: id }} }}
"""
WRITTEN = {"id": "before", "target": "null", "H": "4", "one": "1" * 63 + "e", "two": "2" * 64}
SPELLED = TEXT.format(**WRITTEN)


def adapted(text: str, id: str = "after", **changes: dict[str, object]) -> str:
    members: dict[str, dict[str, object]] = {"let": {}, "pins": {}, **changes}
    return adapt_recipe_text(text, where="test", id=id, **members)  # type: ignore[arg-type]


def test_only_the_scalars_asked_for_change() -> None:
    made = adapted(SPELLED, let={"H": 0, "D": 6}, pins={"one": DIGEST, "two": "3" * 64})
    assert made == TEXT.format(**{**WRITTEN, "id": "after", "H": "0", "one": DIGEST, "two": "3" * 64}).replace(
        '"=2*H"', "6"
    )


def test_nothing_but_the_id_changes_where_nothing_else_is_asked_for() -> None:
    assert adapted(SPELLED) == TEXT.format(**{**WRITTEN, "id": "after"})


@pytest.mark.parametrize("pin", ["4" * 64, "12e4" + "0" * 60, "1e" + "0" * 62])
def test_a_pin_that_would_read_as_a_number_is_quoted(pin: str) -> None:
    made = adapted(SPELLED, pins={"one": pin})
    assert made == TEXT.format(**{**WRITTEN, "id": "after", "one": f'"{pin}"'})


@pytest.mark.parametrize("id", ["null", "true", "12", "1.5"])
def test_an_id_that_would_read_as_something_else_is_quoted(id: str) -> None:
    assert adapted(SPELLED, id) == TEXT.format(**{**WRITTEN, "id": f'"{id}"'})


@pytest.mark.parametrize("written", ["'before'", '"before"', "!!before".strip("!")])
def test_an_id_in_any_style(written: str) -> None:
    text = TEXT.format(**{**WRITTEN, "id": written})
    expected = "after" if written[0].isalnum() else '"after"'
    assert adapted(text) == TEXT.format(**{**WRITTEN, "id": expected})


def test_an_id_in_a_block_and_line_ends_of_two_characters() -> None:
    text = SPELLED.replace("id: before # of this recipe", "id: >-\n  before").replace("\n", "\r\n")
    assert adapted(text) == text.replace("id: >-\r\n  before", 'id: "after"')


def test_characters_beyond_ascii_do_not_move_places() -> None:
    text = SPELLED.replace("a comment", "ein Wörtchen \U0001f600 dazu")
    assert adapted(text, let={"H": 7}) == text.replace("before", "after").replace("H: 4", "H: 7")


def test_json_stays_json() -> None:
    text = json.dumps(read_text_document(SPELLED, where="test").data, indent=3)
    made = adapted(text, let={"H": 12}, pins={"two": DIGEST})
    assert made == text.replace('"before"', '"after"').replace('"H": 4', '"H": 12').replace("2" * 64, DIGEST)


@pytest.mark.parametrize("id", IDS)
def test_a_registered_recipe_is_the_same_but_for_its_id(id: str) -> None:
    text = registered_text(id)
    made = adapted(text)
    assert [line for line in ndiff(text.splitlines(), made.splitlines()) if line[0] in "+-"] == [
        f"- id: {id}",
        "+ id: after",
    ]
    registered, own = load_registered(id), load_recipe(made, where="test")
    assert own == replace(registered, id="after", canonical=own.canonical, sha256=own.sha256)
    assert own.sha256 != registered.sha256


def test_other_sizes_make_no_claim_to_the_target() -> None:
    text = registered_text("qwen3.6-27b.groupwise-int")
    own = load_recipe(adapted(text, let={"layers": 8}), where="test")
    assert own.target is None
    assert not own.let_overridden
    overridden = load_registered("qwen3.6-27b.groupwise-int", let={"layers": 8})
    assert own == replace(
        overridden, id="after", target=None, let_overridden=False, canonical=own.canonical, sha256=own.sha256
    )


@pytest.mark.parametrize(
    ("changes", "at", "message"),
    [
        ({"let": {"Z": 1}}, "/let", "'Z'"),
        ({"let": {"set": 1}}, "/let/set", "is a set"),
        ({"pins": {"four": DIGEST}}, "/resources", "'four'"),
        ({"pins": {"three": DIGEST}}, "/resources/2", "found one without"),
        ({"pins": {"one": "short"}}, "/resources/0/sha256", "short"),
        ({"id": "No Id"}, "/id", "No Id"),
        ({"id": "a\nb: c"}, "/id", "b: c"),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(changes: dict[str, object], at: str, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        adapted(SPELLED, **changes)  # type: ignore[arg-type]
    [fault] = caught.value.faults
    assert fault.at == at
    assert message in fault.message
