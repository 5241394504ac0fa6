"""The commands of a page, run as they stand there beside the service that one of them starts, but for its port."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
PROGRAMS = Path(sys.executable).parent


def block_under(heading: str, language: str = "") -> str:
    """The first block of that language in a chapter."""
    chapter = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.search(rf"^```{language}\n(.*?)^```", chapter, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


def output_of(before: str, start: str, after: str, folder: Path, port: str) -> str:
    """What the commands after the start of the service print: it is started once it listens, and ended at last."""
    # `exec` lets the signal reach the service.
    script = f"""
        set -e
        {before}
        ({start.replace("ninforge", "exec ninforge")}) > address &
        while kill -0 $! && [ ! -s address ]; do sleep 0.1; done
        {after}
        kill $!
        wait $!
    """
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-c", script],
        env={"PATH": path, "NINFORGE_PORT": port, "NINFORGE_DATA": str(folder / "data")},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
