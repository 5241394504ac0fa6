"""Reads PTX: which instructions each kernel has, and whether any of them rounds other than once and to nearest."""

from __future__ import annotations

import re

_ENTRY = re.compile(r"^\.visible \.entry (\w+)\(.*?^\{(.*?)^\}", re.MULTILINE | re.DOTALL)
_INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][a-z0-9_.:]*)[^;]*;", re.MULTILINE)
_ARITHMETIC = re.compile(r"^(add|sub|mul|div|fma|mad|rcp|sqrt|rsqrt|ex2|lg2|sin|cos|tanh)\b.*\.(f16|bf16|f32|f64)")
_CONVERSION = re.compile(r"^cvt\b.*\.(f16|bf16|f32|f64)\b")
_WIDENING = re.compile(r"^cvt\.f64\.f32$")


def instructions(ptx: str) -> dict[str, list[str]]:
    """The instructions of each kernel, without operands."""
    return {name: _INSTRUCTION.findall(body) for name, body in _ENTRY.findall(ptx)}


def inexact(kernel: list[str]) -> list[str]:
    """Instructions on floating point that fuse, approximate, flush, or do not say that they round to nearest."""
    return [instruction for instruction in kernel if not _exact(instruction)]


def _exact(instruction: str) -> bool:
    parts = instruction.split(".")
    if {"approx", "ftz", "full", "sat"} & set(parts):
        return False
    if _ARITHMETIC.match(instruction):
        return "rn" in parts and parts[0] not in {"fma", "mad"}
    return not _CONVERSION.match(instruction) or "rn" in parts or bool(_WIDENING.match(instruction))
