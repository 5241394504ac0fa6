"""Verifies a finished file against the recipe and the sources that it was planned with (design.md, Verify)."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from math import fsum, log10, prod, sqrt
from pathlib import Path
from threading import Lock

import numpy as np

from schemas.errors import VerificationError
from schemas.registry import WordOrigin
from schemas.report import Check as CheckRecord
from schemas.report import ErrorStatistics, VerifiedObject
from schemas.storage_layouts import payload
from workers.engine.container.gaps import stray_bytes
from workers.engine.container.reader import ArtifactReader
from workers.engine.file_stamp import FileStamp
from workers.engine.histogram import Histogram
from workers.engine.plan import Plan
from workers.engine.planned_objects import PlannedObject, PlannedResource, PlannedTensor
from workers.engine.recipe.inference import Typed
from workers.engine.recipe.recipe_rules import is_lossy
from workers.engine.scratch import Bytes, Scratch
from workers.engine.steps import Observer, Step, run_steps
from workers.engine.verify.comparisons import compared_values
from workers.engine.verify.evaluation import evaluate, width
from workers.engine.verify.front import expected_front
from workers.engine.verify.leaves import PlannedLeaves
from workers.engine.verify.model_checks import check_model
from workers.engine.verify.model_front import expected_model_fronts
from workers.engine.verify.selection import RowRange, all_rows, sampled_rows
from workers.engine.verify.subject import Check, Checked, Subject, TileStatistics, rows_and_columns
from workers.engine.verify.tensor_checks import tensor_checks
from workers.engine.verify.whole_file import Digests, check_plane_gaps

BLOCK_BYTES = 4 << 20


class Coverage(StrEnum):
    """How many rows verification covers."""

    FULL = "full"
    SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class Verification:
    """A passed verification. `sha256` are those of the artifact's files, the entry first, `stamps` tell that they are
    those files; `seed` drew the rows of a sample (None for full). `histograms` are those of the quantized objects, by
    index, where they were asked for."""

    coverage: Coverage
    seed: int | None
    sha256: tuple[str, ...]
    stamps: tuple[FileStamp, ...]
    objects: tuple[VerifiedObject, ...]
    histograms: Mapping[int, Histogram]


class _Findings:
    """What the checks of one object came to, gathered from any thread."""

    def __init__(self, planned: PlannedObject, ranges: tuple[RowRange, ...]) -> None:
        self.planned = planned
        self.ranges = ranges
        self.histogram: Histogram | None = None
        self._lock = Lock()
        self._tiles: dict[int, TileStatistics] = {}

    def note(self, number: int, checked: Checked) -> None:
        with self._lock:
            if checked.statistics is not None:
                self._tiles[number] = checked.statistics
            if checked.histogram is not None:
                counted = self.histogram
                self.histogram = checked.histogram if counted is None else counted + checked.histogram

    def verified(self, payload_blake3: str) -> VerifiedObject:
        """The record of an object whose every check held."""
        rows = sum(span.stop - span.start for span in self.ranges)
        checks = tuple(CheckRecord(name=name, rows=rows, passed=True) for name in _check_names(self.planned))
        error, source_rms = self._error()
        return VerifiedObject(
            index=self.planned.index,
            payload_blake3=payload_blake3,
            checks=checks,
            error=error,
            source_rms=source_rms,
        )

    def _error(self) -> tuple[ErrorStatistics, float] | tuple[None, None]:
        """The statistics and the RMS of the source over all tiles, summed in their order so that they do not depend on
        which thread came first."""
        tiles = [self._tiles[number] for number in sorted(self._tiles)]
        elements = sum(tile.elements for tile in tiles)
        if not elements:
            return None, None
        error, signal = fsum(t.squared_error for t in tiles), fsum(t.squared_signal for t in tiles)
        snr = 10 * log10(signal / error) if error > 0 and signal > 0 else None
        statistics = ErrorStatistics(max_abs=max(t.max_abs for t in tiles), rms=sqrt(error / elements), snr_db=snr)
        return statistics, sqrt(signal / elements)


def _check_names(planned: PlannedObject) -> tuple[str, ...]:
    if isinstance(planned, PlannedResource):
        return ("bytes equal the file's",)
    match planned.spec.encode:
        case WordOrigin.PRESERVE:
            first = "words equal the source's"
        case WordOrigin.COPY:
            first = "codes and scales equal the source's, legal, and in their places"
        case _:
            first = "codes, scales and padding derived again from the source and equal"
    return (first, "gaps zero", *(("equal to the values under `equals`",) if planned.equals else ()))


def verify_artifact(
    plan: Plan,
    path: Path,
    *,
    coverage: Coverage,
    threads: int,
    observer: Observer,
    artifact_id: bytes | None,
    seed: int | None = None,
    histograms: bool = False,
    block_bytes: int = BLOCK_BYTES,
) -> Verification:
    """Reads the artifact at `path` back and holds every byte of it to the recipe and the sources.

    `artifact_id` is what framing 3 must have in its headers (None in framings 1 and 2).

    Raises ArtifactError for a file that breaks its container, VerificationError, naming object, plane and coordinate,
    for one that says something else than recipe and sources, SourceError where a source has changed meanwhile. The
    earliest failure in file order is the one raised. `seed` fixes the rows of a sample; `histograms` has the words of
    quantized objects counted.
    """
    drawn = secrets.randbits(32) if seed is None and coverage is Coverage.SAMPLE else seed
    with ArtifactReader(path) as reader, PlannedLeaves(plan) as leaves:
        stamps = reader.stamps()
        _check_fronts(plan, reader, artifact_id)
        _check_between(reader)
        check_model(reader)
        findings = [_Findings(one, _ranges(one, leaves, coverage, drawn)) for one in plan.objects]

        def going_on(index: int, _bytes: int) -> None:
            observer.advanced(index, 0)  # verifies nothing yet, but may be told to stop

        digests = Digests(reader, going_on)

        def steps() -> Iterator[Step[None]]:
            yield from digests.of_files()
            for found in findings:
                yield digests.of_payload(found.planned.index)
                checks = _ObjectChecks(found, reader, leaves, observer, histograms, block_bytes)
                yield from checks.steps()

        run_steps(steps(), threads)
        if reader.stamps() != stamps:
            expected = "files that stay as they are while they are verified"
            raise VerificationError("artifact", expected=expected, found="a change")
        whole = digests.taken()
        objects = tuple(found.verified(digest) for found, digest in zip(findings, whole.payload_blake3, strict=True))
        counted = {found.planned.index: found.histogram for found in findings if found.histogram is not None}
        return Verification(coverage, drawn, whole.sha256, stamps, objects, counted)


def _check_fronts(plan: Plan, reader: ArtifactReader, artifact_id: bytes | None) -> None:
    """Holds everything before the payload, in every file, to what the recipe gives."""
    resource_bytes = {o.name: o.bytes for o in plan.objects if isinstance(o, PlannedResource)}
    if plan.inscription is None:
        fronts: tuple[bytes, ...] = (expected_front(plan.recipe, plan.framing, resource_bytes),)
    else:
        fronts = expected_model_fronts(plan.recipe, plan.inscription, resource_bytes, artifact_id or b"")
    sizes = [one.file_bytes for one in reader.artifact.slices]
    if len(fronts) != len(sizes):
        raise VerificationError("directory", expected=f"{len(fronts)} files listed", found=f"{len(sizes)}")
    for number, (front, size) in enumerate(zip(fronts, sizes, strict=True)):
        expected = np.frombuffer(front, np.uint8)
        found = np.empty(min(expected.size, size), np.uint8)
        reader.read_file_at(number, 0, found.data)
        differing = np.flatnonzero(found != expected[: found.size])
        if differing.size or found.size < expected.size:
            at = int(differing[0]) if differing.size else found.size
            raise VerificationError(
                f"header and directory of {reader.paths[number].name}, byte {at}",
                expected=f"{bytes(expected[at : at + 40])!r}, as recipe and sources give it",
                found=repr(bytes(found[at : at + 40])),
            )


def _check_between(reader: ArtifactReader) -> None:
    for stray in stray_bytes(reader):
        raise VerificationError(stray.where, expected=stray.expected, found=stray.found)
    check_plane_gaps(reader, reader.artifact.objects)


def _ranges(
    planned: PlannedObject, leaves: PlannedLeaves, coverage: Coverage, seed: int | None
) -> tuple[RowRange, ...]:
    """The rows of an object to be checked; a resource is one row."""
    if isinstance(planned, PlannedResource):
        return all_rows(1)
    rows, _ = rows_and_columns(planned.spec)
    if coverage is Coverage.FULL or seed is None:
        return all_rows(rows)
    plain = planned.value.of[:2] if planned.is_copy else (planned.value,)
    return sampled_rows(planned.name, rows, plain, leaves.rows, seed)


@dataclass(frozen=True, slots=True)
class _ObjectChecks:
    """The steps that check one object."""

    found: _Findings
    reader: ArtifactReader
    leaves: PlannedLeaves
    observer: Observer
    histograms: bool
    block_bytes: int

    def steps(self) -> Iterator[Step[None]]:
        match self.found.planned:
            case PlannedResource() as planned:
                for start in range(0, planned.bytes, self.block_bytes):
                    yield partial(self._resource, planned, start, min(self.block_bytes, planned.bytes - start))
            case PlannedTensor() as planned:
                subject = Subject(
                    spec=planned.spec,
                    value=planned.value,
                    equals=planned.equals,
                    planes=payload(planned.format, planned.shape, where=f"object {planned.name}").planes,
                    lossy=is_lossy(planned.spec),
                    histograms=self.histograms,
                    leaves=self.leaves,
                    read=self._read,
                    block_bytes=self.block_bytes,
                )
                for number, check in enumerate(tensor_checks(subject, self.found.ranges)):
                    yield partial(self._tile, number, check)
                for one, two in compared_values(planned.value, planned.equals):
                    step = max(self.block_bytes // width(one), 1)
                    for start in range(0, prod(one.shape), step):
                        yield partial(self._comparison, planned, one, two, start, min(start + step, prod(one.shape)))

    def _read(self, offset: int, out: Bytes) -> None:
        self.reader.read_at(self.reader.artifact.objects[self.found.planned.index], offset, out.data)

    def _resource(self, planned: PlannedResource, start: int, count: int, scratch: Scratch) -> None:
        expected, found = scratch.take("expected", count), scratch.take("found", count)
        self.leaves.resource(planned.name, start, expected)
        self._read(start, found)
        differing = np.flatnonzero(expected != found)
        if differing.size:
            at = int(differing[0])
            raise VerificationError(
                f"resource {planned.name}, byte {start + at}",
                expected=f"0x{expected[at]:02x}, as its file has it",
                found=f"0x{found[at]:02x}",
            )
        self.observer.advanced(planned.index, count)

    def _tile(self, number: int, check: Check, scratch: Scratch) -> None:
        checked = check(scratch)
        self.found.note(number, checked)
        self.observer.advanced(self.found.planned.index, checked.bytes)

    def _comparison(
        self, planned: PlannedTensor, one: Typed, two: Typed, start: int, stop: int, scratch: Scratch
    ) -> None:
        size = (stop - start) * width(one)
        first, other = scratch.take("first", size), scratch.take("other", size)
        evaluate(planned.name, one, start, first, self.leaves, scratch)
        evaluate(planned.name, two, start, other, self.leaves, scratch)
        differing = np.flatnonzero(first != other)
        if differing.size:
            at = start + int(differing[0]) // width(one)
            raise VerificationError(
                f"object {planned.name}, element {at} of values that must be equal",
                expected="the same word in both",
                found="two",
            )
        self.observer.advanced(planned.index, 0)
