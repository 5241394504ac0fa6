"""Reads PTX: which instructions each kernel has, and whether any of them rounds other than once and to nearest."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ENTRY = re.compile(r"^\.visible \.entry (\w+)\(.*?^\{(.*?)^\}", re.MULTILINE | re.DOTALL)
_INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][a-z0-9_.:]*)[^;]*;", re.MULTILINE)
_ARITHMETIC = re.compile(r"^(add|sub|mul|div|fma|mad|rcp|sqrt|rsqrt|ex2|lg2|sin|cos|tanh)\b.*\.(f16|bf16|f32|f64)")
_CONVERSION = re.compile(r"^cvt\b.*\.(f16|bf16|f32|f64)\b")
_WIDENING = re.compile(r"^cvt\.f64\.f32$")


def instructions(ptx: str) -> dict[str, list[str]]:
    """The instructions of each kernel, without operands."""
    return {name: _INSTRUCTION.findall(body) for name, body in _ENTRY.findall(ptx)}


def inexact(kernel: list[str]) -> Iterator[str]:
    """Instructions on floating point that fuse, approximate, flush, or do not say that they round to nearest."""
    for instruction in kernel:
        parts = instruction.split(".")
        if parts[0] in {"fma", "mad"} and _ARITHMETIC.match(instruction):
            yield instruction
        elif {"approx", "ftz", "full", "sat"} & set(parts):
            yield instruction
        elif _ARITHMETIC.match(instruction) and "rn" not in parts:
            yield instruction
        elif _CONVERSION.match(instruction) and "rn" not in parts and not _WIDENING.match(instruction):
            yield instruction
