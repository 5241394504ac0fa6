"""Verification of finished files: nothing passes that is not what recipe and sources say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import ArtifactError, VerificationError
from schemas.storage_layouts import payload
from tests.engine.conversions import Converted, Tensors, converted, one_object
from workers.engine.planned_objects import PlannedTensor
from workers.engine.steps import SilentObserver
from workers.engine.verify import Coverage, verify_artifact
from workers.engine.verify.legality import verify_words

GROUPED = "MAXABS_F16_RECIP_RNE_V1"
SILENT = SilentObserver()


def mixed_tensors() -> Tensors:
    random = np.random.default_rng(3)
    weights = (random.standard_normal((150, 130), dtype=np.float32) * np.float32(0.02)).astype("<f4")
    half = weights.astype("<f2")
    scales = random.integers(0, 0x7F, (128, 8), dtype=np.uint8)
    codes = random.integers(0, 0x7F, (9, 130), dtype=np.uint8)
    return {
        "f32": ("F32", (150, 130), weights.tobytes()),
        "f16": ("F16", (150, 130), half.tobytes()),
        "i64": ("I64", (50,), np.arange(50, dtype="<i8").tobytes()),
        "nv.codes": ("U8", (128, 64), random.integers(0, 256, 128 * 64, dtype=np.uint8).tobytes()),
        "nv.scales": ("F8_E4M3", (128, 8), scales.tobytes()),
        "nv.divisor": ("F32", (), np.float32(3.5).tobytes()),
        "row.codes": ("F8_E4M3", (9, 130), codes.tobytes()),
        "row.scales": ("BF16", (9,), np.full(9, 0x3C00, "<u2").tobytes()),
    }


def mixed_objects() -> list[dict[str, object]]:
    f32, f16 = {"tensor": "f32"}, {"tensor": "f16"}
    rounded = {"cast": f32, "to": "BF16", "by": "rne"}
    nvfp4 = {"codes": {"tensor": "nv.codes"}, "scales": {"tensor": "nv.scales"}, "divisors": [{"tensor": "nv.divisor"}]}
    row = {"codes": {"tensor": "row.codes"}, "scales": {"tensor": "row.scales"}}
    made = {
        "q4": one_object("Q4G64_F16S", (150, 130), GROUPED, f32),
        "q5": one_object("Q5G64_F16S", (150, 130), GROUPED, f16),
        "q6": one_object("Q6G64_F16S", (300, 65), GROUPED, {"reshape": rounded, "to": [300, 65]}),
        "w8": one_object("W8G32_F16S", (130, 150), GROUPED, {"transpose": f32, "axes": [1, 0]}),
        "fp8": one_object("FP8_E4M3FN_ROW_BF16S", (150, 130), "FP8_ROW_MAXABS_RECIP_RNE_V1", f32),
        "fp8 copied": one_object("FP8_E4M3FN_ROW_BF16S", (9, 130), "copy", {"fp8_row": row}),
        "nvfp4": one_object("NVFP4", (128, 128), "copy", {"nvfp4": nvfp4}),
        "bf16": one_object("BF16", (150, 130), "preserve", rounded),
        "fp32": one_object("FP32", (150, 130), "preserve", {"cast": f16, "to": "FP32", "by": "exact"}),
        "ids": one_object("I32", (50,), "preserve", {"cast": {"tensor": "i64"}, "to": "I32", "by": "checked"}),
        "gathered": one_object("BF16", (50, 130), "preserve", {"gather": rounded, "rows": "ids"}),
    }
    return [{**one, "name": name} for name, one in made.items()]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Converted:
    """An artifact with an object of every format and several operators."""
    return converted(tmp_path_factory.mktemp("mixed"), mixed_tensors(), mixed_objects())


def verified(made: Converted, coverage: Coverage = Coverage.FULL, seed: int | None = None) -> None:
    verify_artifact(made.plan, made.path, coverage=coverage, threads=2, observer=SILENT, artifact_id=None, seed=seed)


def interesting_offsets(made: Converted) -> Iterator[int]:
    """The ends of everything in the file, and places drawn from all over it."""
    start = made.plan.arrangement.payload_offset
    yield from (0, 7, 8, 15, 16, len(made.plan.arrangement.front()) - 1, len(made.plan.arrangement.front()), start - 1)
    for planned in made.plan.objects:
        assert isinstance(planned, PlannedTensor)
        begin = start + planned.offset
        for plane in payload(planned.format, planned.shape, where="").planes:
            yield from (begin + plane.offset, begin + plane.end - 1)
            if plane.end < planned.bytes:
                yield begin + plane.end
    random = np.random.default_rng(7)
    yield from random.integers(0, made.plan.file_bytes, 150).tolist()


def test_no_changed_byte_passes(mixed: Converted) -> None:
    for offset in sorted(set(interesting_offsets(mixed))):
        if offset >= mixed.plan.file_bytes:
            continue
        with changed_byte(mixed.path, offset), pytest.raises((VerificationError, ArtifactError)):
            verified(mixed)
    verified(mixed)


class changed_byte:  # noqa: N801 - reads as a statement
    """Flips one bit of a file for the time of a block."""

    def __init__(self, path: Path, offset: int) -> None:
        self._path, self._offset = path, offset

    def _flip(self) -> None:
        with self._path.open("r+b") as file:
            file.seek(self._offset)
            [byte] = file.read(1)
            file.seek(self._offset)
            file.write(bytes([byte ^ 1 << self._offset % 8]))

    def __enter__(self) -> None:
        self._flip()

    def __exit__(self, *_: object) -> None:
        self._flip()


@pytest.mark.parametrize("name", ["q4", "q5", "q6", "w8", "fp8", "fp8 copied", "nvfp4", "bf16", "fp32", "gathered"])
def test_a_sample_covers_both_end_rows_of_every_object(mixed: Converted, name: str) -> None:
    [planned] = [one for one in mixed.plan.objects if one.name == name]
    assert isinstance(planned, PlannedTensor)
    plane = payload(planned.format, planned.shape, where="").planes[0]
    begin = mixed.plan.arrangement.payload_offset + planned.offset + plane.offset
    for offset in (begin, begin + plane.bytes - plane.row_bytes):
        with changed_byte(mixed.path, offset), pytest.raises(VerificationError, match=f"object {name}"):
            verified(mixed, Coverage.SAMPLE, seed=1)


def test_a_sample_covers_the_ends_of_every_source_tensor(tmp_path: Path) -> None:
    tensors = {f"t{i}": ("BF16", (500, 64), np.full((500, 64), 0x3F80 + i, "<u2").tobytes()) for i in range(3)}
    value = {"concat": [{"tensor": name} for name in tensors], "axis": 0}
    made = converted(tmp_path, tensors, [one_object("W8G32_F16S", (1500, 64), GROUPED, value)])
    for row in (499, 500, 999, 1000):
        offset = made.plan.arrangement.payload_offset + row * 128
        with changed_byte(made.path, offset), pytest.raises(VerificationError, match=f"row {row}"):
            verified(made, Coverage.SAMPLE, seed=2)


def test_a_sample_is_drawn_again_by_its_seed(mixed: Converted) -> None:
    first = verify_artifact(
        mixed.plan, mixed.path, coverage=Coverage.SAMPLE, threads=2, observer=SILENT, artifact_id=None
    )
    assert first.seed is not None
    again = verify_artifact(
        mixed.plan, mixed.path, coverage=Coverage.SAMPLE, threads=1, observer=SILENT, artifact_id=None, seed=first.seed
    )
    assert again == first
    assert all(0 < one.checks[0].rows <= 150 for one in first.objects[:1])


def test_statistics_are_those_of_the_decoded_values(mixed: Converted) -> None:
    source = np.frombuffer(mixed_tensors()["f32"][2], "<f4").astype(np.float64)
    [at] = [one.index for one in mixed.plan.objects if one.name == "bf16"]
    stored = np.frombuffer(mixed.payload(at), "<u2").astype(np.uint32) << 16
    error = stored.view(np.float32).astype(np.float64) - source
    found = mixed.report.objects[at].error
    assert found is not None
    assert found.max_abs == np.max(np.abs(error))
    assert found.rms == pytest.approx(float(np.sqrt(np.mean(error**2))), rel=1e-12)
    assert found.snr_db == pytest.approx(float(10 * np.log10(np.sum(source**2) / np.sum(error**2))), rel=1e-12)
    assert {one.name for one in mixed.report.objects if one.error is not None} == {
        "q4",
        "q5",
        "q6",
        "w8",
        "fp8",
        "bf16",
        "gathered",
    }


def test_threads_and_blocks_leave_no_trace(mixed: Converted, tmp_path: Path) -> None:
    for threads, block_bytes in ((1, 1), (1, 4 << 20), (2, 130), (3, 1 << 12)):
        again = converted(tmp_path, mixed_tensors(), mixed_objects(), threads=threads, block_bytes=block_bytes)
        assert again.path.read_bytes() == mixed.path.read_bytes()
        errors = [one.error for one in again.report.objects]
        assert [e and e.max_abs for e in errors] == [one.error and one.error.max_abs for one in mixed.report.objects]


def test_taking_digests_can_be_stopped_at_every_object(mixed: Converted) -> None:
    told: list[tuple[int, int]] = []

    class Listening(SilentObserver):
        def advanced(self, index: int, payload_bytes: int) -> None:
            told.append((index, payload_bytes))

    verify_artifact(mixed.plan, mixed.path, coverage=Coverage.FULL, threads=1, observer=Listening(), artifact_id=None)
    first = dict(reversed(told))
    assert first == dict.fromkeys(range(len(mixed.plan.objects)), 0)


@pytest.mark.parametrize("truncated", [True, False])
def test_a_file_of_another_length_is_refused(mixed: Converted, tmp_path: Path, truncated: bool) -> None:
    copy = tmp_path / "copy.ninfer"
    data = mixed.path.read_bytes()
    copy.write_bytes(data[:-1] if truncated else data + b"\0")
    with pytest.raises((ArtifactError, VerificationError)):
        verify_artifact(mixed.plan, copy, coverage=Coverage.FULL, threads=1, observer=SILENT, artifact_id=None)
    with pytest.raises((ArtifactError, VerificationError)):
        verify_words(copy, threads=1, observer=SILENT)


def test_words_that_no_format_allows_are_found_without_sources(mixed: Converted) -> None:
    start = mixed.plan.arrangement.payload_offset
    objects = {one.name: one for one in mixed.plan.objects}
    with mixed.path.open("r+b") as file:
        for name, plane_name, at, data, message in (
            ("w8", "codes", 40, b"\x80", "column 40.*code-out-of-range"),
            ("q4", "scales", 0, b"\x00\x80", "negative-zero-scale"),
            ("q5", "scales", 2, b"\x00\xfc", "row 0, column 64.*scale"),
            ("q6", "codes", 63, b"\x01", "nonzero-padding"),
            ("fp8", "codes", 131, b"\x7f", "row 1, column 1.*nan-code"),
            ("fp8 copied", "scales", 2, b"\x00\x00", "row 1, column 0.*code-under-zero-scale"),
            ("nvfp4", "scales", 16, b"\xff", "row 1, column 0.*scale"),
            ("nvfp4", "divisor", 0, b"\x00\x00\x80\x7f", "finite divisor"),
        ):
            planned = objects[name]
            assert isinstance(planned, PlannedTensor)
            [plane] = [p for p in payload(planned.format, planned.shape, where="").planes if p.name == plane_name]
            offset = start + planned.offset + plane.offset + at
            before = os.pread(file.fileno(), len(data), offset)
            os.pwrite(file.fileno(), data, offset)
            with pytest.raises(VerificationError, match=f"object {name}.*{message}"):
                verify_words(mixed.path, threads=2, observer=SILENT)
            os.pwrite(file.fileno(), before, offset)
    verify_words(mixed.path, threads=2, observer=SILENT)
