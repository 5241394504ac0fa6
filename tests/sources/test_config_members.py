"""Expected members of config.json against those found (recipe.md, sources)."""

from __future__ import annotations

import json

import pytest

from workers.engine.sources.config_members import config_differences

EQUAL = [
    ("{}", '{"a": 1}'),
    ('{"a": 1}', '{"a": 1.0, "b": 2}'),
    ('{"a": 1e-6}', '{"a": 0.000001}'),
    ('{"a": {"b": {"c": "x"}}}', '{"z": 0, "a": {"y": 1, "b": {"c": "x", "d": null}}}'),
    ('{"a": [1, 2.0, [true, null]]}', '{"a": [1.0, 2, [true, null]]}'),
    ('{"a": [{"b": 1}]}', '{"a": [{"b": 1.0}]}'),
    ('{"a": null, "b": false, "c": ""}', '{"c": "", "b": false, "a": null}'),
    ('{"a": {}}', '{"a": {"b": 1}}'),
    ('{"a": 9007199254740992}', '{"a": 9007199254740992.0}'),
]

DIFFERENT = [
    ('{"a": 1}', '{"a": 2}', [("/a", "expected 1, found 2")]),
    ('{"a": 1}', '{"a": true}', [("/a", "expected 1, found true")]),
    ('{"a": 0}', '{"a": false}', [("/a", "expected 0, found false")]),
    ('{"a": true}', '{"a": 1}', [("/a", "expected true, found 1")]),
    ('{"a": "1"}', '{"a": 1}', [("/a", 'expected "1", found 1')]),
    ('{"a": null}', "{}", [("/a", "expected null, found no such member")]),
    ('{"a": null}', '{"a": false}', [("/a", "expected null, found false")]),
    (
        '{"a": 9007199254740993}',
        '{"a": 9007199254740992.0}',
        [("/a", "expected 9007199254740993, found 9007199254740992.0")],
    ),
    ('{"a": {"b": 1}}', '{"a": [1]}', [("/a", "expected an object of 1 member, found [1]")]),
    ('{"a": []}', '{"a": {"b": 1, "c": 2}}', [("/a", "expected [], found an object of 2 members")]),
    ('{"a": [1, 2]}', '{"a": [1, 2, 3]}', [("/a", "expected [1, 2], found [1, 2, 3]")]),
    ('{"a": [1, 2]}', '{"a": [2, 1]}', [("/a", "expected [1, 2], found [2, 1]")]),
    ('{"a": [true]}', '{"a": [1]}', [("/a", "expected [true], found [1]")]),
    ('{"a": [{"b": 1}]}', '{"a": [{"b": 1, "c": 2}]}', [("/a", 'expected [{"b": 1}], found [{"b": 1, "c": 2}]')]),
    ('{"a": [{"b": 1}]}', '{"a": [1]}', [("/a", 'expected [{"b": 1}], found [1]')]),
    ('{"a": 1}', '{"a": NaN}', [("/a", "expected 1, found NaN")]),
    (
        '{"x": 1, "t": {"a/b": 1, "c~d": {"e": "f"}, "same": 0}, "y": 2}',
        '{"x": 2, "t": {"a/b": 2, "c~d": {}, "same": 0}}',
        [
            ("/x", "expected 1, found 2"),
            ("/t/a~1b", "expected 1, found 2"),
            ("/t/c~0d/e", 'expected "f", found no such member'),
            ("/y", "expected 2, found no such member"),
        ],
    ),
]


@pytest.mark.parametrize(("expected", "found"), EQUAL)
def test_members_that_are_equal(expected: str, found: str) -> None:
    assert config_differences(json.loads(expected), json.loads(found)) == ()


@pytest.mark.parametrize(("expected", "found", "faults"), DIFFERENT)
def test_every_difference_at_its_place(expected: str, found: str, faults: list[tuple[str, str]]) -> None:
    differences = config_differences(json.loads(expected), json.loads(found))
    assert [(fault.at, fault.message) for fault in differences] == faults


def test_lists_of_the_recipe_may_be_tuples() -> None:
    assert config_differences({"a": (1, (2,))}, {"a": [1, [2]]}) == ()


def test_nesting_of_any_depth() -> None:
    def objects(depth: int, leaf: object) -> dict[str, object]:
        value: dict[str, object] = {"leaf": leaf}
        for _ in range(depth):
            value = {"a": value}
        return value

    def lists(depth: int, leaf: object) -> dict[str, object]:
        value = leaf
        for _ in range(depth):
            value = [value]
        return {"a": value}

    assert config_differences(objects(5000, 1), objects(5000, 1.0)) == ()
    (fault,) = config_differences(objects(5000, 1), objects(5000, 2))
    assert fault.at == "/a" * 5000 + "/leaf"
    assert config_differences(lists(5000, 1), lists(5000, 1)) == ()
    (fault,) = config_differences(lists(5000, 1), lists(5000, 2))
    assert fault.message == "expected a list nested too deep to show, found a list nested too deep to show"
