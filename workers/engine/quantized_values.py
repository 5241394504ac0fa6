"""Whether an already quantized value takes its parts as their checkpoint stores them (targets.md, Already quantized
sources): global scales by their own convention, and codes, scales and divisors of the same linears.

What this refuses has legal words throughout: it would pass every later check and give wrong weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest

from schemas.errors import Fault
from schemas.recipe.expanded import (
    DivisorConvention,
    ExpandedSource,
    Fp8Row,
    Nvfp4,
    Quantization,
    Reciprocal,
    Tensor,
)
from workers.engine.recipe.inference import Typed, TypedObject

INPUT_DIVISOR = "/input_scale_divisor"
"""What the name of an object ends in that holds the divisor of a linear's inputs."""

STORED = {
    Quantization.COMPRESSED_TENSORS: DivisorConvention.DIVISORS,
    Quantization.MODELOPT: DivisorConvention.MULTIPLIERS,
}


def value_faults(one: TypedObject, sources: Mapping[str, ExpandedSource]) -> Iterator[Fault]:
    """The faults of an object in what it takes of sources whose `quantization` is said."""
    at = one.spec.at
    for value in (one.value, *one.equals):
        if any(sources[tensor.source].quantization is Quantization.NONE for tensor in _tensors(value)):
            continue
        if one.spec.name.endswith(INPUT_DIVISOR):
            yield from _convention_faults(at, value, DivisorConvention.DIVISORS, sources)
        if not isinstance(value.op, Nvfp4 | Fp8Row):
            continue
        codes, scales = (_linears(part) for part in value.of[:2])
        for place, (mine, theirs) in enumerate(zip_longest(codes, scales, fillvalue="none")):
            if mine != theirs:
                expected = f"scales of the linears of the codes, in their order: {mine} in place {place}"
                yield Fault(at, f"expected {expected}, found {theirs}")
                break
        if isinstance(value.op, Nvfp4):
            yield from _factor_faults(at, value.op.convention, set(codes), value.of[2:])
            for factor in value.of[2:]:
                yield from _convention_faults(at, factor, value.op.convention, sources)


def _factor_faults(
    at: str, convention: DivisorConvention, linears: set[str], factors: Iterable[Typed]
) -> Iterator[Fault]:
    """Every linear's own global scale takes part, or nothing shows that they agree; and no other one does."""
    taken = {linear for factor in factors for linear in _linears(factor)}
    for linear in sorted(linears - taken):
        yield Fault(at, f"expected the global scale of {linear} among {convention}, found none of it")
    for linear in sorted(taken - linears):
        yield Fault(at, f"expected {convention} of the linears of the codes, found one of {linear}")


def _convention_faults(
    at: str, factor: Typed, taken: DivisorConvention, sources: Mapping[str, ExpandedSource]
) -> Iterator[Fault]:
    if isinstance(factor.op, Tensor):
        source = sources[factor.op.source]
        stored = STORED[source.quantization]
        if stored is not taken:
            expected = f"global scales of {source.name} among {stored}, as {source.quantization} stores them"
            yield Fault(at, f"expected {expected}, found {factor.op.tensor} among {taken}")
    if isinstance(factor.op, Reciprocal):
        taken = next(other for other in DivisorConvention if other is not taken)
    for child in factor.of:
        yield from _convention_faults(at, child, taken, sources)


def _tensors(value: Typed) -> Iterator[Tensor]:
    """The source tensors of a value, in the order of its operands."""
    if isinstance(value.op, Tensor):
        yield value.op
    for child in value.of:
        yield from _tensors(child)


def _linears(value: Typed) -> list[str]:
    return [tensor.tensor.rpartition(".")[0] for tensor in _tensors(value)]
