"""Words of a miniature's tensors: all legal for what the targets make of them, and many of them awkward."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import numpy.typing as npt

from schemas.source_dtypes import SourceDtype
from workers.engine.recipe.inference import TensorType

Words = npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
"""BF16 as uint16, F32 as uint32, E4M3 and packed codes as uint8."""

_SHARED = {"k_proj": "q_proj", "v_proj": "q_proj", "up_proj": "gate_proj", "in_proj_z": "in_proj_qkv"}
"""The linears that one object is made of share their global scales."""

_SIGN = 0x8000
_GROUP = 64
_EMBEDDING = "embed_tokens.weight"
"""The one matrix that is made into row-scaled FP8, in which a row of subnormals alone has no form."""


def tensor_words(name: str, tensor: TensorType, seed: int) -> Words:
    """The words of a tensor, C order. They follow from its name, its type and the seed alone."""
    linear, _, kind = name.rpartition(".")
    generator = np.random.default_rng([seed, crc32(name.encode())])
    match tensor.dtype, kind:
        case SourceDtype.F32, _:
            return _global_scale(linear, kind, seed)
        case SourceDtype.U8, _:
            return generator.integers(0, 0x100, tensor.shape, np.uint8)
        case SourceDtype.F8_E4M3, "weight_scale":
            return generator.integers(0, 0x7F, tensor.shape, np.uint8)
        case SourceDtype.F8_E4M3, _:
            return _row_codes(tensor.shape, generator)
        case SourceDtype.BF16, "weight_scale":
            return _row_scales(tensor.shape, generator)
        case SourceDtype.BF16, _ if len(tensor.shape) == 1 or name.endswith("conv1d.weight"):
            return _signed(generator.integers(0, 0x7F80, tensor.shape, np.uint16), generator)
        case SourceDtype.BF16, _:
            return _matrix(tensor.shape, generator, small_rows=not name.endswith(_EMBEDDING))
        case _:
            raise AssertionError(f"{name}: {tensor.dtype_name} is in no checkpoint of a target")


def _global_scale(linear: str, kind: str, seed: int) -> npt.NDArray[np.uint32]:
    """One positive F32 word [1] of wide range, the same for linears that are fused."""
    module, _, own = linear.rpartition(".")
    shared = f"{module}.{_SHARED.get(own, own)}.{kind}"
    generator = np.random.default_rng([seed, crc32(shared.encode())])
    return generator.integers(0x30000000, 0x50000000, (1,), np.uint32)


def _row_codes(shape: tuple[int, ...], generator: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Finite E4M3 words, zeros of either sign in the rows whose multiplier is zero."""
    signs = generator.integers(0, 2, shape, np.uint8) * np.uint8(0x80)
    codes: npt.NDArray[np.uint8] = generator.integers(0, 0x7F, shape, np.uint8) | signs
    codes[_zero_rows(shape[0])] &= 0x80
    return codes


def _row_scales(shape: tuple[int, ...], generator: np.random.Generator) -> npt.NDArray[np.uint16]:
    """Positive BF16 multipliers, the smallest subnormals and one among them, and zeros."""
    scales = generator.integers(0x3000, 0x4400, shape, np.uint16)
    scales[3::13] = generator.integers(1, 0x80, scales[3::13].shape, np.uint16)
    scales[_zero_rows(shape[0])] = 0
    return scales


def _zero_rows(rows: int) -> slice:
    return slice(5, rows, 11)


def _matrix(shape: tuple[int, ...], generator: np.random.Generator, *, small_rows: bool) -> npt.NDArray[np.uint16]:
    """BF16 words of magnitudes from 2^-30 to 2^10 around those of their row, with zeros and subnormals of either sign
    strewn in, whole groups of them, and whole rows."""
    words = np.empty(shape, np.uint16)
    rows = words.reshape(-1, shape[-1])
    number = np.arange(len(rows))
    exponents = generator.integers(127 - 20, 127 + 10, (len(rows), 1)) - generator.integers(0, 10, rows.shape)
    rows[:] = (exponents << 7) + generator.integers(0, 0x80, rows.shape)
    subnormals = generator.integers(0, 0x80, rows.shape, np.uint16)
    strewn = generator.integers(0, 16, rows.shape)
    rows[strewn == 0] = 0
    rows[strewn == 1] = subnormals[strewn == 1]
    first, last = slice(0, _GROUP), slice(-_GROUP, None)
    if shape[-1] > _GROUP or small_rows:
        rows[number % 7 == 3, first] = 0
        rows[number % 17 == 8, last] = subnormals[number % 17 == 8, last]
    rows[number % 19 == 6] = 0
    return _signed(words, generator)


def _signed(words: npt.NDArray[np.uint16], generator: np.random.Generator) -> npt.NDArray[np.uint16]:
    return words | (generator.integers(0, 2, words.shape, np.uint16) * np.uint16(_SIGN))
