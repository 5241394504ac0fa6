"""Cases of FP8_ROW_MAXABS_RECIP_RNE_V1 (targets.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from tests.conformance.blocks import FP8_ROW, Block, Family
from tests.conformance.words import (
    DTYPES,
    NONFINITE,
    ORDINARY_EXPONENTS,
    SIGN,
    power_of_two,
    scattered_words,
    with_neighbours,
    word,
)
from tests.oracle.words import E4M3FN, exact

FP8_RECIPROCAL_CODES = (
    Block("BF16 3FB6 3829 in row FP8", FP8_ROW, "BF16", 2, (0x3FB6, 0x3829)),
    Block("BF16 3FC4 3A4B in row FP8", FP8_ROW, "BF16", 2, (0x3FC4, 0x3A4B)),
)
"""Multiplying by round_f32(1/scale) and dividing by scale give different codes for the second element."""


def _block(dtype: str, what: str, k: int, words: Sequence[int]) -> Block:
    return Block(f"{FP8_ROW} {dtype}: {what}", FP8_ROW, dtype, k, tuple(words))


def _zeros(dtype: str) -> Iterator[Block]:
    sign = SIGN[dtype]
    yield _block(dtype, "all zero", 5, [0] * 5)
    yield _block(dtype, "zeros of both signs give scale +0 and codes 00", 3, [0, sign, 0, sign, sign, sign])
    yield _block(dtype, "zeros beside others keep their sign", 4, [word(dtype, 1), 0, sign, sign | 1])
    if dtype == "F32":  # up to half of the least BF16, which ties to zero
        yield _block(dtype, "a row that rounds to BF16 zero", 4, [1, 0x80000001, 0x00008000, 0x80008000])


def _codes(dtype: str) -> Iterator[Block]:
    """With a scale of exactly 2^e: every code, every midpoint between neighbouring codes, and the words next to it."""
    values = [exact(E4M3FN, code) for code in range(0x7F)]
    for exponent in (0,) if dtype == "F16" else (-60, 0, 60):
        unit = power_of_two(exponent)
        words = [word(dtype, value * unit) for value in values]
        words += [SIGN[dtype] | positive for positive in words]
        yield _block(dtype, f"every code, scale 2^{exponent}", len(words), words)
        middles = [(low + high) / 2 for low, high in pairwise(values)]
        near = [lane for middle in middles for lane in with_neighbours(word(dtype, middle * unit))]
        signed = [lane | sign for lane in near for sign in (0, SIGN[dtype])]
        yield _block(dtype, f"codes at ties, scale 2^{exponent}", 1 + len(signed), [words[0x7E], *signed])


def _source_rounding() -> Iterator[Block]:
    """F32 and F16 sources are rounded to BF16 first, ties to even."""
    middles = [0x3F808000, 0x3F818000, 0x3F828000, 0x40008000, 0x00018000]
    near = [lane for middle in middles for lane in with_neighbours(middle)]
    yield _block("F32", "elements at BF16 ties", 2 * len(near), [lane | sign for lane in near for sign in (0, 1 << 31)])
    yield _block("F32", "maximum at BF16 ties", 1, near[:-3])
    f16_near = [lane for middle in (0x3C04, 0x3C0C, 0x3C14) for lane in with_neighbours(middle)]
    yield _block("F16", "elements at BF16 ties", len(f16_near), f16_near)
    yield _block("F32", "largest source that rounds to a finite BF16", 1, [0x7F7F7FFF, 0xFF7F7FFF])
    yield _block("F32", "smallest source that rounds to BF16 infinity", 2, [0, 0x7F7F8000])
    yield _block("F32", "largest finite source rounds to BF16 infinity", 2, [0x3F800000, 0xFF7FFFFF])


def _small_rows(dtype: str) -> Iterator[Block]:
    """Scale words up to 0x0020 have no finite reciprocal; 0x0021 has."""
    smallest, largest = (word(dtype, 448 * scale * power_of_two(-133)) for scale in (0x21, 0x20))
    yield _block(dtype, "scale 0021 passes", 3, [smallest, smallest - 1, SIGN[dtype] | 1])
    yield _block(dtype, "scale 0020 fails", 2, [0, largest])
    least = 0x00008001 if dtype == "F32" else 0x0001
    yield _block(dtype, "least source fails after the rescue", 1, [word(dtype, 1), least])


def _nonfinite(dtype: str) -> Iterator[Block]:
    one = word(dtype, 1)
    for bad in NONFINITE[dtype]:
        for column in (0, 7, 64, 66):
            row = [one] * 67
            row[column] = bad
            yield _block(dtype, f"{bad:X} at row 1, column {column}", 67, [one] * 67 + row)
    yield _block(dtype, "several: the first is named", 3, [one, NONFINITE[dtype][2], NONFINITE[dtype][0]])


def _widths(dtype: str) -> Iterator[Block]:
    """Every K from 1 to 257."""
    n = 2 if dtype == "BF16" else 1
    for k in range(1, 258):
        yield _block(dtype, f"K={k}", k, scattered_words(dtype, n * k, k, exponents=ORDINARY_EXPONENTS[dtype]))


def _magnitudes(dtype: str) -> Iterator[Block]:
    finite = {"BF16": range(255), "F16": range(31), "F32": range(254)}[dtype]
    for what, exponents in (
        ("any magnitude", finite),
        ("near the least scale", range(12) if dtype == "F16" else range(5, 25)),
        ("subnormal codes", range(12) if dtype == "F16" else range(25)),
    ):
        yield _block(dtype, what, 130, scattered_words(dtype, 650, 7, exponents=exponents))


_BY_DTYPE: dict[str, Callable[[str], Iterator[Block]]] = {
    "zeros": _zeros,
    "codes": _codes,
    "infinity and NaN": _nonfinite,
    "widths": _widths,
    "mixed magnitudes": _magnitudes,
}

FP8_ROW_FAMILIES: dict[str, Family] = {
    f"{FP8_ROW} codes by reciprocal": lambda: FP8_RECIPROCAL_CODES,
    f"{FP8_ROW} rounding of the source": _source_rounding,
    f"{FP8_ROW} BF16 small rows": partial(_small_rows, "BF16"),
    f"{FP8_ROW} F32 small rows": partial(_small_rows, "F32"),
}
for _dtype in DTYPES:
    for _title, _by_dtype in _BY_DTYPE.items():
        FP8_ROW_FAMILIES[f"{FP8_ROW} {_dtype} {_title}"] = partial(_by_dtype, _dtype)
