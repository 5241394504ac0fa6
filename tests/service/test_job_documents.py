"""Jobs that are read together are each as if read alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from schemas.states import JobState
from schemas.tables import JobRow
from service.job_documents import shown_jobs
from tests.job_rows import add_job
from tests.running_service import RunningService, assert_problem
from workers import job_endings
from workers.claims import locked_job
from workers.database import Database
from workers.identifiers import time_ordered_id
from workers.job_document import job_document


def test_jobs_come_in_the_order_asked_for_with_none_for_each_that_is_not_there(database: Database) -> None:
    planned = add_job(database, JobState.CONVERTING, [10, 20])
    tried = add_job(database, JobState.CANCELLED)
    for _ in range(2):
        with database.writing() as session:
            job = locked_job(session, tried)
            assert job is not None
            job_endings.retry(session, job)
            job.state = JobState.CANCELLED
    unknown = time_ordered_id()
    with database.reading() as session:
        alone = {job_id: job_document(session, session.get_one(JobRow, job_id)) for job_id in (planned, tried)}
        assert len(alone[tried].attempts) == 2
    assert shown_jobs(database, [tried, unknown, planned, tried]) == [alone[tried], None, alone[planned], alone[tried]]


def test_of_many_who_look_at_once_each_gets_its_own(either: RunningService) -> None:
    job_ids = [either.submit() for _ in range(5)]
    unknown = str(time_ordered_id())
    with ThreadPoolExecutor(12) as pool:
        asked = [*job_ids, unknown] * 5
        answers = list(pool.map(lambda job_id: either.client.get(f"/v1/jobs/{job_id}"), asked))
    for job_id, answer in zip(asked, answers, strict=True):
        if job_id == unknown:
            assert unknown in assert_problem(answer, 404, "not-found")["detail"]
        else:
            assert answer.json()["id"] == job_id
