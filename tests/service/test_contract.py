"""What the interface's description promises, tried by Schemathesis: no fault of the service, and no answer that is not
described, without tokens and with them."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import schemathesis
from schemathesis import Case, HookContext
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from sqlalchemy import update

from schemas.states import JobState
from schemas.tables import JobRow
from tests.job_rows import add_job
from tests.running_service import RunningService, running_service
from tests.small_job import job_body, recipe_document

SUBMIT, READ = "s" * 32, "r" * 32
TOKENS = f"ci:submit:{SUBMIT},laptop:read:{READ}"
HOSTS = ("localhost", "127.0.0.1", "testserver")

FILE_HEADERS: tuple[Mapping[str, str], ...] = (
    {},
    {"Range": "bytes=0-9"},
    {"Range": "bytes=3-7,20-"},
    {"Range": "bytes=999999999999-"},
    {"Range": "lines=1-2"},
    {"If-Match": '"0"'},
    {"If-None-Match": "*"},
    {"Range": "bytes=0-9", "If-Range": '"0"'},
)
STATUSES = {200, 201, 202, 204, 206, 304, 404, 405, 409, 412, 415, 416, 422}
"""What is answered without tokens, all of which has to be seen."""


@dataclass
class World:
    """A service with jobs in every state, of which one has an artifact, and choices among them that are the same in
    every run."""

    service: RunningService
    ready: str
    beginning: bytes
    """Of the artifact."""
    chance: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311

    def aim(self, case: Case[Any]) -> None:
        """Has most cases be about something that is there, and some be what succeeds."""
        path, given = case.operation.path, case.path_parameters
        if "job_id" in given and self._likely(0.8):
            given["job_id"] = self._job(path)
        if "recipe_id" in given and self._likely(0.5):
            given["recipe_id"] = "all-minilm-l6-v2.demo"
        if "index" in given and self._likely(0.5):
            given["index"] = 0 if "objects" in path else "0"
        if "artifact" in path:
            case.headers.update(self.chance.choice(FILE_HEADERS))
        sound = self._sound_bodies(path).get(str(case.media_type))
        if sound is not None and self._likely(0.2):
            case.body = copy.deepcopy(sound)

    def _likely(self, probability: float) -> bool:
        return self.chance.random() < probability

    def _sound_bodies(self, path: str) -> Mapping[str, Any]:
        """Bodies that a route takes, by media type."""
        if path in {"/v1/jobs", "/v1/plans"}:
            return {"application/json": job_body()}
        if path == "/v1/recipes":
            return {"application/json": {**recipe_document(), "revision": self.chance.randint(1, 9)}}
        if path == "/v1/inspections":
            return {"application/json": {"artifact": self.ready}, "application/octet-stream": self.beginning}
        return {}

    def _job(self, path: str) -> str:
        with self.service.database.writing() as session:
            session.execute(update(JobRow).where(JobRow.id == UUID(self.ready)).values(pinned=True))
        if self._likely(0.5):
            return self.ready
        states = [JobState.FAILED, JobState.CANCELLED]
        if not path.endswith("/events"):  # which would be told without end
            states += [JobState.QUEUED, JobState.CONVERTING]
        return str(add_job(self.service.database, self.chance.choice(states), (10, 20)))


@contextmanager
def world(data: Path, *, with_tokens: bool) -> Iterator[World]:
    """Such a service, whose clients need a token or do not."""
    with running_service(data, allowed_hosts=HOSTS, **({"tokens": TOKENS} if with_tokens else {})) as service:
        service.client.headers["Authorization"] = f"Bearer {SUBMIT}"
        ready = service.submit()
        job = service.work(ready)
        file = data / "artifacts" / f"{job['artifact']['sha256']}.ninfer"
        yield World(service, ready, file.read_bytes()[: 1 << 16])


def tried(world: World, token: str | None, *, examples: int, with_coverage: bool) -> Counter[int]:
    """Has Schemathesis try every operation; how often each status was answered. Fails with all that is not right."""
    config = SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "headers": {} if token is None else {"Authorization": f"Bearer {token}"},
            "generation": {"max-examples": examples, "deterministic": True, "with-security-parameters": False},
            # What a schema allows may still be no recipe, or name what is not there.
            "checks": {"positive_data_acceptance": {"enabled": False}},
            "phases": {"stateful": {"enabled": False}, "coverage": {"enabled": with_coverage}},
        }
    )
    schema = schemathesis.openapi.from_dict(world.service.application.openapi(), config=config)
    schema.app = world.service.application
    statuses: Counter[int] = Counter()
    faults: list[str] = []

    @schemathesis.hook
    def before_call(_: HookContext, case: Case[Any], __: dict[str, Any]) -> None:
        world.aim(case)

    try:
        for event in from_schema(schema).execute():
            if isinstance(event, events.NonFatalError | events.FatalError):
                faults.append(str(event))
            if not isinstance(event, events.ScenarioFinished):
                continue
            for interaction in event.recorder.interactions.values():
                assert interaction.response is not None
                statuses[int(interaction.response.status_code)] += 1
            found = [check.failure_info for checks in event.recorder.checks.values() for check in checks]
            faults += [f"{event.recorder.label}: {one.failure}\n{one.code_sample}" for one in found if one is not None]
    finally:
        schemathesis.hooks.unregister_all()
    assert not faults, "\n\n".join(faults[:10])
    return statuses


def test_what_is_described_holds_without_tokens(tmp_path: Path) -> None:
    with world(tmp_path / "data", with_tokens=False) as open_world:
        statuses = tried(open_world, None, examples=5, with_coverage=True)
    assert set(statuses) == STATUSES


def test_what_is_described_holds_with_tokens(tmp_path: Path) -> None:
    with world(tmp_path / "data", with_tokens=True) as closed_world:
        statuses = tried(closed_world, SUBMIT, examples=4, with_coverage=False)
    assert {200, 204, 401, 403, 404, 409, 422} <= set(statuses) <= {401, 403, *STATUSES}


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("token", [None, SUBMIT, READ])
def test_what_is_described_holds_for_long(tmp_path: Path, token: str | None) -> None:
    with world(tmp_path / "data", with_tokens=token is not None) as long_world:
        tried(long_world, token, examples=50, with_coverage=True)
