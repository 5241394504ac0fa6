"""Many clients that submit at once while two workers convert: no job is lost and none doubled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import URL, func, select

from schemas.states import EventKind
from schemas.tables import EventRow
from tests.servers import postgresql_database_on, redis_database
from tests.service_processes import QUICK, Service, command, long_job, service, until
from tests.small_job import write_checkpoint
from tests.submitting_clients import percentile, submit_all
from workers.database import Database
from workers.settings import Settings

CLIENTS, EACH = 20, 2


@pytest.fixture(params=["embedded", "cluster"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Service, Database]]:
    """A service with two workers, and its database."""
    data = tmp_path / "data"
    write_checkpoint(data / "sources" / "small", layers=2)
    environment = {"NINFORGE_DATA": str(data), **QUICK}
    settings = Settings(data=data)
    with ExitStack() as stack:
        if request.param == "cluster":
            server: URL = request.getfixturevalue("postgresql")
            url = stack.enter_context(postgresql_database_on(server)).render_as_string(hide_password=False)
            settings = Settings(data=data, database_url=url)
            environment["NINFORGE_DATABASE_URL"] = url
            environment["NINFORGE_BROKER_URL"] = stack.enter_context(redis_database())
        serving = stack.enter_context(service("up" if request.param == "embedded" else "serve", environment))
        for _ in range(1 if request.param == "embedded" else 2):
            stack.enter_context(command("worker", environment=environment))
        until(lambda: len(serving.client.get("/v1/workers").json()["items"]), lambda count: count == 2)
        database = Database.of(settings)
        stack.callback(database.close)
        yield serving, database


def test_none_is_lost_and_none_doubled(running: tuple[Service, Database]) -> None:
    serving, database = running
    count = CLIENTS * EACH
    submitted = submit_all(str(serving.client.base_url), long_job(2), clients=CLIENTS, each=EACH)
    assert len(set(submitted.ids)) == count

    def states() -> Counter[str]:
        items = serving.client.get("/v1/jobs", params={"limit": 1000}).json()["items"]
        assert {job["id"] for job in items} == set(submitted.ids)
        return Counter(job["state"] for job in items)

    until(states, lambda found: found["ready"] + found["failed"] == count)
    assert states() == {"ready": count}
    objects = serving.client.get("/metrics").text
    assert f'ninforge_objects{{state="verified"}} {3.0 * count}' in objects
    with database.reading() as session:
        told = select(func.count()).where(EventRow.kind == EventKind.STATE)
        assert session.scalar(told) == 5 * count, "each state of each job once"


def test_percentiles_are_of_the_times_that_there_are() -> None:
    times = tuple(float(number) for number in range(1, 101))
    assert [percentile(times, share) for share in (0.5, 0.99, 1)] == [50, 99, 100]
    assert percentile((3.0,), 0.99) == 3
