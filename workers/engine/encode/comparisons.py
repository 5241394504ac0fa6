"""What must be equal word for word before an object is made: operands of `same`, and the object's `equals`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod

from schemas.errors import WordError
from schemas.recipe.expanded import Nvfp4, Same
from workers import _native
from workers.engine.encode.blocks import divisor_word
from workers.engine.encode.evaluation import Evaluation, width
from workers.engine.encode.lifting import lifted
from workers.engine.planned_objects import PlannedTensor, walk
from workers.engine.recipe.inference import Typed
from workers.engine.scratch import Scratch

Comparison = Callable[[Evaluation, Scratch], None]
"""Compares a bounded run of two values. Raises WordError where they differ."""


def comparisons(planned: PlannedTensor, block_bytes: int) -> Iterator[Comparison]:
    """All that must be compared for an object, in blocks of so many bytes."""
    pairs = [
        (node.of[0], other, "same")
        for value in (planned.value, *planned.equals)
        for node in walk(value)
        if isinstance(node.op, Same)
        for other in node.of[1:]
    ]
    for other in planned.equals:
        if planned.is_copy:
            pairs += [(one, two, "equals") for one, two in zip(planned.value.of[:2], other.of[:2], strict=True)]
        else:
            pairs.append((planned.value, other, "equals"))
    for first, second, word in pairs:
        one, two = lifted(first), lifted(second)
        step = max(block_bytes // width(one), 1)
        total = prod(one.shape)
        for start in range(0, total, step):
            yield partial(_compare, one, two, word, start, min(step, total - start))
    if isinstance(planned.value.op, Nvfp4):
        yield from (partial(_compare_divisors, planned, other) for other in planned.equals)


def _compare(
    one: Typed, two: Typed, word: str, start: int, count: int, evaluation: Evaluation, scratch: Scratch
) -> None:
    size = width(one)
    first, other = scratch.take("first", count * size), scratch.take("other", count * size)
    evaluation.read(one, start, first)
    evaluation.read(two, start, other)
    mismatch = _native.compare_words(first, other, size, count)
    if mismatch is not None:
        at = start + mismatch.column
        raise WordError(
            evaluation.where(one, at),
            expected=f"under `{word}` the word of {evaluation.where(two, at)}, 0x{mismatch.found:x}",
            found=f"0x{mismatch.expected:x}",
        )


def _compare_divisors(planned: PlannedTensor, other: Typed, evaluation: Evaluation, _scratch: Scratch) -> None:
    mine, theirs = (divisor_word(value, evaluation, planned.name) for value in (planned.value, other))
    if mine != theirs:
        raise WordError(
            evaluation.where(planned.value.of[2], 0),
            expected=f"under `equals` the divisor of {evaluation.where(other.of[2], 0)}, {_hexadecimal(theirs)}",
            found=_hexadecimal(mine),
        )


def _hexadecimal(word: bytes) -> str:
    return f"0x{int.from_bytes(word, 'little'):08x}"
