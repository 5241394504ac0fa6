"""The commands under Security in docs/service.md."""

from __future__ import annotations

import json
from pathlib import Path

from tests.service.page_commands import block_under, free_port, output_of


def test_the_commands_open_the_service_to_those_with_a_token(tmp_path: Path) -> None:
    secrets, start, request = block_under("Security").splitlines()
    assert (start.split()[-1], request.split()[0]) == ("up", "curl")
    port = free_port()
    request = request.replace("8000", port)
    after = f"{request}\necho\n{request.replace('$READ', 'none')}"
    shown, refused = map(json.loads, output_of(secrets, start, after, tmp_path, port).splitlines())
    assert shown == {"items": [], "next": None}
    assert refused["type"] == "urn:ninforge:problem:unauthenticated"
