"""The reciprocal of recipe.md: multipliers of upstream checkpoints turned into divisors."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import WordError
from schemas.recipe.expanded import ReciprocalRule
from tests.conformance.words import NONFINITE, scattered_words, with_neighbours, word
from tests.oracle.casts import reciprocal
from tests.oracle.faults import OracleRefusal
from tests.oracle.words import BINARY32, exact
from workers.engine.reciprocal import reciprocal_word

BOUNDARIES = [
    *with_neighbours(word("F32", 1), 2),
    *with_neighbours(word("F32", Fraction(1, 3 << 20) * 3), 2),
    *with_neighbours(0x00200000, 2),  # 2^-128, whose reciprocal overflows
    *with_neighbours(0x00800000, 2),
    *(0, 1, 2, 0x7F7FFFFF, 0x7F7FFFFE, 0x80000000, 0x80000001, 0xBF800000, *NONFINITE["F32"]),
    *scattered_words("F32", 40, 1, exponents=range(120, 135)),
]


def check(multiplier: int, rule: ReciprocalRule) -> None:
    data = multiplier.to_bytes(4, "little")
    try:
        expected = reciprocal(multiplier, str(rule))
    except OracleRefusal:
        with pytest.raises(WordError, match="source scale"):
            reciprocal_word(data, rule, "source scale")
        return
    made = reciprocal_word(data, rule, "source scale")
    assert int.from_bytes(made.divisor, "little") == expected.divisor, f"{multiplier:08X}"
    assert made.multiplier_value == exact(BINARY32, multiplier)
    assert made.divisor_value == exact(BINARY32, expected.divisor)
    assert abs(Fraction(made.relative_error) - expected.relative_error) <= Fraction(1, 1 << 52)


@pytest.mark.parametrize("rule", ReciprocalRule)
@pytest.mark.parametrize("multiplier", sorted(set(BOUNDARIES)), ids=lambda multiplier: f"{multiplier:08X}")
def test_boundaries(multiplier: int, rule: ReciprocalRule) -> None:
    check(multiplier, rule)


@pytest.mark.parametrize("rule", ReciprocalRule)
@given(multiplier=st.integers(0, (1 << 32) - 1))
def test_any_word(rule: ReciprocalRule, multiplier: int) -> None:
    check(multiplier, rule)
