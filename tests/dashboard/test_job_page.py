"""The page of a job, without a browser."""

from __future__ import annotations

import re

from sqlalchemy import update

from schemas.states import JobState
from schemas.tables import JobRow, ObjectRow
from tests.job_rows import add_job
from tests.running_service import RunningService

HOSTILE = """<b>"x"&'y'"""


def test_texts_of_a_job_are_shown_as_they_are(service: RunningService) -> None:
    """Texts of recipes and of callers may be markup; none of them becomes any."""
    job_id = add_job(service.database, JobState.CONVERTING, sizes=[10, 20, 30])
    with service.database.writing() as session:
        session.execute(update(JobRow).values(name=HOSTILE, recipe_id=HOSTILE))
        for index, name in enumerate((f"{HOSTILE}/1/{HOSTILE}", HOSTILE, f"a/2/{HOSTILE}")):
            values = {"name": name, "format": HOSTILE, "layout": HOSTILE, "expression": HOSTILE}
            session.execute(update(ObjectRow).where(ObjectRow.index == index).values(values))
    for path in ("/jobs", f"/jobs/{job_id}", f"/jobs/{job_id}/objects/0", f"/jobs/{job_id}/quality"):
        page = service.client.get(path).text
        assert "&lt;b&gt;" in page
        assert "<b>" not in page
        assert "&amp;lt;" not in page
        assert re.search('<[^<>]*"x"[^<>]*>', page) is None  # nor does any end an attribute
