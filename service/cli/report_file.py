"""A report as a file to hold an artifact to: that of `convert --report`, or a service's of GET /v1/jobs/{id}/report."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from schemas.errors import SourceError, VerificationError
from workers.engine.container.front import Artifact

MAX_REPORT_BYTES = 1 << 30


class Part(BaseModel):
    """Base of what is read: nothing taken for another type, further members ignored."""

    model_config = ConfigDict(strict=True)


class ReportedObject(Part):
    """What a report says of one payload."""

    name: str
    payload_blake3: str


class ReportedFile(Part):
    """What a report says of one file."""

    bytes: int
    sha256: str


class ReportedArtifact(Part):
    """What a report says of the files, the entry first."""

    parts: list[ReportedFile]


class ReportedVerification(Part):
    """How far the conversion was verified: `full`, `sample` or `none`."""

    coverage: str


class Report(Part):
    """The members of a report that a file can be held to, whatever else it says."""

    artifact: ReportedArtifact
    verification: ReportedVerification
    objects: list[ReportedObject]


def read_report(path: Path) -> Report:
    """Raises SourceError for a file that cannot be read or is no report."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_REPORT_BYTES + 1)
    except OSError as error:
        raise SourceError(f"report {path}", expected="a readable file", found=str(error.strerror)) from None
    if len(content) > MAX_REPORT_BYTES:
        raise SourceError(f"report {path}", expected=f"at most {MAX_REPORT_BYTES} bytes", found="more")
    try:
        return Report.model_validate(json.loads(content))
    except RecursionError:
        raise SourceError(f"report {path}", expected="a report", found="too many levels of nesting") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        at = "".join(f"/{part}" for part in first["loc"])
        raise SourceError(f"report {path}, member {at or '/'}", expected="a report", found=first["msg"]) from None
    except ValueError as error:
        raise SourceError(f"report {path}", expected="a JSON document", found=str(error)) from None


def hold_to_report(artifact: Artifact, sha256: tuple[str, ...], payloads: tuple[str, ...], report: Report) -> None:
    """Raises VerificationError for the first thing that the report says otherwise: objects, payloads, files.

    `sha256` are those of the files, `payloads` the BLAKE3 digests of the objects in order.
    """
    names = [stored.name for stored in artifact.objects]
    if len(names) != len(report.objects):
        raise VerificationError("objects", expected=f"{len(report.objects)}, as reported", found=f"{len(names)}")
    for index, (name, digest, one) in enumerate(zip(names, payloads, report.objects, strict=True)):
        if name != one.name:
            raise VerificationError(f"objects[{index}]", expected=f"{one.name!r}, as reported", found=repr(name))
        if digest != one.payload_blake3:
            where = f"object {name!r}, BLAKE3 of its payload"
            raise VerificationError(where, expected=f"{one.payload_blake3}, as reported", found=digest)
    parts = report.artifact.parts
    if len(parts) != len(sha256):
        raise VerificationError("files", expected=f"{len(parts)}, as reported", found=f"{len(sha256)}")
    for span, digest, part in zip(artifact.slices, sha256, parts, strict=True):
        if (span.file_bytes, digest) != (part.bytes, part.sha256):
            raise VerificationError(
                f"file {span.name or 'with the entry'}",
                expected=f"{part.bytes} bytes with SHA-256 {part.sha256}, as reported",
                found=f"{span.file_bytes} bytes with SHA-256 {digest}",
            )
