"""The golden vectors: deterministic source words, and the digests of the payloads that they must give."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

from tests.conformance.blocks import Block

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
_SOURCE_WORDS = runpy.run_path(str(GOLDEN / "source_words.py"))


def vectors(file: str) -> list[dict[str, Any]]:
    """The entries of a file of vectors."""
    loaded: list[dict[str, Any]] = json.loads((GOLDEN / file).read_text(encoding="utf-8"))
    return loaded


def vector_name(vector: dict[str, Any]) -> str:
    """What an encoder's vector is called."""
    n, k = vector["shape"]
    return f"{vector['format']} {vector['source_dtype']}: {vector['kind']} {vector['seed']} [{n},{k}]"


def golden_block(vector: dict[str, Any]) -> Block:
    """The case of an encoder's vector."""
    n, k = vector["shape"]
    words = _SOURCE_WORDS["source_words"](vector["source_dtype"], vector["kind"], vector["seed"], n, k)
    return Block(vector_name(vector), vector["format"], vector["source_dtype"], k, tuple(words.reshape(-1).tolist()))


def stream(seed: int, size: int) -> bytes:
    """The first bytes of the little-endian splitmix64 stream of this seed."""
    data: bytes = _SOURCE_WORDS["splitmix64"](seed, -(-size // 8)).astype("<u8").tobytes()
    return data[:size]
