"""Jobs and plans of remote sources, over HTTP and in workers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from schemas.errors import OutputError
from schemas.states import Stage
from schemas.tables import JobRow
from tests.remote.hub_server import TOKEN, HubServer
from tests.running_service import RunningService, assert_problem, running_service
from tests.service_processes import QUICK, service, until
from tests.small_job import job_body, recipe_document, write_checkpoint
from tests.workers.site import Site, make_site
from workers import claims
from workers.claims import ClaimLostError
from workers.database import Database
from workers.heartbeat import Heartbeat
from workers.job_fetching import JobFetching
from workers.remote import download
from workers.remote.hub import Snapshot, list_snapshot
from workers.remote.places import HubPlace
from workers.storage import Storage

HUB = "hf:org/small"
PLACE = HubPlace("org/small", "main", "")


@pytest.fixture
def running(tmp_path: Path, sqlite_template: Path, hub: HubServer) -> Iterator[RunningService]:
    """A service that may ask the Hub."""
    data = tmp_path / "data"
    data.mkdir()
    shutil.copyfile(sqlite_template, data / "ninforge.sqlite3")
    with running_service(data, private_source_hosts=(hub.host,)) as running:
        yield running


def submit(running: RunningService, where: str = HUB, **members: Any) -> str:
    answer = running.client.post("/v1/jobs", json=job_body(where, **members))
    assert answer.status_code == 202, answer.text
    job_id: str = answer.json()["id"]
    return job_id


def head(hub: HubServer, name: str = "org/small") -> str:
    return hub.repositories[name].branches["main"]


def fetched_files(running: RunningService, pattern: str = "*.safetensors") -> list[Path]:
    return list((running.settings.data / "fetched").rglob(pattern))


def test_from_the_hub_to_an_artifact(running: RunningService, hub: HubServer) -> None:
    job_id = submit(running)
    commit = head(hub)
    queued = running.client.get(f"/v1/jobs/{job_id}").json()
    assert queued["fetched"] == [{"member": "source", "name": "base", "where": HUB, "commit": None}]
    job = running.work(job_id)
    assert (job["state"], job["error"]) == ("ready", None)
    told = [{"member": "source", "name": "base", "where": HUB, "commit": commit}]
    assert job["fetched"] == told
    report = running.client.get(f"/v1/jobs/{job_id}/report").json()
    assert report["fetched"] == told
    assert report["objects"][1]["sources"][0]["file"] == "model.safetensors"
    local = running.work(running.submit())
    assert local["fetched"] == []
    assert local["artifact"]["sha256"] == job["artifact"]["sha256"]


def test_a_second_worker_asks_nobody(running: RunningService, hub: HubServer) -> None:
    """Whoever takes up a planned job finds the listing and the files in the cache."""
    running.work(submit(running, f"{HUB}@{head(hub)}"))
    hub.requests.clear()
    assert running.work(submit(running, f"{HUB}@{head(hub)}"))["state"] == "ready"
    assert hub.requests == []


def test_the_token_is_nowhere(
    running: RunningService, hub: HubServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    hub.repositories["org/small"].gated = True
    refused = running.work(submit(running))
    assert refused["error"]["type"] == "urn:ninforge:problem:source"
    assert "a HF_TOKEN that was given access to it" in refused["error"]["detail"]
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    job_id = submit(running)
    job = running.work(job_id)
    assert job["state"] == "ready"
    answers = [running.client.get(f"/v1/jobs/{job_id}{path}").text for path in ("", "/report", "/objects")]
    kept = [path.read_bytes() for path in running.settings.data.rglob("*") if path.is_file()]
    assert TOKEN in {(one.authorization or "").removeprefix("Bearer ") for one in hub.requests}
    assert not any(TOKEN in text for text in (*answers, caplog.text))
    assert not any(TOKEN.encode() in content for content in kept)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("hf:org/small", "found one that it does not"),
        (f"https://127.0.0.1/model.safetensors#sha256={'0' * 64}", "found one that it does not"),
        ("https://127.0.0.1/model.safetensors", "after #"),
        ("s3://bucket/model", "found a URI of s3"),
        ("hf:small", "found 'hf:small'"),
    ],
)
def test_what_is_not_allowed_is_told_at_once(service: RunningService, hub: HubServer, where: str, found: str) -> None:
    for path in ("/v1/jobs", "/v1/plans"):
        body = job_body(where, resources={"frontend/tokenizer.json": where})
        problem = assert_problem(service.client.post(path, json=body), 422, "plan")
        assert [fault["at"] for fault in problem["errors"]] == ["/sources/base", "/resources/frontend~1tokenizer.json"]
        assert all(found in fault["message"] for fault in problem["errors"])
        if found.endswith("does not"):
            assert "NINFORGE_SOURCE_HOSTS" in problem["errors"][0]["message"]
    assert hub.requests == []


def test_an_origin_is_fetched_where_its_host_is_listed(running: RunningService, hub: HubServer) -> None:
    recipe = recipe_document()
    recipe["sources"]["base"]["origin"] = HUB
    body = {"recipe": recipe, "sources": {}}
    job = running.work(running.client.post("/v1/jobs", json=body).json()["id"])
    assert (job["state"], job["fetched"][0]["commit"]) == ("ready", head(hub))
    assert running.client.post("/v1/plans", json=body).status_code == 200


def test_an_origin_is_no_place_where_its_host_is_not_listed(service: RunningService, hub: HubServer) -> None:
    recipe = recipe_document()
    recipe["sources"]["base"]["origin"] = HUB
    problem = assert_problem(service.client.post("/v1/jobs", json={"recipe": recipe, "sources": {}}), 422, "plan")
    hint = "its origin, hf:org/small, is fetched if NINFORGE_SOURCE_HOSTS lists the host"
    assert problem["errors"] == [{"at": "/sources", "message": f"expected a place for 'base', found none; {hint}"}]
    assert hub.requests == []


def test_a_plan_is_made_of_headers(running: RunningService, hub: HubServer) -> None:
    local = running.client.post("/v1/plans", json=job_body("small")).json()
    assert running.client.post("/v1/plans", json=job_body(HUB)).json() == local
    assert fetched_files(running) == []
    hub.status = 502
    problem = assert_problem(running.client.post("/v1/plans", json=job_body(HUB)), 502, "fetch")
    assert problem["detail"] == "source base, hf:org/small@main: expected an answer with the file, found status 502"


def test_a_slow_host_holds_a_few_plans_and_nothing_else(
    running: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, slow = threading.Semaphore(0), threading.Event()

    def listed(*arguments: Any) -> Snapshot:
        begun.release()
        assert slow.wait(60)
        return list_snapshot(*arguments)

    monkeypatch.setattr("workers.remote.fetching.list_snapshot", listed)
    form = {"recipe": "small.mixed", "source.base": HUB, "verify": "full", "device": "auto", "framing": "auto"}
    running.client.post("/v1/recipes", json=recipe_document())
    with ThreadPoolExecutor(8) as pool:
        try:
            planned = [pool.submit(running.client.post, "/v1/plans", json=job_body(HUB)) for _ in range(8)]
            assert all(begun.acquire(timeout=60) for _ in planned)
            problem = assert_problem(running.client.post("/v1/plans", json=job_body(HUB)), 502, "fetch")
            assert "at most 8 plans that read them at once, found so many others: try again" in problem["detail"]
            preview = running.client.post("/jobs/new", data={**form, "action": "preview", "key": "0" * 32})
            assert (preview.status_code, "so many others" in preview.text) == (502, True)
            assert running.client.post("/v1/plans", json=job_body("small")).status_code == 200
        finally:
            slow.set()
        assert [one.result(60).status_code for one in planned] == [200] * 8
    assert running.client.post("/v1/plans", json=job_body(HUB)).status_code == 200


def test_a_plan_takes_its_time_and_no_more(
    running: RunningService, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.remote.header_fetching.PLANNING_SECONDS", 0.0)
    problem = assert_problem(running.client.post("/v1/plans", json=job_body(HUB)), 502, "fetch")
    assert "what planning reads within 0 seconds" in problem["detail"]
    assert len(hub.requests) <= 2


def test_a_recipe_that_does_not_fit_is_refused_before_the_weights_come(running: RunningService, hub: HubServer) -> None:
    recipe = recipe_document(rows=95)
    job = running.work(running.client.post("/v1/jobs", json={"recipe": recipe, "sources": {"base": HUB}}).json()["id"])
    assert job["error"]["type"] == "urn:ninforge:problem:plan"
    assert fetched_files(running) == []
    del hub.repositories["org/small"].commits[head(hub)]["model.safetensors"]
    told = running.work(submit(running))["error"]["errors"][0]["message"]
    assert f"folder hf:org/small@{head(hub)}: expected model.safetensors.index.json" in told


def test_a_retry_is_of_the_commit_that_was_resolved_first(
    running: RunningService, hub: HubServer, small_files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = head(hub)
    job_id = submit(running)
    with monkeypatch.context() as patch:
        patch.setattr(Storage, "free_bytes", lambda _: 1000)
        failed = running.work(job_id)
    assert failed["error"]["type"] == "urn:ninforge:problem:output"
    room = len(small_files["model.safetensors"])
    assert f" for the artifact and {room} for what is fetched, found 1000 bytes free" in failed["error"]["detail"]
    moved = write_checkpoint(running.settings.data / "moved", seed=2)
    later = hub.repositories["org/small"].commit(
        {**small_files, "model.safetensors": (moved / "model.safetensors").read_bytes()}
    )
    assert later != first
    assert running.client.post(f"/v1/jobs/{job_id}/retry").status_code == 202
    again = running.work(job_id)
    other = running.work(submit(running))
    assert [job["fetched"][0]["commit"] for job in (again, other)] == [first, later]
    assert [job["state"] for job in (again, other)] == ["ready", "ready"]
    assert again["artifact"]["sha256"] == running.work(running.submit())["artifact"]["sha256"]
    assert other["artifact"]["sha256"] != again["artifact"]["sha256"]


def test_a_content_that_is_not_the_listed_one_fails_the_job(
    running: RunningService, hub: HubServer, small_files: dict[str, bytes]
) -> None:
    data = small_files["model.safetensors"]
    hub.files[f"/store/{sha256(data).hexdigest()}"] = data[:-1] + bytes([data[-1] ^ 1])
    job = running.work(submit(running))
    assert job["error"]["type"] == "urn:ninforge:problem:source"
    detail = f"source base, {HUB}@main, file model.safetensors: expected SHA-256 {sha256(data).hexdigest()}, found "
    assert job["error"]["detail"].startswith(detail)


def test_a_job_is_cancelled_while_it_fetches_and_taken_up_again(
    running: RunningService, hub: HubServer, small_files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr("workers.job_fetching._SECONDS", 0.05)
    size = len(small_files["model.safetensors"])
    job_id = submit(running)
    hub.pause = 0.1
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(running.work, job_id)
        seen = until(
            lambda: running.client.get(f"/v1/jobs/{job_id}").json(), lambda job: job["progress"]["bytes_done"] > 1 << 16
        )
        assert seen["state"] == "planning"
        assert seen["progress"]["bytes_total"] == size
        assert seen["progress"]["bytes_per_second"] > 0
        assert running.client.post(f"/v1/jobs/{job_id}/cancel").status_code == 200
        assert working.result(60)["state"] == "cancelled"
    hub.pause = 0
    [partial] = fetched_files(running, "*.incomplete")
    kept = partial.stat().st_size
    assert 1 << 16 <= kept < size
    assert running.client.post(f"/v1/jobs/{job_id}/retry").json()["progress"]["bytes_total"] is None
    assert running.work(job_id)["state"] == "ready"
    assert hub.contents()[-1].range == f"bytes={kept}-"
    assert fetched_files(running, "*.incomplete") == []


def test_resources_are_fetched_too(running: RunningService, hub: HubServer) -> None:
    hub.repository("org/frontend", {"new/tokenizer.json": b'{"tokens": ["new"]}'})
    resources = {"frontend/tokenizer.json": "hf:org/frontend@main/new/tokenizer.json"}
    job = running.work(submit(running, "small", resources=resources))
    assert job["state"] == "ready"
    assert job["fetched"] == [
        {
            "member": "resource",
            "name": "frontend/tokenizer.json",
            "where": resources["frontend/tokenizer.json"],
            "commit": head(hub, "org/frontend"),
        }
    ]
    [resource] = running.client.get(f"/v1/jobs/{job['id']}/report").json()["resources"]
    assert resource["sha256"] == sha256(b'{"tokens": ["new"]}').hexdigest()


def test_commits_and_room_are_kept_in_the_database(database: Database, tmp_path: Path) -> None:
    """The first of two workers decides what the job is made of; what is yet to be fetched is not there for others."""
    site = make_site(tmp_path, database)
    job_id, other_id = site.submit(), site.submit()
    fetching = _fetching(site, job_id)
    assert fetching.commit_of(PLACE) is None
    assert [fetching.resolved(PLACE, commit) for commit in ("a" * 40, "b" * 40)] == ["a" * 40] * 2
    assert fetching.commit_of(PLACE) == "a" * 40
    free = site.storage.free_bytes()
    with fetching.watching(free // 4 + 1000, 1000, free // 4) as advance:
        advance(1000)
        most = 3 * (free // 4)
        with (
            pytest.raises(OutputError, match=f"of which {2 * (free // 4)} are reserved for other jobs"),
            _fetching(site, other_id).watching(most, 0, 0),
        ):
            pass
    assert site.job(job_id).fetched_bytes == site.job(job_id).fetch_bytes == free // 4 + 1000
    with database.writing() as session:
        claims.revoke_all(session, session.get_one(JobRow, job_id))
    with pytest.raises(ClaimLostError):
        fetching.record(1)


def _fetching(site: Site, job_id: UUID) -> JobFetching:
    worker = site.worker()
    with site.database.writing() as session:
        claim = claims.claim_job(session, job_id, Stage.PLANNING, worker="w", lease=worker.lease)
    assert claim is not None
    heartbeat = Heartbeat(site.database, claim, worker.lease, threading.Event())
    return JobFetching(site.database, site.storage, claim, heartbeat)


def test_a_worker_that_is_killed_while_it_fetches(hub: HubServer, tmp_path: Path) -> None:
    """Another one goes on with the bytes that are there."""
    data = tmp_path / "data"
    files = hub.repositories["org/small"].commits[head(hub)]
    large = write_checkpoint(tmp_path / "large", layers=8, rows=2000)
    files["model.safetensors"] = (large / "model.safetensors").read_bytes()
    environment = {"NINFORGE_DATA": str(data), "NINFORGE_PRIVATE_SOURCE_HOSTS": hub.host, **QUICK}
    hub.pause = 0.005
    with service("up", {**environment, "HF_ENDPOINT": hub.url}) as running:
        job_id = running.submit({"recipe": recipe_document(rows=2000), "sources": {"base": HUB}})
        [partial] = until(
            lambda: list((data / "fetched" / "hub").glob("*/blobs/*.incomplete")),
            lambda found: bool(found) and found[0].stat().st_size > 2 << 20,
        )
        os.kill(running.worker(), signal.SIGKILL)
        kept = partial.stat().st_size
        assert kept < len(files["model.safetensors"])
        hub.pause = 0
        job = running.finished(job_id)
        assert (job["state"], job["error"]) == ("ready", None)
        [start] = {one.range for one in hub.contents()} - {None, f"bytes=0-{(1 << 20) - 1}"}
        assert start is not None
        assert int(start.removeprefix("bytes=").removesuffix("-")) >= kept
        logged = json.dumps(job)
        assert str(data) not in logged
