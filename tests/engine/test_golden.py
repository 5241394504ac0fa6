"""Every golden vector comes out of a conversion, in both framings, on one thread and two, whole and row by row."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from blake3 import blake3

from tests.engine.conversions import converted
from tests.engine.golden import Golden, copied_vectors, encoded_vectors
from workers.engine.encode import BLOCK_BYTES

VECTORS = [*encoded_vectors(), *copied_vectors()]


@pytest.mark.parametrize("golden", VECTORS, ids=lambda golden: golden.name)
@pytest.mark.parametrize("framing", [1, 2])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("blocks", ["whole", "rows", "least"])
def test_a_conversion_gives_the_golden_payload(
    golden: Golden, framing: int, threads: int, blocks: str, tmp_path: Path
) -> None:
    block_bytes = {"whole": BLOCK_BYTES, "rows": golden.row_bytes, "least": 1}[blocks]
    made = converted(
        tmp_path, golden.tensors, [golden.object], framing=framing, threads=threads, block_bytes=block_bytes
    )
    assert len(made.payload()) == golden.payload_bytes
    assert sha256(made.payload()).hexdigest() == golden.payload_sha256
    [report] = made.report.objects
    assert report.payload_blake3 == blake3(made.payload()).hexdigest()
    data = {tensor: blake3(content).hexdigest() for tensor, (_, _, content) in golden.tensors.items()}
    assert {one.tensor: one.blake3 for one in report.sources} == data


def test_there_are_vectors_of_every_quantized_format() -> None:
    assert {golden.object["format"] for golden in VECTORS} == {
        "Q4G64_F16S",
        "Q5G64_F16S",
        "Q6G64_F16S",
        "W8G32_F16S",
        "NVFP4",
        "FP8_E4M3FN_ROW_BF16S",
    }
