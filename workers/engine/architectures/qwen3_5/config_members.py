"""Closed sets of config members: which there must be, and what value each may have (container-v3.md, 6)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from workers.engine.architectures.binary32 import to_binary32

U32_MAX = 2**32 - 1

Path = tuple[str | int, ...]
Members = Mapping[str, "Kind"]


@dataclass(frozen=True, slots=True)
class ConfigFault:
    """What is wrong at `path` inside the config of `component`."""

    component: str
    path: Path
    message: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: how a message names it, and whether a value is one."""

    expected: str
    holds: Callable[[object], bool]


def _is_integer(value: object, least: int) -> bool:
    # bool is a subclass of int, so isinstance would let true and false pass.
    return type(value) is int and least <= value <= U32_MAX


def _is_real(value: object) -> bool:
    if type(value) not in {int, float} or not isinstance(value, int | float):
        return False
    try:
        return 0 < to_binary32(value) < math.inf
    except OverflowError:
        return False


def _are(value: object, holds: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and all(holds(one) for one in value)


SIZE = Kind(f"an integer from 1 to {U32_MAX}", lambda value: _is_integer(value, 1))
INDEX = Kind(f"an integer from 0 to {U32_MAX}", lambda value: _is_integer(value, 0))
REAL = Kind("a positive number in the range of binary32", _is_real)
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
INDICES = Kind(f"a list of integers from 0 to {U32_MAX}", lambda value: _are(value, INDEX.holds))
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
UNIT_REAL = Kind("a number above 0 and at most 1", lambda value: _is_real(value) and value <= 1)  # type: ignore[operator]


def one_of(*names: str) -> Kind:
    """A list with one name, which is one of these."""
    expected = " or ".join(json.dumps([name]) for name in names)
    return Kind(expected, lambda value: isinstance(value, list) and len(value) == 1 and value[0] in names)


def text_equal(name: str) -> Kind:
    """This text alone."""
    return Kind(json.dumps(name), lambda value: isinstance(value, str) and value == name)


def list_of(*names: str) -> Kind:
    """A list of any length, of these texts alone."""
    return Kind(
        f"a list of {' and '.join(names)}",
        lambda value: _are(value, lambda one: isinstance(one, str) and one in names),
    )


def shown(value: object) -> str:
    """A value as a message shows it: short, whatever it is."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 100 else f"{text[:100]}…"


@dataclass(frozen=True, slots=True)
class Checked:
    """One config object under check: the sizes of those of its members that are as they must be."""

    component: str
    config: Mapping[str, object]
    path: Path = ()

    def members(self, members: Members, optional: Members | None = None) -> Iterator[ConfigFault]:
        """A fault for each member that is missing, unknown, or of another kind."""
        for name, kind in members.items():
            if name not in self.config:
                yield self.fault(f"expected {kind.expected}, found no such member", name)
        allowed = {**members, **(optional or {})}
        for name, value in self.config.items():
            if name not in allowed:
                yield self.fault("expected no such member, since the set of members is closed", name)
            elif not allowed[name].holds(value):
                yield self.fault(f"expected {allowed[name].expected}, found {shown(value)}", name)

    def sizes(self, *names: str) -> tuple[int, ...] | None:
        """These members, if all of them are sizes."""
        values = [self.config.get(name) for name in names]
        return tuple(value for value in values if isinstance(value, int)) if all(map(SIZE.holds, values)) else None

    def fault(self, message: str, *path: str | int) -> ConfigFault:
        return ConfigFault(self.component, (*self.path, *path), message)
