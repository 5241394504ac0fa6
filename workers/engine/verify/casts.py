"""The casts of recipe.md again, on integers, for the verifier alone: numpy on whole words, no floating-point unit.

Words arrive as they lie in the source and leave as the words that must have been stored. Each function raises
ValueError with the position of the first word that the cast does not take.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from schemas.recipe.expanded import CastRule
from schemas.registry import Format
from schemas.source_dtypes import SourceDtype
from workers.engine.scratch import Bytes

Words = npt.NDArray[np.uint32]
_SIGNED = {SourceDtype.I8: "<i1", SourceDtype.I16: "<i2", SourceDtype.I32: "<i4", SourceDtype.I64: "<i8"}
_UNSIGNED = {SourceDtype.U8: "<u1", SourceDtype.U16: "<u2", SourceDtype.U32: "<u4", SourceDtype.U64: "<u8"}


class CastRefusedError(ValueError):
    """The word at `position` is none that the cast takes."""

    def __init__(self, position: int) -> None:
        super().__init__(f"position {position}")
        self.position = position


def cast_words(words: Bytes, dtype: SourceDtype, to: Format, rule: CastRule) -> Bytes:
    """The words of `to` that `words` of `dtype` become, as bytes."""
    match to:
        case Format.FP32:
            return _bytes(widened(words, dtype))
        case Format.BF16:
            wide = widened(words, dtype)
            narrow = _nearest_bf16(wide) if rule is CastRule.RNE else wide >> np.uint32(16)
            if rule is CastRule.RNE:
                _refuse((wide & np.uint32(0x7F800000)) == np.uint32(0x7F800000))
                _refuse((narrow & np.uint32(0x7F80)) == np.uint32(0x7F80))
            else:
                _refuse((wide & np.uint32(0xFFFF)) != 0)
            return _bytes(narrow.astype("<u2"))
        case Format.I32:
            return _bytes(_integers(words, dtype).astype("<i4"))
        case _:
            raise TypeError(f"no cast gives {to}")


def widened(words: Bytes, dtype: SourceDtype) -> Words:
    """BF16, F16 or F32 words as binary32 words of the same value (and, for NaN, the same sign and payload bits)."""
    match dtype:
        case SourceDtype.F32:
            return words.view("<u4").astype(np.uint32, copy=False)
        case SourceDtype.BF16:
            return words.view("<u2").astype(np.uint32) << np.uint32(16)
        case SourceDtype.F16:
            return _widened_f16(words.view("<u2").astype(np.uint32))
        case _:
            raise TypeError(f"{dtype} is not widened to binary32")


def _widened_f16(half: Words) -> Words:
    sign = (half & np.uint32(0x8000)) << np.uint32(16)
    exponent = (half >> np.uint32(10)) & np.uint32(0x1F)
    fraction = half & np.uint32(0x3FF)
    normal = ((exponent + np.uint32(112)) << np.uint32(23)) | (fraction << np.uint32(13))
    special = np.uint32(0x7F800000) | (fraction << np.uint32(13))
    # A subnormal is fraction * 2^-24: its highest set bit b becomes the exponent b - 24, the bits below the fraction.
    top = np.zeros_like(fraction)
    for bit in range(1, 10):
        top = np.where(fraction >> np.uint32(bit) != 0, np.uint32(bit), top)
    below = (fraction << (np.uint32(23) - top)) & np.uint32(0x7FFFFF)
    subnormal = np.where(fraction == 0, np.uint32(0), ((top + np.uint32(103)) << np.uint32(23)) | below)
    magnitude = np.where(exponent == 0, subnormal, np.where(exponent == 31, special, normal))
    return sign | magnitude


def _nearest_bf16(wide: Words) -> Words:
    """The upper halves, one up where the lower half is above the middle, or in the middle of an odd one."""
    upper, lower = wide >> np.uint32(16), wide & np.uint32(0xFFFF)
    above: npt.NDArray[np.bool_] = (lower > 0x8000) | ((lower == 0x8000) & ((upper & np.uint32(1)) == 1))
    return upper + above.astype(np.uint32)


def _integers(words: Bytes, dtype: SourceDtype) -> npt.NDArray[np.int64]:
    if dtype in _SIGNED:
        values = words.view(_SIGNED[dtype]).astype(np.int64)
    elif dtype in _UNSIGNED:
        unsigned = words.view(_UNSIGNED[dtype])
        _refuse(unsigned > 2**31 - 1)
        values = unsigned.astype(np.int64)
    else:
        values = _whole(words, dtype)
    _refuse((values < -(2**31)) | (values > 2**31 - 1))
    return values


def _whole(words: Bytes, dtype: SourceDtype) -> npt.NDArray[np.int64]:
    """Floating-point words that are whole numbers of at most 32 bits, by shifting their significands."""
    if dtype is SourceDtype.F64:
        bits = words.view("<u8").astype(np.uint64)
        width, bias = 52, 1023
        sign, exponent = bits >> np.uint64(63), ((bits >> np.uint64(52)) & np.uint64(0x7FF)).astype(np.int64)
    else:
        bits = widened(words, dtype).astype(np.uint64)
        width, bias = 23, 127
        sign, exponent = bits >> np.uint64(31), ((bits >> np.uint64(23)) & np.uint64(0xFF)).astype(np.int64)
    fraction = bits & np.uint64((1 << width) - 1)
    scale = exponent - bias
    zero = (exponent == 0) & (fraction == 0)
    right = np.clip(width - scale, 0, 63).astype(np.uint64)
    left = np.clip(scale - width, 0, 31).astype(np.uint64)
    significand = fraction | np.uint64(1 << width)
    left_over = significand & ((np.uint64(1) << right) - np.uint64(1))
    _refuse(~zero & ((scale < 0) | (scale > 31) | (left_over != 0)))
    magnitude = np.where(zero, np.uint64(0), (significand >> right) << left).astype(np.int64)
    return np.where(sign == 1, -magnitude, magnitude)


def _refuse(bad: npt.NDArray[np.bool_]) -> None:
    found = np.flatnonzero(bad)
    if found.size:
        raise CastRefusedError(int(found[0]))


def _bytes(words: npt.NDArray[np.generic]) -> Bytes:
    return np.ascontiguousarray(words).view(np.uint8)
