"""The objects of an upgrade one by one, as jobs record them: each is a copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from schemas.report import Check
from workers.engine.container.directory import ResourceObject
from workers.engine.container.placement import PlacedObject
from workers.engine.planned_objects import SourceTensorIdentity

KEPT = "bytes equal the old file's"
REPLACED = "bytes equal the new template's"


@dataclass(frozen=True, slots=True)
class PlannedCopy:
    """An object at its place. `covers` are the bytes [start, stop) of the old payload that go over with it: its own and
    those up to the next object, so that the copies of all are the whole. None for a new template."""

    index: int
    stored: PlacedObject
    covers: tuple[int, int] | None

    expression: ClassVar[None] = None
    sources: ClassVar[tuple[SourceTensorIdentity, ...]] = ()

    @property
    def name(self) -> str:
        return self.stored.name

    @property
    def kind(self) -> str:
        return "tensor" if self.stored.is_tensor else "resource"

    @property
    def shape(self) -> tuple[int, ...] | None:
        return self.stored.shape

    @property
    def format(self) -> str | None:
        return None if isinstance(self.stored, ResourceObject) else self.stored.format

    @property
    def layout(self) -> str:
        return self.stored.encoding if isinstance(self.stored, ResourceObject) else self.stored.layout

    @property
    def offset(self) -> int:
        return self.stored.offset

    @property
    def bytes(self) -> int:
        return self.stored.bytes

    @property
    def check(self) -> Check:
        """What reading the new files back shows of it; a resource is one row."""
        rows = 1 if self.shape is None else prod(self.shape[:-1])
        return Check(name=REPLACED if self.covers is None else KEPT, rows=rows, passed=True)


def planned_copies(
    objects: Sequence[PlacedObject], old_payload_bytes: int, *, new_template: bool
) -> tuple[PlannedCopy, ...]:
    """A copy for each object of the new files; the last is a new template's where there is one."""
    kept = objects[:-1] if new_template else objects
    starts = [0, *(stored.offset for stored in kept[1:]), old_payload_bytes]
    copies = [PlannedCopy(index, stored, (starts[index], starts[index + 1])) for index, stored in enumerate(kept)]
    if new_template:
        copies.append(PlannedCopy(len(kept), objects[-1], None))
    return tuple(copies)
