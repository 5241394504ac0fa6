"""An artifact of several files over HTTP: its manifest, and each file whole, in ranges and conditionally."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from schemas.minimum_reader import minimum_reader
from tests.parted_job import (
    ENTRY,
    NAMES,
    PART_BYTES,
    PARTS,
    parted_body,
    parted_sources,
    published_model,
    unexecutable_recipe,
)
from tests.running_service import RunningService, assert_problem
from workers.engine.container.reader import ArtifactReader

EACH = pytest.mark.parametrize("number", range(PARTS))


@dataclass(frozen=True)
class Published:
    """A service with a job that is ready, the model that it was made of, and the files in the store, entry first."""

    service: RunningService
    model: Path
    job: dict[str, Any]
    files: tuple[bytes, ...]

    def url(self, rest: str = "") -> str:
        return f"/v1/jobs/{self.job['id']}/artifact{rest}"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    with published_model(tmp_path_factory.mktemp("service") / "data") as made:
        yield Published(made.service, made.model, made.job, tuple(made.files.values()))


def test_the_job_tells_of_all_files(published: Published) -> None:
    artifact = published.job["artifact"]
    assert published.job["framing"] == 3
    assert published.job["execution"] == {"verdict": "loads and runs", "reasons": []}
    assert artifact["bytes"] == sum(map(len, published.files))
    assert artifact["sha256"] == sha256(published.files[0]).hexdigest()
    assert artifact["minimum_reader"] == minimum_reader(3)
    assert artifact["parts"] == [
        {"name": name, "bytes": len(content), "sha256": sha256(content).hexdigest()}
        for name, content in zip(NAMES, published.files, strict=True)
    ]


def test_the_manifest_has_every_file_and_where_it_is(published: Published) -> None:
    manifest = published.service.client.get(published.url("/manifest")).json()
    assert manifest == {
        "artifact_id": published.files[0][16:32].hex(),
        "framing": 3,
        "minimum_reader": minimum_reader(3),
        "bytes": sum(map(len, published.files)),
        "parts": [
            {
                "index": index,
                "name": name,
                "bytes": len(content),
                "sha256": sha256(content).hexdigest(),
                "url": published.url(f"/parts/{index}"),
            }
            for index, (name, content) in enumerate(zip(NAMES, published.files, strict=True))
        ],
    }


def test_the_manifest_of_one_file_has_no_id_in_its_headers(published: Published) -> None:
    job = published.service.work(published.service.submit())
    manifest = published.service.client.get(f"/v1/jobs/{job['id']}/artifact/manifest").json()
    assert (manifest["artifact_id"], manifest["framing"]) == (None, 2)
    assert manifest["minimum_reader"] == minimum_reader(2)
    [part] = manifest["parts"]
    whole = published.service.client.get(f"/v1/jobs/{job['id']}/artifact").content
    assert published.service.client.get(part["url"]).content == whole


def test_files_that_are_put_beside_each_other_open_together(published: Published, tmp_path: Path) -> None:
    for part in published.service.client.get(published.url("/manifest")).json()["parts"]:
        (tmp_path / part["name"]).write_bytes(published.service.client.get(part["url"]).content)
    with ArtifactReader(tmp_path / ENTRY) as reader:
        assert [one.name for one in reader.artifact.slices] == [None, *NAMES[1:]]


@EACH
def test_each_file_comes_with_what_identifies_it(published: Published, number: int) -> None:
    answer = published.service.client.get(published.url(f"/parts/{number}"))
    content = published.files[number]
    digest = sha256(content)
    assert (answer.status_code, answer.content) == (200, content)
    assert len(content) <= PART_BYTES
    assert answer.headers["etag"] == f'"{digest.hexdigest()}"'
    scheme, _, encoded = answer.headers["repr-digest"].partition("=")
    assert (scheme, b64decode(encoded.strip(":"))) == ("sha-256", digest.digest())
    assert answer.headers["content-disposition"] == f'attachment; filename="{NAMES[number]}"'
    assert answer.headers["accept-ranges"] == "bytes"
    head = published.service.client.head(published.url(f"/parts/{number}"))
    assert (head.status_code, head.content) == (200, b"")
    for name in ("etag", "repr-digest", "content-disposition", "content-length", "accept-ranges", "content-type"):
        assert head.headers[name] == answer.headers[name]


def test_the_entry_is_the_artifact(published: Published) -> None:
    answers = [published.service.client.get(published.url(rest)) for rest in ("", "/parts/0")]
    assert answers[0].content == answers[1].content == published.files[0]
    for name in ("etag", "repr-digest", "content-disposition", "content-length", "content-type", "accept-ranges"):
        assert answers[0].headers[name] == answers[1].headers[name]


@EACH
def test_a_file_that_broke_off_is_taken_up_again(published: Published, number: int) -> None:
    content = published.files[number]
    half = len(content) // 2
    headers = {"Range": f"bytes={half}-", "If-Range": f'"{sha256(content).hexdigest()}"'}
    rest = published.service.client.get(published.url(f"/parts/{number}"), headers=headers)
    assert (rest.status_code, rest.content) == (206, content[half:])
    assert rest.headers["content-range"] == f"bytes {half}-{len(content) - 1}/{len(content)}"


def test_the_tag_of_another_file_brings_the_whole_one(published: Published) -> None:
    headers = {"Range": "bytes=5-", "If-Range": f'"{sha256(published.files[0]).hexdigest()}"'}
    answer = published.service.client.get(published.url("/parts/1"), headers=headers)
    assert (answer.status_code, answer.content) == (200, published.files[1])


@EACH
def test_a_file_that_the_caller_has_is_not_sent_again(published: Published, number: int) -> None:
    tags = [f'"{sha256(content).hexdigest()}"' for content in published.files]
    url = published.url(f"/parts/{number}")
    same = published.service.client.get(url, headers={"If-None-Match": tags[number]})
    assert (same.status_code, same.content) == (304, b"")
    other = published.service.client.get(url, headers={"If-None-Match": tags[number - 1]})
    assert other.status_code == 200


@pytest.mark.parametrize("index", [str(PARTS), "-1", "00", "1.0", "x", "%31%20", "9" * 5000, "0/x"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_part_that_is_not_there_is_not_found(published: Published, method: str, index: str) -> None:
    answer = published.service.client.request(method, published.url(f"/parts/{index}"))
    assert answer.status_code == 404
    if method == "GET":
        assert_problem(answer, 404, "not-found")


@EACH
def test_a_file_that_was_removed_is_gone_and_the_others_are_not(published: Published, number: int) -> None:
    stored = published.service.settings.data / "artifacts" / f"{sha256(published.files[number]).hexdigest()}.ninfer"
    stored.rename(stored.with_suffix(".away"))
    try:
        for other in range(PARTS):
            answer = published.service.client.get(published.url(f"/parts/{other}"))
            assert answer.status_code == (410 if other == number else 200)
        problem = assert_problem(published.service.client.get(published.url(f"/parts/{number}")), 410, "gone")
        assert NAMES[number] in problem["detail"]
    finally:
        stored.with_suffix(".away").rename(stored)


def test_the_report_tells_of_all_files(published: Published) -> None:
    report = published.service.client.get(f"/v1/jobs/{published.job['id']}/report").json()
    assert report["minimum_reader"] == minimum_reader(3)
    assert report["artifact"]["parts"] == published.job["artifact"]["parts"]
    assert report["artifact"]["artifact_id"] == published.files[0][16:32].hex()


def test_a_plan_tells_of_the_files_that_a_job_makes(published: Published) -> None:
    plan = published.service.client.post("/v1/plans", json=parted_body(published.model, "parted")).json()
    made = [{"name": part["name"], "bytes": part["bytes"]} for part in published.job["artifact"]["parts"]]
    assert (plan["parts"], plan["file_bytes"]) == (made, published.job["artifact"]["bytes"])


def test_a_job_that_no_engine_runs_fails_with_its_reasons_unless_allowed(published: Published) -> None:
    service = published.service
    body = {"recipe": unexecutable_recipe(published.model), "sources": parted_sources("parted")}
    plan = service.client.post("/v1/plans", json=body).json()
    assert plan["execution"]["verdict"] == "loads and fails at start"
    refused = service.work(service.client.post("/v1/jobs", json=body).json()["id"])
    assert refused["state"] == "failed"
    assert "allow_unexecutable" in refused["error"]["detail"]
    assert [fault["message"] for fault in refused["error"]["errors"]] == plan["execution"]["reasons"]
    allowed = service.work(service.client.post("/v1/jobs", json={**body, "allow_unexecutable": True}).json()["id"])
    assert (allowed["state"], allowed["execution"]) == ("ready", plan["execution"])


@pytest.mark.parametrize("framing", [1, 2])
def test_part_bytes_are_for_framing_3(published: Published, framing: int) -> None:
    answer = published.service.client.post("/v1/plans", json=parted_body(published.model, "parted", framing=framing))
    assert answer.status_code == 422
    assert "part" in answer.text
