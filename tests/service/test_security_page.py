"""The commands under Security in docs/service.md, run as they stand there but for the port."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
PROGRAMS = Path(sys.executable).parent


def test_the_commands_open_the_service_to_those_with_a_token(tmp_path: Path) -> None:
    [commands] = re.findall(r"^## Security.*?```\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
    secrets, start, request = commands.splitlines()
    assert (start.split()[-1], request.split()[0]) == ("up", "curl")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    request = request.replace("8000", port)
    # `exec` lets the signal reach the service.
    script = f"""
        {secrets}
        ({start.replace("ninforge", "exec ninforge")}) > address &
        while kill -0 $! && [ ! -s address ]; do sleep 0.1; done
        {request}
        echo
        {request.replace("$READ", "none")}
        kill $!
        wait $!
    """
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-c", script],
        env={"PATH": path, "NINFORGE_PORT": port, "NINFORGE_DATA": str(tmp_path / "data")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    shown, refused = map(json.loads, run.stdout.splitlines())
    assert shown == {"items": [], "next": None}
    assert refused["type"] == "urn:ninforge:problem:unauthenticated"
