"""Digests of what goes by: right in any order of pieces, and nothing is read again where they go by in order."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.engine.encode.parts import Parts
from workers.engine.encode.running_digest import READ_BYTES, RunningDigest
from workers.engine.scratch import Bytes, Scratch


class Source:
    """Bytes, and how many of them were read again."""

    def __init__(self, size: int) -> None:
        self.data = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
        self.read = 0

    def fill(self, offset: int, out: Bytes) -> None:
        out[:] = self.data[offset : offset + out.size]
        self.read += out.size

    @property
    def blake3(self) -> str:
        return blake3(self.data.data).hexdigest()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12))
def test_any_pieces_give_the_digest_of_all(size: int, pieces: list[tuple[int, int]]) -> None:
    source, parts = Source(size), Parts()
    digest = RunningDigest(size, source.fill, parts)
    for offset, count in pieces:
        part = parts.hand_out()
        if offset <= size:
            digest.passing(part, offset, source.data[offset : offset + count].copy())
        parts.end(part)
    assert digest.hexdigest(Scratch()) == source.blake3


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_pieces_in_the_order_of_parts_are_not_read_again(threads: int) -> None:
    source, parts, size = Source(100_000), Parts(), 1000
    digest = RunningDigest(source.data.size, source.fill, parts)
    numbers = [parts.hand_out(last=start == 99) for start in range(100)]

    def run(number: int) -> bool:
        time.sleep(0.001 * (-number % threads))  # later parts come first
        digest.passing(number, number * size, source.data[number * size : (number + 1) * size])
        return parts.end(number)

    with ThreadPoolExecutor(threads) as pool:
        ended = list(pool.map(run, numbers))
    assert sum(ended) == 1
    assert digest.hexdigest(Scratch()) == source.blake3
    assert source.read == 0


def test_a_part_that_ends_without_its_bytes_holds_nobody_up() -> None:
    source, parts = Source(3 * READ_BYTES + 5), Parts()
    digest = RunningDigest(source.data.size, source.fill, parts)
    first, second, third = parts.hand_out(), parts.hand_out(), parts.hand_out(last=True)
    waiting = [
        threading.Thread(target=lambda part=part: digest.passing(part, 10 * part, source.data[10 * part :][:10]))
        for part in (second, third)
    ]
    for one in waiting:
        one.start()
    assert not parts.end(first)
    for one in waiting:
        one.join(20)
    assert not any(one.is_alive() for one in waiting)
    assert [parts.end(second), parts.end(third)] == [False, True]
    assert digest.hexdigest(Scratch()) == source.blake3
    assert source.read == source.data.size
