"""Whatever is in a file, reading it gives an artifact that keeps every rule, or an ArtifactError: nothing else, soon,
and in little memory."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from schemas.errors import ArtifactError
from schemas.registry import FORMATS
from schemas.storage_layouts import payload
from tests.container.memory import traced_peak
from tests.container.mutations import mutated
from tests.container.single_file_mutations import SINGLE_FILE
from workers.engine.container.directory import TensorObject
from workers.engine.container.front import Artifact, check_whole, read_front
from workers.engine.container.gaps import gaps, stray_bytes
from workers.engine.container.reader import ArtifactReader

MOST_SECONDS = 2.0
MOST_BYTES = 8 * 2**20


def read_bytes(data: bytes) -> Artifact | str:
    """The artifact in `data`, or the message of its refusal."""
    try:
        return check_whole(read_front(data, where="FILE"), len(data), where="FILE")
    except ArtifactError as error:
        return str(error)


def read_file(path: Path) -> Artifact | str:
    """The same from a file, with its gaps looked at."""
    try:
        with ArtifactReader(path) as reader:
            for stray in stray_bytes(reader):
                assert 0 < stray.offset < reader.artifact.file_bytes
            return reader.artifact
    except ArtifactError as error:
        return str(error).replace(str(path), "FILE")


def check_rules(artifact: Artifact) -> None:
    """The rules of the contract, said once more."""
    assert len({stored.name for stored in artifact.objects}) == len(artifact.objects) > 0
    position = 0
    for stored in artifact.objects:
        assert stored.name.encode()
        assert position <= stored.offset
        position = stored.offset + stored.bytes
        assert position > stored.offset
        if isinstance(stored, TensorObject):
            assert stored.offset % 256 == 0
            assert FORMATS[stored.format].layout is stored.layout
            assert stored.bytes == payload(stored.format, stored.shape, where=stored.name).bytes
    assert artifact.payload_offset == (16 + len(artifact.directory) + 4095) // 4096 * 4096
    end = artifact.payload_offset + artifact.objects_end
    assert artifact.payload_offset + position == end <= artifact.file_bytes
    covered = 16 + len(artifact.directory) + sum(stored.bytes for stored in artifact.objects)
    assert covered + sum(gap.bytes for gap in gaps(artifact)) == end


def check_mutations(folder: Path, count: int, seed: int) -> None:
    """Reads `count` mutated artifacts from memory and every tenth also from a file."""
    accepted = 0
    messages: set[str] = set()
    path = folder / "mutated.ninfer"
    for index, data in enumerate(mutated(SINGLE_FILE, count, seed)):
        start = time.perf_counter()
        result = read_bytes(data)
        assert time.perf_counter() - start < MOST_SECONDS
        if isinstance(result, Artifact):
            check_rules(result)
            accepted += 1
        else:
            assert result.isprintable()
            assert len(result) < 2000
            messages.add(result.split(": expected ")[1])
        if index % 10 == 0:
            path.write_bytes(data)
            assert isinstance(read_file(path), Artifact) == isinstance(result, Artifact)
    assert accepted > count // 50, "some survive, so that the rules are looked at"
    assert len(messages) > 100, "and the rest fails in many ways"


def test_20000_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    check_mutations(tmp_path, 20_000, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_200000_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    check_mutations(tmp_path, 200_000, seed=2)


def test_mutated_files_take_little_memory() -> None:
    for data in mutated(SINGLE_FILE, 2_000, seed=3):
        with traced_peak() as peak:
            read_bytes(data)
        assert peak() < MOST_BYTES
