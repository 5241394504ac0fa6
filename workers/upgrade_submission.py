"""An upgrade as it is asked for, and the file that it is of: the same in the API process and in every worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from schemas.errors import Fault, SourceError, UpgradeError
from schemas.tables import JobRow
from workers.artifact_places import opened_artifact, stored_parts
from workers.claims import locked_job
from workers.engine.architectures.architecture import MAX_RESOURCE_BYTES
from workers.engine.container.reader import ArtifactReader
from workers.engine.sources.hashed_file import hash_file
from workers.engine.sources.roots import Roots
from workers.engine.upgrade.expected import UpgradableModel, registered_model, require_objects
from workers.settings import Settings
from workers.storage import Storage
from workers.submission import place_below


@dataclass(frozen=True, slots=True)
class UpgradeSubmission:
    """The file to upgrade and the chat template that is to replace its own, as submitted. Where `artifact` is the id of
    a job, `stored_sha256` is that of the file in the store of artifacts."""

    artifact: str
    chat_template: str | None
    stored_sha256: str | None

    @classmethod
    def of(cls, values: dict[str, Any]) -> UpgradeSubmission:
        """From what `values` gave."""
        return cls(**values)

    def values(self) -> dict[str, Any]:
        """As a job's row keeps it."""
        return asdict(self)

    @contextmanager
    def opened(self, settings: Settings, storage: Storage) -> Iterator[ArtifactReader]:
        """The file to upgrade. Raises SourceError for a place that is not allowed, ArtifactError for no artifact."""
        stored = () if self.stored_sha256 is None else (self.stored_sha256,)
        with opened_artifact(self.artifact, stored, settings, storage) as reader:
            yield reader

    def template(self, settings: Settings) -> bytes | None:
        """The content of the new chat template. Raises SourceError."""
        if self.chat_template is None:
            return None
        roots = Roots(settings.source_roots)
        place = place_below(self.chat_template, roots, "chat template")
        return hash_file("chat template", place, roots).content(roots, limit=MAX_RESOURCE_BYTES)


def model_of(reader: ArtifactReader) -> UpgradableModel:
    """The model that a file is of. Raises UpgradeError for a file that cannot be upgraded."""
    where = str(reader.path)
    model = registered_model(reader.artifact, where=where)
    require_objects(reader.artifact.objects, model, where=where)
    return model


def stored_file(session: Session, artifact: str) -> str | None:
    """SHA-256 of the artifact of the job that a text names; None for a text that is a path and not an id.

    Raises UpgradeError for the id of a job that is not there or whose artifact is not one file to upgrade.
    """
    try:
        parts = stored_parts(session, artifact)
    except SourceError as error:
        raise _refused(f"expected {error.expected}, found {error.found}") from None
    if not parts:
        return None
    if session.get_one(JobRow, UUID(artifact)).framing == 3:
        raise _refused("framing 3 is what current engines read: there is nothing to upgrade")
    return parts[0]


def require_stored(session: Session, submission: UpgradeSubmission) -> None:
    """Keeps the job whose file is to be upgraded from being removed until the transaction ends.

    Raises UpgradeError if it has been meanwhile.
    """
    if submission.stored_sha256 is not None:
        locked_job(session, UUID(submission.artifact))
        stored_file(session, submission.artifact)


def _refused(message: str) -> UpgradeError:
    return UpgradeError("upgrade", [Fault("/artifact", message)], expected="a file of framing 1 or 2")
