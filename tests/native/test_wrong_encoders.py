"""The verifier catches every encoder that does one step wrong, at the first word that comes out differently."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tests.native.planes import (
    CODE_BITS,
    GROUP,
    HIGH_BYTES,
    Planes,
    Words,
    derive_fp8,
    derive_grouped,
    difference,
    encode_fp8,
    encode_grouped,
    float_words,
)
from tests.native.wrong_encoders import (
    RIGHT,
    RIGHT_ROW,
    WRONG_FP8,
    WRONG_GROUPED,
    Floats,
    GroupedSteps,
    applies,
    fp8_planes,
    grouped_planes,
)

pytestmark = pytest.mark.usefixtures("every_instruction_set")

Difference = tuple[str, int, int, int, int]


def unpacked(planes: Planes, code_bits: int) -> npt.NDArray[np.uint8]:
    """The unsigned code words of all lanes, flat."""
    if code_bits == 8:
        return planes.codes
    low = np.stack([planes.codes & np.uint8(15), planes.codes >> np.uint8(4)], axis=1).reshape(-1)
    if not HIGH_BYTES[code_bits]:
        return low
    bits = np.unpackbits(planes.high, bitorder="little").reshape(low.size, code_bits - 4)
    high: npt.NDArray[np.uint8] = (bits << np.arange(4, code_bits, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)
    return low | high


def first_difference(right: Planes, found: Planes, code_bits: int, rows: int) -> Difference | None:
    """Group by group, scale before codes, low bits before high ones."""
    group = GROUP[code_bits]
    scales = [planes.scales.view(np.uint16) for planes in (right, found)]
    codes = [unpacked(planes, code_bits).reshape(-1, group) for planes in (right, found)]
    differs = (scales[0] != scales[1]) | (codes[0] != codes[1]).any(axis=1)
    if not differs.any():
        return None
    index = int(differs.argmax())
    row, within = divmod(index, len(differs) // rows)
    expected, got = (int(plane[index]) for plane in scales)
    if expected != got:
        return "scales", row, within * group, expected, got
    lane = int((codes[0][index] != codes[1][index]).argmax())
    expected, got = (int(plane[index, lane]) for plane in codes)
    low = 0xFF if code_bits == 8 else 15
    if (expected ^ got) & low:
        return "codes", row, within * group + lane, expected & low, got & low
    return "high", row, within * group + lane, expected >> 4, got >> 4


def weights(code_bits: int, rows: int, k: int) -> Words:
    """F32 words on which encoders part ways: within a few units of where a scale, or a code, starts to round up.

    Of five rows one is random, one needs the rescue of scales, one has subnormal scales that codes are clamped for.
    """
    rng = np.random.default_rng(17)
    group, qmax = GROUP[code_bits], 2 ** (code_bits - 1) - 1
    columns = -(-k // group) * group
    scale = rng.integers(0x0400, 0x4000, (rows, columns // group)).astype(np.uint16).view(np.float16).astype(np.float64)
    codes = rng.integers(-qmax, qmax, (rows, columns)) + 0.5
    values = codes * np.repeat(scale, group, axis=1)
    values[:, ::group] = qmax * scale
    spacing = np.spacing(scale.astype(np.float16)).astype(np.float64)
    values[1::5, ::group] = qmax * (scale + spacing / 2)[1::5]
    words = values.astype(np.float32).view(np.uint32)
    words += rng.integers(0, 5, words.shape, dtype=np.uint32) - np.uint32(2)
    words[2::5] = float_words(rng, "F32", words[2::5].shape, (112, 124))
    words[3::5] = float_words(rng, "F32", words[3::5].shape, (94, 103))
    words[4::5] = float_words(rng, "F32", words[4::5].shape, (104, 112))
    return words[:, :k].copy()


def check(words: Words, code_bits: int, steps: GroupedSteps) -> Difference | None:
    """What the verifier says of such an encoder's planes, which is how they differ from the right ones."""
    right = encode_grouped(words, "F32", code_bits)
    found = grouped_planes(words.view(np.float32), code_bits, steps)
    mismatch = difference(derive_grouped(words, "F32", code_bits, found).mismatch)
    assert mismatch == first_difference(right, found, code_bits, len(words))
    return mismatch


@pytest.mark.parametrize("code_bits", CODE_BITS)
@pytest.mark.parametrize("k", [1, 100, 128, 257])
def test_the_right_steps_pass(code_bits: int, k: int) -> None:
    assert check(weights(code_bits, 400, k), code_bits, RIGHT) is None


@pytest.mark.parametrize(
    ("wrong", "code_bits"), [(wrong, bits) for wrong in WRONG_GROUPED for bits in CODE_BITS if applies(wrong, bits)]
)
def test_each_wrong_step_of_a_grouped_encoder_is_caught(wrong: str, code_bits: int) -> None:
    words = weights(code_bits, 8000, 165)
    assert check(words, code_bits, WRONG_GROUPED[wrong]) is not None


@pytest.mark.parametrize(
    ("dtype", "word", "code_bits"), [("BF16", 0x3636, 4), ("BF16", 0x3616, 5), ("F32", 0x3F7EE701, 6)]
)
def test_words_that_tell_division_by_qmax_from_its_reciprocal(dtype: str, word: int, code_bits: int) -> None:
    words = np.array([[word]], np.uint32) << np.uint32(16 if dtype == "BF16" else 0)
    source = words if dtype == "F32" else (words >> np.uint32(16)).astype(np.uint16)
    values: Floats = words.view(np.float32)
    right = grouped_planes(values, code_bits, RIGHT)
    assert derive_grouped(source, dtype, code_bits, right).mismatch is None
    assert encode_grouped(source, dtype, code_bits).scales.tobytes() == right.scales.tobytes()
    wrong = grouped_planes(values, code_bits, WRONG_GROUPED["scale by multiplying with 1/qmax"])
    mismatch = derive_grouped(source, dtype, code_bits, wrong).mismatch
    assert mismatch is not None
    assert (mismatch.plane, mismatch.row, mismatch.column) == ("scales", 0, 0)


def fp8_weights() -> Words:
    rng = np.random.default_rng(23)
    words = float_words(rng, "F32", (4000, 97), (80, 124))
    words[::9] = rng.integers(0, 2, words[::9].shape, dtype=np.uint32) << np.uint32(31)
    words[1::9] = (rng.integers(-16, 17, words[1::9].shape).astype(np.float32) / np.float32(2)).view(np.uint32)
    words[1::9, 0] = np.array([448], np.float32).view(np.uint32)
    return words


def first_fp8_difference(right: Planes, found: Planes, rows: int) -> Difference | None:
    """Row by row, scale before codes."""
    scales = [planes.scales.view(np.uint16) for planes in (right, found)]
    codes = [planes.codes.reshape(rows, -1) for planes in (right, found)]
    differs = (scales[0] != scales[1]) | (codes[0] != codes[1]).any(axis=1)
    if not differs.any():
        return None
    row = int(differs.argmax())
    if scales[0][row] != scales[1][row]:
        return "scales", row, 0, int(scales[0][row]), int(scales[1][row])
    column = int((codes[0][row] != codes[1][row]).argmax())
    return "codes", row, column, int(codes[0][row, column]), int(codes[1][row, column])


def test_the_right_steps_of_fp8_pass() -> None:
    words = fp8_weights()
    assert derive_fp8(words, "F32", fp8_planes(words.view(np.float32), RIGHT_ROW)).mismatch is None


@pytest.mark.parametrize("wrong", WRONG_FP8)
def test_each_wrong_step_of_the_fp8_encoder_is_caught(wrong: str) -> None:
    words = fp8_weights()
    found = fp8_planes(words.view(np.float32), WRONG_FP8[wrong])
    expected = first_fp8_difference(encode_fp8(words, "F32"), found, len(words))
    assert expected is not None
    assert difference(derive_fp8(words, "F32", found).mismatch) == expected
