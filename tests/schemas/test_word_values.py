"""Values of codes and scales as they are shown: the oracle's."""

from __future__ import annotations

import pytest

from schemas.registry import Format
from schemas.word_values import code_values, scale_bin
from tests.oracle.grouped import SCHEMES, Scheme
from tests.oracle.nvfp4 import decode_e2m1
from tests.oracle.words import BFLOAT16, BINARY16, E4M3FN, FloatFormat, decode, exact, signed_integer

FP8 = Format.FP8_E4M3FN_ROW_BF16S


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_codes_of_grouped_formats(scheme: Scheme) -> None:
    signed = [signed_integer(scheme.code_bits, word) for word in range(1 << scheme.code_bits)]
    assert code_values(Format(scheme.name)) == tuple(code if code >= scheme.qmin else None for code in signed)


def test_codes_of_scaled_floats() -> None:
    assert code_values(Format.NVFP4) == tuple(decode_e2m1(code) for code in range(16))
    found = code_values(FP8)
    for word in range(256):
        value = decode(E4M3FN, word)
        assert found[word] == (value.exact if value.finite else None)
    assert str(found[0x80]) == "-0.0"


@pytest.mark.parametrize(
    ("format", "words", "shift"),
    [(Format.Q4G64_F16S, BINARY16, 7), (FP8, BFLOAT16, 4), (Format.NVFP4, E4M3FN, 0)],
)
def test_bins_of_scales_cover_every_one_above_zero_once(format: Format, words: FloatFormat, shift: int) -> None:
    last = 0.0
    for number in range((words.nan_threshold - 1 >> shift) + 1):
        if number == 0 and shift == 0:
            continue  # of E4M3FN only zero is there
        bin_words = [word for word in range(number << shift, (number + 1) << shift) if word]
        first, final = scale_bin(format, number)
        assert first == exact(words, bin_words[0])
        assert final == exact(words, bin_words[-1])
        assert last < first <= final
        last = final
    assert last == exact(words, words.nan_threshold - 1)


def test_other_formats_have_neither() -> None:
    for format in (Format.BF16, Format.FP32, Format.I32):
        with pytest.raises(ValueError, match="no codes"):
            code_values(format)
        with pytest.raises(ValueError, match="no scales"):
            scale_bin(format, 1)
