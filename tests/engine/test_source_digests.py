"""Whatever of a source tensor an object reads, in whichever order, provenance has the digest of the whole tensor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blake3 import blake3

from tests.engine.conversions import converted

SHAPE = (48, 96)
SOURCE = {"tensor": "source"}
VALUES: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "whole": (SOURCE, SHAPE),
    "reshaped": ({"reshape": SOURCE, "to": [96, 48]}, (96, 48)),
    "from the middle": ({"slice": SOURCE, "axis": 0, "from": 7, "to": 31}, (24, 96)),
    "columns": ({"slice": SOURCE, "axis": 1, "from": 3, "to": 60}, (48, 57)),
    "transposed": ({"transpose": SOURCE, "axes": [1, 0]}, (96, 48)),
    "twice": ({"concat": [SOURCE, SOURCE], "axis": 0}, (96, 96)),
    "of several": ({"concat": [SOURCE, {"tensor": "other"}], "axis": 1}, (48, 192)),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block_bytes", [1 << 20, 700, 64])
def test_the_digest_is_that_of_the_tensor(name: str, threads: int, block_bytes: int, tmp_path: Path) -> None:
    value, shape = VALUES[name]
    rng = np.random.default_rng(5)
    data = {one: rng.integers(0x3C00, 0x3F00, SHAPE).astype("<u2").tobytes() for one in ("source", "other")}
    spec = {"format": "BF16", "encode": "preserve", "value": value}
    made = converted(
        tmp_path,
        {one: ("BF16", SHAPE, content) for one, content in data.items()},
        [{"name": "first", "shape": list(shape), **spec}, {"name": "again", "shape": list(shape), **spec}],
        sources={"base": {"kind": "checkpoint", "unused": ["*"]}},
        threads=threads,
        block_bytes=block_bytes,
    )
    for index, report in enumerate(made.report.objects):
        assert report.payload_blake3 == blake3(made.payload(index)).hexdigest()
        assert all(one.blake3 == blake3(data[one.tensor]).hexdigest() for one in report.sources)
        assert report.sources
