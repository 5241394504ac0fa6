"""All cases of the two encoder profiles by family. Whatever encodes or verifies is held to the same table."""

from __future__ import annotations

from functools import cache

from tests.conformance.blocks import Block, Family
from tests.conformance.fp8_row_cases import FP8_ROW_FAMILIES
from tests.conformance.grouped_cases import GROUPED_FAMILIES

FAMILIES: dict[str, Family] = {**GROUPED_FAMILIES, **FP8_ROW_FAMILIES}


@cache
def cases(family: str) -> tuple[Block, ...]:
    """The cases of a family. Each keeps its verdict once it has been asked for."""
    return tuple(FAMILIES[family]())
