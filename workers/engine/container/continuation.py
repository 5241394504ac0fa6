"""Checks the header of a continuation file against the entry that names it (container-v3.md, 2)."""

from __future__ import annotations

from schemas.errors import ArtifactError
from workers.engine.container.front import Artifact

CONTINUATION_HEADER_BYTES = 32

_MAGIC = b"NINPRT\0\x03"


def check_continuation(header: bytes, file_bytes: int, artifact: Artifact, number: int, *, where: str) -> None:
    """Raises ArtifactError for a file of `file_bytes` bytes, beginning with `header`, that is not file `number` of the
    artifact: another magic, number, artifact id or length."""
    expected = artifact.slices[number].file_bytes
    if header[:8] != _MAGIC:
        raise ArtifactError(
            f"{where}, magic", expected="NINPRT, a continuation of framing 3", found=header[:8].hex(" ")
        )
    if file_bytes != expected:
        raise ArtifactError(where, expected=f"a file of {expected} bytes, as the entry says", found=f"{file_bytes}")
    found = int.from_bytes(header[8:16], "little")
    if found != number:
        raise ArtifactError(f"{where}, number", expected=f"{number}, its place in the entry's list", found=f"{found}")
    artifact_id = artifact.prefix.artifact_id or b""
    if header[16:32] != artifact_id:
        expected_id = f"{artifact_id.hex()}, that of the entry"
        raise ArtifactError(f"{where}, artifact id", expected=expected_id, found=header[16:32].hex())
