"""The commands under A job in docs/service.md, and the same in Python."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from tests.service.page_commands import block_under, free_port, output_of


def test_the_demonstration_is_submitted_watched_and_downloaded(tmp_path: Path) -> None:
    model, start, *after = block_under("A job").splitlines()
    assert start.endswith("ninforge up")
    assert [command.split()[1] for command in after if command.startswith("ninforge")] == ["watch", "download"]
    assert "ninforge submit" in after[1]
    port = free_port()
    python = block_under("A job", "python").replace("MODEL", "sys.argv[1]").replace('Path(".")', 'Path("again")')
    (tmp_path / "example.py").write_text(f"import sys\n{python}".replace("8000", port))
    (tmp_path / "again").mkdir()
    commands = "\n".join(after).replace("8000", port)
    said = output_of(model, start, f"{commands}\necho\npython example.py $MODEL", tmp_path, port).splitlines()
    assert "is ready: 1 file" in said[0]
    job = json.loads(next(line for line in said if line.startswith("{")))
    assert job["state"] == "ready"
    [artifact] = tmp_path.glob("*.ninfer")
    assert sha256(artifact.read_bytes()).hexdigest() == job["artifact"]["sha256"]
    assert (tmp_path / "again" / artifact.name).read_bytes() == artifact.read_bytes()
    assert said[-1].startswith("state=<JobState.READY")
