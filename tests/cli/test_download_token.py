"""`ninforge download` from a service that asks for a token."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.commands import installed, refused, succeeded
from tests.running_service import RunningService, running_service
from tests.small_job import job_body
from workers.tokens import parse_tokens

READ, SUBMIT = "r" * 32, "s" * 32


@dataclass(frozen=True)
class Published:
    """A job that is ready on a service with tokens."""

    service: RunningService
    job: str
    content: bytes

    def arguments(self, out: Path) -> tuple[str, ...]:
        return "download", self.job, "--url", str(self.service.client.base_url), "--out", str(out)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    tokens = parse_tokens([f"laptop:read:{READ}", f"ci:submit:{SUBMIT}"])
    with running_service(tmp_path_factory.mktemp("service") / "data", tokens=tokens) as service:
        service.client.headers["Authorization"] = f"Bearer {SUBMIT}"
        job = service.work(service.client.post("/v1/jobs", json=job_body()).json()["id"])
        yield Published(service, job["id"], service.client.get(f"/v1/jobs/{job['id']}/artifact").content)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("NINFORGE_TOKEN", raising=False)
    return monkeypatch


@pytest.mark.parametrize("secret", [READ, SUBMIT])
@pytest.mark.parametrize("as_variable", [False, True])
def test_a_token_opens_the_download(
    published: Published, environment: pytest.MonkeyPatch, tmp_path: Path, secret: str, as_variable: bool
) -> None:
    options = [] if as_variable else ["--token", secret]
    if as_variable:
        environment.setenv("NINFORGE_TOKEN", secret)
    said = succeeded(*published.arguments(tmp_path), *options)
    [file] = tmp_path.iterdir()
    assert file.read_bytes() == published.content
    assert secret not in said


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("options", [[], ["--token", "x" * 32]])
def test_without_a_token_of_the_service_it_is_refused(published: Published, tmp_path: Path, options: list[str]) -> None:
    message = refused(*published.arguments(tmp_path), *options)
    assert "401" in message
    assert "token" in message
    assert "x" * 32 not in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("token", ["", "two words", "é" * 32, "line\n", "secret:secret"])
def test_what_cannot_be_a_token_is_not_sent_and_not_repeated(published: Published, tmp_path: Path, token: str) -> None:
    message = refused(*published.arguments(tmp_path), "--token", token, code=2)
    assert not token or token not in message


def test_an_empty_variable_is_none(published: Published, tmp_path: Path) -> None:
    answer = installed(*published.arguments(tmp_path), env={**os.environ, "NINFORGE_TOKEN": ""})
    assert answer.returncode == 1
    assert b"401" in answer.stderr
