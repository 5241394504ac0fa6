"""The faults of one recipe and what its expansion has cost, so that both stay bounded: recipe.md (Limits)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NoReturn

from schemas.errors import Fault, RecipeError
from schemas.recipe.limits import (
    CANONICAL_BYTES,
    EXPANSION_STEPS,
    EXPRESSION_NODES,
    FAULTS,
    LOOP_TURNS,
    OBJECTS,
)
from schemas.recipe.pointer import NodePath, pointer

SHOWN = 16
"""Known names that a message lists."""

NODE_BYTES = 16
"""The least that a node of an expression adds to the canonical form, names apart."""

EXPECTED = "a recipe in the recipe language, version 1"


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message for a name outside of a set of names."""
    names = list(islice(known, SHOWN + 1))
    listed = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "") if names else "none"
    return f"unknown {what} {name!r}; known: {listed}"


class FaultList:
    """Faults in the order found, each once: the turns of a loop repeat what its body has wrong."""

    def __init__(self, where: str, faults: Iterable[Fault]) -> None:
        self._where = where
        self._faults: dict[Fault, None] = {}
        for fault in faults:
            self._take(fault)

    def __bool__(self) -> bool:
        return bool(self._faults)

    def add(self, path: NodePath | None, message: str) -> None:
        """Takes a fault in. Raises RecipeError once there are too many to be of use."""
        self._take(Fault(pointer(path), message))

    def add_at(self, at: str, message: str) -> None:
        """The same, by JSON pointer."""
        self._take(Fault(at, message))

    def stop(self, path: NodePath | None, message: str) -> NoReturn:
        """Raises RecipeError with all faults so far and this one: there is no going on."""
        self._faults[Fault(pointer(path), message)] = None
        raise self.error()

    def error(self) -> RecipeError:
        return RecipeError(self._where, tuple(self._faults), expected=EXPECTED)

    def _take(self, fault: Fault) -> None:
        self._faults[fault] = None
        if len(self._faults) >= FAULTS:
            self.stop(None, f"the limit of {FAULTS:,} faults is reached; more are not looked for")


class Budget:
    """What expansion has made so far. Every method raises RecipeError past the limit that it counts towards."""

    def __init__(self, faults: FaultList) -> None:
        self._faults = faults
        self._objects = 0
        self._turns = 0
        self._nodes = 0
        self._steps = 0
        self._bytes = 0

    def object(self, path: NodePath) -> None:
        self._objects += 1
        if self._objects > OBJECTS:
            self._faults.stop(path, f"the limit of {OBJECTS:,} objects is passed")

    def turn(self, path: NodePath) -> None:
        self._turns += 1
        if self._turns > LOOP_TURNS:
            self._faults.stop(path, f"the limit of {LOOP_TURNS:,} loop turns is passed")

    def node(self, path: NodePath) -> None:
        """One node of an expression, its names apart."""
        self._nodes += 1
        self._bytes += NODE_BYTES
        if self._nodes > EXPRESSION_NODES or self._bytes > CANONICAL_BYTES:
            self.room_for_nodes(0, path)
            self.canonical_bytes(0, path)

    def room_for_nodes(self, count: int, path: NodePath) -> None:
        """At least so many nodes are about to come."""
        if self._nodes + count > EXPRESSION_NODES:
            self._faults.stop(path, f"the limit of {EXPRESSION_NODES:,} expression nodes is passed")

    def steps(self, count: int, path: NodePath | None) -> None:
        """Work that leaves nothing behind: entries visited, conditions tried, long lists, texts and formulas."""
        self._steps += count
        if self._steps > EXPANSION_STEPS:
            self._faults.stop(path, f"the limit of {EXPANSION_STEPS:,} steps of expansion is passed")

    def canonical_bytes(self, least: int, path: NodePath) -> None:
        """At least so many bytes of canonical form will come of a node."""
        self._bytes += least
        if self._bytes > CANONICAL_BYTES:
            self._faults.stop(path, f"the limit of {CANONICAL_BYTES // 2**20} MiB of canonical form is passed")
