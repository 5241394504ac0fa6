"""Steps of many objects on a few threads: in order within a chain, helped where there is no other, one failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.engine.scratch import Scratch
from workers.engine.steps import Step, run_chains, run_steps


class StepError(Exception):
    """Raised by a step; `place` is where it is."""

    def __init__(self, chain: int, step: int) -> None:
        super().__init__(f"step {step} of chain {chain}")
        self.place = (chain, step)


class Record:
    """Chains of so many steps each, and in which order they began, and on which threads."""

    def __init__(self, *lengths: int, failing: frozenset[tuple[int, int]] = frozenset(), pause: float = 0.0) -> None:
        self.lengths = lengths
        self.failing = failing
        self.pause = pause
        self.begun: list[tuple[int, int]] = []
        self.threads: dict[tuple[int, int], int] = {}

    def chains(self) -> Iterator[Iterator[Step[None]]]:
        return (self._chain(number, length) for number, length in enumerate(self.lengths))

    def _chain(self, number: int, length: int) -> Iterator[Step[None]]:
        for step in range(length):
            yield partial(self._run, (number, step))

    def _run(self, place: tuple[int, int], _scratch: Scratch) -> None:
        self.begun.append(place)
        self.threads[place] = threading.get_ident()
        time.sleep(self.pause)
        if place in self.failing:
            raise StepError(*place)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_step_runs_once_and_chains_keep_their_order(threads: int) -> None:
    record = Record(3, 0, 7, 1, 20)
    run_chains(record.chains(), threads)
    for number, length in enumerate(record.lengths):
        assert [step for chain, step in record.begun if chain == number] == list(range(length))


def test_threads_take_chains_of_their_own_and_then_help() -> None:
    record = Record(40, 5, pause=0.002)
    run_chains(record.chains(), 2)
    one, other = record.threads[0, 0], record.threads[1, 0]
    assert one != other
    assert {record.threads[1, step] for step in range(5)} == {other}
    assert {record.threads[0, step] for step in range(40)} == {one, other}


def test_one_chain_is_for_all_threads() -> None:
    met = threading.Barrier(3, timeout=20)

    def meet(_scratch: Scratch) -> None:
        met.wait()

    run_steps(iter([meet] * 3), 3)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_earliest_failure_is_raised_on_any_number_of_threads(data: st.DataObject) -> None:
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=6))
    places = [(chain, step) for chain, length in enumerate(lengths) for step in range(length)]
    failing = data.draw(st.frozensets(st.sampled_from(places), min_size=1, max_size=5))
    record = Record(*lengths, failing=failing, pause=0.0002)
    with pytest.raises(StepError) as raised:
        run_chains(record.chains(), data.draw(st.sampled_from([1, 2, 3])))
    assert raised.value.place == min(failing)
    assert {place for place in places if place < min(failing)} <= set(record.begun)


def test_after_a_failure_later_chains_end() -> None:
    failed = threading.Event()
    ran = 0

    def fail(_scratch: Scratch) -> None:
        failed.set()
        raise StepError(0, 0)

    def go_on(_scratch: Scratch) -> None:
        nonlocal ran
        failed.wait()
        ran += 1
        time.sleep(0.01)

    with pytest.raises(StepError):
        run_chains([iter([fail]), iter([go_on] * 1000)], 2)
    assert ran < 100


def test_a_chain_that_cannot_say_its_next_step_has_failed_there() -> None:
    def steps() -> Iterator[Step[None]]:
        yield lambda _scratch: None
        raise StepError(0, 1)

    record = Record(4, failing=frozenset({(0, 0)}))
    with pytest.raises(StepError) as raised:
        run_chains([steps(), *record.chains()], 2)
    assert raised.value.place == (0, 1)
