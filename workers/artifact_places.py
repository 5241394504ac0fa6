"""Artifacts that are named to the service: by a place below the source roots, or by the id of a job that made one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from sqlalchemy.orm import Session

from schemas.errors import SourceError
from schemas.states import JobState
from schemas.tables import JobRow
from workers.engine.container.reader import ArtifactReader
from workers.engine.file_stamp import FileStamp
from workers.engine.sources.roots import Roots
from workers.settings import Settings
from workers.storage import Storage
from workers.submission import place_below

EXPECTED = "a file below the source roots, or the id of a job that is ready"


def stored_parts(session: Session, named: str) -> tuple[str, ...]:
    """SHA-256 of the files of the artifact of the job that a text names, the entry first; none for a text that is a
    path and not an id.

    Raises SourceError for the id of a job that is not there or has no artifact.
    """
    try:
        job_id = UUID(named)
    except ValueError:
        return ()
    job = session.get(JobRow, job_id)
    if job is None:
        raise SourceError("artifact", expected=EXPECTED, found="the id of none")
    if job.state is not JobState.READY:
        raise SourceError("artifact", expected=EXPECTED, found=f"one that is {job.state}")
    return tuple(part.sha256 for part in job.parts)


@contextmanager
def opened_artifact(
    named: str, stored: Sequence[str], settings: Settings, storage: Storage
) -> Iterator[ArtifactReader]:
    """The artifact that a text names, `stored` being its files if they are in the store.

    Raises SourceError for a place that is not allowed, ArtifactError for no artifact.
    """
    if stored:
        entry, *continuations = map(storage.artifact, stored)
        with ArtifactReader(entry, continuations) as reader:
            yield reader
        return
    roots = Roots(settings.source_roots)
    place = place_below(named, roots, "artifact")
    file = roots.open_file(place, "artifact")
    try:
        with ArtifactReader(roots.resolve(place, "artifact")) as reader:
            if FileStamp.of(os.fstat(reader.fileno())) != FileStamp.of(os.fstat(file)):
                raise SourceError("artifact", expected="a file that stays where it is", found="another one")
            for continuation in reader.paths[1:]:
                roots.resolve(continuation, "continuation of the artifact")
            yield reader
    finally:
        os.close(file)
