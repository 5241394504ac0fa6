"""What a job would make, from its plan: what is in it, how large it is, and what about it should be known before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from schemas.interface import PlanDocument
from schemas.report import TensorReference
from service.dashboard.format_totals import FormatTotal, format_chart
from service.dashboard.gpu_memory import GpuFit, gpu_fits
from workers.engine.plan import Plan

MAX_NAMED = 200
"""Tensors that a list of leftovers names."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Tensors of one source that are not in the artifact; `names` are the first of them."""

    source: str
    count: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckedConfig:
    """How many members of a source's config.json the recipe names; all are as it expects."""

    source: str
    members: int


@dataclass(frozen=True, slots=True)
class PlanPreview:
    """A plan with what pages show of it. `weight_bytes` are the payload of all tensors."""

    document: PlanDocument
    formats: tuple[FormatTotal, ...]
    chart: Markup
    weight_bytes: int
    fits: tuple[GpuFit, ...]
    unused: tuple[Leftovers, ...]
    ignored: tuple[Leftovers, ...]
    configs: tuple[CheckedConfig, ...]


def plan_preview(plan: Plan) -> PlanPreview:
    """The preview of a plan."""
    document = plan.document()
    formats = _formats(document)
    weight_bytes = sum(one.bytes for one in document.objects if one.kind == "tensor")
    return PlanPreview(
        document=document,
        formats=formats,
        chart=format_chart(formats),
        weight_bytes=weight_bytes,
        fits=gpu_fits(weight_bytes),
        unused=_by_source(document.unused),
        ignored=_by_source(document.ignored),
        configs=tuple(
            CheckedConfig(source.name, _member_count(source.config))
            for source in plan.recipe.sources.values()
            if source.config is not None
        ),
    )


def _formats(document: PlanDocument) -> tuple[FormatTotal, ...]:
    counts: dict[str, int] = {}
    for one in document.objects:
        name = one.format or one.layout
        counts[name] = counts.get(name, 0) + 1
    totals = [FormatTotal(name, counts[name], size) for name, size in document.bytes_by_format.items()]
    return tuple(sorted(totals, key=lambda total: -total.bytes))


def _by_source(tensors: Iterable[TensorReference]) -> tuple[Leftovers, ...]:
    names: dict[str, list[str]] = {}
    for one in tensors:
        names.setdefault(one.source, []).append(one.tensor)
    return tuple(Leftovers(source, len(found), tuple(found[:MAX_NAMED])) for source, found in names.items())


def _member_count(config: Mapping[str, object]) -> int:
    """Members that are compared: objects member by member, all else whole."""
    return sum(_member_count(value) if isinstance(value, Mapping) else 1 for value in config.values())
