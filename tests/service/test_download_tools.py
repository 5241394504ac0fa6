"""People's own tools resume a download, and fetch it over several connections."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from tests.running_service import running_service
from tests.small_job import job_body, recipe_document, write_checkpoint

_SIZES = {"layers": 4, "rows": 1024, "columns": 1024}


@dataclass(frozen=True)
class Published:
    """An artifact of some megabytes: where it is downloaded, and its digest and size."""

    url: str
    sha256: str
    bytes: int


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    data = tmp_path_factory.mktemp("service") / "data"
    write_checkpoint(data / "sources" / "larger", **_SIZES)
    with running_service(data) as service:
        body = {**job_body("larger"), "recipe": recipe_document(**_SIZES)}
        job_id = service.client.post("/v1/jobs", json=body).json()["id"]
        artifact = service.work(job_id)["artifact"]
        url = f"{service.client.base_url}/v1/jobs/{job_id}/artifact"
        yield Published(url, artifact["sha256"], artifact["bytes"])


def tool(name: str) -> str:
    """Where a tool is; where it is absent, CI fails and others skip."""
    found = shutil.which(name)
    if found is None:
        reason = f"{name} is not installed, so that it was not tried"
        if "CI" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def test_curl_goes_on_where_it_was_interrupted(published: Published, tmp_path: Path) -> None:
    file = tmp_path / "resumed.ninfer"
    curl = [tool("curl"), "-sf", "-o", str(file), "-w", "%{size_download}"]
    for last in (0, 1_234_566, 3 << 20):  # each time as much as came before the connection was lost
        part = subprocess.run(
            [*curl[:2], "-r", f"{_bytes(file)}-{last}", published.url], check=True, capture_output=True
        )
        with file.open("ab") as open_file:
            open_file.write(part.stdout)
        assert _bytes(file) == last + 1
    done = subprocess.run([*curl, "-C", "-", published.url], check=True, capture_output=True)
    assert int(done.stdout) == published.bytes - (3 << 20) - 1
    assert digest(file) == published.sha256
    again = subprocess.run([*curl, "-C", "-", published.url], check=False, capture_output=True)
    assert int(again.stdout) == 0
    assert digest(file) == published.sha256


def _bytes(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def test_aria2_fetches_over_several_connections(published: Published, tmp_path: Path) -> None:
    command = [tool("aria2c"), "-x4", "-s4", "-k1M", "--dir", str(tmp_path), "--out", "split.ninfer"]
    checked = ["--checksum", f"sha-256={published.sha256}", "--no-conf", "--console-log-level=info", published.url]
    done = subprocess.run([*command, *checked], check=True, capture_output=True, text=True)
    assert done.stdout.count("Range: bytes=") >= 2
    assert digest(tmp_path / "split.ninfer") == published.sha256
