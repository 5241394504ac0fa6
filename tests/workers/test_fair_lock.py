"""The lock that threads get in the order in which they ask for it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from workers.fair_lock import FairLock


def test_one_thread_at_a_time_has_it() -> None:
    lock, inside, most = FairLock(), [], []

    def enter(number: int) -> None:
        for _ in range(50):
            with lock:
                inside.append(number)
                most.append(len(inside))
                time.sleep(0)
                inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(enter, range(8)))
    assert most == [1] * 400


def test_who_waits_comes_before_who_asks_again() -> None:
    lock, order = FairLock(), []

    def ask(number: int) -> None:
        with lock:
            order.append(number)

    with lock:
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(5)]
        for count, thread in enumerate(threads, 1):
            thread.start()
            while len(lock._waiting) < count:
                time.sleep(0.001)
    with lock:
        order.append(5)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4, 5]


def test_it_is_free_after_a_failure() -> None:
    lock = FairLock()
    with pytest.raises(ZeroDivisionError), lock:
        _ = 1 / 0
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lock.__enter__).result(timeout=5) is None
