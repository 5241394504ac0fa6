"""Whatever a config holds, it is told of as faults: nothing else is raised, and not after a long time."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from schemas.errors import ArchitectureError
from tests.architectures.models import (
    QWEN3_5,
    checkpoint_27b,
    checkpoint_35b,
    checkpoint_dflash,
    checkpoint_dflash2,
    documents,
    few_layers,
)

JUNK: list[object] = [
    None,
    True,
    0,
    -1,
    7,
    1.5,
    float("nan"),
    float("inf"),
    2**32 - 1,
    2**64,
    10**400,
    "",
    "\ud800",
    [],
    [None],
    [[]],
    [{}],
    [1, 2, 3],
    {},
    {"rope_theta": {}},
]


def paths(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every member of nested objects, and one that is not there."""
    if isinstance(value, dict):
        for name, member in (*value.items(), ("unheard_of", None)):
            yield (*path, name)
            yield from paths(member, (*path, name))


def with_junk(document: dict[str, Any], path: tuple[str, ...], junk: object) -> dict[str, Any]:
    copy = deepcopy(document)
    place = copy
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = junk
    return copy


@pytest.mark.parametrize("component", ["text", "vision", "mtp", "dflash"])
def test_junk_in_a_file(component: str) -> None:
    description, objects = few_layers().describe(), few_layers().objects()
    record = description.components[component]
    config = dict(record.config)
    for path in paths(config):
        if path == ("architectures",) and component == "text":
            continue
        at = "".join(f"/{name}" for name in ("components", component, "config", *path))
        for junk in JUNK:
            wrong = replace(record, config=with_junk(config, path, junk))
            read = replace(description, components={**description.components, component: wrong})
            found = [fault.at for fault in QWEN3_5.architecture_faults(read, objects)]
            if path[-1] == "unheard_of":
                assert found == [at]
            elif junk is None or isinstance(junk, float | str):
                assert any(one.startswith(at) for one in found) or junk == 1.5


@pytest.mark.parametrize(
    ("draft", "base", "own"),
    [("dflash", checkpoint_35b(), checkpoint_dflash()), ("dflash2", checkpoint_27b(), checkpoint_dflash2())],
)
def test_junk_in_a_checkpoint(draft: str, base: dict[str, Any], own: dict[str, Any]) -> None:
    offered = ("text", "vision", "mtp", draft)
    good = QWEN3_5.component_configs(offered, documents(offered, base, own))
    for junk in JUNK:
        for path in paths(base):
            found = derived(offered, with_junk(base, path, junk), own)
            assert found == good or path[-1] != "unheard_of"
        for path in paths(own):
            found = derived(offered, base, with_junk(own, path, junk))
            assert found == good or path[-1] != "unheard_of"


def derived(offered: tuple[str, ...], base: dict[str, Any], draft: dict[str, Any]) -> object:
    """The configs, or None where there are faults."""
    try:
        return QWEN3_5.component_configs(offered, documents(offered, base, draft))
    except ArchitectureError as error:
        assert error.faults
        return None
