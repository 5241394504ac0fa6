"""GET /v1/sources: what a job could name, and nothing outside the roots."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.interface import SourceEntry
from service import source_names
from tests.running_service import RunningService, assert_problem, running_service
from workers.engine.sources.roots import Roots


@pytest.fixture
def two_roots(tmp_path: Path) -> Iterator[RunningService]:
    """A service with two roots, which share a name, and something outside of them."""
    data, other = tmp_path / "data", tmp_path / "other"
    for folder in (data / "sources", other / "models" / "deep", tmp_path / "secret"):
        folder.mkdir(parents=True)
    (other / "small").write_text("a file in the second root, a folder in the first")
    (other / "models" / "a.safetensors").write_bytes(b"12345")
    (other / ".hidden").write_text("")
    (other / "models" / "inside").symlink_to(other / "models" / "a.safetensors")
    (other / "models" / "outside").symlink_to(tmp_path / "secret")
    (other / "models" / "nowhere").symlink_to(tmp_path / "gone")
    os.mkfifo(other / "models" / "pipe")
    for name in (b"not-\xff-utf-8", b"two\nlines"):
        (other / "models" / os.fsdecode(name)).write_text("")
    with running_service(data, source_roots=[data / "sources", other]) as service:
        yield service


def _listed(service: RunningService, **parameters: Any) -> list[dict[str, Any]]:
    answer = service.client.get("/v1/sources", params=parameters)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def test_all_roots_are_listed_by_name_the_first_before_the_others(two_roots: RunningService) -> None:
    assert _listed(two_roots) == [
        {"name": "models", "kind": "folder", "bytes": None},
        {"name": "small", "kind": "folder", "bytes": None},
    ]


def test_a_folder_is_listed_without_what_no_job_could_take(two_roots: RunningService) -> None:
    assert _listed(two_roots, under="models") == [
        {"name": "models/a.safetensors", "kind": "file", "bytes": 5},
        {"name": "models/deep", "kind": "folder", "bytes": None},
        {"name": "models/inside", "kind": "file", "bytes": 5},
    ]
    assert _listed(two_roots, under="models/") == _listed(two_roots, under="models")


def test_a_job_takes_a_name_as_it_is_listed(service: RunningService) -> None:
    [entry] = _listed(service)
    assert service.work(service.submit(where=entry["name"]))["state"] == "ready"


@pytest.mark.parametrize("under", ["gone", "models/a.safetensors", "models/deep", "x" * 4000])
def test_where_nothing_is_nothing_is_listed(two_roots: RunningService, under: str) -> None:
    assert _listed(two_roots, under=under) == []


@pytest.mark.parametrize(
    "under", ["..", "/", "/etc", "models/outside", "models/../../secret", "models/nowhere", "a\0b"]
)
def test_nothing_outside_the_roots_is_listed(two_roots: RunningService, under: str) -> None:
    answer = two_roots.client.get("/v1/sources", params={"under": under})
    problem = assert_problem(answer, 422, "source")
    assert str(two_roots.settings.data) not in problem["detail"]


def test_a_page_looks_at_no_more_than_it_shows(two_roots: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = two_roots.settings.data / "sources" / "many"
    folder.mkdir()
    for number in range(50):
        (folder / f"{number:02}").write_text("")
    looked_at: list[str] = []
    entry = source_names._entry

    def counted(place: Path, name: str, roots: Roots) -> SourceEntry | None:
        looked_at.append(name)
        return entry(place, name, roots)

    monkeypatch.setattr(source_names, "_entry", counted)
    names = [one["name"] for one in _listed(two_roots, under="many", limit=5, cursor="many/19")]
    assert names == [f"many/{number}" for number in range(20, 25)]
    assert looked_at == [*names, "many/25"]


def test_pages_follow_each_other(two_roots: RunningService) -> None:
    names: list[str] = []
    cursor: dict[str, str] = {}
    while cursor or not names:
        answer = two_roots.client.get("/v1/sources", params={"under": "models", "limit": 1, **cursor}).json()
        names += [item["name"] for item in answer["items"]]
        cursor = {"cursor": answer["next"]} if answer["next"] else {}
        if not cursor:
            break
    assert names == [item["name"] for item in _listed(two_roots, under="models")]
