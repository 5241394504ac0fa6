"""Kernels round to nearest and keep subnormals, whatever the calling thread was set to, and leave it as it was."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tests.native.planes import (
    CODE_BITS,
    Planes,
    derive_fp8,
    derive_grouped,
    encode_fp8,
    encode_grouped,
    float_words,
)

pytestmark = pytest.mark.usefixtures("every_instruction_set")

LIBM = ctypes.CDLL(None)
ENVIRONMENT_BYTES = 64
"""At least the size of fenv_t."""

# x86-64: fenv_t ends in MXCSR at byte 28; rounding is in its bits 13 and 14, flush-to-zero 15, denormals-are-zero 6.
# AArch64: fenv_t starts with FPCR; rounding is in its bits 22 and 23, flush-to-zero 24.
CONTROL = {
    "x86_64": (28, {"up": 2 << 13, "down": 1 << 13, "to zero": 3 << 13, "flush": 1 << 15 | 1 << 6}),
    "aarch64": (0, {"up": 1 << 22, "down": 2 << 22, "to zero": 3 << 22, "flush": 1 << 24}),
}
OFFSET, SETTINGS = CONTROL[platform.machine()]


def control_word() -> int:
    """The thread's floating-point control register."""
    environment = (ctypes.c_uint8 * ENVIRONMENT_BYTES)()
    assert LIBM.fegetenv(environment) == 0
    return int.from_bytes(bytes(environment[OFFSET : OFFSET + 4]), "little")


@contextmanager
def control(bits: int) -> Iterator[None]:
    """The thread with these bits of its control register set."""
    saved = (ctypes.c_uint8 * ENVIRONMENT_BYTES)()
    assert LIBM.fegetenv(saved) == 0
    changed = (ctypes.c_uint8 * ENVIRONMENT_BYTES).from_buffer_copy(saved)
    word = int.from_bytes(bytes(saved[OFFSET : OFFSET + 4]), "little") | bits
    changed[OFFSET : OFFSET + 4] = list(word.to_bytes(4, "little"))
    assert LIBM.fesetenv(changed) == 0
    try:
        yield
    finally:
        assert LIBM.fesetenv(saved) == 0


def small_rows() -> np.ndarray[tuple[int, int], np.dtype[np.uint32]]:
    """F32 rows whose BF16 scales are subnormal, and groups of subnormal words."""
    words = float_words(np.random.default_rng(2), "F32", (64, 64), (3, 8)).astype(np.uint32)
    words[::2] = float_words(np.random.default_rng(3), "F32", (32, 64), (112, 124))
    return words


def all_bytes(planes: Planes) -> bytes:
    return planes.codes.tobytes() + planes.high.tobytes() + planes.scales.tobytes()


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_thread_is_really_set(setting: str) -> None:
    before = control_word()
    with control(SETTINGS[setting]):
        assert control_word() & SETTINGS[setting] == SETTINGS[setting]
    assert control_word() == before


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_grouped(setting: str, code_bits: int) -> None:
    words = small_rows()
    right = encode_grouped(words, "F32", code_bits)
    expected = derive_grouped(words, "F32", code_bits, right, statistics=True)
    with control(SETTINGS[setting]):
        planes = encode_grouped(words, "F32", code_bits)
        derivation = derive_grouped(words, "F32", code_bits, right, statistics=True)
        assert control_word() & SETTINGS[setting] == SETTINGS[setting]
    assert all_bytes(planes) == all_bytes(right)
    assert derivation.mismatch is None
    assert derivation.row_error.tobytes() == expected.row_error.tobytes()


@pytest.mark.parametrize("setting", SETTINGS)
def test_fp8_row(setting: str) -> None:
    words = small_rows()
    right = encode_fp8(words, "F32")
    scales = right.scales.view(np.uint16)
    assert ((scales > 0x20) & (scales < 0x80)).any()
    with control(SETTINGS[setting]):
        planes = encode_fp8(words, "F32")
        derivation = derive_fp8(words, "F32", right)
    assert all_bytes(planes) == all_bytes(right)
    assert (derivation.mismatch, derivation.fault) == (None, None)
