"""The golden vectors: the planes that the kernels make, laid out, have the published digests."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from tests.native.planes import (
    GOLDEN,
    GOLDEN_WORDS,
    GROUP,
    Planes,
    as_bytes,
    derive_fp8,
    derive_grouped,
    encode_fp8,
    encode_grouped,
)
from workers import _native

pytestmark = pytest.mark.usefixtures("every_instruction_set")

CODE_BITS = {"Q4G64_F16S": 4, "Q5G64_F16S": 5, "Q6G64_F16S": 6, "W8G32_F16S": 8}


def vectors(name: str) -> list[Any]:
    loaded: list[Any] = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    return loaded


def name_of(vector: dict[str, Any]) -> str:
    return f"{vector['format']}-{vector['seed']}"


def payload(planes: Planes) -> bytes:
    """Planes one after another, each but the first from a multiple of 256."""
    laid_out = b""
    for plane in (planes.codes, planes.high, planes.scales):
        laid_out = laid_out.ljust(-(-len(laid_out) // 256) * 256, b"\0") + plane.tobytes()
    return laid_out


def check(vector: dict[str, Any], laid_out: bytes) -> None:
    assert len(laid_out) == vector["payload_bytes"]
    assert hashlib.sha256(laid_out).hexdigest() == vector["payload_sha256"]


@pytest.mark.parametrize("vector", vectors("grouped.json"), ids=name_of)
def test_grouped(vector: dict[str, Any]) -> None:
    dtype, code_bits = vector["source_dtype"], CODE_BITS[vector["format"]]
    words = GOLDEN_WORDS["source_words"](dtype, vector["kind"], vector["seed"], *vector["shape"])
    assert hashlib.sha256(words.tobytes()).hexdigest() == vector["source_sha256"]
    planes = encode_grouped(words, dtype, code_bits)
    check(vector, payload(planes))
    derivation = derive_grouped(words, dtype, code_bits, planes)
    assert (derivation.mismatch, derivation.fault) == (None, None)
    k = vector["shape"][1]
    assert _native.legal_grouped(code_bits, k, planes.codes, planes.high, planes.scales) is None
    assert len(planes.codes) == vector["shape"][0] * (-(-k // 128) * 128 // GROUP[code_bits]) * 32


@pytest.mark.parametrize("vector", vectors("fp8_row.json"), ids=name_of)
def test_fp8_row(vector: dict[str, Any]) -> None:
    dtype = vector["source_dtype"]
    words = GOLDEN_WORDS["source_words"](dtype, vector["kind"], vector["seed"], *vector["shape"])
    planes = encode_fp8(words, dtype)
    check(vector, payload(planes))
    derivation = derive_fp8(words, dtype, planes)
    assert (derivation.mismatch, derivation.fault) == (None, None)
    assert _native.legal_fp8_row(vector["shape"][1], planes.codes, planes.scales) is None


@pytest.mark.parametrize(
    "vector", [vector for vector in vectors("scaled_float.json") if vector["format"] == "NVFP4"], ids=name_of
)
def test_nvfp4_swizzle(vector: dict[str, Any]) -> None:
    n, k = vector["shape"]
    splitmix64 = GOLDEN_WORDS["splitmix64"]
    codes = splitmix64(vector["seed"], n * k // 16).view(np.uint8)
    natural = splitmix64(vector["seed"] + 1, n * k // 128).view(np.uint8) & np.uint8(0x7F)
    natural[natural == 0x7F] = 0x7E
    stored = np.empty_like(natural)
    _native.swizzle_scales(natural, k, stored)
    divisor = int(vector["divisor_word"], 16).to_bytes(4, "little")
    check(vector, payload(Planes(codes, np.empty(0, np.uint8), stored)) + divisor)
    assert _native.compare_swizzled(natural, k, stored) is None
    assert _native.legal_nvfp4_scales(as_bytes(stored), k, swizzled=True) is None
