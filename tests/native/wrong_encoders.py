"""The encoder profiles in NumPy, each step replaceable, to see that the verifier catches one that is done wrong.

These are not oracles: float32 arithmetic as NumPy does it, and no refusals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.native.planes import GROUP, HIGH_BYTES, Bytes, Planes, as_bytes

Floats = npt.NDArray[np.float32]
Quotients = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int32]


def half_up(y: Quotients) -> Quotients:
    """Ties away from zero."""
    rounded: Quotients = np.trunc(y + np.copysign(0.5, y.astype(np.float64)))
    return rounded


def half_down(y: Quotients) -> Quotients:
    """Ties towards minus infinity."""
    rounded: Quotients = np.ceil(y.astype(np.float64) - 0.5)
    return rounded


def nearest_half(raw: Floats) -> npt.NDArray[np.float16]:
    return raw.astype(np.float16)


def truncated_half(raw: Floats) -> npt.NDArray[np.float16]:
    nearest = raw.astype(np.float16)
    return np.where(nearest.astype(np.float32) > raw, np.nextafter(nearest, np.float16(0)), nearest).astype(np.float16)


@dataclass(frozen=True)
class GroupedSteps:
    """The steps of MAXABS_F16_RECIP_RNE_V1 and of row-split-k128-v1, right by default."""

    raw_scale: Callable[[Floats, float], Floats] = lambda amax, qmax: amax / np.float32(qmax)
    round_scale: Callable[[Floats], npt.NDArray[np.float16]] = nearest_half
    rescue: bool = True
    quotient: Callable[[Floats, Floats], Quotients] = lambda x, scale: x * (np.float32(1) / scale)
    round: Callable[[Quotients], Quotients] = np.rint
    least_magnitude: int = 0
    """Added to the least code's magnitude; the greatest code is kept."""
    whole_groups: bool = False
    """Whether lanes past the row repeat its last value instead of being zeros."""
    swap_nibbles: bool = False
    reverse_high: bool = False
    offset_binary: bool = False
    pad_byte: int = 0


def grouped_codes(values: Floats, code_bits: int, steps: GroupedSteps) -> tuple[npt.NDArray[np.float16], Integers]:
    """Scales [rows, groups] and signed codes [rows, groups, group] of the padded rows."""
    rows, k = values.shape
    group = GROUP[code_bits]
    padded = np.zeros((rows, -(-k // 128) * 128), np.float32)
    padded[:, :k] = values
    if steps.whole_groups:
        padded[:, k : -(-k // group) * group] = 2 * values[:, -1:]
    x = padded.reshape(rows, -1, group)
    amax = np.abs(x).max(axis=2)
    qmax = 2 ** (code_bits - 1) - 1
    scale = steps.round_scale(steps.raw_scale(amax, float(qmax)))
    if steps.rescue:
        scale = np.where((scale == 0) & (amax > 0), np.float16(2.0**-24), scale).astype(np.float16)
    wide = scale.astype(np.float32)[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.where(wide > 0, steps.quotient(x, wide), np.float32(0))
    qmin = (-127 if code_bits == 8 else -qmax - 1) - steps.least_magnitude
    return scale, np.clip(steps.round(y), qmin, qmax).astype(np.int32)


def grouped_planes(values: Floats, code_bits: int, steps: GroupedSteps) -> Planes:
    """The planes of [rows, k] values."""
    rows, k = values.shape
    scale, codes = grouped_codes(values, code_bits, steps)
    shift = 1 << (code_bits - 1) if steps.offset_binary else 0
    unsigned = ((codes + shift) & ((1 << code_bits) - 1)).astype(np.uint8).reshape(-1)
    planes = Planes(_base(unsigned, code_bits, steps), _high(unsigned, code_bits, steps), as_bytes(scale).copy())
    if steps.pad_byte:
        used = -(-k // GROUP[code_bits])
        planes.codes.reshape(rows, -1, 32)[:, used:] = steps.pad_byte
    return planes


def _base(unsigned: Bytes, code_bits: int, steps: GroupedSteps) -> Bytes:
    if code_bits == 8:
        return unsigned
    first, second = unsigned[0::2] & np.uint8(15), unsigned[1::2] & np.uint8(15)
    if steps.swap_nibbles:
        first, second = second, first
    return first | second << np.uint8(4)


def _high(unsigned: Bytes, code_bits: int, steps: GroupedSteps) -> Bytes:
    if not HIGH_BYTES[code_bits]:
        return np.empty(0, np.uint8)
    width = code_bits - 4
    bits = (unsigned[:, None] >> np.arange(4, code_bits, dtype=np.uint8)) & np.uint8(1)
    assert bits.shape[1] == width
    return np.packbits(bits.reshape(-1), bitorder="big" if steps.reverse_high else "little")


RIGHT = GroupedSteps()

WRONG_GROUPED = {
    "scale by multiplying with 1/qmax": replace(
        RIGHT, raw_scale=lambda amax, qmax: amax * (np.float32(1) / np.float32(qmax))
    ),
    "scale from the magnitude of the least code": replace(
        RIGHT, raw_scale=lambda amax, qmax: amax / np.float32(qmax + 1)
    ),
    "scale truncated": replace(RIGHT, round_scale=truncated_half),
    "no rescue from underflow": replace(RIGHT, rescue=False),
    "division instead of the reciprocal": replace(RIGHT, quotient=lambda x, scale: x / scale),
    "reciprocal not rounded": replace(
        RIGHT, quotient=lambda x, scale: (x * (1 / scale.astype(np.float64))).astype(np.float32)
    ),
    "quotient not rounded": replace(
        RIGHT, quotient=lambda x, scale: x.astype(np.float64) * (np.float32(1) / scale).astype(np.float64)
    ),
    "ties away from zero": replace(RIGHT, round=half_up),
    "ties down": replace(RIGHT, round=half_down),
    "codes truncated": replace(RIGHT, round=np.trunc),
    "padding lanes in the maximum": replace(RIGHT, whole_groups=True),
    "offset binary": replace(RIGHT, offset_binary=True),
    "pad byte": replace(RIGHT, pad_byte=0x01),
    "nibbles swapped": replace(RIGHT, swap_nibbles=True),
    "high bits from the top": replace(RIGHT, reverse_high=True),
    "-128": replace(RIGHT, least_magnitude=1),
}


def applies(wrong: str, code_bits: int) -> bool:
    """Whether a wrong step can show at this width at all."""
    if wrong == "nibbles swapped":
        return code_bits != 8
    if wrong == "high bits from the top":
        return HIGH_BYTES[code_bits] > 0
    return code_bits == 8 or wrong != "-128"


E4M3FN = np.array([m * 2.0**-9 if m < 8 else (8 + m % 8) * 2.0 ** (m // 8 - 10) for m in range(127)], np.float64)


def nearest_e4m3fn(magnitude: Floats) -> Bytes:
    """The code of the nearest number, ties to the even code."""
    middles = (E4M3FN[1:] + E4M3FN[:-1]) / 2
    low = np.searchsorted(middles, magnitude, side="left")
    high = np.searchsorted(middles, magnitude, side="right")
    return np.where(low % 2 == 0, low, high).astype(np.uint8)


def upper_e4m3fn(magnitude: Floats) -> Bytes:
    """Ties away from zero."""
    return np.searchsorted((E4M3FN[1:] + E4M3FN[:-1]) / 2, magnitude, side="right").astype(np.uint8)


def nearest_bf16(values: Floats) -> Floats:
    words = values.view(np.uint32)
    return ((words + np.uint32(0x7FFF) + (words >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(
        np.float32
    )


def truncated_bf16(values: Floats) -> Floats:
    return (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


@dataclass(frozen=True)
class RowSteps:
    """The steps of FP8_ROW_MAXABS_RECIP_RNE_V1, right by default."""

    round_source: Callable[[Floats], Floats] = nearest_bf16
    raw_scale: Callable[[Floats], Floats] = lambda amax: amax / np.float32(448)
    round_scale: Callable[[Floats], Floats] = nearest_bf16
    quotient: Callable[[Floats, Floats], Floats] = lambda x, scale: x * (np.float32(1) / scale)
    round: Callable[[Floats], Bytes] = nearest_e4m3fn
    keep_sign_of_zero: bool = True
    clear_zero_rows: bool = True


def fp8_planes(values: Floats, steps: RowSteps) -> Planes:
    """The planes of [rows, k] values; rows of zeros are allowed, rows too small for the format are not."""
    x = steps.round_source(np.ascontiguousarray(values))
    amax = np.abs(x).max(axis=1, keepdims=True)
    scale = steps.round_scale(steps.raw_scale(amax))
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.where(scale > 0, steps.quotient(x, scale), x)
    codes = steps.round(np.minimum(np.abs(y), np.float32(448)))
    sign = np.where(np.signbit(y), 0x80, 0).astype(np.uint8)
    if not steps.keep_sign_of_zero:
        sign[codes == 0] = 0
    if steps.clear_zero_rows:
        sign[np.broadcast_to(amax == 0, sign.shape)] = 0
    words = (scale.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return Planes(as_bytes(codes | sign).copy(), np.empty(0, np.uint8), as_bytes(words).copy())


RIGHT_ROW = RowSteps()

WRONG_FP8 = {
    "source not rounded to BF16": replace(RIGHT_ROW, round_source=lambda values: values),
    "source truncated to BF16": replace(RIGHT_ROW, round_source=truncated_bf16),
    "scale from 480": replace(RIGHT_ROW, raw_scale=lambda amax: amax / np.float32(480)),
    "scale truncated": replace(RIGHT_ROW, round_scale=truncated_bf16),
    "division instead of the reciprocal": replace(RIGHT_ROW, quotient=lambda x, scale: x / scale),
    "ties away from zero": replace(RIGHT_ROW, round=upper_e4m3fn),
    "sign of zero dropped": replace(RIGHT_ROW, keep_sign_of_zero=False),
    "sign kept in a row of zeros": replace(RIGHT_ROW, clear_zero_rows=False),
}
