"""docker-compose.yml: valid, confined, and its commands do what they are there for, as they stand in it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from httpx import Client
from sqlalchemy import URL

from tests.deploy.compose_file import ROOT, LocalMachine, compose_document
from tests.service_processes import COMMAND, Service, command
from tests.small_job import job_body, write_checkpoint
from workers.database import Database

SUBMIT = "a" * 32
SECRETS = {
    "database_password": "unused-by-a-server-that-trusts",
    "tokens": f"ci:submit:{SUBMIT}\nmetrics:read:{'b' * 32}",
    "metrics_token": "b" * 32,
    "webhook_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "grafana_password": "c" * 16,
}
DOCUMENT = compose_document({})
SERVICES: Mapping[str, Any] = DOCUMENT["services"]
OURS = ("migration", "api", "worker", "gpu-worker")


def test_the_file_is_a_compose_file() -> None:
    schema = json.loads(files("check_jsonschema").joinpath("builtin_schemas/vendor/compose-spec.json").read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert list(validator.iter_errors(DOCUMENT)) == []
    broken = {**DOCUMENT, "services": {**SERVICES, "api": {**SERVICES["api"], "read_onyl": True}}}
    assert list(validator.iter_errors(broken)) != []


def test_the_services_are_those_of_a_cluster_and_of_its_monitoring() -> None:
    assert set(SERVICES) == {*OURS, "postgres", "redis", "prometheus", "grafana"}
    assert {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service} == {
        "gpu-worker": ["gpu"],
        "prometheus": ["monitoring"],
        "grafana": ["monitoring"],
    }
    assert SERVICES["migration"]["restart"] == "no"
    assert all("healthcheck" in service for name, service in SERVICES.items() if name != "migration")


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "cap_add" not in service
    assert "privileged" not in service
    user, _, group = service["user"].partition(":")
    assert (user.isdecimal(), group.isdecimal(), int(user) > 0) == (True, True, True)
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    if name not in {"api", "worker", "gpu-worker", "grafana"}:
        assert service["networks"] == ["inside"]
    assert DOCUMENT["networks"]["inside"] == {"internal": True}


@pytest.mark.parametrize("name", SERVICES)
def test_every_place_that_a_service_names_is_there(name: str) -> None:
    service = SERVICES[name]
    for mount in service.get("volumes", ()):
        source = mount.split(":")[0]
        if source.startswith("./deploy"):
            assert (ROOT / source).exists()
            assert mount.endswith(":ro")
        elif not source.startswith("."):
            assert source in DOCUMENT["volumes"]
    secrets = set(service.get("secrets", ()))
    assert secrets <= set(DOCUMENT["secrets"]) == set(SECRETS)
    used = json.dumps([service.get("environment"), service.get("command")]).split("/run/secrets/")[1:]
    assert {place.partition('"')[0] for place in used} <= secrets
    assert set(service.get("depends_on", ())) <= set(SERVICES)
    if name == "prometheus":
        assert "/run/secrets/metrics_token" in (ROOT / "deploy/prometheus.yml").read_text()
    else:
        assert len(used) == len(secrets)


def test_api_and_workers_share_one_volume_and_what_they_know_of_each_other() -> None:
    for name in OURS:
        assert SERVICES[name]["volumes"] == ["data:/data", "./sources:/sources:ro"]
        assert SERVICES[name]["environment"].items() >= SERVICES["migration"]["environment"].items()
    assert set(DOCUMENT["volumes"]) == {"data", "database", "metrics"}
    assert SERVICES["gpu-worker"]["command"] == SERVICES["worker"]["command"]


@pytest.fixture
def machine(
    tmp_path: Path, postgresql_url: URL, postgresql_database: Database, redis_url: str
) -> tuple[LocalMachine, str]:
    """This machine in the place of containers, and the port of the API on it."""
    assert postgresql_database.engine.url.database == postgresql_url.database
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    for name, text in SECRETS.items():
        (secrets / name).write_text(f"{text}\n")
    write_checkpoint(tmp_path / "sources" / "small")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    return LocalMachine(
        {
            "/data": str(tmp_path / "data"),
            "/sources": str(tmp_path / "sources"),
            "/run/secrets": str(secrets),
            "postgresql+psycopg://ninforge@postgres/ninforge": postgresql_url.render_as_string(hide_password=False),
            "redis://redis/0": redis_url,
            "8000": port,
            "/tmp": str(tmp_path),  # noqa: S108 - as the file has it
        }
    ), port


def test_the_commands_and_health_checks_of_the_file_make_a_cluster(machine: tuple[LocalMachine, str]) -> None:
    local, port = machine
    migrated = run(local, "migration", SERVICES["migration"]["command"])
    assert (migrated.returncode, migrated.stdout.startswith("up to date: ")) == (0, True), migrated.stderr
    with started(local, "api") as api, started(local, "worker") as worker:
        assert api.stdout is not None
        assert api.stdout.readline().strip() == f"ninforge is at http://0.0.0.0:{port}"
        with Client(base_url=f"http://127.0.0.1:{port}", headers=bearer(SUBMIT), timeout=60) as client:
            service = Service(api, client)
            assert service.finished(service.submit(job_body()))["state"] == "ready"
            assert client.get("/v1/jobs", headers=bearer("wrong")).status_code == 401
            scraped = client.get("/metrics", headers={**bearer(SECRETS["metrics_token"]), "Host": "api:8000"})
        assert scraped.status_code == 200
        assert 'ninforge_jobs{state="ready"} 1.0' in scraped.text
        for name, process, kind in (("api", api, "an answer"), ("worker", worker, "a worker that is alive")):
            checked = health(local, name)
            assert checked.returncode == 0, checked.stderr
            process.terminate()
            assert process.wait(60) == 0
            ended = health(local, name)
            assert (ended.returncode, f"expected {kind}" in ended.stderr) == (1, True)


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a GPU")
def test_a_worker_for_a_gpu_says_that_there_is_none(machine: tuple[LocalMachine, str]) -> None:
    local, _ = machine
    assert SERVICES["gpu-worker"]["environment"]["NINFORGE_DEVICE"] == "cuda"
    refused = run(local, "gpu-worker", SERVICES["gpu-worker"]["command"])
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "GPU" in refused.stderr
    assert "Traceback" not in refused.stderr


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def started(local: LocalMachine, name: str) -> Any:
    """The process of a service, with the command that the file gives it."""
    program, *arguments = SERVICES[name]["command"]
    assert program == COMMAND.name
    return command(*arguments, environment=local.environment(SERVICES[name], {}))


def health(local: LocalMachine, name: str) -> subprocess.CompletedProcess[str]:
    """A run of the health check that the file gives a service."""
    kind, *check = SERVICES[name]["healthcheck"]["test"]
    assert kind == "CMD"
    return run(local, name, check)


def run(local: LocalMachine, name: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs a command in the environment of a service."""
    assert words[0] == COMMAND.name
    environment = {"PATH": os.environ["PATH"], **local.environment(SERVICES[name], {})}
    return subprocess.run(
        [COMMAND, *words[1:]], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
