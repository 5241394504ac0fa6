"""Faults that native code reports, as errors that name object, source tensor and coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from schemas.errors import WordError
from workers._native import Fault

EXPECTED: Mapping[str, str] = MappingProxyType(
    {
        "non-finite": "a finite value",
        "not-positive": "a finite value above zero",
        "scale-overflow": "a group whose scale a finite binary16 can hold",
        "row-too-small": "a row whose values its BF16 scale can be divided into without overflow",
        "negative-scale": "a scale that is not negative",
        "negative-zero-scale": "a zero scale with sign bit 0",
        "nan-scale": "a scale that is a number",
        "infinite-scale": "a finite scale",
        "nan-code": "a code that is a number",
        "code-out-of-range": "a code from -127 to 127",
        "code-under-zero-scale": "only zero codes under a zero scale",
        "nonzero-padding": "zero padding",
        "not-exact": "a value that the target format holds exactly",
        "overflow": "a value that rounds to a finite one",
        "out-of-range": "a value within the range of I32",
        "fractional": "a whole number",
    }
)
"""What each kind of fault violates, in words for people."""


def word_error(fault: Fault, where: str) -> WordError:
    """The error for a fault at a place already named."""
    return WordError(where, expected=EXPECTED[fault.kind], found=f"word 0x{fault.word:x} ({fault.kind})")
