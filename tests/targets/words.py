"""Words for the tensors of a checkpoint, all of them legal and moderate, so that every encoder takes them."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from schemas.source_dtypes import ELEMENT_BYTES, SourceDtype
from tests.targets.headers import Headers
from tests.targets.values import Checkpoint, Words

WORD_TYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32}
"""Unsigned words by their size in bytes."""

_RANGES = {
    SourceDtype.BF16: (0x3C00, 0x4400),
    SourceDtype.F32: (0x3F800000, 0x40800000),
    SourceDtype.U8: (0, 0x100),
    SourceDtype.F8_E4M3: (0x08, 0x7F),
}


def random_words(headers: Headers, seed: int) -> Checkpoint:
    """Words of every tensor, which follow from its name and the seed. Linears of a module share their global scales."""
    return {name: _words(name, header.dtype, header.shape, seed) for name, header in headers.items()}


def _words(name: str, dtype: SourceDtype | None, shape: tuple[int, ...], seed: int) -> Words:
    assert dtype is not None
    module, _, tensor = name.rpartition(".")
    shared = f"{module.rpartition('.')[0]}.{tensor}" if tensor.endswith("_global_scale") else name
    generator = np.random.default_rng([seed, crc32(shared.encode())])
    return generator.integers(*_RANGES[dtype], shape, WORD_TYPES[ELEMENT_BYTES[dtype]])
