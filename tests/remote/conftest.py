"""A Hub with a small checkpoint, whole and in shards, and what else a repository holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.hub_server import HubServer, folder_files, serving
from tests.small_job import write_checkpoint

OTHERS = {
    "README.md": b"# A model\n",
    "pytorch_model.bin": b"\x80\x02 not fetched" * 100,
    "model.gguf": b"GGUF not fetched",
    "config.json": json.dumps({"model_type": "small"}).encode(),
    ".gitattributes": b"*.safetensors filter=lfs\n",
}


@pytest.fixture
def small_files(tmp_path: Path) -> dict[str, bytes]:
    """The files of a repository with the small checkpoint."""
    return {**folder_files(write_checkpoint(tmp_path / "written")), **OTHERS}


@pytest.fixture
def hub(small_files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub that has it as org/small, and that huggingface_hub takes for the one there is. No token is around."""
    for name in ("HF_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with serving(HubServer()) as hub:
        hub.repository("org/small", small_files)
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interruptions are followed by the next attempt at once."""
    monkeypatch.setattr("workers.remote.download.FIRST_PAUSE", 0.01)
    monkeypatch.setattr("workers.remote.headers._PAUSE", 0.01)
