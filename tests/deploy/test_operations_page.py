"""The commands of docs/operations.md, run as they stand there. Where they speak to containers, processes with the
environments of the compose file stand in for those, and another program for docker."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import pytest
from httpx import Client
from sqlalchemy import URL, text

from tests.deploy import docker_stand_in
from tests.deploy.compose_file import ROOT, LocalMachine, compose_document
from tests.service_processes import Service, command
from tests.small_job import job_body, write_checkpoint
from workers.database import Database
from workers.webhook_signature import identifying_headers

PAGE = (ROOT / "docs" / "operations.md").read_text()
PROGRAMS = Path(sys.executable).parent
SERVICES = compose_document({})["services"]


def blocks(heading: str, language: str = "") -> list[str]:
    """The blocks below a heading of the page."""
    [section] = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    found = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return [text for kind, text in found if kind == language]


def bash(script: str, folder: Path, **variables: str) -> str:
    """What a script prints, which has to succeed."""
    path = os.pathsep.join([str(folder / "bin"), str(PROGRAMS), os.environ["PATH"]])
    run = subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env={"PATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, f"{script}\n{run.stdout}\n{run.stderr}"
    return run.stdout


def test_one_machine_and_its_backup(tmp_path: Path) -> None:
    def here(text: str) -> str:
        return text.replace("/srv/", f"{tmp_path}/")

    write_checkpoint(tmp_path / "models" / "small")
    (tmp_path / "backup").mkdir()
    [start] = blocks("One machine")
    *settings, program, subcommand = shlex.split(here(start))
    assert program == "ninforge"
    environment = dict(setting.split("=", 1) for setting in settings)
    with command(subcommand, environment={**environment, "NINFORGE_PORT": "0"}) as process:
        assert process.stdout is not None
        with Client(base_url=process.stdout.readline().split()[-1], timeout=60) as client:
            service = Service(process, client)
            job = service.finished(service.submit(job_body()))
            bash(here(blocks("Backup")[0]), tmp_path)
    digest = job["artifact"]["sha256"]
    assert sha256((tmp_path / "backup" / "artifacts" / f"{digest}.ninfer").read_bytes()).hexdigest() == digest
    with sqlite3.connect(tmp_path / "backup" / "ninforge.sqlite3") as database:
        assert database.execute("SELECT name, state FROM jobs").fetchall() == [(job["name"], "ready")]
    database.close()


@dataclass(frozen=True)
class Cluster:
    """A folder as that of the repository, and this machine in the place of containers."""

    folder: Path
    machine: LocalMachine
    url: str

    def bash(self, script: str, **variables: str) -> str:
        """Runs commands of the page. The API has another port here."""
        script = script.replace("http://localhost:8000", self.url)
        return bash(script, self.folder, CONTAINERS=str(self.folder / "containers.json"), **variables)

    def token(self, name: str) -> str:
        tokens = (self.folder / "secrets" / "tokens").read_text()
        [secret] = re.findall(rf"^{name}:\w+:(\w+)$", tokens, re.MULTILINE)
        return str(secret)

    @contextmanager
    def running(self, name: str) -> Iterator[subprocess.Popen[str]]:
        """A service of the compose file, until it has ended as asked to."""
        _, *arguments = SERVICES[name]["command"]
        with command(*arguments, environment=self.machine.environment(SERVICES[name], {})) as process:
            if name == "api":
                assert process.stdout is not None
                assert process.stdout.readline()
            yield process
            process.terminate()
            assert process.wait(60) == 0

    @contextmanager
    def client(self, token: str) -> Iterator[Client]:
        headers = {"Authorization": f"Bearer {self.token(token)}"}
        with Client(base_url=self.url, headers=headers, timeout=60) as client:
            yield client


@pytest.fixture
def cluster(tmp_path: Path, postgresql_url: URL, postgresql_database: Database, redis_url: str) -> Cluster:
    """Nothing but the folder with the models, and a program in the place of docker."""
    assert postgresql_database.engine.url.database == postgresql_url.database
    write_checkpoint(tmp_path / "sources" / "small")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    machine = LocalMachine(
        {
            "/data": str(tmp_path / "data"),
            "/sources": str(tmp_path / "sources"),
            "/run/secrets": str(tmp_path / "secrets"),
            "postgresql+psycopg://ninforge@postgres/ninforge": postgresql_url.render_as_string(hide_password=False),
            "redis://redis/0": redis_url,
            "8000": port,
            "/tmp": str(tmp_path),  # noqa: S108 - as the file has it
        }
    )
    name, user = str(postgresql_url.database), str(postgresql_url.username)
    place = {"PGHOST": postgresql_url.host or postgresql_url.query["host"], "PGPORT": str(postgresql_url.port or 5432)}
    containers = {
        "profiles": [profile for service in SERVICES.values() for profile in service.get("profiles", ())],
        "services": {
            **{one: machine.environment(service, {}) for one, service in SERVICES.items() if "environment" in service},
            "postgres": place,
        },
        "words": {
            "api": {
                **{f"/data/{folder}": str(tmp_path / "data" / folder) for folder in ("work", "artifacts", "fetched")},
                "--directory=/data": f"--directory={tmp_path / 'data'}",
            },
            "postgres": {
                "--username=ninforge": f"--username={user}",
                "--dbname=ninforge": f"--dbname={name}",
                "ninforge": name,
                **programs_of(postgresql_database),
            },
        },
    }
    (tmp_path / "containers.json").write_text(json.dumps(containers))
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text(f'#!/bin/sh\nexec {sys.executable} {docker_stand_in.__file__} "$@"\n')
    docker.chmod(0o755)
    return Cluster(tmp_path, machine, f"http://127.0.0.1:{port}")


def programs_of(database: Database) -> dict[str, str]:
    """The programs of the server's own version, where it is one of this machine."""
    with database.engine.connect() as connection:
        folder = Path(connection.scalar(text("SELECT setting FROM pg_config WHERE name = 'BINDIR'")))
    return {name: str(folder / name) for name in ("pg_dump", "pg_restore") if (folder / name).exists()}


def test_a_cluster_from_its_secrets_to_a_restored_backup(cluster: Cluster) -> None:
    start, more = blocks("A cluster")
    making, up, checking = re.split(r"(?<=\n)(docker compose up.*\n)", start)
    dump, restore = blocks("Backup")[1:]
    disk, pinning = blocks("Where the disk goes")
    cluster.bash(making + up)
    secrets = cluster.folder / "secrets"
    assert {path.name for path in secrets.iterdir()} == set(compose_document({})["secrets"])
    assert secrets.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in secrets.iterdir()} == {0o644}
    checks = {name: SERVICES[name]["healthcheck"]["test"][1:] for name in ("api", "worker")}
    assert checking.splitlines() == [f"docker compose exec {name} {shlex.join(one)}" for name, one in checks.items()]
    cluster.bash(f"docker compose run --rm migration {shlex.join(SERVICES['migration']['command'])}")
    (cluster.folder / "data" / "fetched").mkdir()
    with cluster.running("api") as api, cluster.running("worker") as worker, cluster.client("admin") as client:
        service = Service(api, client)
        job = service.finished(service.submit(job_body()))
        place = f"/v1/jobs/{job['id']}"
        cluster.bash(checking + more + blocks("Monitoring")[0])
        pinned = json.loads(cluster.bash(pinning, TOKEN=cluster.token("admin"), JOB=job["id"]))
        assert (pinned["pinned"], client.delete(place).status_code) == (True, 409)
        shown = cluster.bash(disk)
        assert re.search(r"^\S+\t\S+/artifacts$", shown, re.MULTILINE)
        assert shown.endswith("to remove with --delete: 0 items, 0 bytes\nremoved: 0 items, 0 bytes\n")
        cluster.bash(dump)
        with cluster.client("metrics") as metrics:
            scraped = metrics.get("/metrics", headers={"Host": "api:8000"})
            assert (scraped.status_code, 'ninforge_jobs{state="ready"} 1.0' in scraped.text) == (200, True)
            assert metrics.delete(f"{place}/pin").status_code == 403
        client.delete(f"{place}/pin")
        assert client.delete(place).status_code == 204
        worker.terminate()
        assert worker.wait(60) == 0
        with pytest.raises(AssertionError, match="expected a worker that is alive"):
            cluster.bash(checking.splitlines()[1])
    assert list((cluster.folder / "data" / "artifacts").iterdir()) == []
    cluster.bash(restore + blocks("Tokens")[0] + blocks("Upgrade")[0])
    with cluster.running("api"), cluster.client("admin-2") as client:
        content = client.get(f"{place}/artifact").content
        assert sha256(content).hexdigest() == job["artifact"]["sha256"]


def test_the_library_of_standard_webhooks_checks_an_event_as_the_page_says() -> None:
    secret, body, event = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"state": "ready"}', UUID(int=1)
    [snippet] = blocks("Webhook", "python")
    for sent, code in ((body, 0), (b'{"state": "failed"}', 1)):
        headers = dict(identifying_headers(event, datetime.now(UTC), body, secret))
        given = f"secret, body, headers = {secret!r}, {sent!r}, {headers!r}\n"
        checked = subprocess.run([sys.executable, "-c", given + snippet], capture_output=True, check=False)
        assert checked.returncode == code


def test_nothing_on_the_page_goes_untried() -> None:
    tried = {
        "One machine": 1,
        "A cluster": 2,
        "Tokens": 1,
        "Where the disk goes": 2,
        "Backup": 3,
        "Upgrade": 1,
        "Monitoring": 1,
    }
    assert len(re.findall(r"^```\n(?=.)", PAGE, re.MULTILINE)) >= sum(tried.values())
    assert {
        heading: len(blocks(heading)) for heading in re.findall(r"^## (.*)$", PAGE, re.MULTILINE) if blocks(heading)
    } == tried
    proxied = blocks("Behind a proxy", "caddyfile")
    assert ["reverse_proxy 127.0.0.1:8000" in block for block in proxied] == [True]


@pytest.mark.parametrize("place", re.findall(r"`(deploy/[^`]*|docker-compose.yml)`", PAGE))
def test_what_the_page_names_is_there(place: str) -> None:
    assert (ROOT / place).exists()
