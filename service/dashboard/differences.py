"""What differs between two texts, line by line, with some of what is the same around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

MOST_LINES = 5000
"""Of either text: finding what is the same may take the square of it."""
_AROUND = 3

Sign = Literal["same", "removed", "added"]


@dataclass(frozen=True, slots=True)
class DifferenceLine:
    """One line with its numbers, from 1, in the older and in the newer text, where it stands in them."""

    sign: Sign
    old: int | None
    new: int | None
    text: str


def differences(old: Sequence[str], new: Sequence[str]) -> list[list[DifferenceLine]]:
    """The places where lines differ, in order. Raises ValueError for more than MOST_LINES lines."""
    if max(len(old), len(new)) > MOST_LINES:
        raise ValueError(f"expected at most {MOST_LINES} lines, found {max(len(old), len(new))}")
    groups = SequenceMatcher(None, old, new).get_grouped_opcodes(_AROUND)
    return [[line for opcode in group for line in _lines(opcode, old, new)] for group in groups]


def _lines(opcode: tuple[str, int, int, int, int], old: Sequence[str], new: Sequence[str]) -> Iterator[DifferenceLine]:
    kind, old_start, old_stop, new_start, new_stop = opcode
    if kind == "equal":
        for index, number in enumerate(range(old_start, old_stop)):
            yield DifferenceLine("same", number + 1, new_start + index + 1, old[number])
        return
    for number in range(old_start, old_stop):
        yield DifferenceLine("removed", number + 1, None, old[number])
    for number in range(new_start, new_stop):
        yield DifferenceLine("added", None, number + 1, new[number])
