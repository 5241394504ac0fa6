"""What threads bring at once is committed together, and each gets what became of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from service.batching import Batching


class RefusedError(Exception):
    """What a commit raises that is about single items."""


class Commits:
    """Commits that wait where they are told to, and what was brought to each."""

    def __init__(self, fails: Callable[[Sequence[int]], Exception | None] = lambda _: None) -> None:
        self.batches: list[list[int]] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self._fails = fails

    def commit(self, items: Sequence[int]) -> list[int]:
        self.batches.append(sorted(items))
        self.begun.set()
        assert self.go_on.wait(20)
        error = self._fails(items)
        if error is not None:
            raise error
        return [10 * item for item in items]


def _written(commits: Commits, items: int) -> list[Future[int]]:
    """The futures of items, of which the others come while the first is being committed."""
    batching = Batching(commits.commit, (RefusedError,))
    first = batching.submit(0)
    assert commits.begun.wait(20)
    with ThreadPoolExecutor(items) as pool:
        others = list(pool.map(batching.submit, range(1, items)))
    commits.go_on.set()
    batching.close()
    return [first, *others]


def test_what_comes_meanwhile_is_committed_together() -> None:
    commits = Commits()
    assert [one.result() for one in _written(commits, 9)] == [10 * item for item in range(9)]
    assert commits.batches == [[0], [*range(1, 9)]]


def test_if_one_is_refused_the_others_are_committed() -> None:
    commits = Commits(lambda items: RefusedError("5") if 5 in items else None)
    futures = _written(commits, 9)
    with pytest.raises(RefusedError, match="5"):
        futures[5].result()
    assert [one.result() for item, one in enumerate(futures) if item != 5] == [0, 10, 20, 30, 40, 60, 70, 80]
    assert commits.batches[:2] == [[0], [*range(1, 9)]]
    assert sorted(commits.batches[2:]) == [[item] for item in range(1, 9)]


def test_any_other_failure_is_that_of_all_and_of_none_that_comes_later() -> None:
    commits = Commits(lambda items: OSError("away") if len(items) > 1 else None)
    first, *others = _written(commits, 4)
    assert first.result() == 0
    for one in others:
        with pytest.raises(OSError, match="away"):
            one.result()
    assert len(commits.batches) == 2
    assert Batching(commits.commit, (RefusedError,)).submit(7).result(20) == 70


def test_what_is_cancelled_in_time_is_not_committed() -> None:
    commits = Commits()
    batching = Batching(commits.commit, (RefusedError,))
    first = batching.submit(0)
    assert commits.begun.wait(20)
    second, third = batching.submit(1), batching.submit(2)
    assert second.cancel()
    assert not first.cancel(), "it is being committed"
    commits.go_on.set()
    batching.close()
    assert (first.result(), third.result()) == (0, 20)
    assert commits.batches == [[0], [2]]


def test_where_all_are_cancelled_nothing_is_committed() -> None:
    commits = Commits()
    batching = Batching(commits.commit, (RefusedError,))
    batching.submit(0)
    assert commits.begun.wait(20)
    assert batching.submit(1).cancel()
    commits.go_on.set()
    batching.close()
    assert commits.batches == [[0]]


def test_too_few_outcomes_are_a_fault_of_all() -> None:
    batching: Batching[int, int] = Batching(lambda items: [10 * item for item in items][:-1])
    with pytest.raises(ValueError, match="zip"):
        batching.submit(1).result(20)


def test_what_comes_after_the_end_is_refused_each_time() -> None:
    batching: Batching[int, int] = Batching(list)
    batching.close()
    for _ in range(2):
        with pytest.raises(RuntimeError):
            batching.submit(1)
