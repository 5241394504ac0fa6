"""The native encoders give the oracle's planes, or refuse where and why it does; the native verifier agrees.

Both are tried at once, since the oracle's verdicts are the costly part.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from tests.conformance import native
from tests.conformance.blocks import Block, Planes, Refusal
from tests.conformance.golden import golden_block, vector_name, vectors
from tests.conformance.lone_words import LONE_WORDS, LoneWords, lone_words
from tests.conformance.table import FAMILIES, cases
from tests.instruction_sets import RUNNABLE, using
from tests.oracle.storage_layouts import up


def check(block: Block) -> None:
    for name in RUNNABLE:
        with using(name):
            assert native.encode(block) == block.verdict, (block.name, name)
            derivation = native.derive(block, block.planes)
        assert derivation.mismatch is None, (block.name, name, derivation.mismatch)
        assert native.refusal(derivation.fault) == block.refusal, (block.name, name)


@pytest.mark.parametrize("family", FAMILIES)
def test_encoder_verifier_and_oracle_agree(family: str) -> None:
    for block in cases(family):
        check(block)


@pytest.mark.parametrize(
    "family", [family for family in FAMILIES if "BF16 partial groups" in family or "widths" in family]
)
@pytest.mark.parametrize("offset", [1, 2, 7])
def test_buffers_may_start_anywhere(family: str, offset: int) -> None:
    for block in cases(family)[::64]:
        for name in RUNNABLE:
            with using(name):
                assert native.encode(block, offset=offset) == block.verdict, (block.name, name)


@pytest.mark.parametrize(("format", "dtype"), LONE_WORDS)
def test_every_16_bit_word_alone(format: str, dtype: str) -> None:
    lone = lone_words(format, dtype)
    assert len(lone.accepted.words) + len(lone.refused) == 1 << 16
    for name in RUNNABLE:
        with using(name):
            check_alone(lone)


def check_alone(lone: LoneWords) -> None:
    assert native.encode(lone.accepted) == lone.planes
    derivation = native.derive(lone.accepted, lone.planes)
    assert derivation.mismatch is None
    assert derivation.fault is None
    for word, encoded, derived in native.faults_alone(lone.accepted.format, lone.accepted.dtype, lone.refused):
        assert encoded is not None, f"{word:04X}"
        assert (encoded.reason, encoded.row, encoded.column) == (lone.refused[word], 0, 0), f"{word:04X}"
        assert derived == encoded, f"{word:04X}"


@pytest.mark.parametrize("vector", [*vectors("grouped.json"), *vectors("fp8_row.json")], ids=vector_name)
def test_golden_vectors(vector: dict[str, Any]) -> None:
    block = golden_block(vector)
    if "source_sha256" in vector:
        assert hashlib.sha256(block.source).hexdigest() == vector["source_sha256"]
    payload = b""
    for plane in (block.planes.codes, block.planes.high, block.planes.scales):
        payload = payload.ljust(up(len(payload), 256), b"\0") + plane
    assert len(payload) == vector["payload_bytes"]
    assert hashlib.sha256(payload).hexdigest() == vector["payload_sha256"]
    check(block)


def test_the_table_holds_both_outcomes() -> None:
    """A table without refusals, or without planes, would prove half of what it says."""
    outcomes = {type(block.verdict) for family in ("Q4G64_F16S F32 limit of the scale",) for block in cases(family)}
    assert outcomes == {Planes, Refusal}


def test_case_names_are_unique() -> None:
    names = [block.name for family in FAMILIES for block in cases(family)]
    assert len(names) == len(set(names))
