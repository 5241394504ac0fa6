"""Every request has an id and one log record, and a job's records are found by the job's id."""

from __future__ import annotations

import json
import logging
import subprocess
from pathlib import Path
from typing import Any

import pytest
from httpx import Client

from service.routes import jobs
from tests.running_service import RunningService, assert_problem, running_service
from tests.service_processes import COMMAND, QUICK, until
from tests.small_job import job_body, write_checkpoint
from workers.tokens import parse_tokens

SECRET = "s" * 40
LOGGER = "service.request_log"


def told(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """What the records of requests say, besides what every record has."""
    members = ("method", "path", "status", "seconds", "client", "token", "job_id")
    records = [record for record in caplog.records if record.name == LOGGER and hasattr(record, "method")]
    return [{name: getattr(record, name) for name in members if hasattr(record, name)} for record in records]


@pytest.mark.parametrize("given", ["abc", "0-9.A_z", "x" * 128])
def test_an_id_that_the_caller_gives_comes_back(service: RunningService, given: str) -> None:
    for path in ("/healthz", "/v1/none"):
        assert service.client.get(path, headers={"X-Request-ID": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", [None, "", "x" * 129, "a b", 'a"b', "a/b", "é"])
def test_a_request_has_an_id_of_its_own_otherwise(service: RunningService, given: str | None) -> None:
    headers = [] if given is None else [(b"X-Request-ID", given.encode())]
    ids = {service.client.get("/healthz", headers=headers).headers["x-request-id"] for _ in range(2)}
    assert len(ids) == 2
    assert all(len(one) == 32 and set(one) <= set("0123456789abcdef") for one in ids)


def test_a_request_leaves_one_record(service: RunningService, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    job_id = service.submit()
    service.client.get(f"/v1/jobs/{job_id}?a=b")
    service.client.get("/v1/new%0aline")
    service.client.get("/healthz", headers={"Host": "evil.example"})
    records = until(lambda: told(caplog), lambda records: len(records) == 3)
    assert all(0 <= record.pop("seconds") < 60 for record in records)
    assert records == [
        {"method": "POST", "path": "/v1/jobs", "status": 202, "client": "127.0.0.1"},
        {"method": "GET", "path": f"/v1/jobs/{job_id}", "status": 200, "client": "127.0.0.1", "job_id": job_id},
        {"method": "GET", "path": "/v1/new%0aline", "status": 404, "client": "127.0.0.1"},
    ]


def test_records_name_the_token_and_not_its_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with running_service(tmp_path / "data", tokens=parse_tokens([f"ci:submit:{SECRET}"])) as service:
        service.client.get("/v1/jobs", headers={"Authorization": f"Bearer {SECRET}"})
        service.client.get("/v1/jobs", headers={"Authorization": "Bearer another"})
        records = until(lambda: told(caplog), lambda records: len(records) == 2)
    assert [(record["status"], record.get("token")) for record in records] == [(200, "ci"), (401, None)]
    ours = [record for record in caplog.records if not record.name.startswith(("httpcore", "httpx"))]
    assert not any(SECRET in str(vars(record)) for record in ours)


def test_a_fault_of_the_program_is_told_in_the_log(
    service: RunningService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("what went wrong")

    monkeypatch.setattr(jobs, "locate", fail)
    caplog.set_level(logging.INFO)
    answer = service.client.post("/v1/jobs", json=job_body(), headers={"X-Request-ID": "abc"})
    assert_problem(answer, 500, "internal")
    assert answer.headers["x-request-id"] == "abc"
    assert answer.headers["x-content-type-options"] == "nosniff"
    records = until(lambda: told(caplog), lambda records: len(records) == 1)
    assert records[0]["status"] == 500
    assert "what went wrong" in caplog.text


def test_processes_log_documents_with_the_ids_of_request_and_job(tmp_path: Path) -> None:
    """Of a job that fails in the worker, whose source goes away before."""
    data, log = tmp_path / "data", tmp_path / "log"
    checkpoint = write_checkpoint(data / "sources" / "small")
    environment = {"NINFORGE_DATA": str(data), "NINFORGE_PORT": "0", "NINFORGE_TOKENS": f"ci:submit:{SECRET}", **QUICK}
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [COMMAND, "up"], env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True
        )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        with Client(base_url=address, timeout=60, headers={"Authorization": f"Bearer {SECRET}"}) as client:
            (checkpoint / "model.safetensors").write_bytes(b"no header")
            job_id = client.post("/v1/jobs", json=job_body(), headers={"X-Request-ID": "abc"}).json()["id"]
            until(lambda: client.get(f"/v1/jobs/{job_id}").json(), lambda job: job["state"] == "failed")
    finally:
        process.terminate()
        process.communicate(timeout=60)
    text = log.read_text()
    records = [json.loads(line) for line in text.splitlines()]
    [submission] = [record for record in records if record.get("request_id") == "abc"]
    assert (submission["method"], submission["status"], submission["token"]) == ("POST", 202, "ci")
    assert any(record.get("job_id") == job_id and record["logger"].startswith("workers.") for record in records)
    assert SECRET not in text
