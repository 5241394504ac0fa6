"""The safetensors dtypes that are known by size (recipe.md, values: the operators)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class SourceDtype(StrEnum):
    """A dtype as a safetensors header spells it."""

    F16 = "F16"
    F32 = "F32"
    F64 = "F64"
    BF16 = "BF16"
    F8_E4M3 = "F8_E4M3"
    F8_E5M2 = "F8_E5M2"
    U8 = "U8"
    I8 = "I8"
    I16 = "I16"
    I32 = "I32"
    I64 = "I64"
    U16 = "U16"
    U32 = "U32"
    U64 = "U64"
    BOOL = "BOOL"


ELEMENT_BYTES: Mapping[SourceDtype, int] = MappingProxyType(
    {
        SourceDtype.F16: 2,
        SourceDtype.F32: 4,
        SourceDtype.F64: 8,
        SourceDtype.BF16: 2,
        SourceDtype.F8_E4M3: 1,
        SourceDtype.F8_E5M2: 1,
        SourceDtype.U8: 1,
        SourceDtype.I8: 1,
        SourceDtype.I16: 2,
        SourceDtype.I32: 4,
        SourceDtype.I64: 8,
        SourceDtype.U16: 2,
        SourceDtype.U32: 4,
        SourceDtype.U64: 8,
        SourceDtype.BOOL: 1,
    }
)
