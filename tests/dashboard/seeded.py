"""A service with a job of each kind, and the pages that it then has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from schemas.states import JobState
from schemas.tables import JobRow
from tests.dashboard.large_job import add_large_job
from tests.job_rows import worker_row
from tests.running_service import RunningService, running_service
from tests.small_job import recipe_document
from workers import claims
from workers.database import database_time


@dataclass(frozen=True)
class SeededService:
    """`jobs` are ids by what became of the job: ready, failed, cancelled, queued, and of 1307 objects large, which is
    converting, and large-ready."""

    service: RunningService
    jobs: Mapping[str, str]

    @property
    def url(self) -> str:
        return str(self.service.client.base_url).rstrip("/")


@contextmanager
def seeded_service(data: Path) -> Iterator[SeededService]:
    """The service, with its data in a folder that is there."""
    with running_service(data) as service:
        jobs = {"ready": service.submit(name="small mixed")}
        service.work(jobs["ready"])
        jobs["failed"] = service.submit(where="not-there", name="of nothing")
        service.work(jobs["failed"])
        jobs["cancelled"] = service.submit(name="given up")
        service.client.post(f"/v1/jobs/{jobs['cancelled']}/cancel")
        jobs["queued"] = service.submit(name="waiting")
        for changes in ({"revision": 2, "title": "An earlier one"}, {}):
            stored = service.client.post("/v1/recipes", json={**recipe_document(), **changes})
            assert stored.status_code == 201, stored.text
        head = _report_head(service, jobs["ready"])
        jobs["large"] = str(add_large_job(service.database, JobState.CONVERTING))
        jobs["large-ready"] = str(add_large_job(service.database, JobState.READY, report_head=head))
        _add_workers(service, UUID(jobs["large"]))
        yield SeededService(service, jobs)


def _add_workers(service: RunningService, job_id: UUID) -> None:
    """One at the job, and one that was lost."""
    with service.database.writing() as session:
        now = database_time(session)
        session.add_all([worker_row("box-1-a1b2c3"), worker_row("box-2-d4e5f6", expires_at=now)])
        claims.claim_objects(session, job_id, worker="box-1-a1b2c3", lease=timedelta(hours=1), max_bytes=1)


def _report_head(service: RunningService, job_id: str) -> dict[str, Any] | None:
    with service.database.reading() as session:
        return session.get_one(JobRow, UUID(job_id)).report_head


PAGES: Mapping[str, str] = {
    "jobs": "/jobs",
    "no-such-jobs": "/jobs?text=nothing-is-called-that",
    "new-job": "/jobs/new",
    "new-job-of-recipe": "/jobs/new?recipe=qwen3.8-27b.groupwise-int",
    "job": "/jobs/{ready}",
    "failed-job": "/jobs/{failed}",
    "cancelled-job": "/jobs/{cancelled}",
    "queued-job": "/jobs/{queued}",
    "delete": "/jobs/{ready}/delete",
    "object": "/jobs/{ready}/objects/1",
    "quality": "/jobs/{ready}/quality",
    "quality-of-fp8": "/jobs/{ready}/quality?object=3",
    "no-quality": "/jobs/{failed}/quality",
    "artifact": "/jobs/{ready}/artifact",
    "no-artifact": "/jobs/{failed}/artifact",
    "system": "/system",
    "recipes": "/recipes",
    "no-such-recipes": "/recipes?text=nothing-is-called-that",
    "stored-recipe": "/recipes/small.mixed",
    "expansion": "/recipes/small.mixed/expansion",
    "differences": "/recipes/small.mixed/differences?other=small.mixed&other_revision=2",
    "delete-recipe": "/recipes/small.mixed/delete",
    "store-recipe": "/store-recipe?like=small.mixed",
    "inspect": "/inspect?under=small",
    "directory": "/inspect?artifact={ready}",
    "sign-in": "/sign-in",
    "not-found": "/jobs/00000000-0000-0000-0000-000000000000",
}
"""Every page by a name, with the kind of job in braces where it is of one."""

LARGE_PAGES: Mapping[str, str] = {
    "large-job": "/jobs/{large}",
    "large-ready-job": "/jobs/{large-ready}",
    "large-object": "/jobs/{large-ready}/objects/700",
    "large-quality": "/jobs/{large-ready}/quality",
    "large-artifact": "/jobs/{large-ready}/artifact",
    "large-recipe": "/recipes/qwen3.6-27b.nvfp4",
    "large-differences": "/recipes/small.mixed/differences?other=all-minilm-l6-v2.demo",
    "large-expansion": "/recipes/qwen3.6-27b.nvfp4/expansion",
}
"""The pages of jobs and recipes of 1307 objects."""


def address(seeded: SeededService, page: str) -> str:
    """The whole address of a page."""
    path = {**PAGES, **LARGE_PAGES}[page]
    for kind, job_id in seeded.jobs.items():
        path = path.replace(f"{{{kind}}}", job_id)
    return seeded.url + path
