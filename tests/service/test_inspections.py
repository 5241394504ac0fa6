"""POST /v1/inspections: the document of `ninforge inspect --json`, of a place, a job or the beginning of a file."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.responses import JSONResponse

from schemas.interface import IdentityInspection, ModelInspection
from service.inspection_document import found_strays, inspection_document
from service.inspections import inspection_json
from tests.container.samples import OBJECTS_TEXT, TEXT_1, TEXT_2, file_bytes
from tests.parted_job import NAMES, PublishedModel, published_model
from tests.running_service import RunningService, assert_problem, running_service
from workers.engine.container.reader import ArtifactReader

JSON = {"content-type": "application/json"}
OCTETS = {"content-type": "application/octet-stream"}
_ONE, _TWO = file_bytes(TEXT_1, magic=b"NINFER\0\x01"), file_bytes(TEXT_2)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublishedModel]:
    with published_model(tmp_path_factory.mktemp("service") / "data") as published:
        yield published


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("service") / "data", max_body_bytes=100_000) as service:
        yield service


def _inspect(service: RunningService, artifact: str) -> dict[str, Any]:
    answer = service.client.post("/v1/inspections", json={"artifact": artifact})
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def _place(service: RunningService, name: str, content: bytes) -> Path:
    place = service.settings.data / "sources" / name
    place.write_bytes(content)
    return place


def _as_the_command_does(file: Path) -> dict[str, Any]:
    with ArtifactReader(file) as reader:
        document = inspection_document(reader.artifact, reader.artifact.slices, found_strays(reader))
    told: dict[str, Any] = json.loads(json.dumps(document))
    return told


@pytest.mark.parametrize(("content", "framing"), [(_ONE, 1), (_TWO, 2)])
def test_a_file_below_the_roots(shared: RunningService, content: bytes, framing: int) -> None:
    place = _place(shared, "theirs.ninfer", content)
    document = _inspect(shared, "theirs.ninfer")
    assert document == _as_the_command_does(place)
    assert (document["framing"], document["objects"]) == (framing, json.loads(OBJECTS_TEXT))
    IdentityInspection.model_validate(document)


def test_what_a_job_has_made_in_several_files(published: PublishedModel, tmp_path: Path) -> None:
    for name, content in published.files.items():
        (tmp_path / name).write_bytes(content)
    document = _inspect(published.service, published.job["id"])
    assert document == _as_the_command_does(tmp_path / NAMES[0])
    assert [part["name"] for part in document["parts"]] == [None, *NAMES[1:]]
    assert document["strays"] == []
    ModelInspection.model_validate(document)


def test_the_beginning_of_a_file_of_framing_3(published: PublishedModel) -> None:
    entry = published.files[NAMES[0]]
    whole = _inspect(published.service, published.job["id"])
    end = 32 + int.from_bytes(entry[8:16], "little")
    for sent in (end, end + 1000):
        answer = published.service.client.post("/v1/inspections", content=entry[:sent], headers=OCTETS)
        assert answer.json() == {**whole, "strays": None}
    short = published.service.client.post("/v1/inspections", content=entry[: end - 1], headers=OCTETS)
    problem = assert_problem(short, 422, "artifact")
    assert f"expected the first {end} bytes" in problem["detail"]
    assert f"found {end - 1} bytes" in problem["detail"]


@pytest.mark.parametrize("content", [_ONE, _TWO])
def test_the_beginning_of_another_file(shared: RunningService, content: bytes) -> None:
    _place(shared, "whole.ninfer", content)
    whole = _inspect(shared, "whole.ninfer")
    answer = shared.client.post("/v1/inspections", content=content[:4096], headers=OCTETS)
    assert answer.json() == {**whole, "file_bytes": None, "parts": None, "strays": None}


def test_a_continuation_that_is_missing_is_told(published: PublishedModel) -> None:
    _place(published.service, "entry.ninfer", published.files[NAMES[0]])
    document = _inspect(published.service, "entry.ninfer")
    [stray] = document["strays"]
    assert stray.startswith(f"not all looked at: {NAMES[1]}: expected a readable file")


def test_a_continuation_outside_of_the_roots_is_not_opened(published: PublishedModel, tmp_path: Path) -> None:
    folder = published.service.settings.data / "sources" / "linked"
    folder.mkdir()
    (folder / "entry.ninfer").write_bytes(published.files[NAMES[0]])
    (tmp_path / "outside").write_bytes(published.files[NAMES[1]])
    (folder / NAMES[1]).symlink_to(tmp_path / "outside")
    answer = published.service.client.post("/v1/inspections", json={"artifact": "linked/entry.ninfer"})
    problem = assert_problem(answer, 422, "source")
    assert "outside" in problem["detail"]
    assert str(tmp_path) not in answer.text


def test_strays_are_told_without_the_service_s_folders(shared: RunningService) -> None:
    content = bytearray(_TWO + b"more")
    content[4096 + 200] = 7
    _place(shared, "stray.ninfer", bytes(content))
    first, second = _inspect(shared, "stray.ninfer")["strays"]
    assert first.startswith("stray.ninfer, byte 4296, in the gap before")
    assert second.endswith("expected the end of the file, found 4 more bytes")


@pytest.mark.parametrize(
    ("content", "expected", "found"),
    [
        (b"", "a header of 16 bytes", "0 bytes"),
        (b"GGUF" + bytes(28), "NINFER", "47 47 55 46"),
        (b"NINFER\0\x07" + bytes(24), "one of the framings", "framing 7"),
        (b"NINPRT\0\x03" + bytes(24), "an entry file", "continuation"),
        (file_bytes('{"identity": 3, "objects": []}')[:100], "an object", "3"),
        (file_bytes(TEXT_2.replace('"bytes":6', '"bytes":7'))[:4096], "6", "7"),
        (b"NINFER\0\x03" + (2**63).to_bytes(8, "little") + bytes(16), "at most", str(2**63)),
    ],
)
def test_a_fault_says_what_was_expected_and_found(
    shared: RunningService, content: bytes, expected: str, found: str
) -> None:
    _place(shared, "faulty.ninfer", content)
    for answer in (
        shared.client.post("/v1/inspections", content=content, headers=OCTETS),
        shared.client.post("/v1/inspections", json={"artifact": "faulty.ninfer"}),
    ):
        detail = assert_problem(answer, 422, "artifact")["detail"]
        assert "expected" in detail
        assert "found" in detail
        assert str(shared.settings.data) not in detail
    sent = shared.client.post("/v1/inspections", content=content, headers=OCTETS).json()["detail"]
    assert sent.startswith("upload")
    assert expected in sent
    assert found in sent


@pytest.mark.parametrize(
    "where", ["/etc/passwd", "../../outside", "link", "https://a.example/x.ninfer", "fifo", "none"]
)
def test_a_place_that_is_not_allowed_is_refused(shared: RunningService, tmp_path: Path, where: str) -> None:
    sources = shared.settings.data / "sources"
    (sources / "link").unlink(missing_ok=True)
    (tmp_path / "secret").write_bytes(_TWO)
    (sources / "link").symlink_to(tmp_path / "secret")
    if not (sources / "fifo").exists():
        os.mkfifo(sources / "fifo")
    answer = shared.client.post("/v1/inspections", json={"artifact": where})
    problem = assert_problem(answer, 422, "source")
    assert "artifact: expected" in problem["detail"]
    assert str(shared.settings.data) not in answer.text


def test_a_job_that_has_no_artifact_is_told(shared: RunningService) -> None:
    for job_id in (shared.submit(), "019b0000-0000-7000-8000-000000000000"):
        answer = shared.client.post("/v1/inspections", json={"artifact": job_id})
        assert "of a job that is ready, found" in assert_problem(answer, 422, "source")["detail"]


@pytest.mark.parametrize(
    ("body", "at"),
    [(b"{}", "/artifact"), (b'{"artifact": 3}', "/artifact"), (b"[", ""), (b'{"artifact": "a", "b": 1}', "/b")],
)
def test_a_body_that_is_wrong_is_told(shared: RunningService, body: bytes, at: str) -> None:
    problem = assert_problem(shared.client.post("/v1/inspections", content=body, headers=JSON), 422, "request")
    assert [fault["at"] for fault in problem["errors"]] == [at]


def test_other_content_and_too_much_of_it_are_refused(shared: RunningService) -> None:
    other = shared.client.post("/v1/inspections", content=b"x", headers={"content-type": "text/plain"})
    assert_problem(other, 415, "unsupported-media-type")
    large = shared.client.post("/v1/inspections", content=bytes(100_001), headers=OCTETS)
    assert_problem(large, 413, "too-large")


def test_a_gap_too_large_to_be_read_is_told(shared: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.inspections._MOST_GAP_BYTES", 100)
    _place(shared, "gaps.ninfer", _TWO)
    [stray] = _inspect(shared, "gaps.ninfer")["strays"]
    assert stray.startswith("not looked at: expected at most 100 bytes between objects")


def test_a_large_directory_holds_nobody_up_on_its_way_out() -> None:
    objects = [{"name": f"layer.{index}", "kind": "tensor", "shape": [index, 64]} for index in range(100_000)]
    document = {"name": None, "parts": [], "components": {"text": {"é": [1.5]}}, "objects": objects}
    ticks = 0

    async def ticking() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    async def answered() -> bytes:
        beside = asyncio.create_task(ticking())
        try:
            return await inspection_json(document)
        finally:
            beside.cancel()

    assert asyncio.run(answered()) == JSONResponse(document).body
    assert ticks > 5, "one call for the whole lets the loop run before and after it at most"
