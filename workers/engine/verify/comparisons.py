"""Which values must be equal word for word: the operands of `same`, and the object's `equals` (recipe.md)."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.recipe.expanded import Fp8Row, Nvfp4, Same
from workers.engine.recipe.inference import Typed


def compared_values(value: Typed, equals: tuple[Typed, ...]) -> Iterator[tuple[Typed, Typed]]:
    """Pairs of plain values of equal size. Quantized values are compared by codes and by scales; that the divisors of
    those agree follows from each being compared with the one stored divisor."""
    for one in (value, *equals):
        yield from _same(one)
    for other in equals:
        if isinstance(value.op, Nvfp4 | Fp8Row):
            yield from zip(value.of[:2], other.of[:2], strict=True)
        else:
            yield value, other


def _same(value: Typed) -> Iterator[tuple[Typed, Typed]]:
    if isinstance(value.op, Same):
        for other in value.of[1:]:
            yield value.of[0], other
    for child in value.of:
        yield from _same(child)
