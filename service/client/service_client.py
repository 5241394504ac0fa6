"""A client of one service: jobs are submitted, watched, changed and downloaded through it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from uuid import UUID, uuid4

from schemas.interface import Job, JobRequest
from service.client.artifact import RemoteArtifact
from service.client.connection import Connection
from service.client.downloading import Download, Shown, download_artifact
from service.client.watching import PATIENCE_SECONDS, Happening, happenings
from workers.engine.steps import Observer, SilentObserver


class ServiceClient:
    """A client of the service at `url`, for one thread at a time; a context that closes it.

    Everything raises RefusedError for what the service refuses, with its problem document, and ServiceError where it
    does not answer, or not as the interface says.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self._connection = Connection(url, token)

    def __enter__(self) -> ServiceClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections."""
        self._connection.close()

    def submit(self, request: JobRequest, *, key: str | None = None) -> Job:
        """Queues a conversion, once however often it has to be sent: under an Idempotency-Key, a new one by default."""
        headers = {"Idempotency-Key": key or str(uuid4())}
        return self._connection.ask_until_answered("POST", "v1/jobs", Job, request, headers)

    def show(self, job: UUID) -> Job:
        """The job as it is now."""
        return self._connection.ask("GET", f"v1/jobs/{job}", Job)

    def watch(self, job: UUID, *, patience_seconds: float = PATIENCE_SECONDS) -> Iterator[Happening]:
        """What happens to a job until it has ended: the job, then what changes. A service that is away for less than
        `patience_seconds` interrupts it, and no more."""
        return happenings(self._connection, job, patience_seconds)

    def cancel(self, job: UUID) -> Job:
        """Ends a job that is not finished."""
        return self._connection.ask("POST", f"v1/jobs/{job}/cancel", Job)

    def retry(self, job: UUID) -> Job:
        """Queues a job that failed or was cancelled once more."""
        return self._connection.ask("POST", f"v1/jobs/{job}/retry", Job)

    def download(self, job: UUID, folder: Path, *, shown: Shown | None = None) -> Download:
        """Puts all files of a job's artifact into a folder, each checked. What an earlier call began there is taken up.

        Raises VerificationError for bytes of another SHA-256, OutputError where the folder cannot take them.
        """
        return download_artifact(RemoteArtifact(self._connection, job), folder, shown or _unseen)


def _unseen(_: int) -> AbstractContextManager[Observer]:
    return nullcontext(SilentObserver())
