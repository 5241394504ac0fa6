"""`ninforge submit` and `ninforge watch` against a real service."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.commands import INSTALLED, answered, ninforge, refused, succeeded
from tests.running_service import RunningService
from tests.small_job import recipe_document

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    file = tmp_path / "small.json"
    file.write_text(json.dumps(recipe_document()))
    return file


def at(service: RunningService) -> tuple[str, str]:
    return "--url", str(service.client.base_url)


def submitted(service: RunningService, recipe: Path, *options: str) -> str:
    """The id of a job of the small checkpoint."""
    return succeeded("submit", recipe, "--source", "base=small", *options, *at(service)).strip()


def test_a_recipe_s_file_becomes_a_job_whose_id_is_printed(service: RunningService, recipe: Path) -> None:
    job_id = submitted(service, recipe)
    assert service.work(job_id)["state"] == "ready"


def test_what_was_asked_for_arrives(service: RunningService, recipe: Path) -> None:
    (service.settings.data / "sources" / "other.json").write_text("{}")
    options = ("--framing", "1", "--verify", "sample", "--device", "cpu", "--name", "mine", "--allow-unexecutable")
    resource = ("--resource", "frontend/tokenizer.json=other.json")
    job = answered("submit", recipe, "--source", "base=small", *options, *resource, *at(service))
    assert job == service.client.get(f"/v1/jobs/{job['id']}").json()
    assert (job["name"], job["framing"], job["verify"], job["device"]) == ("mine", 1, "sample", "cpu")
    report = service.work(job["id"]) and service.client.get(f"/v1/jobs/{job['id']}/report").json()
    assert report["execution"] is not None or report["framing"] == 1


def test_places_are_the_service_s_own_and_named_once(service: RunningService, recipe: Path) -> None:
    wrong = {
        ("base",): "'--source': expected NAME=WHERE, found 'base'",
        ("base=",): "'--source': expected NAME=WHERE, found 'base='",
        ("base=a", "base=b"): "--source: expected each name once, found 'base' twice",
    }
    for places, told in wrong.items():
        options = [option for place in places for option in ("--source", place)]
        assert told in refused("submit", recipe, *options, *at(service), code=2)
    told = refused("submit", recipe, "--source", "base=s3://bucket/model", *at(service))
    assert "/sources/base: source base: expected" in told, "which URIs there are, the service says"


def test_an_id_is_left_to_the_service(service: RunningService) -> None:
    message = refused("submit", "all-minilm-l6-v2.demo", "--source", "other=small", *at(service))
    assert "422" in message
    assert "/sources/other" in message
    assert "expected a place for 'base'" in message
    assert "nothing.known" in refused("submit", "nothing.known", "--source", "base=small", *at(service))


def test_every_fault_of_a_recipe_is_told(service: RunningService, recipe: Path) -> None:
    document = recipe_document()
    document["objects"][0]["format"] = "Q9"
    document["objects"][1]["shape"] = [0]
    recipe.write_text(json.dumps(document))
    message = refused("submit", recipe, "--source", "base=small", *at(service))
    assert "objects/0/format" in message
    assert "objects/1/shape" in message


def test_the_same_key_is_the_same_job(service: RunningService, recipe: Path) -> None:
    assert submitted(service, recipe, "--key", "night") == submitted(service, recipe, "--key", "night")
    assert submitted(service, recipe) != submitted(service, recipe)


@pytest.mark.parametrize(
    "options",
    [
        ("--source", "base"),
        ("--source", "base=a", "--source", "base=b"),
        ("--name", ""),
        ("--framing", "4"),
        ("--url", "elsewhere"),
    ],
)
def test_a_wrong_command_line_sends_nothing(service: RunningService, recipe: Path, options: Sequence[str]) -> None:
    assert ninforge("submit", recipe, *at(service), *options).exit_code == 2
    assert service.client.get("/v1/jobs").json()["items"] == []


def test_the_address_may_be_in_the_environment(
    service: RunningService, recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NINFORGE_URL", str(service.client.base_url))
    job_id = succeeded("submit", recipe, "--source", "base=small").strip()
    assert service.client.get(f"/v1/jobs/{job_id}").status_code == 200


def test_watching_shows_states_in_lines_and_how_the_job_ended(service: RunningService, recipe: Path) -> None:
    job_id = submitted(service, recipe)
    watching = subprocess.Popen(
        [INSTALLED, "watch", job_id, *at(service)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert watching.stderr is not None
    assert watching.stderr.readline() == "queued\n"
    job = service.work(job_id)
    said, told = watching.communicate(timeout=60)
    assert [line for line in told.splitlines() if ":" not in line] == ["planning", "converting", "verifying", "ready"]
    assert said == (
        f"job {job_id} is ready: 1 file, {job['artifact']['bytes']} bytes ({job['artifact']['bytes'] / 1000:.1f} kB), "
        f"SHA-256 {job['artifact']['sha256']}\n"
    )
    assert watching.returncode == 0


def test_a_terminal_gets_one_bar(service: RunningService, recipe: Path) -> None:
    job_id = submitted(service, recipe)
    ours, theirs = pty.openpty()
    watching = subprocess.Popen([INSTALLED, "watch", job_id, *at(service)], stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    seen = bytearray()
    worker = threading.Thread(target=service.work, args=(job_id,))
    while b"queued" not in seen:
        seen += os.read(ours, 4096)
    worker.start()
    while watching.poll() is None or b"ready" not in seen:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
    worker.join()
    os.close(ours)
    assert watching.wait(60) == 0
    watching.communicate()
    assert b"\x1b[" in seen
    assert b"ready" in seen


def test_a_job_that_failed_ends_with_1_only_if_that_is_asked_for(service: RunningService, recipe: Path) -> None:
    job_id = succeeded("submit", recipe, "--source", "base=not-there", *at(service)).strip()
    problem = service.work(job_id)["error"]
    assert f"job {job_id} is failed: {problem['detail']}" in succeeded("watch", job_id, *at(service))
    failed = ninforge("watch", job_id, "--exit-status", *at(service))
    assert (failed.exit_code, failed.stdout) == (1, succeeded("watch", job_id, *at(service)))
    document = ninforge("watch", job_id, "--exit-status", "--json", *at(service))
    assert (document.exit_code, json.loads(document.stdout)["error"]) == (1, problem)


def test_a_cancelled_job_is_no_success_either(service: RunningService, recipe: Path) -> None:
    job_id = submitted(service, recipe)
    service.client.post(f"/v1/jobs/{job_id}/cancel")
    assert succeeded("watch", job_id, *at(service)) == f"job {job_id} is cancelled\n"
    assert ninforge("watch", job_id, "--exit-status", *at(service)).exit_code == 1


def test_a_ready_job_is_success(service: RunningService, recipe: Path) -> None:
    job_id = submitted(service, recipe)
    job = service.work(job_id)
    assert answered("watch", job_id, "--exit-status", *at(service)) == job


def test_an_unknown_job_is_told(service: RunningService) -> None:
    assert f"404: There is no job {UNKNOWN}." in refused("watch", UNKNOWN, *at(service))
    assert ninforge("watch", "17", *at(service)).exit_code == 2


def test_a_service_that_is_not_there_is_told(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.client.connection._PAUSES", ())
    message = refused("submit", recipe, "--source", "base=small", "--url", "http://127.0.0.1:9")
    assert "expected an answer" in message
