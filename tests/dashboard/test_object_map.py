"""Where objects belong, and the map of them."""

from __future__ import annotations

import pytest

from service.dashboard.object_map import Cell, object_map
from service.dashboard.object_places import ObjectPlace, place_of


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("text/layers/7/attention/output", ObjectPlace("text/layers", 7, "attention/output")),
        ("text/layers/12/experts/3/up", ObjectPlace("text/layers", 12, "experts/3/up")),
        ("frontend/tokenizer.json", ObjectPlace("frontend", None, "tokenizer.json")),
        ("embedding", ObjectPlace("", None, "embedding")),
        ("layers/7", ObjectPlace("layers", None, "7")),
        ("7/up", ObjectPlace("7", None, "up")),
        ("a/\N{SUPERSCRIPT TWO}/b", ObjectPlace("a", None, "\N{SUPERSCRIPT TWO}/b")),
    ],
)
def test_a_name_tells_the_place(name: str, place: ObjectPlace) -> None:
    assert place_of(name) == place


def test_the_map_has_every_object_once_in_its_layer_and_role() -> None:
    names = ["embedding", "text/0/up", "text/0/down", "text/2/up", "vision/1/up", "head", "text/2/gate"]
    found = object_map([Cell(index, name, "pending") for index, name in enumerate(names)])
    assert [cell.name for cell in found.others] == ["embedding", "head"]
    text, vision = found.stacks
    assert (text.name, text.layers) == ("text", (0, 2))
    rows = {row.role: [cell and cell.name for cell in row.cells] for row in text.rows}
    assert list(rows.items()) == [
        ("up", ["text/0/up", "text/2/up"]),
        ("down", ["text/0/down", None]),
        ("gate", [None, "text/2/gate"]),
    ]
    assert (vision.name, vision.layers) == ("vision", (1,))


def test_names_that_share_nothing_make_no_map() -> None:
    names = ["text/0/up", *(f"wild/{number}/role-{number}" for number in range(9)), "text/1/up"]
    found = object_map([Cell(index, name, "pending") for index, name in enumerate(names)])
    assert [stack.name for stack in found.stacks] == ["text"]
    assert [cell.name for cell in found.others] == names[1:-1]
