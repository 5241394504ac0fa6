"""Histograms that verification gathers: those of the oracle's reading of the payload, however it is cut and shared."""

from __future__ import annotations

from collections import Counter
from math import isclose, prod, sqrt

import numpy as np
import pytest

from schemas.registry import FORMATS, BlockScaledGeometry, GroupedGeometry
from tests.engine.conversions import Converted, converted
from tests.engine.test_verification import SILENT, mixed_objects, mixed_tensors
from tests.oracle.grouped import SCHEMES
from tests.oracle.storage_layouts import RowSplit, decode_block_scale, decode_row_scale, decode_row_split
from workers.engine.planned_objects import PlannedTensor
from workers.engine.verify import Coverage, Verification, verify_artifact

SCHEME = {scheme.name: scheme for scheme in SCHEMES}
QUANTIZED = ("q4", "q5", "q6", "w8", "fp8", "fp8 copied", "nvfp4")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Converted:
    return converted(tmp_path_factory.mktemp("mixed"), mixed_tensors(), mixed_objects())


def verified(made: Converted, *, threads: int = 2, block_bytes: int = 1 << 20, seed: int | None = None) -> Verification:
    coverage = Coverage.FULL if seed is None else Coverage.SAMPLE
    return verify_artifact(
        made.plan,
        made.path,
        coverage=coverage,
        threads=threads,
        observer=SILENT,
        artifact_id=None,
        seed=seed,
        histograms=True,
        block_bytes=block_bytes,
    )


def stored_words(made: Converted, planned: PlannedTensor) -> tuple[Counter[int], Counter[int], int]:
    """Codes and scales of the payload as the oracle reads them, and the bits of a scale that do not decide its bin."""
    n, k = prod(planned.shape[:-1]), planned.shape[-1]
    data = made.payload(planned.index)
    match FORMATS[planned.format].geometry:
        case GroupedGeometry(code_bits):
            rows = decode_row_split(RowSplit(SCHEME[planned.format], n, k), data)
            codes = Counter(code % (1 << code_bits) for row in rows for group in row for code in group.codes)
            return codes, Counter(group.scale for row in rows for group in row), 7
        case BlockScaledGeometry():
            matrix = decode_block_scale(n, k, data)
            return Counter(sum(matrix.codes, ())), Counter(sum(matrix.scales, ())), 0
        case _:
            code_rows, scales = decode_row_scale(n, k, data)
            return Counter(code for row in code_rows for code in row), Counter(scales), 4


@pytest.mark.parametrize(("threads", "block_bytes"), [(1, 1 << 20), (1, 300), (3, 300), (2, 4096)])
def test_every_word_is_counted_once(mixed: Converted, threads: int, block_bytes: int) -> None:
    """Blocks of 300 bytes split even rows."""
    found = verified(mixed, threads=threads, block_bytes=block_bytes)
    names = {planned.name: planned for planned in mixed.plan.objects}
    assert set(found.histograms) == {names[name].index for name in QUANTIZED}
    for index, histogram in found.histograms.items():
        planned = mixed.plan.objects[index]
        assert isinstance(planned, PlannedTensor)
        codes, scales, shift = stored_words(mixed, planned)
        assert {word: count for word, count in enumerate(histogram.codes.tolist()) if count} == codes
        assert histogram.zero_scales == scales.pop(0, 0)
        bins: Counter[int] = Counter()
        for word, count in scales.items():
            bins[word >> shift] += count
        counts = histogram.scale_counts.tolist()
        assert dict(zip(histogram.scale_bins.tolist(), counts, strict=True)) == bins
        assert histogram.scale_bins.tolist() == sorted(bins)


def test_a_sample_counts_the_rows_that_it_covers(mixed: Converted) -> None:
    found = verified(mixed, seed=5)
    for index, histogram in found.histograms.items():
        planned = mixed.plan.objects[index]
        assert isinstance(planned, PlannedTensor)
        rows, rest = divmod(int(histogram.codes.sum()), planned.shape[-1])
        covered = found.objects[index].checks[0].rows
        assert rest == 0
        assert rows == (128 if planned.name == "nvfp4" else covered)  # tiles of scales are verified whole
    assert found.objects[0].checks[0].rows < 150


def test_nothing_is_counted_unless_asked_for(mixed: Converted) -> None:
    found = verify_artifact(
        mixed.plan, mixed.path, coverage=Coverage.FULL, threads=2, observer=SILENT, artifact_id=None
    )
    assert found.histograms == {}


def test_the_rms_of_the_source_goes_with_the_error(mixed: Converted) -> None:
    found = verified(mixed)
    weights = np.frombuffer(mixed_tensors()["f32"][2], "<f4").astype(np.float64)
    expected = sqrt(float(np.mean(weights**2)))
    by_name = {planned.name: found.objects[planned.index] for planned in mixed.plan.objects}
    for name in ("q4", "w8", "fp8"):
        assert by_name[name].source_rms is not None
        assert isclose(by_name[name].source_rms or 0.0, expected, rel_tol=1e-12)
    for one in by_name.values():
        assert (one.source_rms is None) == (one.error is None)
        if one.error is not None and one.error.snr_db is not None and one.source_rms is not None:
            assert isclose(20 * np.log10(one.source_rms / one.error.rms), one.error.snr_db, rel_tol=1e-12)
