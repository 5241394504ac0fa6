"""Bodies and answers of the HTTP interface, with the JSON names of interface.md.

What a job's report and its objects look like is in schemas/report.py, problem details in schemas/problems.py.
"""

from __future__ import annotations

from schemas.interface.answers import Answer, Page
from schemas.interface.artifacts import Artifact, ArtifactManifest, ArtifactPart, ManifestPart
from schemas.interface.events import ObjectsEvent, StateEvent
from schemas.interface.health import Health
from schemas.interface.inspections import (
    IdentityInspection,
    InspectedPart,
    InspectedResource,
    InspectedTensor,
    Inspection,
    ModelInspection,
)
from schemas.interface.jobs import Attempt, Job, Progress
from schemas.interface.objects import CodeCount, Histograms, ObjectDocument, ScaleCount
from schemas.interface.plans import PlanDocument, PlannedObjectSummary, PlannedPart
from schemas.interface.recipes import RecipeDocument, RecipeSummary
from schemas.interface.registry import FormatEntry, LayoutEntry, RegistryDocument
from schemas.interface.reports import JobReport, UpgradeJobReport
from schemas.interface.requests import PRINTABLE, Body, InspectionRequest, JobRequest, UpgradeRequest
from schemas.interface.sources import SourceEntry
from schemas.interface.workers import Worker, WorkerTask

__all__ = [
    "PRINTABLE",
    "Answer",
    "Artifact",
    "ArtifactManifest",
    "ArtifactPart",
    "Attempt",
    "Body",
    "CodeCount",
    "FormatEntry",
    "Health",
    "Histograms",
    "IdentityInspection",
    "InspectedPart",
    "InspectedResource",
    "InspectedTensor",
    "Inspection",
    "InspectionRequest",
    "Job",
    "JobReport",
    "JobRequest",
    "LayoutEntry",
    "ManifestPart",
    "ModelInspection",
    "ObjectDocument",
    "ObjectsEvent",
    "Page",
    "PlanDocument",
    "PlannedObjectSummary",
    "PlannedPart",
    "Progress",
    "RecipeDocument",
    "RecipeSummary",
    "RegistryDocument",
    "ScaleCount",
    "SourceEntry",
    "StateEvent",
    "UpgradeJobReport",
    "UpgradeRequest",
    "Worker",
    "WorkerTask",
]
