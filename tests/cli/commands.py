"""Runs of the command, in this process and as it is installed, and a small checkpoint with a recipe to run it on."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner, Result

from service.cli.application import application
from tests.engine.conversions import document, write_checkpoint

INSTALLED = Path(sys.executable).with_name("ninforge")
WEIGHT = "[bold]layers[/bold]/:smile:/weight"
"""A name that a terminal library could take for markup."""

Argument = str | Path


def ninforge(*arguments: Argument) -> Result:
    """The command in this process."""
    return CliRunner().invoke(application, [str(one) for one in arguments], catch_exceptions=False)


def succeeded(*arguments: Argument) -> str:
    """What a command that must succeed prints."""
    result = ninforge(*arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def answered(*arguments: Argument) -> Any:
    """The one JSON document that a command prints with --json, where it must succeed."""
    return json.loads(succeeded(*arguments, "--json"))


def refused(*arguments: Argument, code: int = 1) -> str:
    """The message of a command that must fail, with nothing on standard output."""
    result = ninforge(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert "Traceback" not in result.stderr
    return result.stderr


def installed(
    *arguments: Argument, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The installed command in a process of its own, its output into pipes."""
    return subprocess.run([INSTALLED, *arguments], capture_output=True, env=env, cwd=cwd, timeout=60, check=False)


@dataclass(frozen=True)
class Model:
    """A checkpoint, and a recipe in a file that makes three objects of it."""

    folder: Path
    checkpoint: Path
    recipe: Path
    document: dict[str, Any]

    @property
    def given(self) -> tuple[Argument, ...]:
        """Recipe and source, as arguments."""
        return self.recipe, "--source", f"base={self.checkpoint}"

    def convert(self, out: str, *options: Argument) -> Path:
        """The artifact of a conversion that must succeed."""
        succeeded("convert", *self.given, "--out", self.folder / out, *options)
        return self.folder / out

    def files(self) -> set[str]:
        """Names in the folder, those of temporary files included."""
        return {path.name for path in self.folder.iterdir()}

    def with_recipe(self, **members: Any) -> Model:
        """The same checkpoint with other members in the recipe."""
        changed = {**self.document, **members}
        self.recipe.write_text(json.dumps(changed))
        return Model(self.folder, self.checkpoint, self.recipe, changed)


def small_model(folder: Path) -> Model:
    """Writes checkpoint and recipe: `let` H rows of a quantized weight, a norm, a resource, a tensor left unused."""
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir()
    numbers = np.random.default_rng(7)
    tensors = {
        "weight": ("F32", (32, 256), numbers.standard_normal((32, 256), np.float32).tobytes()),
        "norm": ("F32", (16,), numbers.standard_normal(16, np.float32).tobytes()),
        "extra.bias": ("F32", (1,), bytes(4)),
    }
    write_checkpoint(checkpoint / "model.safetensors", tensors)
    (checkpoint / "vocab.txt").write_text("one\ntwo\n")
    rows = {"slice": {"tensor": "weight"}, "axis": 0, "from": 0, "to": "=H"}
    objects = [
        {
            "name": WEIGHT,
            "shape": ["=H", 256],
            "format": "Q4G64_F16S",
            "encode": "MAXABS_F16_RECIP_RNE_V1",
            "value": rows,
        },
        {"name": "norm", "shape": [16], "format": "FP32", "value": {"tensor": "norm"}},
    ]
    content = document(
        objects,
        let={"H": 32},
        sources={"base": {"kind": "checkpoint", "unused": ["extra.*", "idle.*"]}},
        resources=[{"name": "vocab", "source": "base", "file": "vocab.txt"}],
    )
    recipe = folder / "recipe.json"
    recipe.write_text(json.dumps(content))
    return Model(folder, checkpoint, recipe, content)
