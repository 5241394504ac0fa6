"""The digest of a source tensor that provenance records (design.md, Jobs)."""

from __future__ import annotations

from blake3 import blake3

from workers.engine.sources.aligned import aligned_bytes
from workers.engine.sources.reading import OpenFiles
from workers.engine.sources.safetensors_header import TensorEntry

BLOCK_BYTES = 1 << 20


def tensor_digest(entry: TensorEntry, files: OpenFiles) -> str:
    """BLAKE3 of the tensor's data bytes in lowercase hex, read in blocks of BLOCK_BYTES.

    Raises SourceError as OpenFiles.read_into does. Hashing releases the interpreter lock.
    """
    digest = blake3()
    block = aligned_bytes(min(entry.bytes, BLOCK_BYTES)).data
    for offset in range(0, entry.bytes, BLOCK_BYTES):
        part = block[: entry.bytes - offset]
        files.read_into(entry, offset, part)
        digest.update(part)
    return digest.hexdigest()
