"""Whether a recipe takes NVFP4's global scales as what their checkpoint stores: divisors or multipliers (targets.md,
Already quantized sources).

Both are positive F32 words, so that a wrong one passes every later check and gives weights that are wrong by a factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from schemas.errors import Fault
from schemas.recipe.expanded import (
    DivisorConvention,
    ExpandedSource,
    Nvfp4,
    Quantization,
    Reciprocal,
    Tensor,
)
from workers.engine.recipe.inference import Typed

STORED = {
    Quantization.COMPRESSED_TENSORS: DivisorConvention.DIVISORS,
    Quantization.MODELOPT: DivisorConvention.MULTIPLIERS,
}


def convention_faults(at: str, values: Iterable[Typed], sources: Mapping[str, ExpandedSource]) -> Iterator[Fault]:
    """A fault for each global scale that the object at `at` takes by the other convention than its source's."""
    for value in values:
        if isinstance(value.op, Nvfp4):
            for factor in value.of[2:]:
                yield from _faults(at, factor, value.op.convention, sources)


def _faults(at: str, factor: Typed, taken: DivisorConvention, sources: Mapping[str, ExpandedSource]) -> Iterator[Fault]:
    if isinstance(factor.op, Tensor):
        source = sources[factor.op.source]
        stored = STORED.get(source.quantization, taken)
        if stored is not taken:
            expected = f"global scales of {source.name} among {stored}, as {source.quantization} stores them"
            yield Fault(at, f"expected {expected}, found {factor.op.tensor} among {taken}")
    if isinstance(factor.op, Reciprocal):
        taken = next(other for other in DivisorConvention if other is not taken)
    for child in factor.of:
        yield from _faults(at, child, taken, sources)
