"""Words of the tensors in a checkpoint's files, as the safetensors library reads them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors import deserialize

from tests.targets.values import Checkpoint

WORD_TYPES = {"BF16": "<u2", "F32": "<u4", "U8": "u1", "F8_E4M3": "u1"}


def read_words(folder: Path) -> Checkpoint:
    """Every tensor of every safetensors file in a folder."""
    return {
        name: np.frombuffer(tensor["data"], WORD_TYPES[tensor["dtype"]]).reshape(tensor["shape"])
        for file in sorted(folder.glob("*.safetensors"))
        for name, tensor in deserialize(file.read_bytes())  # type: ignore[no-untyped-call]
    }


def flip_lowest_bit(file: Path, name: str) -> None:
    """Changes the first word of a tensor in its lowest bit."""
    content = bytearray(file.read_bytes())
    header = int.from_bytes(content[:8], "little")
    start, _ = json.loads(content[8 : 8 + header])[name]["data_offsets"]
    content[8 + header + start] ^= 1
    file.write_bytes(content)
