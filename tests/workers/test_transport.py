"""The queue without a server: messages are seen whole, once, in order, whatever else lies in its folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery
from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from kombu.simple import SimpleQueue

from workers import transport
from workers.application import celery_application, wake
from workers.settings import Settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "queue"


@pytest.fixture
def queue(folder: Path) -> Iterator[SimpleQueue]:
    with _connection(folder) as connection:
        queue = _queue(connection, "jobs")
        yield queue
        queue.close()


def test_messages_come_in_the_order_in_which_they_were_put(queue: SimpleQueue) -> None:
    for number in range(300):
        queue.put(number)
    assert [_take(queue) for _ in range(300)] == list(range(300))
    with pytest.raises(Empty):
        queue.get(block=False)


def test_taken_messages_leave_no_file(queue: SimpleQueue, folder: Path) -> None:
    for number in range(5):
        queue.put(number)
    for _ in range(5):
        _take(queue)
    assert list((folder / "messages").iterdir()) == []
    assert list((folder / "taken").iterdir()) == []


def test_a_message_that_is_still_being_written_is_not_looked_at(queue: SimpleQueue, folder: Path) -> None:
    queue.put("first")
    [complete] = (folder / "messages").iterdir()
    half = folder / "messages" / f".{complete.name}"
    half.write_text(complete.read_text()[:40])
    assert _take(queue) == "first"
    with pytest.raises(Empty):
        queue.get(block=False)
    assert half.exists()


@pytest.mark.parametrize("damage", ["", '{"body": "W1s', "\x00\x00\x00\x00"])
def test_a_damaged_message_is_dropped_and_the_next_one_taken(queue: SimpleQueue, folder: Path, damage: str) -> None:
    queue.put("lost")
    [message] = (folder / "messages").iterdir()
    message.write_text(damage)
    queue.put("next")
    assert _take(queue) == "next"


def test_messages_of_other_queues_stay(folder: Path) -> None:
    with _connection(folder) as connection:
        jobs, others = _queue(connection, "jobs"), _queue(connection, "other.jobs")
        others.put("theirs")
        jobs.put("mine")
        assert _take(jobs) == "mine"
        with pytest.raises(Empty):
            jobs.get(block=False)
        assert _take(others) == "theirs"
        jobs.close()
        others.close()


def test_two_producers_and_two_consumers_lose_and_double_nothing(folder: Path) -> None:
    count, consumers_done = 400, threading.Event()

    def produce(producer: int) -> None:
        with _connection(folder) as connection:
            queue = _queue(connection, "jobs")
            for number in range(count):
                queue.put([producer, number])
            queue.close()

    def consume(_: int) -> list[tuple[int, int]]:
        taken: list[tuple[int, int]] = []
        with _connection(folder) as connection:
            queue = _queue(connection, "jobs")
            while not consumers_done.is_set():
                try:
                    producer, number = _take(queue)
                except Empty:
                    continue
                taken.append((producer, number))
            queue.close()
        return taken

    with ThreadPoolExecutor(4) as pool:
        consuming = [pool.submit(consume, number) for number in range(2)]
        producing = [pool.submit(produce, number) for number in range(2)]
        for producer in producing:
            producer.result(timeout=120)
        _wait_until_empty(folder)
        consumers_done.set()
        taken = [consumer.result(timeout=120) for consumer in consuming]
    assert sorted(taken[0] + taken[1]) == [(producer, number) for producer in range(2) for number in range(count)]
    for one, sender in product(taken, range(2)):
        numbers = [number for producer, number in one if producer == sender]
        assert numbers == sorted(numbers)


_WRITER = """
import sys, time
from pathlib import Path
from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from workers import transport

transport.register()
options = transport.transport_options(Path(sys.argv[1]))
with Connection(f"{transport.SCHEME}://", transport_options=options) as connection:
    queue = connection.SimpleQueue(Queue("jobs", Exchange(""), "jobs"))
    while True:
        queue.put("x" * 200_000)
        print("put", flush=True)
"""


def test_a_producer_that_is_killed_leaves_no_half_message(folder: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(folder)], stdout=subprocess.PIPE, text=True)
    with writer:
        assert writer.stdout is not None
        for _ in range(10):
            assert writer.stdout.readline() == "put\n"
        writer.kill()
    with _connection(folder) as connection:
        queue = _queue(connection, "jobs")
        taken = [_take(queue) for _ in range(len(list((folder / "messages").glob("[!.]*"))))]
        queue.close()
    assert len(taken) >= 10
    assert set(taken) == {"x" * 200_000}


def test_a_wake_carries_a_job_id_and_nothing_else(tmp_path: Path) -> None:
    application, job_id = celery_application(Settings(data=tmp_path)), uuid4()
    wake(application, job_id)
    with application.connection() as connection:
        queue = _queue(connection, "cpu")
        arguments, keywords, _ = _take(queue)
        queue.close()
    assert (arguments, keywords) == ([str(job_id)], {})


def test_processes_that_send_at_once_on_a_fresh_folder_disturb_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for attempt in range(20):
        applications = [celery_application(Settings(data=tmp_path / str(attempt))) for _ in range(4)]
        start = threading.Barrier(len(applications))

        def send(application: Celery, start: threading.Barrier = start) -> None:
            start.wait()
            wake(application, uuid4())

        with ThreadPoolExecutor(len(applications)) as pool:
            list(pool.map(send, applications))
        assert len(list((tmp_path / str(attempt) / "queue" / "messages").iterdir())) == len(applications)
    assert {path.name for path in tmp_path.iterdir()} == {str(attempt) for attempt in range(20)}, "a file of bindings"


@pytest.mark.parametrize("content", ["{}", '{"body": "x"}', '{"properties": {}}', "[]", '"text"'])
def test_what_is_no_message_is_dropped(queue: SimpleQueue, folder: Path, content: str) -> None:
    queue.put("wanted")
    (folder / "messages" / "0_stray.jobs.msg").write_text(content)
    (folder / "messages" / "1_folder.jobs.msg").mkdir()
    assert _take(queue) == "wanted"


def test_a_queue_whose_folders_were_removed_goes_on(queue: SimpleQueue, folder: Path) -> None:
    shutil.rmtree(folder)
    queue.put("wanted")
    assert _take(queue) == "wanted"


def test_a_queue_that_takes_no_message_is_survived(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    application = celery_application(Settings(data=tmp_path))
    (tmp_path / "queue" / "messages").rmdir()
    (tmp_path / "queue" / "messages").write_text("in the way")
    wake(application, uuid4())
    assert "waits for the sweeper" in caplog.text


def _connection(folder: Path) -> Connection:
    transport.register()
    return Connection(f"{transport.SCHEME}://", transport_options=transport.transport_options(folder))


def _queue(connection: Connection, name: str) -> SimpleQueue:
    """A queue as the application declares its own: reached by its name, without an exchange."""
    queue: SimpleQueue = connection.SimpleQueue(Queue(name, Exchange(""), name))
    return queue


def _take(queue: SimpleQueue) -> Any:
    message = queue.get(timeout=0.5)
    message.ack()
    return message.payload


def _wait_until_empty(folder: Path) -> None:
    waiting = threading.Event()
    while any((folder / "messages").iterdir()):
        waiting.wait(0.05)
