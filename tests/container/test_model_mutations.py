"""Whatever is in the files of framing 3, reading them gives an artifact that keeps every rule, or an ArtifactError:
nothing else, soon, and in little memory. What keeps every rule is read."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from schemas.errors import ArtifactError
from tests.container.memory import traced_peak
from tests.container.model_mutations import MODEL
from tests.container.model_rules import keeps_all_rules
from tests.container.model_samples import PAYLOAD, document, sliced
from tests.container.mutations import mutated
from workers.engine.container.front import Artifact, check_whole, read_front
from workers.engine.container.gaps import gaps, stray_bytes
from workers.engine.container.reader import ArtifactReader

MOST_SECONDS = 2.0
MOST_BYTES = 8 * 2**20
NAME = "m.ninfer"


def read_bytes(data: bytes) -> Artifact | str:
    """The artifact whose entry is `data`, or the message of its refusal."""
    try:
        return check_whole(read_front(data, where="FILE"), len(data), where="FILE")
    except ArtifactError as error:
        return str(error)


def read_file(path: Path) -> Artifact | str:
    """The same from a file, its gaps looked at where they are all in that file."""
    try:
        with ArtifactReader(path) as reader:
            if len(reader.artifact.slices) == 1:
                for stray in stray_bytes(reader):
                    assert 0 < stray.offset < reader.artifact.file_bytes
            return reader.artifact
    except ArtifactError as error:
        return str(error)


def check_every_byte_is_somewhere(artifact: Artifact) -> None:
    """Headers, JSON, gaps, objects and what follows the last one are all bytes of all files."""
    covered = 32 * len(artifact.slices) + len(artifact.directory) + sum(stored.bytes for stored in artifact.objects)
    after = artifact.payload_bytes - artifact.objects_end
    assert covered + sum(gap.bytes for gap in gaps(artifact)) + after == artifact.file_bytes


def check_mutations(folder: Path, count: int, seed: int) -> None:
    """Reads `count` mutated entries from memory and every tenth also from a file."""
    accepted = 0
    messages: set[str] = set()
    path = folder / NAME
    for index, data in enumerate(mutated(MODEL, count, seed)):
        if data[7:8] in {b"\1", b"\2"}:
            continue  # a file of another framing, which has tests of its own
        start = time.perf_counter()
        result = read_bytes(data)
        assert time.perf_counter() - start < MOST_SECONDS
        if isinstance(result, Artifact):
            check_every_byte_is_somewhere(result)
            accepted += 1
            named = NAME in {one.name for one in result.slices}
            assert keeps_all_rules(data, NAME) == (not named)
        else:
            assert not keeps_all_rules(data, NAME), result
            assert result.isprintable()
            assert len(result) < 2000
            messages.add(result.split(": expected ")[1])
        if index % 10 == 0:
            path.write_bytes(data)
            assert isinstance(read_file(path), Artifact) == keeps_all_rules(data, NAME)
    assert accepted > count // 50, "some survive, so that the rules are looked at"
    assert len(messages) > 200, "and the rest fails in many ways"


def test_20000_mutated_entries_are_read_or_refused(tmp_path: Path) -> None:
    check_mutations(tmp_path, 20_000, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_200000_mutated_entries_are_read_or_refused(tmp_path: Path) -> None:
    check_mutations(tmp_path, 200_000, seed=2)


def test_mutated_entries_take_little_memory() -> None:
    for data in mutated(MODEL, 2_000, seed=3):
        with traced_peak() as peak:
            read_bytes(data)
        assert peak() < MOST_BYTES


def changed_continuation(generator: random.Random, data: bytes) -> bytes:
    """A continuation with bits of its header or other bytes flipped, cut, grown, or with its number another."""
    changed = bytearray(data)
    match generator.randrange(5):
        case 0:
            changed[generator.randrange(32)] ^= 1 << generator.randrange(8)
        case 1:
            changed[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        case 2:
            del changed[generator.randrange(len(data)) :]
        case 3:
            changed += generator.randbytes(generator.randint(1, 5000))
        case _:
            changed[8:16] = generator.choice((0, 1, 2, 3, 2**63, 2**64 - 1)).to_bytes(8, "little")
    return bytes(changed)


def test_500_mutated_continuations_are_read_or_refused(tmp_path: Path) -> None:
    generator = random.Random(4)  # noqa: S311 (reproducible, no secret)
    files = dict(sliced(document(), PAYLOAD, [300, 400, 584]))
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    read = 0
    for _ in range(500):
        name = generator.choice([*files][1:])
        good, data = files[name], changed_continuation(generator, files[name])
        (tmp_path / name).write_bytes(data)
        legal = data[:32] == good[:32] and len(data) == len(good)
        try:
            with ArtifactReader(tmp_path / NAME) as reader:
                for stored in reader.artifact.objects:
                    reader.read_at(stored, 0, bytearray(stored.bytes))
                stray_bytes(reader)
            assert legal
            read += 1
        except ArtifactError as error:
            assert not legal, error
            assert str(error).startswith(f"{tmp_path / name}")
        (tmp_path / name).write_bytes(good)
    assert 50 < read < 450
