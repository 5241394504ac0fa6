"""How far the lossy objects of a job are from their source: one by one, and pooled by layer and by role.

Pooled, objects count by their elements: squared errors, and squares of the source, are taken as those of all rows,
also where a sample was verified.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum, inf, log10, prod, sqrt
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from schemas.tables import ObjectRow
from service.dashboard.object_places import ObjectPlace, place_of


@dataclass(frozen=True, slots=True)
class LossyObject:
    """The statistics of one object: `rms` of its error, `source_rms` of its source, over `elements`."""

    index: int
    name: str
    format: str
    elements: int
    max_abs: float
    rms: float
    source_rms: float

    @property
    def place(self) -> ObjectPlace:
        return place_of(self.name)


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Of one object, or of several together. `relative_rms` is the RMS of the error by that of the source; `snr_db` is
    None where there is no error. Both are None where something is made of zeros alone that is not zero."""

    objects: int
    elements: int
    snr_db: float | None
    relative_rms: float | None

    @property
    def badness(self) -> float:
        """What lists of the worst are in order of."""
        return inf if self.relative_rms is None else self.relative_rms


@dataclass(frozen=True, slots=True)
class RoleFidelity:
    """What has the same role in each layer of a stack, or one object outside of layers."""

    role: str
    formats: tuple[str, ...]
    fidelity: Fidelity


@dataclass(frozen=True, slots=True)
class LayerFidelity:
    """A layer of a stack."""

    stack: str
    layer: int
    fidelity: Fidelity


def lossy_objects(session: Session, job_id: UUID) -> list[LossyObject]:
    """The objects of a job whose error was measured, in payload order."""
    row = ObjectRow
    query = (
        select(row.index, row.name, row.format, row.shape, row.error, row.source_rms)
        .where(row.job_id == job_id, row.source_rms.is_not(None))
        .order_by(row.index)
    )
    return [
        LossyObject(index, name, format or "", prod(shape or ()), error["max_abs"], error["rms"], source_rms)
        for index, name, format, shape, error, source_rms in session.execute(query)
        if error is not None and source_rms is not None
    ]


def fidelity(objects: Sequence[LossyObject]) -> Fidelity:
    """Of these objects together."""
    noise = fsum(one.elements * one.rms**2 for one in objects)
    signal = fsum(one.elements * one.source_rms**2 for one in objects)
    return Fidelity(
        objects=len(objects),
        elements=sum(one.elements for one in objects),
        snr_db=10 * log10(signal / noise) if signal > 0 and noise > 0 else None,
        relative_rms=0.0 if noise == 0 else sqrt(noise / signal) if signal > 0 else None,
    )


def by_layer(objects: Iterable[LossyObject]) -> list[LayerFidelity]:
    """Each layer of each stack; what is outside of layers is left out."""
    layers: dict[tuple[str, int], list[LossyObject]] = {}
    for one in objects:
        place = one.place
        if place.layer is not None:
            layers.setdefault((place.stack, place.layer), []).append(one)
    return [LayerFidelity(stack, layer, fidelity(layers[stack, layer])) for stack, layer in sorted(layers)]


def by_role(objects: Iterable[LossyObject]) -> list[RoleFidelity]:
    """Each role, the worst first. A role in layers is called by the names of its objects, with `*` for the layer."""
    roles: dict[str, list[LossyObject]] = {}
    for one in objects:
        place = one.place
        role = one.name if place.layer is None else f"{place.stack}/*/{place.role}"
        roles.setdefault(role, []).append(one)
    found = [
        RoleFidelity(role, tuple(sorted({one.format for one in of_role})), fidelity(of_role))
        for role, of_role in roles.items()
    ]
    return sorted(found, key=lambda one: -one.fidelity.badness)


def worst(objects: Iterable[LossyObject], count: int) -> list[tuple[LossyObject, Fidelity]]:
    """The objects of the largest relative error, the worst first."""
    measured = [(one, fidelity([one])) for one in objects]
    return sorted(measured, key=lambda one: -one[1].badness)[:count]
