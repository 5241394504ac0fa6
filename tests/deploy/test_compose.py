"""docker-compose.yml: valid, confined, and its commands do what they are there for, as they stand in it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.deploy.compose_file import ROOT, LocalMachine, compose_document
from tests.service_processes import COMMAND

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
    assert secrets <= set(DOCUMENT["secrets"])
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


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a GPU")
def test_a_worker_for_a_gpu_says_that_there_is_none(tmp_path: Path) -> None:
    service = SERVICES["gpu-worker"]
    program, *arguments = service["command"]
    assert (program, service["environment"]["NINFORGE_DEVICE"]) == (COMMAND.name, "cuda")
    (tmp_path / "database_password").write_text("secret\n")
    (tmp_path / "webhook_secret").write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    machine = LocalMachine({"/run/secrets": str(tmp_path), "/sources": str(tmp_path), "/data": str(tmp_path)})
    environment = {"PATH": os.environ["PATH"], **machine.environment(service, {})}
    refused = subprocess.run(
        [COMMAND, *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "GPU" in refused.stderr
    assert "Traceback" not in refused.stderr
