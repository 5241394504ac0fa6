"""What the objects of a framing 3 file mean: its components, bindings and uses, as plain data (container-v3.md, 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

ConfigValue: TypeAlias = "str | int | float | bool | list[ConfigValue] | dict[str, ConfigValue] | None"
"""A value of a component's config. A float is written with a fraction or an exponent, an integer without."""


class ActivationPolicy(StrEnum):
    """Which activations an engine may use with a weight: 16 bits only, or also 8, or also 4."""

    A16_ONLY = "A16Only"
    ALLOW_A8 = "AllowA8"
    ALLOW_A4 = "AllowA4"


@dataclass(frozen=True, slots=True)
class WholeTensor:
    """A binding to a whole tensor object, whose shape is the parameter's."""

    object: str


@dataclass(frozen=True, slots=True)
class ElementRange:
    """Logical elements [start, stop) of a tensor object, in C order of its shape."""

    object: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class JoinedRanges:
    """A binding to ranges that, one after the other, are the parameter's elements; at least one."""

    ranges: tuple[ElementRange, ...]


Binding = WholeTensor | JoinedRanges


@dataclass(frozen=True, slots=True)
class Use:
    """That a parameter meets the activations at `input`, under `policy` (None where a file gives none)."""

    parameter: str
    input: str
    policy: ActivationPolicy | None
    auxiliaries: Mapping[str, Binding] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The head that proposes drafts: over `rows` listed ids, or over the whole vocabulary where `rows` is None."""

    rows: int | None


@dataclass(frozen=True, slots=True)
class Component:
    """A part of the model that an engine selects. `target` is the component that it works for; `resources` gives a
    resource object's id by role; `proposal` stands in `text` only."""

    config: Mapping[str, ConfigValue]
    target: str | None = None
    resources: Mapping[str, str] = field(default_factory=dict)
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """Components by id, bindings by logical parameter, and uses."""

    components: Mapping[str, Component]
    bindings: Mapping[str, Binding]
    uses: tuple[Use, ...]
