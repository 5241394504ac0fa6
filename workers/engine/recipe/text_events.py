"""What both spellings of a recipe come down to: a stream of events, from which data is built or places are found."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from schemas.errors import Fault, RecipeError
from schemas.recipe.limits import DOCUMENT_LEVELS, NUMERAL_CHARACTERS
from schemas.recipe.pointer import NodePath, escape, pointer
from workers.engine.recipe.fault_list import EXPECTED


class Kind(Enum):
    OBJECT = auto()
    LIST = auto()
    END = auto()
    MEMBER = auto()
    SCALAR = auto()


class Event(NamedTuple):
    """One step through a document: `value` is that of a scalar or the name of a member, `start` its first character,
    `end` the one after its last."""

    kind: Kind
    value: object
    start: int
    end: int


class Place(NamedTuple):
    """Line and column, both from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True)
class RecipeText:
    """The text of a recipe, and where it is from."""

    text: str
    where: str

    def place(self, index: int) -> Place:
        """Where a character stands."""
        line_start = self.text.rfind("\n", 0, index) + 1
        return Place(self.text.count("\n", 0, index) + 1, index - line_start + 1)

    def error(self, index: int, message: str, path: NodePath | None = None) -> RecipeError:
        """The error for a text that gives no document."""
        fault = Fault(pointer(path), f"{self.place(index)}: {message}")
        return RecipeError(self.where, [fault], expected=EXPECTED)

    def integer(self, digits: str, index: int, *, base: int = 10) -> int:
        """Raises RecipeError for an integer of more than 1000 characters."""
        self._check_length(digits, index)
        return int(digits, base)

    def real(self, numeral: str, index: int) -> float:
        """Raises RecipeError for a number of more than 1000 characters, and for one past binary64."""
        self._check_length(numeral, index)
        value = float(numeral)
        if not math.isfinite(value):
            raise self.error(index, f"the number {numeral} is too large")
        return value

    def _check_length(self, numeral: str, index: int) -> None:
        if len(numeral) > NUMERAL_CHARACTERS:
            raise self.error(index, f"a number of {len(numeral)} characters; the limit is {NUMERAL_CHARACTERS}")


class _Open:
    """A list or object that is being filled; `named` gives the characters at which its members are named."""

    def __init__(self, container: dict[str, object] | list[object], path: NodePath | None) -> None:
        self.container = container
        self.path = path
        self.named: dict[str, int] = {}
        self._member = ""

    def name(self, member: str, index: int, source: RecipeText) -> None:
        if member in self.named:
            first = source.place(self.named[member])
            message = f"the member {member[:60]!r} stands twice in one object; first at {first}"
            raise source.error(index, message, (self.path, member))
        self.named[member] = index
        self._member = member

    def take(self, value: object) -> NodePath:
        if isinstance(self.container, list):
            self.container.append(value)
            return self.path, len(self.container) - 1
        self.container[self._member] = value
        return self.path, self._member


def build(events: Iterable[Event], source: RecipeText) -> object:
    """The data that events spell.

    Raises RecipeError for a member named twice, for nesting past 100 levels, and where there are no events.
    """
    root: list[object] = []
    stack = [_Open(root, None)]
    for kind, value, index, _ in events:
        innermost = stack[-1]
        if kind is Kind.END:
            stack.pop()
        elif kind is Kind.MEMBER:
            innermost.name(str(value), index, source)
        elif kind is Kind.SCALAR:
            innermost.take(value)
        else:
            if len(stack) > DOCUMENT_LEVELS:
                raise source.error(index, f"the limit of {DOCUMENT_LEVELS} levels of nesting is passed")
            container: dict[str, object] | list[object] = {} if kind is Kind.OBJECT else []
            path = innermost.take(container)
            stack.append(_Open(container, path if len(stack) > 1 else None))
    if not root:
        raise source.error(0, "no document: the text is empty")
    return root[0]


def locate(events: Iterable[Event], wanted: Collection[str]) -> dict[str, int]:
    """The characters at which the nodes of some JSON pointers begin; for a member, where it is named."""
    found: dict[str, int] = {}
    for at, event in _pointed(events):
        if at in wanted:
            found.setdefault(at, event.start)
    return found


def scalar_spans(events: Iterable[Event], wanted: Collection[str]) -> dict[str, slice]:
    """The characters that spell the scalars of some JSON pointers."""
    return {
        at: slice(event.start, event.end)
        for at, event in _pointed(events)
        if event.kind is Kind.SCALAR and at in wanted
    }


def _pointed(events: Iterable[Event]) -> Iterator[tuple[str, Event]]:
    """Each event but the ends with the JSON pointer of its node; a member has that of its value."""
    stack: list[list[str | int]] = []  # of each open container its pointer, and its next item or current member
    for event in events:
        if event.kind is Kind.END:
            stack.pop()
            continue
        if event.kind is Kind.MEMBER:
            stack[-1][1] = str(event.value)
        at = f"{stack[-1][0]}/{escape(stack[-1][1])}" if stack else ""
        yield at, event
        if event.kind is Kind.MEMBER:
            continue
        if stack and isinstance(stack[-1][1], int):
            stack[-1][1] += 1
        if event.kind is not Kind.SCALAR:
            stack.append([at, 0])
