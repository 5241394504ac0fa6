"""A service in this process: its HTTP application on a loopback port, and a worker's part done on request."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import uvicorn
from fastapi import FastAPI
from httpx import Client, Response
from sqlalchemy import URL

from service.application import create_application
from service.problem_protocol import ProblemProtocol
from tests.servers import postgresql_database_on
from tests.small_job import job_body, write_checkpoint
from workers.conversion import Conversion, WorkerContext
from workers.database import Database
from workers.settings import Settings
from workers.storage import Storage


@dataclass(frozen=True)
class RunningService:
    """The application behind a client, and what a worker beside it would use."""

    settings: Settings
    application: FastAPI
    client: Client

    @property
    def database(self) -> Database:
        database: Database = self.application.state.service.database
        return database

    @property
    def messages(self) -> list[Path]:
        """The files of the messages that wait in the queue, once all have been sent."""
        self.application.state.service.messages.flush()
        return list((self.settings.data / "queue" / "messages").iterdir())

    def submit(self, **members: Any) -> str:
        """Submits the small job; its id."""
        answer = self.client.post("/v1/jobs", json=job_body(**members))
        assert answer.status_code == 202, answer.text
        job_id: str = answer.json()["id"]
        return job_id

    def work(self, job_id: str) -> dict[str, Any]:
        """Does a worker's part in a job; the job after it."""
        worker = WorkerContext("w", self.settings, self.database, Storage(self.settings.data), threading.Event())
        Conversion(worker, UUID(job_id)).advance()
        job: dict[str, Any] = self.client.get(f"/v1/jobs/{job_id}").json()
        return job


class Databases:
    """Where services have their databases, for all tests of a session: in their data folders, or copied from a template
    on a PostgreSQL server."""

    template: URL | None = None

    @classmethod
    @contextmanager
    def settings(cls) -> Iterator[dict[str, Any]]:
        """The settings of a service that has a database of its own."""
        if cls.template is None:
            yield {}
            return
        with postgresql_database_on(cls.template.set(database="postgres"), template=cls.template.database or "") as url:
            yield {"database_url": url.render_as_string(hide_password=False)}


@contextmanager
def running_service(data: Path, **settings: Any) -> Iterator[RunningService]:
    """A service over a data folder that has the small checkpoint among its sources, on a free port if none is set."""
    with Databases.settings() as database, _running_service(data, **{**database, **settings}) as service:
        yield service


@contextmanager
def _running_service(data: Path, **settings: Any) -> Iterator[RunningService]:
    write_checkpoint(data / "sources" / "small")
    chosen = Settings(data=data, **{"threads": 2, "port": 0, **settings})
    application = create_application(chosen)
    server = uvicorn.Server(uvicorn.Config(application, http=ProblemProtocol, log_config=None))
    with socket.create_server(("127.0.0.1", chosen.port)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            with Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=60) as client:
                yield RunningService(chosen, application, client)
        finally:
            application.state.service.end_streams()
            server.should_exit = True
            thread.join()
            application.state.service.close()


def assert_problem(answer: Response, status: int, slug: str) -> dict[str, Any]:
    """The problem document of an answer that has to be one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert (problem["type"], problem["status"]) == (f"urn:ninforge:problem:{slug}", status)
    assert problem["title"]
    assert problem["detail"]
    assert set(problem) <= {"type", "title", "status", "detail", "errors"}
    return problem
