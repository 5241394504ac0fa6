"""`ninforge plan`: what is known before a weight is read."""

from __future__ import annotations

import hashlib

from tests.cli.commands import WEIGHT, Model, answered, refused, succeeded


def test_json_has_the_names_of_the_interface(model: Model) -> None:
    planned = answered("plan", *model.given)
    out = model.convert("out").read_bytes()
    json_bytes = int.from_bytes(out[8:16], "little")
    assert planned == {
        "framing": 2,
        "minimum_reader": "an older engine that reads framing 2; current ones, which read framing 3 alone, refuse it",
        "execution": {
            "verdict": "not known",
            "reasons": ["framing 2 does not say what its objects are, and the recipe claims no target"],
        },
        "parts": [{"name": "test-model.test-weights.test.v2.ninfer", "bytes": len(out)}],
        "objects": [
            {
                "name": "vocab",
                "kind": "resource",
                "shape": None,
                "format": None,
                "layout": "raw-bytes-v1",
                "offset": 0,
                "bytes": 8,
            },
            {
                "name": WEIGHT,
                "kind": "tensor",
                "shape": [32, 256],
                "format": "Q4G64_F16S",
                "layout": "row-split-k128-v1",
                "offset": 256,
                "bytes": 4352,
            },
            {
                "name": "norm",
                "kind": "tensor",
                "shape": [16],
                "format": "FP32",
                "layout": "contiguous-le-v1",
                "offset": 4608,
                "bytes": 64,
            },
        ],
        "file_bytes": len(out),
        "payload_offset": 4096,
        "directory_sha256": hashlib.sha256(out[16 : 16 + json_bytes]).hexdigest(),
        "bits_per_weight": 8 * (4352 + 64) / (32 * 256 + 16),
        "bytes_by_format": {"raw-bytes-v1": 8, "Q4G64_F16S": 4352, "FP32": 64},
        "let_overridden": False,
        "unused": [{"source": "base", "tensor": "extra.bias"}],
        "ignored": [],
        "warnings": ["/sources/base/unused/1: the pattern 'idle.*' matches no tensor"],
    }


def test_what_it_says(model: Model) -> None:
    assert succeeded("plan", *model.given, "--let", "H=16").splitlines() == [
        "test-model / test-weights, framing 2",
        "3 objects, 6720 bytes (6.7 kB) in 1 file, 4.358 bits a weight",
        "opens in an older engine that reads framing 2; current ones, which read framing 3 alone, refuse it",
        "in an engine: not known",
        "  framing 2 does not say what its objects are, and the recipe claims no target",
        "format        objects  bytes  size",
        "raw-bytes-v1        1      8  8 bytes",
        "Q4G64_F16S          1   2176  2.2 kB",
        "FP32                1     64  64 bytes",
        "`let` values are overridden: this makes no claim to the recipe's target",
        "unused: base:extra.bias",
        "warning: /sources/base/unused/1: the pattern 'idle.*' matches no tensor",
    ]


def test_it_reads_no_weight_and_writes_nothing(model: Model) -> None:
    before = model.files()
    shard = model.checkpoint / "model.safetensors"
    header_bytes = 8 + int.from_bytes(shard.read_bytes()[:8], "little")
    with shard.open("r+b") as file:
        file.seek(header_bytes)
        file.write(b"\xff" * (shard.stat().st_size - header_bytes))  # every word a NaN
    assert answered("plan", *model.given)["file_bytes"] == 8768
    assert model.files() == before


def test_a_fault_prints_no_document(model: Model) -> None:
    assert "within 0:32 of axis 0, found 0:33" in refused("plan", *model.given, "--let", "H=33", "--json")
