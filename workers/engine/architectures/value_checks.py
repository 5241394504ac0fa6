"""What must hold of stored words, as data: whoever can read the payload checks it (container-v3.md, 9, 10 and 13)."""

from __future__ import annotations

from dataclasses import dataclass

from workers.engine.container.model_description import ElementRange


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an FP32 object, counted in C order."""

    object: str
    index: int


@dataclass(frozen=True, slots=True)
class PositiveElement:
    """An activation divisor must be finite and above zero."""

    element: Element


@dataclass(frozen=True, slots=True)
class PositiveWeightDivisor:
    """The divisor inside an NVFP4 object must be finite and above zero."""

    object: str


@dataclass(frozen=True, slots=True)
class IdenticalElements:
    """Activation divisors of the members of one fused NVFP4 `object` must be the same word."""

    object: str
    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class DistinctTokens:
    """The I32 elements of `ranges`, taken together, must be distinct and lie in [0, limit)."""

    ranges: tuple[ElementRange, ...]
    limit: int


ValueCheck = PositiveElement | PositiveWeightDivisor | IdenticalElements | DistinctTokens
