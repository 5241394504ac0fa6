"""The words that a value must have, by the verifier's own reading of sources and expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import gcd
from typing import Protocol

import numpy as np
import numpy.typing as npt

from schemas.errors import VerificationError
from schemas.recipe.expanded import Cast, DraftIds, Reciprocal, ReciprocalRule, Tensor
from schemas.source_dtypes import ELEMENT_BYTES, SourceDtype
from workers import _native
from workers.engine.recipe.inference import Typed
from workers.engine.scratch import Bytes, Scratch
from workers.engine.verify.location import Path, Positions, granule, locate, paths

WINDOW_BYTES = 8 << 20
"""Most that one read takes in at a time."""
DENSE = 32
"""A read takes in at most this many times what is wanted, unless it is small anyway."""
SMALL_BYTES = 64 << 10


class Leaves(Protocol):
    """What the verifier reads: source tensors by position, and the row lists and ids of the recipe, derived again."""

    def read(self, source: str, tensor: str, offset: int, out: Bytes) -> None:
        """Fills `out` from byte `offset` of the tensor on."""

    def rows(self, name: str) -> Positions:
        """The row numbers in the I32 object of this name."""

    def draft_ids(self, op: DraftIds) -> Bytes:
        """The little-endian I32 words of the selection."""


def width(node: Typed) -> int:
    """Bytes an element of a plain value."""
    if not isinstance(node.dtype, SourceDtype):
        raise TypeError(f"a {node.dtype} value has no single element width")
    return ELEMENT_BYTES[node.dtype]


def evaluate(name: str, node: Typed, start: int, out: Bytes, leaves: Leaves, scratch: Scratch) -> None:
    """Fills `out` with elements of a value from `start` (C order) on, as the bytes that must have been stored of them.

    Raises VerificationError, naming the object, where a cast or reciprocal does not take what the source holds.
    """

    def words(path: Path, found: Bytes) -> Bytes:
        leaf = path.leaf.op
        where = f"object {name}, source tensor {leaf.source}:{leaf.tensor}" if isinstance(leaf, Tensor) else name
        for number, change in enumerate(path.changes):
            derived = scratch.take(f"change {number}", found.size // width(change.of[0]) * width(change))
            _change(found, change, where, derived)
            found = derived
        return found

    _assemble(node, start, out, width(node), leaves, scratch, words)


def evaluate_exactly(node: Typed, start: int, stop: int, leaves: Leaves, scratch: Scratch) -> npt.NDArray[np.float64]:
    """The same elements without any rounding, in binary64: for error statistics."""

    def values(path: Path, found: Bytes) -> Bytes:
        exact = _values(found, path.leaf)
        for change in path.changes:
            if isinstance(change.op, Reciprocal):
                exact = 1.0 / exact
        return exact.view(np.uint8)

    out = np.empty(8 * (stop - start), np.uint8)
    _assemble(node, start, out, 8, leaves, scratch, values)
    return out.view(np.float64)


def _assemble(
    node: Typed,
    start: int,
    out: Bytes,
    size: int,
    leaves: Leaves,
    scratch: Scratch,
    result_of: Callable[[Path, Bytes], Bytes],
) -> None:
    """Elements of `size` bytes each: what `result_of` makes of the words of each path's leaf that the value holds."""
    stop = start + out.size // size
    unit = gcd(granule(node), start, stop)
    numbers, found = locate(node, np.arange(start, stop, unit, dtype=np.int64), leaves.rows)
    units = out.reshape(numbers.size, unit * size)
    for number, path in enumerate(paths(node)):
        here = np.flatnonzero(numbers == number)
        for chosen, low, count in _reads(here, found, unit, width(path.leaf)):
            in_order = not np.any(np.diff(found[chosen]) != unit)
            alone = in_order and chosen.size == numbers.size and not np.any(np.diff(chosen) != 1)
            if alone and not path.changes and size == width(path.leaf):
                _read_leaf(path.leaf, low, out, leaves)
                return
            words = scratch.take("leaf", count * width(path.leaf))
            _read_leaf(path.leaf, low, words, leaves)
            if not in_order:
                windows = np.lib.stride_tricks.sliding_window_view(words, unit * width(path.leaf))
                words = windows[(found[chosen] - low) * width(path.leaf)].reshape(-1)
            units[chosen] = result_of(path, words).reshape(chosen.size, unit * size)


def _values(words: Bytes, leaf: Typed) -> npt.NDArray[np.float64]:
    match leaf.dtype:
        case SourceDtype.BF16:
            return (words.view("<u2").astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        case SourceDtype.F16 | SourceDtype.F32 | SourceDtype.F64:
            return words.view(f"<f{width(leaf)}").astype(np.float64)
        case _:
            raise TypeError(f"{leaf.dtype} is no floating-point dtype")


def _reads(here: Positions, found: Positions, unit: int, size: int) -> Iterator[tuple[Positions, int, int]]:
    """Groups the granules `here` into reads: (granules, first position, elements), each dense or small."""
    pending = [here[np.argsort(found[here], kind="stable")]] if here.size else []
    while pending:
        chosen = pending.pop()
        low, high = int(found[chosen[0]]), int(found[chosen[-1]]) + unit
        span = (high - low) * size
        dense = span <= WINDOW_BYTES and (span <= SMALL_BYTES or span <= DENSE * chosen.size * unit * size)
        if dense or chosen.size == 1:
            yield chosen, low, high - low
        else:
            middle = chosen.size // 2
            pending += [chosen[middle:], chosen[:middle]]


def _read_leaf(leaf: Typed, start: int, out: Bytes, leaves: Leaves) -> None:
    """Fills `out` with the words of a leaf from element `start` on."""
    match leaf.op:
        case Tensor(tensor, source):
            leaves.read(source, tensor, start * width(leaf), out)
        case DraftIds() as op:
            out[:] = leaves.draft_ids(op)[4 * start : 4 * start + out.size]
        case _:
            raise TypeError(f"{leaf.op} is no leaf")


def _change(words: Bytes, change: Typed, where: str, derived: Bytes) -> None:
    """Fills `derived` with what a cast or reciprocal makes of words."""
    match change.op:
        case Cast(_, to, by):
            before = change.of[0]
            fault = _native.derive_cast(words, str(before.dtype), str(to), str(by), derived)
            if fault is not None:
                found = f"word 0x{fault.word:x} ({fault.kind})"
                raise VerificationError(where, expected=f"a value that casting to {to} by {by} takes", found=found)
        case Reciprocal(_, by):
            derived[:] = derived_divisor(bytes(words), by, where)
        case _:
            raise TypeError(f"{change.op} changes no words")


def derived_divisor(word: bytes, rule: ReciprocalRule, where: str) -> Bytes:
    """round_f32(1 / m) of one binary32 word, by exact rational arithmetic."""
    bits = int.from_bytes(word, "little")
    divisor = _reciprocal_bits(bits)
    if divisor is None or (rule is ReciprocalRule.EXACT and _reciprocal_bits(divisor) != bits):
        raise VerificationError(where, expected=f"a multiplier with {rule} reciprocal", found=f"word 0x{bits:08x}")
    return np.frombuffer(divisor.to_bytes(4, "little"), np.uint8)


def _reciprocal_bits(bits: int) -> int | None:
    """The word nearest to the reciprocal of a positive finite word, ties to even; None where there is none."""
    if not 0 < bits < 0x7F800000:
        return None
    exact = 1 / _positive_value(bits)
    low, high = 0, 0x7F800000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _positive_value(middle) <= exact else (low, middle)
    # The midpoint to infinity is where the next binade would begin: half an ulp above the largest finite value.
    below, above = exact - _positive_value(low), _positive_value(high) - exact
    nearest = low if below < above or (below == above and low % 2 == 0) else high
    return nearest if 0 < nearest < 0x7F800000 else None


def _positive_value(bits: int) -> Fraction:
    """The value of a non-negative binary32 word, where 0x7f800000 counts as 2^128."""
    exponent, fraction = bits >> 23, bits & 0x7FFFFF
    if exponent == 0:
        return Fraction(fraction, 2**149)
    return Fraction(2**23 + fraction) * Fraction(2) ** (exponent - 150)
