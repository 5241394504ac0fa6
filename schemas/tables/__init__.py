"""The SQL tables: jobs, their objects, where each object's words came from, and who holds a claim on what.

SQL is the truth about jobs (design.md, Jobs). All of it is valid on SQLite and on PostgreSQL.
"""

from __future__ import annotations

from schemas.tables.artifact_parts import ArtifactPartRow
from schemas.tables.attempts import AttemptRow
from schemas.tables.base import Base
from schemas.tables.claims import ClaimRow
from schemas.tables.column_types import UtcDateTime
from schemas.tables.events import EventRow
from schemas.tables.jobs import JobRow
from schemas.tables.objects import ObjectRow
from schemas.tables.progress_samples import ProgressSampleRow
from schemas.tables.recipes import RecipeRow, StoredRecipeRow
from schemas.tables.sources import ObjectSourceRow, SourceTensorRow
from schemas.tables.submission_keys import MAX_KEY, SubmissionKeyRow
from schemas.tables.verification_records import ObjectHistogramRow, VerificationCheckRow
from schemas.tables.webhook_events import WebhookEventRow
from schemas.tables.workers import WorkerRow

__all__ = [
    "MAX_KEY",
    "ArtifactPartRow",
    "AttemptRow",
    "Base",
    "ClaimRow",
    "EventRow",
    "JobRow",
    "ObjectHistogramRow",
    "ObjectRow",
    "ObjectSourceRow",
    "ProgressSampleRow",
    "RecipeRow",
    "SourceTensorRow",
    "StoredRecipeRow",
    "SubmissionKeyRow",
    "UtcDateTime",
    "VerificationCheckRow",
    "WebhookEventRow",
    "WorkerRow",
]
