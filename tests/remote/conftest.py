"""A Hub with a small checkpoint, whole and in shards, and what else a repository holds."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

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


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A server with TLS, whose certificate is trusted."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", os.fspath(tmp_path / "authority.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    with serving(HubServer("https"), context) as secure:
        secure.files["/file"] = b"content"
        yield secure


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interruptions are followed by the next attempt at once."""
    monkeypatch.setattr("workers.remote.download.FIRST_PAUSE", 0.01)
    monkeypatch.setattr("workers.remote.headers._PAUSE", 0.01)
