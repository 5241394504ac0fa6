"""The service as its users run it: processes of the `ninforge` command, and jobs on them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from httpx import Client

from tests.small_job import recipe_document

Seen = TypeVar("Seen")

COMMAND = Path(sys.executable).with_name("ninforge")
PATIENCE = 120.0
"""Seconds that a busy machine may take for what takes a moment."""

QUICK = {"NINFORGE_LEASE_SECONDS": "2", "NINFORGE_SWEEP_SECONDS": "0.3"}
"""Settings under which a dead worker is missed soon."""


@contextmanager
def command(*arguments: str, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A running `ninforge` command; killed at the end if it has not ended by then."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NINFORGE_")}
    process = subprocess.Popen(
        [COMMAND, *arguments],
        env={**inherited, **environment},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@dataclass(frozen=True)
class Service:
    """A process that serves HTTP, and a client of it."""

    process: subprocess.Popen[str]
    client: Client

    def submit(self, body: Mapping[str, Any]) -> str:
        answer = self.client.post("/v1/jobs", json=body)
        assert answer.status_code == 202, answer.text
        job_id: str = answer.json()["id"]
        return job_id

    def job(self, job_id: str) -> dict[str, Any]:
        job: dict[str, Any] = self.client.get(f"/v1/jobs/{job_id}").json()
        return job

    def finished(self, job_id: str) -> dict[str, Any]:
        """The job when it has ended."""
        return until(lambda: self.job(job_id), lambda job: job["state"] in {"ready", "failed", "cancelled"})

    def converting(self, job_id: str, *, objects_done: int) -> dict[str, Any]:
        """The job once that many objects are encoded, and others are not."""
        job = until(
            lambda: self.job(job_id),
            lambda job: job["progress"]["objects_done"] >= objects_done or job["state"] in {"ready", "failed"},
        )
        assert job["state"] == "converting", job
        return job

    def worker(self) -> int:
        """The process id of the worker child."""
        [child] = until(lambda: children(self.process.pid), lambda found: len(found) == 1)
        return child

    def terminate(self) -> int:
        """Asks the service to end; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@contextmanager
def service(subcommand: str, environment: Mapping[str, str]) -> Iterator[Service]:
    """`ninforge up` or `ninforge serve` on a free port."""
    with command(subcommand, environment={"NINFORGE_PORT": "0", **environment}) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        with Client(base_url=address, timeout=PATIENCE) as client:
            yield Service(process, client)


def children(process: int) -> list[int]:
    """Process ids of the children of a process."""
    return [
        int(child) for task in Path(f"/proc/{process}/task").glob("*/children") for child in task.read_text().split()
    ]


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def until(look: Callable[[], Seen], holds: Callable[[Seen], bool]) -> Seen:
    """What `look` sees once it holds; an error when that takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not holds(seen := look()):
        assert time.monotonic() < deadline, f"still {seen} after {PATIENCE} seconds"
        time.sleep(0.01)
    return seen


def long_job(layers: int) -> dict[str, Any]:
    """The body of a job of many objects: with claims of one object each, it lasts a while."""
    return {"recipe": recipe_document(layers=layers), "sources": {"base": "small"}}
