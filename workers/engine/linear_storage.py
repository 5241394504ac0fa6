"""How a linear is stored, read from its tensors (targets.md, Already quantized sources)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from schemas.source_dtypes import SourceDtype
from workers.engine.sources.safetensors_header import TensorEntry

PARTS = (
    "weight",
    "weight_packed",
    "weight_scale",
    "weight_scale_2",
    "weight_global_scale",
    "weight_zero_point",
    "weight_shape",
    "weight_g_idx",
    "pre_quant_scale",
)
"""Last parts of the names of the tensors that make up a weight, as compressed-tensors and ModelOpt write them."""

NVFP4_PARTS = {
    ("weight_packed", "weight_scale", "weight_global_scale"): "weight_packed",
    ("weight", "weight_scale", "weight_scale_2"): "weight",
}
"""The tensors of an NVFP4 weight, and which of them holds the codes."""

PLAIN_DTYPES = {SourceDtype.BF16, SourceDtype.F16, SourceDtype.F32, SourceDtype.F64}


class LinearStorage(StrEnum):
    """How the weight of one linear is stored."""

    PLAIN = "not quantized"
    NVFP4 = "NVFP4"
    FP8_ROW = "FP8 with a scale a row"


@dataclass(frozen=True, slots=True)
class Claim:
    """What is said of a linear: a storage, or None for one that has no registered format, and in which words."""

    storage: LinearStorage | None
    words: str


def is_embedding(linear: str) -> bool:
    """Whether a matrix of this name is an embedding, not a linear: nothing but its name tells."""
    return "embed" in linear.rpartition(".")[2]


def stored_linear(linear: str, tensors: Mapping[str, TensorEntry]) -> Claim | None:
    """What the tensors of a linear (its name without `.weight`) say; None for a plain weight that is no linear's."""
    parts = {part: tensors[f"{linear}.{part}"] for part in PARTS if f"{linear}.{part}" in tensors}
    storage = _storage(parts)
    if storage is not None:
        return None if storage is LinearStorage.PLAIN and is_embedding(linear) else Claim(storage, str(storage))
    if tuple(parts) == ("weight",) and parts["weight"].dtype_name in PLAIN_DTYPES:
        return None
    shown = ", ".join(f"{part} {entry.dtype_name} {list(entry.shape)}" for part, entry in parts.items())
    return Claim(None, f"neither plain, NVFP4 nor FP8 with a scale a row ({shown})")


def _storage(parts: Mapping[str, TensorEntry]) -> LinearStorage | None:
    names = tuple(parts)
    if names in NVFP4_PARTS and _is_nvfp4(parts[NVFP4_PARTS[names]], parts["weight_scale"]):
        return LinearStorage.NVFP4
    if names == ("weight", "weight_scale") and _is_fp8_row(*parts.values()):
        return LinearStorage.FP8_ROW
    if names == ("weight",) and parts["weight"].dtype_name in PLAIN_DTYPES and len(parts["weight"].shape) == 2:
        return LinearStorage.PLAIN
    return None


def _is_nvfp4(codes: TensorEntry, scales: TensorEntry) -> bool:
    """Codes U8 [N,K/2] with scales F8_E4M3 [N,K/16]."""
    if (codes.dtype_name, scales.dtype_name) != (SourceDtype.U8, SourceDtype.F8_E4M3) or len(codes.shape) != 2:
        return False
    return scales.shape == (codes.shape[0], codes.shape[1] // 8)


def _is_fp8_row(codes: TensorEntry, scales: TensorEntry) -> bool:
    """Codes F8_E4M3 [N,K] with floating point scales [N] or [N,1]."""
    if codes.dtype_name != SourceDtype.F8_E4M3 or scales.dtype_name not in PLAIN_DTYPES or len(codes.shape) != 2:
        return False
    return scales.shape in ((codes.shape[0],), (codes.shape[0], 1))
