"""The README's recipe and commands, run as they stand there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.engine.conversions import write_checkpoint

README = (Path(__file__).parents[2] / "README.md").read_text()
PROGRAMS = Path(sys.executable).parent


def test_the_readme_s_recipe_and_commands_work_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    weights = np.full((1000, 256), 0x3C00, "<u2")
    write_checkpoint(
        tmp_path / "checkpoint" / "model.safetensors",
        {"embed.weight": ("BF16", (1000, 256), weights.tobytes()), "other": ("BF16", (1,), b"\0\0")},
    )
    [recipe] = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "my.yaml").write_text(recipe)
    assert len(recipe.splitlines()) <= 10
    commands = re.findall(r"^\| `(ninforge [^`]+)`", README, re.MULTILINE)
    assert [command.split()[1] for command in commands] == [
        "recipe",
        "recipe",
        "plan",
        "convert",
        "inspect",
        "verify",
        "verify",
        "verify",
    ]
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        run = subprocess.run(
            shlex.split(command),
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
    assert (tmp_path / "my.ninfer").stat().st_size > 1000 * 128


def test_every_page_that_the_readme_names_is_there() -> None:
    pages = re.findall(r"\]\(([^)]+)\)", README)
    assert pages
    assert [page for page in pages if not (Path(__file__).parents[2] / page).is_file()] == []
