"""Jobs over HTTP: submitting, listing, objects, progress and report."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import update

from schemas.minimum_reader import minimum_reader
from schemas.report import ConversionReport
from schemas.states import JobState, ObjectState
from schemas.tables import JobRow, ObjectRow
from tests.running_service import RunningService, assert_problem
from tests.small_job import job_body, recipe_document
from workers.database import database_time

JOB_MEMBERS = {
    "id", "name", "state", "recipe", "upgrade", "framing", "execution", "verify", "device", "created_at",
    "started_at", "finished_at", "progress", "error", "artifact", "pinned",
    "fetched", "attempts",
}  # fmt: skip
OBJECT_MEMBERS = {
    "index", "name", "kind", "shape", "format", "layout", "offset", "bytes", "state", "sources", "expression",
    "encoder", "backend", "worker", "seconds", "payload_blake3", "error", "checks",
}  # fmt: skip
OBJECTS = 9


def test_a_submitted_job_is_queued_and_wakes_a_worker(service: RunningService) -> None:
    answer = service.client.post("/v1/jobs", json=job_body(name="for the weekend"))
    job = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert set(job) == JOB_MEMBERS
    assert (job["state"], job["name"], job["framing"]) == ("queued", "for the weekend", "auto")
    assert job["recipe"]["id"] == "small.mixed"
    assert job["recipe"]["revision"] == 3
    assert len(job["recipe"]["sha256"]) == 64
    assert (job["started_at"], job["finished_at"], job["error"], job["artifact"]) == (None, None, None, None)
    assert service.client.get(answer.headers["location"]).json() == job
    [message] = service.messages
    assert message.stat().st_size < 2000


def test_a_job_without_a_name_has_its_recipe_s(service: RunningService) -> None:
    assert service.client.get(f"/v1/jobs/{service.submit()}").json()["name"] == "small.mixed"


def test_a_finished_job_shows_its_artifact(service: RunningService) -> None:
    job = service.work(service.submit())
    assert set(job) == JOB_MEMBERS
    assert (job["state"], job["framing"], job["error"]) == ("ready", 2, None)
    artifact = job["artifact"]
    assert set(artifact) == {"bytes", "sha256", "minimum_reader", "parts"}
    assert artifact["minimum_reader"] == minimum_reader(2)
    assert job["execution"]["verdict"] == "not known"
    assert artifact["parts"] == [
        {"name": "small.mixed.v2.ninfer", "bytes": artifact["bytes"], "sha256": artifact["sha256"]}
    ]
    progress = job["progress"]
    assert (progress["objects_done"], progress["objects_total"]) == (OBJECTS, OBJECTS)
    assert progress["bytes_done"] == progress["bytes_total"] > 0
    assert datetime.fromisoformat(job["created_at"]) <= datetime.fromisoformat(job["finished_at"])


@pytest.mark.parametrize("framing", [1, 2])
def test_the_framing_asked_for_is_made(service: RunningService, framing: int) -> None:
    job = service.work(service.submit(framing=framing))
    content = service.client.get(f"/v1/jobs/{job['id']}/artifact").content
    assert (job["framing"], content[:8]) == (framing, b"NINFER\0" + bytes([framing]))


def test_a_sampled_verification_is_reported_with_its_seed(service: RunningService) -> None:
    job = service.work(service.submit(verify="sample"))
    report = service.client.get(f"/v1/jobs/{job['id']}/report").json()
    assert job["state"] == "ready"
    assert report["verification"]["coverage"] == "sample"
    assert isinstance(report["verification"]["seed"], int)


def test_what_a_worker_finds_wrong_is_the_job_s_error(service: RunningService) -> None:
    job = service.work(service.submit(where="not-there"))
    assert job["state"] == "failed"
    assert job["error"]["type"] == "urn:ninforge:problem:plan"
    assert job["error"]["errors"][0]["at"] == "/sources/base"
    assert str(service.settings.data) not in str(job)


def test_jobs_are_listed_newest_first_in_pages(service: RunningService) -> None:
    ids = [service.submit() for _ in range(5)]
    first = service.client.get("/v1/jobs", params={"limit": 2}).json()
    second = service.client.get("/v1/jobs", params={"limit": 2, "cursor": first["next"]}).json()
    third = service.client.get("/v1/jobs", params={"limit": 2, "cursor": second["next"]}).json()
    assert [job["id"] for page in (first, second, third) for job in page["items"]] == ids[::-1]
    assert third["next"] is None
    assert service.client.get("/v1/jobs", params={"limit": 5}).json()["next"] is None


def test_jobs_are_listed_by_state(service: RunningService) -> None:
    waiting, done = service.submit(), service.submit()
    service.work(done)
    by_state = {
        state: [job["id"] for job in service.client.get("/v1/jobs", params={"state": state}).json()["items"]]
        for state in ("queued", "ready", "failed")
    }
    assert by_state == {"queued": [waiting], "ready": [done], "failed": []}


def test_jobs_are_listed_by_what_stands_in_name_or_recipe(service: RunningService) -> None:
    first, second = service.submit(name="For the 100% Weekend"), service.submit(name="another")
    found = {
        text: [job["id"] for job in service.client.get("/v1/jobs", params={"text": text}).json()["items"]]
        for text in ("weekend", "0%", "%", "_", "SMALL.mixed", "nothing")
    }
    both = [second, first]
    assert found == {"weekend": [first], "0%": [first], "%": [first], "_": [], "SMALL.mixed": both, "nothing": []}


def test_an_empty_list_has_no_next_page(service: RunningService) -> None:
    assert service.client.get("/v1/jobs").json() == {"items": [], "next": None}


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("limit", "0"),
        ("limit", "1001"),
        ("limit", "two"),
        ("state", "done"),
        ("cursor", "elsewhere"),
        ("text", ""),
        ("text", "x" * 201),
        ("text", "a\0b"),
    ],
)
def test_a_wrong_parameter_of_a_list_is_named(service: RunningService, parameter: str, value: str) -> None:
    problem = assert_problem(service.client.get("/v1/jobs", params={parameter: value}), 422, "request")
    assert [fault["at"] for fault in problem["errors"]] == [f"/{parameter}"]


def test_objects_are_listed_in_payload_order_in_pages(service: RunningService) -> None:
    job = service.work(service.submit())
    url = f"/v1/jobs/{job['id']}/objects"
    pages: list[dict[str, Any]] = [service.client.get(url, params={"limit": 4}).json()]
    while pages[-1]["next"] is not None:
        pages.append(service.client.get(url, params={"limit": 4, "cursor": pages[-1]["next"]}).json())
    objects = [item for page in pages for item in page["items"]]
    assert [len(page["items"]) for page in pages] == [4, 4, 1]
    assert [item["index"] for item in objects] == list(range(OBJECTS))
    assert [item["offset"] for item in objects] == sorted(item["offset"] for item in objects)


def test_an_object_carries_its_provenance(service: RunningService) -> None:
    job = service.work(service.submit())
    resource, quantized, *_ = service.client.get(f"/v1/jobs/{job['id']}/objects").json()["items"]
    assert set(quantized) >= OBJECT_MEMBERS
    assert (resource["kind"], resource["shape"], resource["format"]) == ("resource", None, None)
    assert (resource["layout"], resource["sources"], resource["state"]) == ("raw-bytes-v1", [], "verified")
    assert (quantized["kind"], quantized["format"], quantized["layout"]) == (
        "tensor",
        "Q4G64_F16S",
        "row-split-k128-v1",
    )
    [source] = quantized["sources"]
    assert {**source, "blake3": len(source["blake3"])} == {
        "source": "base",
        "file": "model.safetensors",
        "tensor": "layer.0",
        "dtype": "BF16",
        "shape": [96, 256],
        "blake3": 64,
    }
    assert quantized["encoder"] == "MAXABS_F16_RECIP_RNE_V1"
    assert quantized["worker"] == "w"
    assert set(quantized["error"]) == {"max_abs", "rms", "snr_db"}
    assert all(check["passed"] for check in quantized["checks"])


def test_objects_of_a_job_that_is_not_planned_are_none(service: RunningService) -> None:
    assert service.client.get(f"/v1/jobs/{service.submit()}/objects").json() == {"items": [], "next": None}


def test_objects_are_listed_by_state_before_they_are_done(service: RunningService) -> None:
    job_id = service.submit()
    service.work(job_id)
    _rewind(service, job_id, JobState.CONVERTING)
    url = f"/v1/jobs/{job_id}/objects"
    pending = service.client.get(url, params={"state": "pending"}).json()["items"]
    encoded = service.client.get(url, params={"state": "encoded"}).json()["items"]
    assert [item["index"] for item in pending] == [0, 1, 2]
    assert [item["index"] for item in encoded] == [3, 4, 5, 6, 7, 8]


def test_progress_counts_what_is_encoded_and_how_fast(service: RunningService) -> None:
    job_id = service.submit()
    total = service.work(job_id)["progress"]["bytes_total"]
    left = _rewind(service, job_id, JobState.CONVERTING)
    progress = service.client.get(f"/v1/jobs/{job_id}").json()["progress"]
    assert (progress["objects_done"], progress["objects_total"]) == (6, OBJECTS)
    assert (progress["bytes_done"], progress["bytes_total"]) == (total - left, total)
    assert progress["bytes_per_second"] == pytest.approx((total - left) / 100, rel=0.3)
    assert progress["seconds_left"] == pytest.approx(left / progress["bytes_per_second"])


def test_the_report_has_job_and_objects_in_one_document(service: RunningService) -> None:
    job = service.work(service.submit())
    report = service.client.get(f"/v1/jobs/{job['id']}/report").json()
    objects = service.client.get(f"/v1/jobs/{job['id']}/objects").json()["items"]
    assert report["job"] == job
    assert report["objects"] == objects
    assert report["artifact"]["sha256"] == job["artifact"]["sha256"]
    assert report["evidence"] == recipe_document()["evidence"]
    [resource] = report["resources"]
    assert resource["name"] == "frontend/tokenizer.json"
    ConversionReport.model_validate({name: value for name, value in report.items() if name != "job"})


@pytest.mark.parametrize("part", ["report", "artifact", "artifact/manifest", "artifact/parts/0"])
def test_a_job_that_is_not_ready_has_neither_report_nor_artifact(service: RunningService, part: str) -> None:
    waiting = service.submit()
    problem = assert_problem(service.client.get(f"/v1/jobs/{waiting}/{part}"), 409, "wrong-state")
    assert "queued" in problem["detail"]
    failed = service.work(service.submit(where="not-there"))
    assert_problem(service.client.get(f"/v1/jobs/{failed['id']}/{part}"), 409, "wrong-state")


@pytest.mark.parametrize("path", ["", "/objects", "/report", "/artifact", "/artifact/manifest", "/artifact/parts/0"])
@pytest.mark.parametrize("job_id", ["01890a5d-ac96-774b-bcce-b302099a8057", "17", "..", "x%00y"])
def test_an_unknown_job_is_not_found(service: RunningService, job_id: str, path: str) -> None:
    assert_problem(service.client.get(f"/v1/jobs/{job_id}{path}"), 404, "not-found")


def _rewind(service: RunningService, job_id: str, state: JobState) -> int:
    """Puts a finished job back into a state in which all but three objects are done, since 100 seconds; the payload
    bytes of those three."""
    with service.database.writing() as session:
        of_job = ObjectRow.job_id == UUID(job_id)
        began = database_time(session) - timedelta(seconds=100)
        session.execute(update(JobRow).where(JobRow.id == UUID(job_id)).values(state=state, stage_started_at=began))
        session.execute(update(ObjectRow).where(of_job).values(state=ObjectState.ENCODED))
        undone = session.scalars(
            update(ObjectRow)
            .where(of_job, ObjectRow.index < 3)
            .values(state=ObjectState.PENDING, bytes_done=0)
            .returning(ObjectRow.bytes)
        ).all()
    return sum(undone)
