"""`ninforge up`: the whole service from one command. The API in this process, one worker in a child process."""

from __future__ import annotations

import fcntl
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import NoReturn

from schemas.errors import OutputError
from service.server import Announce, run_server
from workers.logs import configure_logging
from workers.settings import Settings
from workers.storage import Storage

logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 25.0
"""What the worker has to end in: a little more than it gives itself (workers/child.py)."""

_FIRST_DELAY = 0.5
_LONGEST_DELAY = 30.0
_SOUND_SECONDS = 10.0
"""A worker that has lived this long was sound: should it end, the next starts after the shortest delay again."""


def run_embedded(settings: Settings, announce: Announce) -> None:
    """Runs the service until SIGTERM or SIGINT, then ends server and worker. Raises OutputError if it cannot run."""
    configure_logging()
    Storage(settings.data).prepare()
    signal.signal(signal.SIGTERM, _interrupt)
    with _only_one(settings), suppress(KeyboardInterrupt), WorkerChild(settings):
        run_server(settings, announce)


class WorkerChild:
    """A context with a worker process in it, which is started again whenever it ends."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._keep_running, name="worker-child", daemon=True)

    def __enter__(self) -> WorkerChild:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._ending.set()
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()
        self._thread.join(_PATIENCE_SECONDS)
        if self._process is not None and self._process.poll() is None:
            logger.warning("the worker did not end in time and is killed")
            self._process.kill()
        self._thread.join()

    def _keep_running(self) -> None:
        delay = _FIRST_DELAY
        while (process := self._start()) is not None:
            started = time.monotonic()
            with suppress(BrokenPipeError), process:  # closes its pipe
                process.wait()
            if self._ending.is_set():
                return
            delay = _FIRST_DELAY if time.monotonic() - started > _SOUND_SECONDS else delay
            logger.error("the worker ended with %d; another one starts in %.1f seconds", process.returncode, delay)
            self._ending.wait(delay)
            delay = min(2 * delay, _LONGEST_DELAY)

    def _start(self) -> subprocess.Popen[str] | None:
        """A new worker process, unless the service is ending. A session of its own keeps Ctrl-C from it."""
        with self._lock:
            if self._ending.is_set():
                return None
            command = [sys.executable, "-P", "-m", "workers.child"]
            process = subprocess.Popen(  # noqa: S603 - no shell, and a module of our own
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
            )
            if process.stdin is not None:
                with suppress(BrokenPipeError):  # it ended at once: its status says so
                    process.stdin.write(f"{self._settings.model_dump_json()}\n")
                    process.stdin.flush()
            self._process = process
            logger.info("worker started, process %d", process.pid)
            return process


@contextmanager
def _only_one(settings: Settings) -> Iterator[None]:
    """Holds the data folder for this process, since a second service would share its queue and its work files."""
    with (settings.data / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"data folder {settings.data}", expected="one that no service uses", found="one in use by another"
            ) from None
        yield


def _interrupt(_: int, __: FrameType | None) -> NoReturn:
    """Ends as Ctrl-C does, so that the worker is ended too."""
    raise KeyboardInterrupt
