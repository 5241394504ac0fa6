"""A small model of a registered architecture, whose conversion in framing 3 gives an artifact of several files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.running_service import RunningService, running_service
from workers.engine.miniature import write_miniature
from workers.engine.recipe.document_text import read_text_document

TARGET = "qwen3.8-27b.groupwise-int"
RECIPE_ID = f"{TARGET}.miniature"
PART_BYTES = 300_000
PARTS = 3
"""Files that the artifact has where none is larger."""

ENTRY = f"{RECIPE_ID}.v3.ninfer"
NAMES = (ENTRY, *(f"{ENTRY}.part-000{number}" for number in range(1, PARTS)))


@dataclass(frozen=True)
class PublishedModel:
    """A service with a job that is ready, the model that it was made of, and the files in the store by name, entry
    first."""

    service: RunningService
    model: Path
    job: dict[str, Any]
    files: dict[str, bytes]


@contextmanager
def published_model(data: Path) -> Iterator[PublishedModel]:
    """A service with its data in `data` that has converted the model."""
    model = data / "sources" / "parted"
    model.parent.mkdir(parents=True)
    write_parted_model(model)
    with running_service(data) as service:
        answer = service.client.post("/v1/jobs", json=parted_body(model, "parted"))
        assert answer.status_code == 202, answer.text
        job = service.work(answer.json()["id"])
        store = data / "artifacts"
        files = {part["name"]: (store / f"{part['sha256']}.ninfer").read_bytes() for part in job["artifact"]["parts"]}
        assert tuple(files) == NAMES
        yield PublishedModel(service, model, job, files)


def write_parted_model(folder: Path) -> None:
    """Writes the checkpoint, the ranking and the recipe into a folder that is not there or empty."""
    write_miniature(TARGET, folder)


def parted_recipe(folder: Path) -> dict[str, Any]:
    """The recipe of a model that was written into a folder."""
    return _document((folder / "recipe.yaml").read_text())


def unexecutable_recipe(folder: Path) -> dict[str, Any]:
    """That recipe with one matrix in a format in which no engine takes it."""
    text = (folder / "recipe.yaml").read_text()
    before = '{ name: "{o}query_key", shape: ["=2*gK", "=H"], format: Q4G64_F16S'
    assert before in text
    return _document(text.replace(before, before.replace("Q4G64", "Q6G64")))


def _document(text: str) -> dict[str, Any]:
    document = read_text_document(text, where="recipe.yaml").data
    assert isinstance(document, dict)
    return document


def parted_sources(where: str) -> dict[str, str]:
    """The sources of a model that was written into a folder, which may be named below a source root."""
    return {"base": f"{where}/base", "ranking": f"{where}/ranking.i64"}


def parted_body(folder: Path, where: str, **members: Any) -> dict[str, Any]:
    """The body of a job of a model in `folder`, which a service finds at `where`."""
    return {
        "recipe": parted_recipe(folder),
        "sources": parted_sources(where),
        "part_bytes": PART_BYTES,
        **members,
    }
