"""Cases of MAXABS_F16_RECIP_RNE_V1 (numeric-formats.md, section 7), by the boundaries that section 12 names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

from tests.conformance.blocks import Block, Family
from tests.conformance.words import (
    DTYPES,
    NONFINITE,
    ORDINARY_EXPONENTS,
    SIGN,
    WITHOUT_OVERFLOW,
    power_of_two,
    scattered_words,
    with_neighbours,
    word,
)
from tests.oracle.grouped import Q4, Q5, Q6, SCHEMES, W8, Scheme

DIVISION_SCALES = (
    Block("BF16 3636 in Q4", Q4.name, "BF16", 1, (0x3636,)),
    Block("BF16 3616 in Q5", Q5.name, "BF16", 1, (0x3616,)),
    Block("F32 3F7EE701 in Q6", Q6.name, "F32", 1, (0x3F7EE701,)),
)
"""Dividing by qmax and multiplying by 1/qmax give different scales."""

RECIPROCAL_CODES = (
    Block("BF16 3FB6 3FA9 in Q4", Q4.name, "BF16", 2, (0x3FB6, 0x3FA9)),
    Block("BF16 3FC3 3F29 in Q5", Q5.name, "BF16", 2, (0x3FC3, 0x3F29)),
    Block("BF16 3FD9 3EB6 in Q6", Q6.name, "BF16", 2, (0x3FD9, 0x3EB6)),
    Block("F32 4304B480 42829D80 in W8", W8.name, "F32", 2, (0x4304B480, 0x42829D80)),
)
"""Multiplying by round_f32(1/scale) and dividing by scale give different codes for the second element."""


def _block(scheme: Scheme, dtype: str, what: str, k: int, words: Sequence[int]) -> Block:
    return Block(f"{scheme.name} {dtype}: {what}", scheme.name, dtype, k, tuple(words))


def _zeros(scheme: Scheme, dtype: str) -> Iterator[Block]:
    sign, group = SIGN[dtype], scheme.group
    one, two = word(dtype, 1), word(dtype, 2)
    yield _block(scheme, dtype, "all zero", group, [0] * group)
    yield _block(scheme, dtype, "all negative zero", group, [sign] * group)
    yield _block(scheme, dtype, "zeros of both signs, partial group", 3, [0, sign, 0, sign, 0, sign])
    mixed = [one, *[0] * (group - 1), *[sign] * group, sign, sign | two, *[0] * (group - 2)]
    yield _block(scheme, dtype, "zero groups between others", 3 * group, mixed)


def _code_ties(scheme: Scheme, dtype: str) -> Iterator[Block]:
    """Every half-integral quotient and the words next to it, with a scale of exactly 2^e."""
    for exponent in (-13, 0, 8) if dtype == "F16" else (-24, -14, -13, 0, 8):
        unit = power_of_two(exponent)
        lanes = []
        for below in range(scheme.qmax):
            magnitudes = with_neighbours(word(dtype, (below + Fraction(1, 2)) * unit))
            lanes += [magnitude | sign for magnitude in magnitudes for sign in (0, SIGN[dtype])]
        amax, words = word(dtype, scheme.qmax * unit), []
        for start in range(0, len(lanes), scheme.group - 1):
            row = [amax, *lanes[start : start + scheme.group - 1]]
            words += row + [0] * (scheme.group - len(row))
        yield _block(scheme, dtype, f"scale 2^{exponent}", scheme.group, words)


def _scale_ties(scheme: Scheme) -> Iterator[Block]:
    """Lone groups whose raw scale lies halfway between two binary16 words, and the sources next to them."""
    spacing = Fraction(1, 2048)
    normal = [(1 + (2 * m + 1) * spacing) * power_of_two(e) for e in (-14, 0, 15) for m in (0, 1, 2, 1022)]
    subnormal = [Fraction(2 * m + 1, 2) * power_of_two(-24) for m in (0, 1, 2, 3, 1021, 1022, 1023)]
    for what, halfway in (("normal", normal), ("subnormal", subnormal)):
        sources = [near for raw in halfway for near in with_neighbours(word("F32", raw * scheme.qmax), 2)]
        signed = [near | sign for near in sources for sign in (0, SIGN["F32"])]
        yield _block(scheme, "F32", f"{what} scales", 1, signed)


def _rescue(scheme: Scheme, dtype: str) -> Iterator[Block]:
    """From the smallest source to the first whose scale is 2^-24 without help, and values under a rescued scale."""
    least = [1, 2, 3, SIGN[dtype] | 1]
    if dtype == "F16":  # halves of 2^-24 are no binary16: the last rescued source and the first that is not
        half = scheme.qmax // 2
        yield _block(scheme, dtype, "smallest sources", 1, [*least, half, half + 1])
        yield _block(scheme, dtype, "codes", 6, [1, 2, 3, *(SIGN[dtype] | q for q in (1, 2, 3))])
        return
    turning = word(dtype, scheme.qmax * power_of_two(-25))
    yield _block(scheme, dtype, "smallest sources", 1, [*least, *with_neighbours(turning, 2)])
    quarters = [Fraction(sign * q, 4) * power_of_two(-24) for q in (1, 2, 3) for sign in (1, -1)]
    yield _block(scheme, dtype, "codes", len(quarters), [word(dtype, quarter) for quarter in quarters])


def _clamp(scheme: Scheme) -> Iterator[Block]:
    """A scale of 2^-24 rounded down from 1.375 * 2^-24: quotients pass the ends of the interval before the clamp."""
    half = Fraction(1, 2)
    quotients = [Fraction(11 * scheme.qmax, 8), scheme.qmin - half, scheme.qmin + half, Fraction(scheme.qmin)]
    quotients += [scheme.qmax + half, scheme.qmax - half, Fraction(scheme.qmax)]
    words = [word("F32", sign * quotient * power_of_two(-24)) for quotient in quotients for sign in (1, -1)]
    yield _block(scheme, "F32", "both ends", len(words), words)


def smallest_failing_word(scheme: Scheme, dtype: str) -> int:
    """The least BF16 or F32 source of at least 65520 * qmax: from 65520 on, binary16 is infinity."""
    exact = word("F32", 65520 * scheme.qmax)
    return exact if dtype == "F32" else -(-exact >> 16)


def _scale_limit(scheme: Scheme, dtype: str) -> Iterator[Block]:
    """The largest source whose scale is finite, and the next, which fails."""
    if dtype == "F16":
        yield _block(scheme, dtype, "largest source passes", 1, [0x7BFF, 0xFBFF])
        return
    fails = smallest_failing_word(scheme, dtype)
    yield _block(scheme, dtype, "largest source that passes", 1, [fails - 1, fails - 2, SIGN[dtype] | (fails - 1)])
    yield _block(scheme, dtype, "smallest source that fails", 1, [fails])
    yield _block(scheme, dtype, "largest finite source fails", 1, [SIGN[dtype] | (NONFINITE[dtype][0] - 1)])
    row = [0] * (2 * scheme.group + 3)
    row[scheme.group + 1 : scheme.group + 4] = [fails - 1, SIGN[dtype] | fails, fails]
    yield _block(scheme, dtype, "fails in a later group and row", len(row), [0] * len(row) + row)


def _nonfinite(scheme: Scheme, dtype: str) -> Iterator[Block]:
    k = 2 * scheme.group + 5
    one = word(dtype, 1)
    for bad in NONFINITE[dtype]:
        for column in (0, 1, scheme.group - 1, scheme.group, k - 1):
            row = [one] * k
            row[column] = bad
            yield _block(scheme, dtype, f"{bad:X} at row 1, column {column}", k, [one] * k + row)
    yield _block(scheme, dtype, "alone", 1, [NONFINITE[dtype][0]])
    several = [one] * (2 * scheme.group)
    several[3], several[4], several[scheme.group] = NONFINITE[dtype][2], NONFINITE[dtype][1], NONFINITE[dtype][0]
    yield _block(scheme, dtype, "several: the first is named", 2 * scheme.group, several)


def _first_fault(scheme: Scheme) -> Iterator[Block]:
    """Groups come in order: an overflow in one is found before an infinity in the next, and not beside one."""
    huge, infinite, zeros = 0x7F7FFFFF, NONFINITE["F32"][0], [0] * (scheme.group - 1)
    yield _block(scheme, "F32", "overflow, then infinity", 2 * scheme.group, [huge, *zeros, infinite, *zeros])
    yield _block(scheme, "F32", "overflow and infinity in one group", scheme.group, [huge, infinite, *zeros[1:]])


def _partial_groups(scheme: Scheme, dtype: str) -> Iterator[Block]:
    """Every K from 1 to 257."""
    n = 2 if dtype == "BF16" else 1
    for k in range(1, 258):
        words = scattered_words(dtype, n * k, k, exponents=ORDINARY_EXPONENTS[dtype])
        yield _block(scheme, dtype, f"K={k}", k, words)


def _magnitudes(scheme: Scheme, dtype: str) -> Iterator[Block]:
    """Groups that span every exponent below those that overflow a scale, and groups about the smallest."""
    for what, exponents in (
        ("any magnitude", WITHOUT_OVERFLOW[dtype]),
        ("subnormal sources", range(1)),
        ("near the least scale", range(12) if dtype == "F16" else range(100, 116)),
    ):
        yield _block(scheme, dtype, what, 130, scattered_words(dtype, 650, 7, exponents=exponents))


_BY_DTYPE: dict[str, Callable[[Scheme, str], Iterator[Block]]] = {
    "zeros": _zeros,
    "codes at ties": _code_ties,
    "rescue of the scale": _rescue,
    "limit of the scale": _scale_limit,
    "infinity and NaN": _nonfinite,
    "partial groups": _partial_groups,
    "mixed magnitudes": _magnitudes,
}

_OF_F32: dict[str, Callable[[Scheme], Iterator[Block]]] = {
    "scales at ties": _scale_ties,
    "clamped codes": _clamp,
    "first fault": _first_fault,
}

GROUPED_FAMILIES: dict[str, Family] = {
    "scale by division": lambda: DIVISION_SCALES,
    "codes by reciprocal": lambda: RECIPROCAL_CODES,
}
for _scheme in SCHEMES:
    for _title, _of_f32 in _OF_F32.items():
        GROUPED_FAMILIES[f"{_scheme.name} F32 {_title}"] = partial(_of_f32, _scheme)
    for _dtype in DTYPES:
        for _title, _by_dtype in _BY_DTYPE.items():
            GROUPED_FAMILIES[f"{_scheme.name} {_dtype} {_title}"] = partial(_by_dtype, _scheme, _dtype)
