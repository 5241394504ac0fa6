"""What a job does in each of its stages, whatever kind of job it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from schemas.report import EncodedObject, ReportHead, VerifiedObject
from schemas.upgrade_report import UpgradeReportHead
from workers.engine.container.arrangement import Arrangement
from workers.engine.container.directory import Framing
from workers.engine.execution import Execution
from workers.engine.file_stamp import FileStamp
from workers.engine.histogram import Histogram
from workers.engine.planned_objects import SourceTensorIdentity
from workers.engine.steps import Observer
from workers.remote.fetching import Fetching


class PlannedJobObject(Protocol):
    """One object of a plan, as a job records it."""

    @property
    def index(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...] | None: ...
    @property
    def format(self) -> str | None: ...
    @property
    def layout(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def expression(self) -> str | None: ...
    @property
    def sources(self) -> tuple[SourceTensorIdentity, ...]: ...


class PlannedJob(Protocol):
    """A plan, as a job records it."""

    @property
    def framing(self) -> Framing: ...
    @property
    def arrangement(self) -> Arrangement: ...
    @property
    def execution(self) -> Execution: ...
    @property
    def file_bytes(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def objects(self) -> Sequence[PlannedJobObject]: ...


@dataclass(frozen=True, slots=True)
class VerifiedWork:
    """What passed verification: the record of each object, the histograms of quantized ones by index, the report's
    head, and SHA-256 and stamp of each file, the entry first."""

    objects: Sequence[VerifiedObject]
    histograms: Mapping[int, Histogram]
    head: ReportHead | UpgradeReportHead
    sha256: tuple[str, ...]
    stamps: tuple[FileStamp, ...]


class JobWork(Protocol):
    """One kind of job. Each method raises what the engine raises, and CancelledError where the observer does."""

    def prepare(self, fetching: Fetching) -> None:
        """Fetches what is remote; comes before all else. Raises CancelledError where `fetching` does."""

    def planned(self) -> PlannedJob:
        """The plan, made once."""

    def require_wanted(self) -> None:
        """Raises PlanError for a plan that is not to be carried out."""

    def encode(self, entry: Path, indices: Sequence[int], worker: str, observer: Observer) -> list[EncodedObject]:
        """Makes the payloads of these objects in the work files, durably."""

    def verify(self, entry: Path, observer: Observer) -> VerifiedWork:
        """Completes the work files, and holds them to all that they are made of."""
