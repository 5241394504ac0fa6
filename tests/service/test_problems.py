"""Everything that goes wrong is told as a problem document, and none of them tells what is inside the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from httpx import Response

from service.problems import status_problem
from service.routes import jobs
from tests.running_service import RunningService, assert_problem, running_service
from tests.small_job import job_body, recipe_document

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service for requests that change nothing."""
    with running_service(tmp_path_factory.mktemp("service") / "data", max_body_bytes=100_000) as service:
        yield service


@pytest.mark.parametrize("path", ["/nothing", "/v1", "/v1/nothing", "/docs", "/redoc"])
def test_a_path_that_is_none_is_not_found(shared: RunningService, path: str) -> None:
    problem = assert_problem(shared.client.get(path), 404, "not-found")
    assert problem["detail"].startswith("GET /")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("DELETE", "/v1/jobs", {"GET", "POST"}), ("PUT", "/healthz", {"GET"}), ("GET", "/v1/plans", {"POST"})],
)
def test_a_method_that_is_not_allowed_is_told_with_those_that_are(
    shared: RunningService, method: str, path: str, allowed: set[str]
) -> None:
    answer = shared.client.request(method, path)
    assert_problem(answer, 405, "method-not-allowed")
    assert set(answer.headers["allow"].split(", ")) <= allowed


@pytest.mark.parametrize(
    ("status", "slug", "title"),
    [
        (404, "not-found", "Not Found"),
        (413, "too-large", "Content Too Large"),
        (416, "range-not-satisfiable", "Range Not Satisfiable"),
        (422, "request", "Unprocessable Content"),
        (418, "http", "Error"),
    ],
)
def test_titles_are_the_same_whatever_python_calls_a_status(status: int, slug: str, title: str) -> None:
    told = status_problem(HTTPStatus(status), "")
    assert told.model_dump(exclude_none=True) == {
        "type": f"urn:ninforge:problem:{slug}",
        "title": title,
        "status": status,
        "detail": title,
    }


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "", "a b"])
def test_only_hosts_on_the_list_are_answered(shared: RunningService, host: str) -> None:
    assert_problem(shared.client.get("/healthz", headers={"host": host}), 400, "bad-request")


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"])
def test_loopback_names_are_on_the_list(shared: RunningService, host: str) -> None:
    assert shared.client.get("/healthz", headers={"host": host}).json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "Field required"),
        (b"{", "Expecting property name"),
        (b"[]", "another JSON value"),
        (b'"text"', "another JSON value"),
        (b'{"recipe": "a", "sources": {"a": "1", "a": "2"}}', "'a' more than once"),
        (b'{"recipe": "\\ud800", "sources": {}}', "half a surrogate pair"),
        (b'{"recipe": "\xff", "sources": {}}', "UTF-8"),
        (b"[" * 50_000, "nesting"),
        (b'{"recipe": ' + b"9" * 5000 + b"}", "digits"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/plans"])
def test_a_body_that_is_no_json_is_refused(shared: RunningService, path: str, body: bytes, reason: str) -> None:
    problem = assert_problem(shared.client.post(path, content=body, headers=JSON), 422, "request")
    assert any(reason in fault["message"] for fault in problem["errors"]), problem


def test_a_body_of_another_type_is_refused(shared: RunningService) -> None:
    body = json.dumps(job_body()).encode()
    answer = shared.client.post("/v1/jobs", content=body, headers={"content-type": "text/plain"})
    assert_problem(answer, 422, "request")


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"colour": "red"}, "/colour"),
        ({"recipe": 3}, "/recipe"),
        ({"recipe": ""}, "/recipe"),
        ({"sources": []}, "/sources"),
        ({"sources": {"base": 3}}, "/sources/base"),
        ({"sources": {"base": ""}}, "/sources/base"),
        ({"sources": {"base": "a\0b"}}, "/sources/base"),
        ({"let": {"H": "64"}}, "/let/H"),
        ({"let": {"H": True}}, "/let/H"),
        ({"let": {"H": 1.0}}, "/let/H"),
        ({"let": {"H": -1}}, "/let/H"),
        ({"resources": {"frontend/tokenizer.json": None}}, "/resources/frontend~1tokenizer.json"),
        ({"framing": "2"}, "/framing"),
        ({"framing": True}, "/framing"),
        ({"framing": 4}, "/framing"),
        ({"verify": "none"}, "/verify"),
        ({"device": "abacus"}, "/device"),
        ({"name": ""}, "/name"),
        ({"name": "two\nlines"}, "/name"),
        ({"name": 7}, "/name"),
    ],
)
def test_a_member_that_is_wrong_is_named(shared: RunningService, change: dict[str, Any], at: str) -> None:
    problem = assert_problem(shared.client.post("/v1/jobs", json={**job_body(), **change}), 422, "request")
    assert {fault["at"] for fault in problem["errors"]} == {at}


@pytest.mark.parametrize("member", ["recipe", "sources"])
def test_a_member_that_is_missing_is_named(shared: RunningService, member: str) -> None:
    body = job_body()
    del body[member]
    problem = assert_problem(shared.client.post("/v1/jobs", json=body), 422, "request")
    assert problem["errors"] == [{"at": f"/{member}", "message": "Field required"}]


def test_a_body_too_large_is_refused(shared: RunningService) -> None:
    body = b'{"recipe": "' + b"x" * 100_001 + b'"}'
    assert_problem(shared.client.post("/v1/jobs", content=body, headers=JSON), 413, "too-large")


def test_a_body_too_large_whose_length_is_not_told_is_refused(shared: RunningService) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(20):
            yield b"x" * 10_000

    assert_problem(shared.client.post("/v1/jobs", content=chunks(), headers=JSON), 413, "too-large")


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/plans"])
def test_every_fault_of_a_recipe_is_told_at_once(shared: RunningService, path: str) -> None:
    document = recipe_document()
    document["objects"][0]["format"] = "Q3"
    document["objects"][2]["colour"] = "red"
    del document["weights_id"]
    answer = shared.client.post(path, json={**job_body(), "recipe": document})
    problem = assert_problem(answer, 422, "recipe")
    assert {fault["at"] for fault in problem["errors"]} >= {"/objects/0/format", "/objects/2/colour"}
    assert len(problem["errors"]) >= 3
    assert "\n" not in problem["detail"]


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/plans"])
def test_a_recipe_that_is_not_registered_is_told(shared: RunningService, path: str) -> None:
    problem = assert_problem(shared.client.post(path, json={"recipe": "no-such", "sources": {}}), 422, "recipe")
    assert [fault["at"] for fault in problem["errors"]] == ["/recipe"]


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/plans"])
def test_every_place_that_is_wrong_is_told_at_once(shared: RunningService, path: str) -> None:
    body = job_body(sources={"other": "small"}, resources={"nothing": "small/tokenizer.json"})
    problem = assert_problem(shared.client.post(path, json=body), 422, "plan")
    assert {fault["at"] for fault in problem["errors"]} == {"/sources", "/sources/other", "/resources/nothing"}


@pytest.mark.parametrize(
    "where",
    [
        "/etc/passwd",
        "../../outside",
        "small/../../..",
        "{outside}",
        "link",
        "hf:Qwen/Qwen3.6-27B",
        "https://a.example/",
    ],
)
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/plans"])
def test_a_place_outside_the_roots_is_refused_at_once(
    shared: RunningService, tmp_path: Path, where: str, path: str
) -> None:
    link = shared.settings.data / "sources" / "link"
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path)
    answer = shared.client.post(path, json=job_body(where.format(outside=tmp_path)))
    problem = assert_problem(answer, 422, "plan")
    assert [fault["at"] for fault in problem["errors"]] == ["/sources/base"]
    assert str(shared.settings.data) not in answer.text


def test_a_place_may_be_given_from_the_top(shared: RunningService) -> None:
    place = shared.settings.data / "sources" / "small"
    assert shared.client.post("/v1/plans", json=job_body(str(place))).status_code == 200


def test_what_was_refused_left_no_job(shared: RunningService) -> None:
    assert shared.client.get("/v1/jobs").json()["items"] == []


def test_a_fault_of_the_program_shows_nothing_of_it(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(f"in {service.settings.data}")

    monkeypatch.setattr(jobs, "locate", fail)
    answer: Response = service.client.post("/v1/jobs", json=job_body())
    assert_problem(answer, 500, "internal")
    assert "RuntimeError" not in answer.text
    assert str(service.settings.data) not in answer.text
