"""The commands that the page of an artifact shows, run as they stand there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.running_service import RunningService, running_service
from tests.small_job import job_body, recipe_document

READ = "r" * 32


class _Commands(HTMLParser):
    """The texts of the page's `pre` elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._is_inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - signature
        if tag == "pre":
            self._is_inside = True
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_inside = self._is_inside and tag != "pre"

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.found[-1] += data


def run(commands: str, folder: Path, **environment: str) -> str:
    """Standard output of shell commands in a folder, which have to succeed, with this Python's `ninforge`."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def page_of(service: RunningService, job_id: str, **headers: str) -> str:
    answer = service.client.get(f"/jobs/{job_id}/artifact", headers={"Accept": "text/html", **headers})
    assert answer.status_code == 200
    return answer.text


def test_commands_download_and_verify(tmp_path: Path) -> None:
    with running_service(tmp_path / "data") as service:
        job_id = service.submit()
        service.work(job_id)
        page = page_of(service, job_id)
        directory = f"/inspect?artifact={job_id}"
        assert f'href="{directory}"' in page
        assert "layers/7" in service.client.get(directory, headers={"Accept": "text/html"}).text
        by_curl, by_ninforge, verify = _Commands(page).found
        first, second = tmp_path / "first", tmp_path / "second"
        for folder in (first, second):
            folder.mkdir()
        assert "small.mixed.v2.ninfer: OK" in run(by_curl, first)
        run(by_ninforge, second)
        assert (first / "small.mixed.v2.ninfer").read_bytes() == (second / "small.mixed.v2.ninfer").read_bytes()
        for name, place in (
            ("small.mixed.v2.report.json", f"/v1/jobs/{job_id}/report"),
            ("recipe.json", f"/jobs/{job_id}/recipe.json"),
        ):
            (first / name).write_bytes(service.client.get(place).content)
        run(verify.replace("base=BASE", f"base={service.settings.data / 'sources' / 'small'}"), first)


def test_a_name_cannot_speak_to_the_shell(tmp_path: Path) -> None:
    name = "a $(touch taken) `touch taken`; touch taken"
    with running_service(tmp_path / "data") as service:
        recipe = json.loads(json.dumps(recipe_document()).replace('"base"', json.dumps(name)))
        job_id = service.client.post(
            "/v1/jobs", json={**job_body(), "recipe": recipe, "sources": {name: "small"}}
        ).json()["id"]
        service.work(job_id)
        verify = _Commands(page_of(service, job_id)).found[2].splitlines()[2]
    said = run(verify.replace("ninforge", "printf '%s\\n'", 1), tmp_path)
    assert f"{name}={name.upper()}" in said.splitlines()
    assert not (tmp_path / "taken").exists()


def test_commands_carry_a_token_where_one_is_needed(tmp_path: Path) -> None:
    with running_service(tmp_path / "data", tokens=f"reader:read:{READ},submitter:submit:{'s' * 32}") as service:
        service.client.headers["Authorization"] = f"Bearer {'s' * 32}"
        job_id = service.submit()
        service.work(job_id)
        by_curl = _Commands(page_of(service, job_id)).found[0]
        assert READ not in by_curl
        run(by_curl, tmp_path, NINFORGE_TOKEN=READ)
        with pytest.raises(AssertionError):
            run(by_curl.replace("-C - ", "-f "), tmp_path, NINFORGE_TOKEN="x")  # noqa: S106 - no secret
