"""The casts of recipe.md against NumPy's, the verifier's reading against both, and each reason to refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.native.planes import as_bytes, place
from workers import _native

pytestmark = pytest.mark.usefixtures("every_instruction_set")

ALL_16 = np.arange(1 << 16, dtype=np.uint16)
RESULT: dict[str, type[np.uint16] | type[np.uint32]] = {"BF16": np.uint16, "FP32": np.uint32, "I32": np.uint32}


def check(words: npt.NDArray[Any], dtype: str, to: str, rule: str, expected: npt.NDArray[Any]) -> None:
    """Encoder and verifier both give the expected words."""
    for cast in (_native.cast, _native.derive_cast):
        out = np.full(words.size, 0xA5, RESULT[to])
        assert cast(as_bytes(words), dtype, to, rule, as_bytes(out)) is None
        np.testing.assert_array_equal(out, expected.view(RESULT[to]))


def check_refused(words: npt.NDArray[Any], dtype: str, to: str, rule: str, kind: str) -> None:
    """Each word is refused for this reason, alone and behind words that are not."""
    for word in words:
        padded = np.zeros(5000, words.dtype)
        padded[4999] = word
        out = np.zeros(padded.size, RESULT[to])
        bits = int(padded[4999:].view(f"u{words.dtype.itemsize}")[0])
        for cast in (_native.cast, _native.derive_cast):
            assert place(cast(as_bytes(padded), dtype, to, rule, as_bytes(out))) == (kind, 0, 4999, bits)


def test_every_bf16_widens() -> None:
    check(ALL_16, "BF16", "FP32", "exact", ALL_16.astype(np.uint32) << np.uint32(16))


def test_every_f16_widens_with_its_nan_payload() -> None:
    """NumPy's conversion for numbers; sign and fraction of a NaN in the leading bits, a signaling one included."""
    expected = ALL_16.view(np.float16).astype(np.float32).view(np.uint32)
    is_nan = (ALL_16 & 0x7FFF) > 0x7C00
    sign = (ALL_16.astype(np.uint32) & np.uint32(0x8000)) << np.uint32(16)
    fraction = (ALL_16.astype(np.uint32) & np.uint32(0x3FF)) << np.uint32(13)
    expected = np.where(is_nan, sign | np.uint32(0x7F800000) | fraction, expected)
    check(ALL_16, "F16", "FP32", "exact", expected)


def test_f32_that_is_a_bf16_narrows() -> None:
    check(ALL_16.astype(np.uint32) << np.uint32(16), "F32", "BF16", "exact", ALL_16)
    wrong = np.array([0x3F800001, 0x3F808000, 0x00000001, 0x80008000, 0x7F800001, 0x7F7FFFFF], np.uint32)
    check_refused(wrong, "F32", "BF16", "exact", "not-exact")


def test_f16_that_is_a_bf16_narrows() -> None:
    wide = ALL_16.view(np.float16).astype(np.float32).view(np.uint32)
    is_bf16 = (wide & np.uint32(0xFFFF)) == 0
    numbers = (ALL_16 & 0x7FFF) <= 0x7C00
    kept = ALL_16[is_bf16 & numbers]
    assert {0x0000, 0x8000, 0x0001, 0x7C00} <= set(kept.tolist())
    check(kept, "F16", "BF16", "exact", (wide[is_bf16 & numbers] >> np.uint32(16)).astype(np.uint16))
    check(np.array([0x7E00, 0xFC08], np.uint16), "F16", "BF16", "exact", np.array([0x7FC0, 0xFF81], np.uint16))
    wrong = np.concatenate([ALL_16[~is_bf16 & numbers][::977], np.array([0x7C01, 0xFE04], np.uint16)])
    check_refused(wrong, "F16", "BF16", "exact", "not-exact")


def nearest_bf16(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint16]:
    """By distances in float64, the even word of two as near."""
    below = (words >> np.uint32(16)).astype(np.uint16)
    above = below + np.uint16(1)
    value, low, high = (
        np.abs((part.astype(np.uint32) << np.uint32(shift)).view(np.float32).astype(np.float64))
        for part, shift in ((words, 0), (below, 16), (above, 16))
    )
    up = (high - value < value - low) | ((high - value == value - low) & (below % 2 == 1))
    return np.where(up, above, below)


def test_f32_rounds_to_the_nearest_bf16() -> None:
    rng = np.random.default_rng(3)
    words = rng.integers(0, 0x7F7F0000, 400_000, dtype=np.uint32)
    words[::2] = words[::2] & np.uint32(0xFFFF0000) | np.uint32(0x8000)
    words[::5] += rng.integers(0, 3, words[::5].size, dtype=np.uint32) - np.uint32(1)
    words[: 1 << 16] &= np.uint32(0x00FFFFFF)
    words ^= rng.integers(0, 2, words.size, dtype=np.uint32) << np.uint32(31)
    words = np.concatenate(
        [words, np.array([0, 0x80000000, 0x7F7F7FFF, 0xFF7F7FFF, 0x00008000, 0x00018000], np.uint32)]
    )
    check(words, "F32", "BF16", "rne", nearest_bf16(words))


def test_every_finite_f16_rounds_to_the_nearest_bf16() -> None:
    finite = ALL_16[(ALL_16 & 0x7FFF) < 0x7C00]
    check(finite, "F16", "BF16", "rne", nearest_bf16(finite.view(np.float16).astype(np.float32).view(np.uint32)))


def test_what_rounding_refuses() -> None:
    check_refused(np.array([0x7F7F8000, 0xFF7FFFFF], np.uint32), "F32", "BF16", "rne", "overflow")
    for word in (0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF):
        check_refused(np.array([word], np.uint32), "F32", "BF16", "rne", "non-finite")
    check_refused(np.array([0x7C00, 0xFC01], np.uint16), "F16", "BF16", "rne", "non-finite")


@pytest.mark.parametrize(
    ("kind", "dtype", "rule"),
    [
        (np.int8, "I8", "exact"),
        (np.int16, "I16", "exact"),
        (np.uint8, "U8", "checked"),
        (np.uint16, "U16", "checked"),
        (np.uint32, "U32", "checked"),
        (np.int64, "I64", "checked"),
        (np.uint64, "U64", "checked"),
    ],
)
def test_integers_to_i32(kind: type[np.signedinteger[Any]], dtype: str, rule: str) -> None:
    limits = np.iinfo(kind)
    low, high = max(limits.min, -(2**31)), min(limits.max, 2**31 - 1)
    values = np.unique(np.concatenate([np.linspace(low, high, 3001).astype(np.int64), [low, low + 1, -1, 0, 1, high]]))
    values = values[values >= low]
    check(values.astype(kind), dtype, "I32", rule, values.astype(np.int32))
    outside = [
        value for value in (limits.min, -(2**31) - 1, 2**31, 2**32, limits.max) if limits.min <= value <= limits.max
    ]
    wrong = np.array([value for value in outside if not low <= value <= high], kind)
    assert (wrong.size == 0) == (limits.bits < 32)
    check_refused(wrong, dtype, "I32", rule, "out-of-range")


FLOATS: dict[str, type[np.floating[Any]]] = {"F16": np.float16, "F32": np.float32, "F64": np.float64}


@pytest.mark.parametrize("dtype", FLOATS)
def test_floating_point_to_i32(dtype: str) -> None:
    kind = FLOATS[dtype]
    largest = {"F16": 65504.0, "F32": 2147483520.0, "F64": 2147483647.0}[dtype]
    whole = np.array([0.0, -0.0, 1.0, -1.0, 2047.0, -2048.0, largest, -largest], kind)
    if dtype != "F16":
        whole = np.append(whole, kind(-2147483648.0))
    check(whole, dtype, "I32", "checked", whole.astype(np.float64).astype(np.int32))
    least = np.nextafter(kind(0), kind(1))
    check_refused(
        np.array([0.5, -0.5, 1.5, least, -least, np.nextafter(kind(1), kind(0))], kind),
        dtype,
        "I32",
        "checked",
        "fractional",
    )
    check_refused(np.array([np.inf, -np.inf, np.nan], kind), dtype, "I32", "checked", "non-finite")
    if dtype != "F16":
        past = np.array([2147483648.0, -np.nextafter(kind(2147483648.0), kind(np.inf)), np.finfo(kind).max], kind)
        past = past[past == np.trunc(past)]
        check_refused(past, dtype, "I32", "checked", "out-of-range")
    if dtype == "F64":
        check_refused(np.array([2147483647.5, -2147483648.5, 1e12 + 0.5], kind), dtype, "I32", "checked", "fractional")


def test_bf16_to_i32() -> None:
    values = ALL_16.astype(np.uint32).__lshift__(16).view(np.float32)
    with np.errstate(invalid="ignore"):
        whole = np.isfinite(values) & (np.trunc(values) == values) & (values >= -(2.0**31)) & (values < 2.0**31)
    check(ALL_16[whole], "BF16", "I32", "checked", values[whole].astype(np.int32))
    check_refused(np.array([0x4F00, 0x7F7F, 0xCF01], np.uint16), "BF16", "I32", "checked", "out-of-range")
    check_refused(np.array([0x3F00, 0x0001, 0xBFC0], np.uint16), "BF16", "I32", "checked", "fractional")
    check_refused(np.array([0x7F80, 0xFFC1], np.uint16), "BF16", "I32", "checked", "non-finite")
