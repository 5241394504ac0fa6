"""`ninforge recipe adapt`: pins of files that are there, and where the result goes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.cli.commands import Model, ninforge, refused, succeeded
from workers.engine.recipe.registered import load_registered, registered_text

PINNED = "qwen3.6-27b.groupwise-int"


@pytest.fixture
def finetune(tmp_path: Path) -> Path:
    """The files of a checkpoint that a recipe pins, with content of their own."""
    for resource in load_registered(PINNED).resources:
        assert resource.file is not None
        (tmp_path / resource.file).write_text(resource.name)
    return tmp_path


def test_pins_become_those_of_the_files(finetune: Path) -> None:
    result = ninforge("recipe", "adapt", PINNED, "--id", "own", "--source", f"base={finetune}")
    assert (result.exit_code, result.stderr) == (0, "")
    expected = registered_text(PINNED).replace(f"id: {PINNED}", "id: own")
    for resource in load_registered(PINNED).resources:
        assert resource.sha256 is not None
        expected = expected.replace(resource.sha256, hashlib.sha256(resource.name.encode()).hexdigest())
    assert result.stdout == expected


def test_the_place_may_be_one_file_of_a_checkpoint(finetune: Path) -> None:
    folder = succeeded("recipe", "adapt", PINNED, "--id", "own", "--source", f"base={finetune}")
    file = finetune / "weights.safetensors"
    file.touch()
    assert succeeded("recipe", "adapt", PINNED, "--id", "own", "--source", f"base={file}") == folder


def test_a_place_where_nothing_is_takes_no_files_beside_it(finetune: Path) -> None:
    place = finetune / "chekpoint"
    message = refused("recipe", "adapt", PINNED, "--id", "own", "--source", f"base={place}")
    assert (
        message == f"error: source base, place {place}: expected an existing file or directory, found nothing there\n"
    )


def test_a_source_that_was_not_given_keeps_its_pins_and_is_named(tmp_path: Path) -> None:
    out = tmp_path / "own.yaml"
    result = ninforge("recipe", "adapt", PINNED, "--id", "own", "--let", "layers=8", "--out", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines() == [
        f"resource {resource.name} keeps its SHA-256: no place was given for its source base"
        for resource in load_registered(PINNED).resources
    ]
    made = out.read_text()
    assert "layers: 8, every" in made
    assert "\ntarget: null\n" in made
    assert made.count("sha256: 5f9e4d4901a92b99") == 1


def test_a_recipe_in_a_file(model: Model) -> None:
    made = json.loads(succeeded("recipe", "adapt", model.recipe, "--id", "own", "--let", "H=16"))
    assert made == {**model.document, "id": "own", "let": {"H": 16}}


def test_an_output_that_exists_stays(model: Model) -> None:
    out = model.folder / "own.json"
    out.write_text("mine")
    assert "expected a name that is not taken" in refused("recipe", "adapt", model.recipe, "--id", "own", "--out", out)
    assert out.read_text() == "mine"
    succeeded("recipe", "adapt", model.recipe, "--id", "own", "--out", out, "--force")
    assert json.loads(out.read_text())["id"] == "own"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--id", "No Id"], "/id"),
        (["--id", "own", "--let", "Z=1"], "'Z'"),
        (["--id", "own", "--source", "other=."], "found a place for 'other'"),
        (["--id", "own", "--source", "base=nowhere"], "nothing there"),
    ],
)
def test_what_is_refused(arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "own.yaml"
    assert message in refused("recipe", "adapt", PINNED, *arguments, "--out", out)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_id_and_a_missing_new_one() -> None:
    assert "no such id" in refused("recipe", "adapt", "nothing", "--id", "own")
    assert "--id" in refused("recipe", "adapt", PINNED, code=2)
