"""What a recipe expands to: plain frozen data with every loop, template, `let` and default resolved.

This is the only form that planning, encoding and verifying see. `at` members are JSON pointers into the document as
written, for messages; they are no part of the canonical form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from schemas.registry import Encode, Format, Layout


class CastRule(StrEnum):
    EXACT = "exact"
    RNE = "rne"
    CHECKED = "checked"


class ReciprocalRule(StrEnum):
    EXACT = "exact"
    NEAREST = "nearest"


class SourceKind(StrEnum):
    CHECKPOINT = "checkpoint"
    FILE = "file"


class Quantization(StrEnum):
    NONE = "none"
    COMPRESSED_TENSORS = "compressed-tensors"
    MODELOPT = "modelopt"


class Nonfinite(StrEnum):
    REJECT = "reject"
    ALLOW = "allow"


class Require(StrEnum):
    POSITIVE = "positive"


class DivisorConvention(StrEnum):
    DIVISORS = "divisors"
    MULTIPLIERS = "multipliers"


@dataclass(frozen=True, slots=True)
class Tensor:
    tensor: str
    source: str


@dataclass(frozen=True, slots=True)
class Slice:
    of: Expression
    axis: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Reshape:
    of: Expression
    to: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Transpose:
    of: Expression
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Concat:
    of: tuple[Expression, ...]
    axis: int


@dataclass(frozen=True, slots=True)
class Gather:
    of: Expression
    rows: str
    """Name of the I32 object of the same recipe that lists the rows."""


@dataclass(frozen=True, slots=True)
class Same:
    of: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    of: Expression
    to: Format
    by: CastRule


@dataclass(frozen=True, slots=True)
class Reciprocal:
    of: Expression
    by: ReciprocalRule


@dataclass(frozen=True, slots=True)
class DraftIds:
    counts: str
    width: int
    domain: int
    take: int
    special: str


@dataclass(frozen=True, slots=True)
class Nvfp4:
    codes: Expression
    scales: Expression
    divisors: tuple[Expression, ...]
    """Divisors or multipliers, as `convention` says."""
    convention: DivisorConvention
    reciprocal: ReciprocalRule
    """How a multiplier becomes a divisor; EXACT under the divisor convention, where it has no effect."""


@dataclass(frozen=True, slots=True)
class Fp8Row:
    codes: Expression
    scales: Expression


Expression = (
    Tensor | Slice | Reshape | Transpose | Concat | Gather | Same | Cast | Reciprocal | DraftIds | Nvfp4 | Fp8Row
)


@dataclass(frozen=True, slots=True)
class ExpandedSource:
    name: str
    kind: SourceKind
    origin: str | None
    quantization: Quantization
    config: Mapping[str, object] | None
    sha256: str | None
    unused: tuple[str, ...]
    at: str


@dataclass(frozen=True, slots=True)
class ExpandedResource:
    name: str
    source: str
    file: str | None
    sha256: str | None
    repair: tuple[str, ...]
    at: str


@dataclass(frozen=True, slots=True)
class ExpandedObject:
    name: str
    shape: tuple[int, ...]
    format: Format
    layout: Layout
    encode: Encode
    nonfinite: Nonfinite
    require: Require | None
    value: Expression
    equals: tuple[Expression, ...]
    at: str


@dataclass(frozen=True, slots=True)
class Evidence:
    claim: str
    url: str


@dataclass(frozen=True, slots=True)
class ExpandedRecipe:
    """One recipe, complete. `sha256` is that of `canonical`, the RFC 8785 bytes (recipe.md, Identity)."""

    id: str
    revision: int
    model_id: str
    weights_id: str
    title: str | None
    target: str | None
    architecture: str | None
    sources: Mapping[str, ExpandedSource]
    evidence: tuple[Evidence, ...]
    resources: tuple[ExpandedResource, ...]
    objects: tuple[ExpandedObject, ...]
    let_overridden: bool
    """An invocation replaced `let` values: the recipe then makes no claim to `target`."""
    canonical: bytes
    sha256: str
