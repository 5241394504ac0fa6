"""A small checkpoint, a recipe for it, and the body of a job that converts it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

EVIDENCE = [{"claim": "a test, without a claim of quality", "url": "https://example.org/"}]
_MAXABS = "MAXABS_F16_RECIP_RNE_V1"
_FORMATS = (
    ("Q4G64_F16S", _MAXABS),
    ("W8G32_F16S", _MAXABS),
    ("FP8_E4M3FN_ROW_BF16S", "FP8_ROW_MAXABS_RECIP_RNE_V1"),
    ("BF16", "preserve"),
)


def write_checkpoint(folder: Path, *, layers: int = 8, rows: int = 96, columns: int = 256, seed: int = 1) -> Path:
    """A checkpoint of BF16 matrices `layer.{i}`, each one row higher than the last, and a tokenizer beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    words = np.random.default_rng(seed)
    header: dict[str, object] = {}
    data = b""
    for layer in range(layers):
        shape = [rows + layer, columns]
        matrix = words.integers(0x3C00, 0x3F80, shape, dtype=np.uint16).astype("<u2").tobytes()
        header[f"layer.{layer}"] = {
            "dtype": "BF16",
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(matrix)],
        }
        data += matrix
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    (folder / "tokenizer.json").write_text('{"tokens": []}')
    return folder


def recipe_document(*, layers: int = 8, rows: int = 96, columns: int = 256) -> dict[str, Any]:
    """A recipe for the first layers of that checkpoint: each an object, in four formats by turns."""
    objects = []
    for layer in range(layers):
        format, encode = _FORMATS[layer % len(_FORMATS)]
        objects.append(
            {
                "name": f"layers/{layer}",
                "shape": [rows + layer, columns],
                "format": format,
                "encode": encode,
                "value": {"tensor": f"layer.{layer}"},
            }
        )
    return {
        "recipe": 1,
        "id": "small.mixed",
        "revision": 3,
        "model_id": "small",
        "weights_id": "mixed",
        "sources": {"base": {"kind": "checkpoint", "unused": ["layer.*"]}},
        "evidence": EVIDENCE,
        "resources": [{"name": "frontend/tokenizer.json", "source": "base", "file": "tokenizer.json"}],
        "objects": objects,
    }


def job_body(where: str = "small", **members: Any) -> dict[str, Any]:
    """The body of a job that converts the checkpoint at `where`, below a source root."""
    return {"recipe": recipe_document(), "sources": {"base": where}, **members}
