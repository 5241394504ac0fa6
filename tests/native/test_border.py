"""What the border refuses: a ValueError that names argument, rule and what was found; a TypeError for wrong buffers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.native.planes import Bytes
from workers import _native


def room(size: int) -> Bytes:
    return np.zeros(size, np.uint8)


# One call that passes for each function; tests below replace one argument of it.
CALLS: dict[str, dict[str, Any]] = {
    "encode_grouped": {
        "source": room(2 * 130 * 2),
        "dtype": "BF16",
        "code_bits": 5,
        "k": 130,
        "codes": room(2 * 4 * 32),
        "high": room(2 * 4 * 8),
        "scales": room(2 * 4 * 2),
    },
    "encode_fp8_row": {"source": room(3 * 5 * 4), "dtype": "F32", "k": 5, "codes": room(15), "scales": room(6)},
    "swizzle_scales": {"scales": room(128 * 4), "k": 64, "out": room(128 * 4)},
    "cast": {"source": room(6), "from_dtype": "F16", "to": "FP32", "rule": "exact", "out": room(12)},
    "check_finite": {"words": room(24), "dtype": "BF16", "columns": 4},
    "check_positive": {"words": np.ones(24, np.uint8), "dtype": "F32", "columns": 3},
    "legal_grouped": {"code_bits": 6, "k": 64, "codes": room(3 * 64), "high": room(3 * 32), "scales": room(3 * 4)},
    "legal_fp8_row": {"k": 7, "codes": room(14), "scales": room(4)},
    "legal_nvfp4_scales": {"scales": room(256 * 8), "k": 128, "swizzled": True},
    "derive_grouped": {
        "source": room(3 * 40 * 2),
        "dtype": "F16",
        "code_bits": 8,
        "k": 40,
        "codes": room(3 * 4 * 32),
        "high": room(0),
        "scales": room(3 * 4 * 2),
        "statistics": False,
    },
    "derive_fp8_row": {
        "source": room(4 * 9 * 2),
        "dtype": "BF16",
        "k": 9,
        "codes": room(36),
        "scales": room(8),
        "statistics": True,
    },
    "histogram_grouped": {"code_bits": 5, "k": 130, "codes": room(2 * 4 * 32), "high": room(64), "scales": room(16)},
    "histogram_fp8_row": {"k": 7, "codes": room(14), "scales": room(4)},
    "histogram_nvfp4": {"k": 128, "codes": room(3 * 64), "scales": room(3 * 8)},
    "derive_cast": {"source": room(16), "from_dtype": "U64", "to": "I32", "rule": "checked", "out": room(8)},
    "compare_swizzled": {"natural_scales": room(128 * 8), "k": 128, "stored": room(128 * 8)},
    "compare_words": {"expected": room(24), "found": room(24), "word_bytes": 4, "columns": 3},
}

REFUSALS: list[tuple[str, str, Any, str]] = [
    ("encode_grouped", "source", room(519), "source: expected one or more times 260 bytes, found 519"),
    ("encode_grouped", "source", room(0), "source: expected one or more times 260 bytes, found 0"),
    ("encode_grouped", "dtype", "F64", "dtype: expected one of BF16, F16, F32, found 'F64'"),
    ("encode_grouped", "dtype", "bf16", "dtype: expected one of BF16, F16, F32, found 'bf16'"),
    ("encode_grouped", "code_bits", 7, "code_bits: expected 4, 5, 6 or 8, found 7"),
    ("encode_grouped", "code_bits", -4, "code_bits: expected 4, 5, 6 or 8, found -4"),
    ("encode_grouped", "k", 0, "k: expected 1 to 1099511627776, found 0"),
    ("encode_grouped", "k", -130, "k: expected 1 to 1099511627776, found -130"),
    ("encode_grouped", "k", 2**62, f"k: expected 1 to 1099511627776, found {2**62}"),
    ("encode_grouped", "codes", room(255), "codes: expected 256 bytes, found 255"),
    ("encode_grouped", "high", room(0), "high: expected 64 bytes, found 0"),
    ("encode_grouped", "scales", room(17), "scales: expected 16 bytes, found 17"),
    ("encode_fp8_row", "source", room(61), "source: expected one or more times 20 bytes, found 61"),
    ("encode_fp8_row", "dtype", "U8", "dtype: expected one of BF16, F16, F32, found 'U8'"),
    ("encode_fp8_row", "k", 0, "k: expected 1 to 1099511627776, found 0"),
    ("encode_fp8_row", "codes", room(14), "codes: expected 15 bytes, found 14"),
    ("encode_fp8_row", "scales", room(8), "scales: expected 6 bytes, found 8"),
    ("swizzle_scales", "scales", room(64 * 4), "scales: expected one or more times 512 bytes, found 256"),
    ("swizzle_scales", "k", 96, "k: expected a multiple of 64, found 96"),
    ("swizzle_scales", "k", 0, "k: expected 1 to 1099511627776, found 0"),
    ("swizzle_scales", "out", room(1024), "out: expected 512 bytes, found 1024"),
    ("cast", "source", room(7), "source: expected one or more times 2 bytes, found 7"),
    (
        "cast",
        "from_dtype",
        "BOOL",
        "from_dtype: expected one of BF16, F16, F32, F64, I8, I16, I64, U8, U16, U32, U64, found 'BOOL'",
    ),
    ("cast", "to", "F32", "to: expected one of BF16, FP32, I32, found 'F32'"),
    ("cast", "rule", "nearest", "rule: expected one of exact, rne, checked, found 'nearest'"),
    ("cast", "rule", "rne", "rule: expected a cast of recipe.md, found F16 to FP32 by rne"),
    ("cast", "out", room(6), "out: expected 12 bytes, found 6"),
    ("check_finite", "words", room(23), "words: expected one or more times 8 bytes, found 23"),
    ("check_finite", "dtype", "I32", "dtype: expected one of BF16, F32, found 'I32'"),
    ("check_finite", "columns", 0, "columns: expected 1 to 1099511627776, found 0"),
    ("check_positive", "words", room(13), "words: expected one or more times 12 bytes, found 13"),
    ("check_positive", "dtype", "BF16", "dtype: expected one of F32, I32, found 'BF16'"),
    ("check_positive", "columns", -1, "columns: expected 1 to 1099511627776, found -1"),
    ("legal_grouped", "code_bits", 16, "code_bits: expected 4, 5, 6 or 8, found 16"),
    ("legal_grouped", "k", 0, "k: expected 1 to 1099511627776, found 0"),
    ("legal_grouped", "codes", room(100), "codes: expected one or more times 64 bytes, found 100"),
    ("legal_grouped", "high", room(95), "high: expected 96 bytes, found 95"),
    ("legal_grouped", "scales", room(13), "scales: expected 12 bytes, found 13"),
    ("legal_fp8_row", "k", 0, "k: expected 1 to 1099511627776, found 0"),
    ("legal_fp8_row", "codes", room(13), "codes: expected one or more times 7 bytes, found 13"),
    ("legal_fp8_row", "scales", room(2), "scales: expected 4 bytes, found 2"),
    ("legal_nvfp4_scales", "scales", room(129 * 8), "scales: expected one or more times 1024 bytes, found 1032"),
    ("legal_nvfp4_scales", "k", 16, "k: expected a multiple of 64, found 16"),
    ("derive_grouped", "source", room(241), "source: expected one or more times 80 bytes, found 241"),
    ("derive_grouped", "dtype", "", "dtype: expected one of BF16, F16, F32, found ''"),
    ("derive_grouped", "code_bits", 3, "code_bits: expected 4, 5, 6 or 8, found 3"),
    ("derive_grouped", "k", 0, "k: expected 1 to 1099511627776, found 0"),
    ("derive_grouped", "codes", room(0), "codes: expected 384 bytes, found 0"),
    ("derive_grouped", "high", room(1), "high: expected 0 bytes, found 1"),
    ("derive_grouped", "scales", room(23), "scales: expected 24 bytes, found 23"),
    ("derive_fp8_row", "source", room(73), "source: expected one or more times 18 bytes, found 73"),
    ("derive_fp8_row", "dtype", "F8_E4M3", "dtype: expected one of BF16, F16, F32, found 'F8_E4M3'"),
    ("derive_fp8_row", "k", 0, "k: expected 1 to 1099511627776, found 0"),
    ("derive_fp8_row", "codes", room(35), "codes: expected 36 bytes, found 35"),
    ("derive_fp8_row", "scales", room(9), "scales: expected 8 bytes, found 9"),
    ("histogram_grouped", "code_bits", 2, "code_bits: expected 4, 5, 6 or 8, found 2"),
    ("histogram_grouped", "k", 0, "k: expected 1 to 1099511627776, found 0"),
    ("histogram_grouped", "codes", room(129), "codes: expected one or more times 128 bytes, found 129"),
    ("histogram_grouped", "high", room(0), "high: expected 64 bytes, found 0"),
    ("histogram_grouped", "scales", room(17), "scales: expected 16 bytes, found 17"),
    ("histogram_fp8_row", "k", 0, "k: expected 1 to 1099511627776, found 0"),
    ("histogram_fp8_row", "codes", room(13), "codes: expected one or more times 7 bytes, found 13"),
    ("histogram_fp8_row", "scales", room(5), "scales: expected 4 bytes, found 5"),
    ("histogram_nvfp4", "k", 96, "k: expected a multiple of 64, found 96"),
    ("histogram_nvfp4", "codes", room(65), "codes: expected one or more times 64 bytes, found 65"),
    ("histogram_nvfp4", "scales", room(23), "scales: expected 24 bytes, found 23"),
    ("derive_cast", "source", room(15), "source: expected one or more times 8 bytes, found 15"),
    ("derive_cast", "rule", "exact", "rule: expected a cast of recipe.md, found U64 to I32 by exact"),
    ("derive_cast", "out", room(16), "out: expected 8 bytes, found 16"),
    ("compare_swizzled", "natural_scales", room(8), "natural_scales: expected one or more times 1024 bytes, found 8"),
    ("compare_swizzled", "k", 65, "k: expected a multiple of 64, found 65"),
    ("compare_swizzled", "stored", room(8), "stored: expected 1024 bytes, found 8"),
    ("compare_words", "expected", room(25), "expected: expected one or more times 12 bytes, found 25"),
    ("compare_words", "found", room(12), "found: expected 24 bytes, found 12"),
    ("compare_words", "word_bytes", 3, "word_bytes: expected 1, 2, 4 or 8, found 3"),
    ("compare_words", "columns", 0, "columns: expected 1 to 1099511627776, found 0"),
]

BUFFERS = [
    (function, argument)
    for function, arguments in CALLS.items()
    for argument, value in arguments.items()
    if isinstance(value, np.ndarray)
]
OUTPUTS = [
    ("encode_grouped", "codes"),
    ("encode_grouped", "high"),
    ("encode_grouped", "scales"),
    ("encode_fp8_row", "codes"),
    ("encode_fp8_row", "scales"),
    ("swizzle_scales", "out"),
    ("cast", "out"),
    ("derive_cast", "out"),
]


def call(function: str, **replaced: Any) -> object:
    kernel: Callable[..., object] = getattr(_native, function)
    return kernel(**CALLS[function] | replaced)


@pytest.mark.parametrize("function", CALLS)
def test_the_calls_that_refusals_start_from_pass(function: str) -> None:
    call(function)


@pytest.mark.parametrize(("function", "argument", "value", "message"), REFUSALS)
def test_refusals_name_argument_rule_and_finding(function: str, argument: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call(function, **{argument: value})


def test_every_argument_that_has_a_rule_is_refused_somewhere() -> None:
    refused = {(function, argument) for function, argument, _, _ in REFUSALS}
    free = {
        ("legal_nvfp4_scales", "swizzled"),
        ("derive_grouped", "statistics"),
        ("derive_fp8_row", "statistics"),
        ("derive_cast", "from_dtype"),
        ("derive_cast", "to"),
    }
    assert {(function, argument) for function in CALLS for argument in CALLS[function]} == refused | free


@pytest.mark.parametrize(("function", "argument"), BUFFERS)
def test_buffers_are_never_converted_or_copied(function: str, argument: str) -> None:
    size = CALLS[function][argument].size
    wrong: list[object] = [np.zeros(size, np.int8), np.zeros((1, size), np.uint8), [0] * size]
    if size > 1:
        wrong.append(np.zeros(2 * size, np.uint8)[::2])
    for value in wrong:
        with pytest.raises(TypeError):
            call(function, **{argument: value})


@pytest.mark.parametrize(("function", "argument"), OUTPUTS)
def test_outputs_must_be_writable(function: str, argument: str) -> None:
    frozen = CALLS[function][argument].copy()
    frozen.flags.writeable = False
    for value in (frozen, frozen.tobytes()):
        with pytest.raises(TypeError):
            call(function, **{argument: value})


@pytest.mark.parametrize(("function", "argument"), sorted(set(BUFFERS) - set(OUTPUTS)))
def test_inputs_may_be_read_only(function: str, argument: str) -> None:
    frozen = CALLS[function][argument].copy()
    frozen.flags.writeable = False
    call(function, **{argument: frozen})


@pytest.mark.parametrize("rows", [1, 127, 129])
def test_natural_nvfp4_scales_may_be_any_number_of_rows(rows: int) -> None:
    assert _native.legal_nvfp4_scales(room(rows * 8), 128, swizzled=False) is None
