"""Payloads by the oracle: an object's words encoded and laid out as the pages say, in Python on integers."""

from __future__ import annotations

import numpy as np

from tests.oracle import fp8_row, grouped
from tests.oracle.storage_layouts import (
    BlockScaled,
    RowSplit,
    encode_block_scale,
    encode_contiguous,
    encode_row_scale,
    encode_row_split,
)
from tests.oracle.words import BFLOAT16
from tests.targets.values import Made, Words

_SCHEMES = {scheme.name: scheme for scheme in grouped.SCHEMES}


def payload(format: str, made: Made) -> bytes:
    """The payload of an object of a format that is made of these words."""
    if format in _SCHEMES:
        [words] = made
        return _grouped(_SCHEMES[format], words)
    match format, made:
        case "NVFP4", (packed, scales, divisor):
            return _nvfp4(packed, scales, divisor)
        case "FP8_E4M3FN_ROW_BF16S", (words,):
            rows = [fp8_row.encode_row(BFLOAT16, row) for row in words.tolist()]
            return encode_row_scale([row.codes for row in rows], [row.scale for row in rows])
        case "FP8_E4M3FN_ROW_BF16S", (codes, scales):
            return encode_row_scale(codes.tolist(), scales.reshape(-1).tolist())
        case _, (words,):
            return encode_contiguous(format, words.reshape(-1).tolist())
    raise AssertionError(f"{format} is made of {len(made)} planes")


def shape(format: str, made: Made) -> list[int]:
    """The logical shape of an object that is made of these words."""
    if format == "NVFP4":
        rows, columns = made[0].shape
        return [rows, 2 * columns]
    return list(made[0].shape)


def _grouped(scheme: grouped.Scheme, words: Words) -> bytes:
    rows = [
        [grouped.encode_group(scheme, BFLOAT16, group) for group in grouped.groups_of(scheme, row)]
        for row in words.tolist()
    ]
    return encode_row_split(RowSplit(scheme, *words.shape), rows)


def _nvfp4(packed: Words, scales: Words, divisor: Words) -> bytes:
    codes = np.stack([packed & 0xF, packed >> 4], axis=-1).reshape(len(packed), -1)
    matrix = BlockScaled(tuple(map(tuple, codes.tolist())), tuple(map(tuple, scales.tolist())), divisor.item())
    return encode_block_scale(matrix)
