"""A multiplier turned into a divisor (recipe.md, values: `reciprocal`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from schemas.errors import WordError
from schemas.recipe.expanded import ReciprocalRule


@dataclass(frozen=True, slots=True)
class ReciprocalWord:
    """The divisor's binary32 word, little-endian, and both values."""

    divisor: bytes
    multiplier_value: float
    divisor_value: float

    @property
    def relative_error(self) -> float:
        """How far multiplier times divisor is from one, in binary64."""
        return abs(self.multiplier_value * self.divisor_value - 1.0)


def reciprocal_word(word: bytes, rule: ReciprocalRule, where: str) -> ReciprocalWord:
    """d = round_f32(1 / m) of one little-endian binary32 word m.

    Raises WordError unless m and d are finite and positive and, under `exact`, round_f32(1 / d) is m.
    """
    multiplier = np.frombuffer(word, "<f4")[0]
    if not (np.isfinite(multiplier) and multiplier > 0):
        raise WordError(where, expected="a finite multiplier above zero", found=_shown(multiplier))
    with np.errstate(over="ignore"):
        divisor = np.float32(1) / multiplier
    if not (np.isfinite(divisor) and divisor > 0):
        raise WordError(where, expected="a multiplier with a finite reciprocal", found=_shown(multiplier))
    with np.errstate(over="ignore"):
        back = np.float32(1) / divisor
    if rule is ReciprocalRule.EXACT and back != multiplier:
        raise WordError(
            where,
            expected=f"a multiplier that is the reciprocal of its reciprocal {_shown(divisor)}",
            found=f"{_shown(multiplier)} (its divisor gives back {_shown(back)}; `nearest` takes and records it)",
        )
    return ReciprocalWord(divisor.astype("<f4").tobytes(), float(multiplier), float(divisor))


def _shown(value: np.float32) -> str:
    return f"{float(value)!r} (word 0x{int(value.view(np.uint32)):08x})"
