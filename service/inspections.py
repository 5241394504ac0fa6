"""Inspecting artifacts for the interface and the dashboard: a few at a time, on threads of their own.

A directory may be large, and whoever asks for many at once is not to keep others waiting.
"""

from __future__ import annotations

import json

from anyio import CapacityLimiter, to_thread

from schemas.errors import SourceError
from service.dependencies import Service
from service.inspection_document import InspectionDocument, found_strays, inspection_document
from workers.artifact_places import opened_artifact, stored_parts
from workers.engine.container.front import listed_slices, read_front
from workers.public_problems import without_places

UPLOAD = "upload"
"""What messages call bytes that were sent."""

_AT_ONCE = 2
_MOST_GAP_BYTES = 256 << 20
"""What is read to look for strays: between objects there usually are less than 4 KiB."""
_MOST_STRAYS = 100

_threads = CapacityLimiter(_AT_ONCE)


async def inspected_artifact(service: Service, named: str) -> InspectionDocument:
    """The artifact at a place below the source roots, or of the job with that id.

    Raises SourceError for a place that is not allowed and a job that is not ready, ArtifactError for no artifact.
    """
    return await to_thread.run_sync(_artifact, service, named, limiter=_threads)


async def inspected_beginning(data: bytes) -> InspectionDocument:
    """The artifact whose entry file begins with `data`, by its header and directory. Raises ArtifactError."""
    return await to_thread.run_sync(_beginning, data, limiter=_threads)


async def inspection_json(document: InspectionDocument) -> bytes:
    """The document as an answer has it."""
    return await to_thread.run_sync(_json, document, limiter=_threads)


def _json(document: InspectionDocument) -> bytes:
    """Object by object: one call for all of them would hold every other thread up for as long as it takes."""
    encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
    members = (
        f"{encoded(name)}:[{','.join(map(encoded, value))}]"
        if isinstance(value, list)
        else f"{encoded(name)}:{encoded(value)}"
        for name, value in document.items()
    )
    return f"{{{','.join(members)}}}".encode()


def _artifact(service: Service, named: str) -> InspectionDocument:
    with service.database.reading() as session:
        stored = stored_parts(session, named)
    if stored and not service.storage.holds(stored):
        raise SourceError("artifact", expected="files that are in the store", found="that they have been removed")
    with opened_artifact(named, stored, service.settings, service.storage) as reader:
        strays = [without_places(stray, service.settings) for stray in found_strays(reader, most_bytes=_MOST_GAP_BYTES)]
        if len(strays) > _MOST_STRAYS:
            strays[_MOST_STRAYS:] = [f"and {len(strays) - _MOST_STRAYS} more"]
        return inspection_document(reader.artifact, reader.artifact.slices, strays)


def _beginning(data: bytes) -> InspectionDocument:
    front = read_front(data, where=UPLOAD)
    return inspection_document(front, listed_slices(front), None)
