"""Reads an upgrade back: the old payload byte for byte, and a directory that holds by itself (container-v3.md, 14)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from schemas.errors import VerificationError
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.slices import segments
from workers.engine.container.strict_json import describe
from workers.engine.file_stamp import FileStamp
from workers.engine.scratch import Scratch
from workers.engine.steps import Observer, Step, run_steps
from workers.engine.upgrade.copying import require_same
from workers.engine.upgrade.plan import UpgradePlan
from workers.engine.verify.model_checks import check_model
from workers.engine.verify.whole_file import PASS_BYTES, Digests


@dataclass(frozen=True, slots=True)
class UpgradeVerification:
    """A passed verification. `sha256` are those of the new files, the entry first, `stamps` tell that they are those
    files; `payload_blake3` of the objects in order. Digests in hexadecimal."""

    sha256: tuple[str, ...]
    stamps: tuple[FileStamp, ...]
    payload_blake3: tuple[str, ...]


def verify_upgraded(
    plan: UpgradePlan, old: ArtifactReader, path: Path, *, artifact_id: bytes, threads: int, observer: Observer
) -> UpgradeVerification:
    """Holds the files of an upgrade, the entry at `path`, to the old file and to the plan, and digests them.

    Raises VerificationError, naming the object, for the first byte that differs, for headers or a directory that are
    not those of the plan and for words that an engine refuses; ArchitectureError as check_model does, UpgradeError
    where the old file has changed.
    """
    with ArtifactReader(path) as new:
        stamps = new.stamps()
        _check_fronts(plan, new, artifact_id)
        digests = Digests(new, observer.advanced)

        def steps() -> Iterator[Step[None]]:
            yield from digests.of_files()
            yield from map(digests.of_payload, range(len(new.artifact.objects)))
            for start in range(0, plan.old.payload_bytes, PASS_BYTES):
                yield partial(_compare, plan, old, new, start, observer)
            if plan.template is not None:
                yield lambda _scratch: _check_template(plan, new)

        run_steps(steps(), threads)
        check_model(new)
        if new.stamps() != stamps:
            expected = "files that stay as they are while they are verified"
            raise VerificationError("artifact", expected=expected, found="a change")
    require_same(plan, old)
    whole = digests.taken()
    return UpgradeVerification(whole.sha256, stamps, whole.payload_blake3)


def _check_fronts(plan: UpgradePlan, new: ArtifactReader, artifact_id: bytes) -> None:
    """Headers and directory as planned, zeros up to the payload, and the id in every file."""
    for number, one in enumerate(plan.arrangement.slices):
        front = bytearray(plan.arrangement.front(number).ljust(one.payload_offset, b"\0"))
        front[16:32] = artifact_id
        found = bytearray(one.payload_offset)
        new.read_file_at(number, 0, found)
        if found != front:
            where = f"header and directory of {new.paths[number].name}"
            raise VerificationError(where, expected="what was planned", found="other bytes")


def _compare(
    plan: UpgradePlan, old: ArtifactReader, new: ArtifactReader, start: int, observer: Observer, scratch: Scratch
) -> None:
    """One block of the old payload against the new one."""
    observer.advanced(0, 0)  # progress is the digests', but this may be told to stop
    stop = min(start + PASS_BYTES, plan.old.payload_bytes)
    before, after = scratch.take("old", stop - start), scratch.take("new", stop - start)
    old.read_file_at(0, plan.old.payload_offset + start, before.data)
    filled = 0
    for part in segments(plan.arrangement.slices, start, stop):
        new.read_file_at(part.file, part.position, after[filled : filled + part.bytes].data)
        filled += part.bytes
    if not np.array_equal(before, after):
        at = int(np.flatnonzero(before != after)[0])
        raise VerificationError(
            _place(plan, start + at), expected=f"0x{before[at]:02x}, as in the old file", found=f"0x{after[at]:02x}"
        )


def _place(plan: UpgradePlan, byte: int) -> str:
    for stored in plan.old.objects:
        if stored.offset <= byte < stored.end:
            return f"object {describe(stored.name)}, payload byte {byte - stored.offset}"
    return f"byte {byte} of the payload, which belongs to no object"


def _check_template(plan: UpgradePlan, new: ArtifactReader) -> None:
    template, content = plan.template, plan.options.chat_template or b""
    assert template is not None  # noqa: S101
    found = bytearray(plan.arrangement.payload_bytes - plan.old.payload_bytes)
    filled = 0
    for part in segments(plan.arrangement.slices, plan.old.payload_bytes, plan.arrangement.payload_bytes):
        new.read_file_at(part.file, part.position, memoryview(found)[filled : filled + part.bytes])
        filled += part.bytes
    if found != content.rjust(len(found), b"\0"):
        where = f"object {describe(template.name)}"
        raise VerificationError(where, expected="the new template, after zeros", found="other bytes")
