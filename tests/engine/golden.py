"""The golden vectors as conversions: source tensors, object, and the SHA-256 that the payload must have."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.engine.conversions import Tensors, one_object

FOLDER = Path(__file__).parents[1] / "data" / "golden"
_SPEC = importlib.util.spec_from_file_location("source_words", FOLDER / "source_words.py")
assert _SPEC is not None
assert _SPEC.loader is not None
SOURCE_WORDS = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(SOURCE_WORDS)


@dataclass(frozen=True)
class Golden:
    """One vector. `row_bytes` is what one row of the source takes."""

    name: str
    tensors: Tensors
    object: dict[str, Any]
    row_bytes: int
    payload_bytes: int
    payload_sha256: str


def encoded_vectors() -> list[Golden]:
    """Vectors of the two encoder profiles."""
    found = []
    for file in ("grouped.json", "fp8_row.json"):
        for vector in json.loads((FOLDER / file).read_text()):
            n, k = vector["shape"]
            words = SOURCE_WORDS.source_words(vector["source_dtype"], vector["kind"], vector["seed"], n, k)
            tensors = {"source": (vector["source_dtype"], (n, k), words.tobytes())}
            encode = vector.get("encoder", "MAXABS_F16_RECIP_RNE_V1")
            made = one_object(vector["format"], (n, k), encode, {"tensor": "source"})
            found.append(_golden(vector, tensors, made, k * words.itemsize))
    return found


def copied_vectors() -> list[Golden]:
    """Vectors of the two layouts of already quantized words."""
    vectors = json.loads((FOLDER / "scaled_float.json").read_text())
    return [_nvfp4(vector) if vector["format"] == "NVFP4" else _fp8_row(vector) for vector in vectors]


def _nvfp4(vector: dict[str, Any]) -> Golden:
    n, k = vector["shape"]
    scales = np.frombuffer(_stream(vector["seed"] + 1, n * k // 16), np.uint8) & 0x7F
    scales = np.where(scales == 0x7F, 0x7E, scales).astype(np.uint8)
    divisor = int(vector["divisor_word"], 16).to_bytes(4, "little")
    tensors = {
        "codes": ("U8", (n, k // 2), _stream(vector["seed"], n * k // 2)),
        "scales": ("F8_E4M3", (n, k // 16), scales.tobytes()),
        "divisor": ("F32", (1,), divisor),
    }
    parts = {"codes": {"tensor": "codes"}, "scales": {"tensor": "scales"}, "divisors": [{"tensor": "divisor"}]}
    return _golden(vector, tensors, one_object("NVFP4", (n, k), "copy", {"nvfp4": parts}), 128 * k // 2)


def _fp8_row(vector: dict[str, Any]) -> Golden:
    n, k = vector["shape"]
    codes = np.frombuffer(_stream(vector["seed"], n * k), np.uint8).copy()
    codes[(codes & 0x7F) == 0x7F] ^= 1
    scales = np.frombuffer(_stream(vector["seed"] + 1, 2 * n), "<u2") & 0x7FFF
    scales = np.where(scales >= 0x7F80, scales & 0x3FFF, scales).astype("<u2")
    codes = codes.reshape(n, k)
    codes[scales == 0] &= 0x80
    tensors = {"codes": ("F8_E4M3", (n, k), codes.tobytes()), "scales": ("BF16", (n, 1), scales.tobytes())}
    parts = {"codes": {"tensor": "codes"}, "scales": {"tensor": "scales"}}
    return _golden(vector, tensors, one_object(vector["format"], (n, k), "copy", {"fp8_row": parts}), k)


def _stream(seed: int, size: int) -> bytes:
    words: bytes = SOURCE_WORDS.splitmix64(seed, -(-size // 8)).astype("<u8").tobytes()
    return words[:size]


def _golden(vector: dict[str, Any], tensors: Tensors, made: dict[str, Any], row_bytes: int) -> Golden:
    shape = "x".join(map(str, vector["shape"]))
    name = "-".join([vector["format"], vector.get("source_dtype", ""), vector.get("kind", ""), shape])
    return Golden(name, tensors, made, row_bytes, vector["payload_bytes"], vector["payload_sha256"])
