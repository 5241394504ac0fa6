"""Reads files of framing 3 from the words of container-v3.md alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredModel:
    """The files of an artifact, its directory, and all slices of its payload one after the other."""

    files: list[Path]
    directory: dict[str, Any]
    content: bytes
    artifact_id: bytes

    def payload(self, id: str) -> bytes:
        [one] = [one for one in self.directory["objects"] if one["id"] == id]
        return self.content[one["offset"] : one["offset"] + one["bytes"]]


def read_model_files(entry: Path) -> StoredModel:
    """The artifact whose entry this is; continuations lie beside it."""
    data = entry.read_bytes()
    assert data[:8] == b"NINFER\x00\x03"
    length = int.from_bytes(data[8:16], "little")
    directory = json.loads(data[32 : 32 + length])
    start = (32 + length + 4095) // 4096 * 4096
    files, content = [entry], data[start:]
    assert directory["files"][0] == {"path": None, "payload_bytes": len(content)}
    for number, listed in enumerate(directory["files"][1:], 1):
        part = entry.with_name(listed["path"])
        data = part.read_bytes()
        assert data[:16] == b"NINPRT\x00\x03" + number.to_bytes(8, "little")
        assert data[16:32] == entry.read_bytes()[16:32]
        assert data[32:4096] == bytes(4064)
        assert len(data) == 4096 + listed["payload_bytes"]
        files.append(part)
        content += data[4096:]
    return StoredModel(files, directory, content, entry.read_bytes()[16:32])
