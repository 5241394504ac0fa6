"""Source words that no format can hold: refused with object, source tensor and first offending coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas.errors import WordError
from tests.engine.conversions import Tensors, converted, one_object

GROUPED = "MAXABS_F16_RECIP_RNE_V1"
ROW_FP8 = "FP8_ROW_MAXABS_RECIP_RNE_V1"
FORMATS = ("Q4G64_F16S", "Q5G64_F16S", "Q6G64_F16S", "W8G32_F16S")
SOURCE = {"tensor": "source"}


@dataclass(frozen=True)
class Case:
    """A faulty source, and what its message must say."""

    name: str
    tensors: Tensors
    object: dict[str, Any]
    message: str


def bf16(word: int, at: tuple[int, int] = (3, 70), shape: tuple[int, int] = (5, 130)) -> Tensors:
    """BF16 ones, but for one word. A second faulty word later on must not be the one that is reported."""
    words = np.full(shape, 0x3F80, "<u2")
    words[at] = word
    words[-1, -1] = word
    return {"source": ("BF16", shape, words.tobytes())}


def f32(word: int, at: tuple[int, int] = (3, 70), shape: tuple[int, int] = (5, 130)) -> Tensors:
    words = np.full(shape, 0x3F800000, "<u4")
    words[at] = word
    return {"source": ("F32", shape, words.tobytes())}


def encoded_cases() -> list[Case]:
    cases = []
    for format in FORMATS:
        made = one_object(format, (5, 130), GROUPED, SOURCE)
        for name, word in (("NaN", 0x7FC1), ("infinity", 0x7F80), ("minus infinity", 0xFF80)):
            message = (
                rf"object weight, source tensor base:source\[3, 70\]: expected a finite value, found word 0x{word:x}"
            )
            cases.append(Case(f"{name} in {format}", bf16(word), made, message))
        message = r"object weight, source tensor base:source\[3, 70\]: expected a group whose scale"
        cases.append(Case(f"scale overflow in {format}", bf16(0x7F00), made, message))
    made = one_object("FP8_E4M3FN_ROW_BF16S", (5, 130), ROW_FP8, SOURCE)
    for name, word in (("NaN", 0x7FC00001), ("infinity", 0x7F800000), ("rounding to BF16 infinity", 0x7F7FFFFF)):
        message = r"object weight, source tensor base:source\[3, 70\]: expected a finite value"
        cases.append(Case(f"{name} in row FP8", f32(word), made, message))
    small = np.zeros((5, 130), "<u4")
    small[3] = 0x00200000
    message = r"object weight, source tensor base:source\[3, 0\]: expected a row whose values"
    cases.append(Case("row too small for FP8", {"source": ("F32", (5, 130), small.tobytes())}, made, message))
    return cases


def direct_cases() -> list[Case]:
    return [
        Case(
            "NaN in BF16",
            bf16(0x7FC1),
            one_object("BF16", (5, 130), "preserve", SOURCE),
            r"object weight, source tensor base:source\[3, 70\]: expected a finite value, found word 0x7fc1",
        ),
        Case(
            "infinity in FP32",
            f32(0xFF800000),
            one_object("FP32", (5, 130), "preserve", SOURCE),
            r"object weight, source tensor base:source\[3, 70\]: expected a finite value, found word 0xff800000",
        ),
        Case(
            "zero in FP32 that must be positive",
            f32(0x80000000),
            one_object("FP32", (5, 130), "preserve", SOURCE, require="positive"),
            r"object weight, source tensor base:source\[3, 70\]: expected a finite value above zero",
        ),
        Case(
            "an F32 that is no BF16",
            f32(0x3F800001),
            one_object("BF16", (5, 130), "preserve", {"cast": SOURCE, "to": "BF16", "by": "exact"}),
            r"object weight, source tensor base:source\[3, 70\]: expected a value that the target format holds exactly",
        ),
        Case(
            "an F32 that rounds to infinity",
            f32(0x7F7FFFFF),
            one_object("BF16", (5, 130), "preserve", {"cast": SOURCE, "to": "BF16", "by": "rne"}),
            r"object weight, source tensor base:source\[3, 70\]: expected a value that rounds to a finite one",
        ),
        Case(
            "an I64 past I32",
            {"source": ("I64", (2, 3), np.array([[1, 2, 3], [4, 2**31, 6]], "<i8").tobytes())},
            one_object("I32", (2, 3), "preserve", {"cast": SOURCE, "to": "I32", "by": "checked"}),
            r"object weight, source tensor base:source\[1, 1\]: expected a value within the range of I32",
        ),
        Case(
            "a fraction as I32",
            {"source": ("F32", (3,), np.array([1, 2.5, 3], "<f4").tobytes())},
            one_object("I32", (3,), "preserve", {"cast": SOURCE, "to": "I32", "by": "checked"}),
            r"object weight, source tensor base:source\[1\]: expected a whole number",
        ),
    ]


def fp8_row(code: int = 0x38, scale: int = 0x3F80) -> Tensors:
    codes = np.full((5, 130), 0x38, np.uint8)
    scales = np.full((5, 1), 0x3F80, "<u2")
    codes[3, 70], scales[3, 0] = code, scale
    return {"codes": ("F8_E4M3", (5, 130), codes.tobytes()), "scales": ("BF16", (5, 1), scales.tobytes())}


def nvfp4(scale: int = 0x38, divisors: tuple[int, ...] = (0x40000000,)) -> Tensors:
    scales = np.full((128, 8), 0x38, np.uint8)
    scales[77, 5] = scale
    words = {f"divisor{i}": ("F32", (1,), word.to_bytes(4, "little")) for i, word in enumerate(divisors)}
    return {
        "codes": ("U8", (128, 64), bytes(128 * 64)),
        "scales": ("F8_E4M3", (128, 8), scales.tobytes()),
        **words,
    }


def nvfp4_object(divisors: int = 1, convention: str = "divisors") -> dict[str, Any]:
    words = [{"tensor": f"divisor{i}"} for i in range(divisors)]
    parts = {"codes": {"tensor": "codes"}, "scales": {"tensor": "scales"}, convention: words}
    return one_object("NVFP4", (128, 128), "copy", {"nvfp4": parts})


def copied_cases() -> list[Case]:
    parts = {"codes": {"tensor": "codes"}, "scales": {"tensor": "scales"}}
    row = one_object("FP8_E4M3FN_ROW_BF16S", (5, 130), "copy", {"fp8_row": parts})
    in_codes, in_scales = (
        r"object weight, source tensor base:codes\[3, 70\]",
        r"object weight, source tensor base:scales\[3, 0\]",
    )
    cases = [
        Case("a NaN code", fp8_row(code=0x7F), row, rf"{in_codes}: expected a code that is a number, found word 0x7f"),
        Case(
            "a minus NaN code",
            fp8_row(code=0xFF),
            row,
            rf"{in_codes}: expected a code that is a number, found word 0xff",
        ),
        Case(
            "a negative row scale", fp8_row(scale=0xBF80), row, rf"{in_scales}: expected a scale that is not negative"
        ),
        Case(
            "a minus zero row scale", fp8_row(scale=0x8000), row, rf"{in_scales}: expected a zero scale with sign bit 0"
        ),
        Case("a NaN row scale", fp8_row(scale=0x7FC0), row, rf"{in_scales}: expected a scale that is a number"),
        Case("an infinite row scale", fp8_row(scale=0x7F80), row, rf"{in_scales}: expected a finite scale"),
        Case(
            "codes under a zero row scale",
            fp8_row(scale=0),
            row,
            r"object weight, source tensor base:codes\[3, 0\]: expected only zero codes under a zero scale",
        ),
    ]
    at = r"object weight, source tensor base:scales\[77, 5\]"
    cases += [
        Case("a negative NVFP4 scale", nvfp4(0xB8), nvfp4_object(), rf"{at}: expected a scale that is not negative"),
        Case("a minus zero NVFP4 scale", nvfp4(0x80), nvfp4_object(), rf"{at}: expected a zero scale with sign bit 0"),
        Case("a NaN NVFP4 scale", nvfp4(0x7F), nvfp4_object(), rf"{at}: expected a scale that is a number"),
        Case("a minus NaN NVFP4 scale", nvfp4(0xFF), nvfp4_object(), rf"{at}: expected a scale that is a number"),
    ]
    where = r"object weight, source tensor base:divisor0\[0\]"
    for name, word in {
        "zero": 0,
        "minus zero": 0x80000000,
        "negative": 0xC0000000,
        "infinite": 0x7F800000,
        "NaN": 0x7FC00000,
    }.items():
        message = rf"{where}: expected a finite value.*, found word 0x{word:x} "
        cases.append(Case(f"{name} divisor", nvfp4(divisors=(word,)), nvfp4_object(), message))
        message = rf"{where}: expected a finite multiplier above zero"
        cases.append(
            Case(f"{name} multiplier", nvfp4(divisors=(word,)), nvfp4_object(convention="multipliers"), message)
        )
    cases.append(
        Case(
            "divisors that differ",
            nvfp4(divisors=(0x40000000, 0x40000001)),
            nvfp4_object(2),
            r"object weight: expected bit-identical divisors, found 0x40000000 in object weight, "
            r"source tensor base:divisor0\[0\]; 0x40000001 in object weight, source tensor base:divisor1\[0\]",
        )
    )
    cases.append(
        Case(
            "a multiplier without an exact reciprocal",
            nvfp4(divisors=(0x3FC00007,)),
            nvfp4_object(convention="multipliers"),
            rf"{where}: expected a multiplier that is the reciprocal of its reciprocal",
        )
    )
    return cases


CASES = [*encoded_cases(), *direct_cases(), *copied_cases()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(("threads", "block_bytes"), [(1, 4 << 20), (2, 1)])
def test_a_faulty_word_is_named(case: Case, threads: int, block_bytes: int, tmp_path: Path) -> None:
    with pytest.raises(WordError, match=case.message):
        converted(tmp_path, case.tensors, [case.object], threads=threads, block_bytes=block_bytes)
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_a_non_finite_word_passes_where_the_recipe_allows_it(tmp_path: Path) -> None:
    tensors = bf16(0x7FC1)
    made = converted(tmp_path, tensors, [one_object("BF16", (5, 130), "preserve", SOURCE, nonfinite="allow")])
    assert made.payload() == tensors["source"][2]


def test_a_reciprocal_that_is_recorded(tmp_path: Path) -> None:
    made_of = nvfp4_object(convention="multipliers")
    made_of["value"]["nvfp4"]["reciprocal"] = "nearest"
    made = converted(tmp_path, nvfp4(divisors=(0x3FC00007,)), [made_of])
    [record] = made.report.objects[0].reciprocals
    assert made.payload()[-4:] == np.float32(record.divisor).tobytes() == (0x3F2AAAA4).to_bytes(4, "little")
    assert record.multiplier == float(np.uint32(0x3FC00007).view(np.float32))
    assert 0 < record.relative_error < 2**-23
