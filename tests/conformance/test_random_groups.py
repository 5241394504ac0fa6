"""Encoder, verifier and oracle on groups that nobody chose."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance import native
from tests.conformance.blocks import FP8_ROW, SCHEMES, Block
from tests.conformance.words import DTYPES, SIGN
from tests.instruction_sets import RUNNABLE, using
from tests.oracle.casts import FLOATS


def words_about(dtype: str, exponent: int, spread: int) -> st.SearchStrategy[int]:
    """Words of both signs with biased exponents up to `spread` below `exponent`."""
    format = FLOATS[dtype]
    low = max(exponent - spread, 0) << format.fraction_bits
    high = (exponent + 1 << format.fraction_bits) - 1
    magnitudes = st.integers(low, high)
    return st.builds(lambda magnitude, negative: magnitude | negative * SIGN[dtype], magnitudes, st.booleans())


@st.composite
def blocks(draw: st.DrawFn, format: str, dtype: str) -> Block:
    """Rows of magnitudes in one narrow or wide band, subnormals included, with zeros, or of any words at all."""
    k, n = draw(st.integers(1, 140)), draw(st.integers(1, 2))
    exponent = draw(st.integers(0, FLOATS[dtype].top_exponent - 1))
    about = words_about(dtype, exponent, draw(st.sampled_from([0, 1, 4, 12, 300])))
    zeros = st.sampled_from([0, SIGN[dtype]])
    anything = st.integers(0, (1 << FLOATS[dtype].bits) - 1)
    words = draw(st.lists(draw(st.sampled_from([about, about | zeros, anything])), min_size=n * k, max_size=n * k))
    return Block(f"{format} {dtype} [{n},{k}]", format, dtype, k, tuple(words))


@pytest.mark.parametrize("format", [*SCHEMES, FP8_ROW])
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_encoder_verifier_and_oracle_agree(format: str, dtype: str, data: st.DataObject) -> None:
    block = data.draw(blocks(format, dtype))
    for name in RUNNABLE:
        with using(name):
            assert native.encode(block) == block.verdict
            derivation = native.derive(block, block.planes)
        assert derivation.mismatch is None
        assert native.refusal(derivation.fault) == block.refusal
