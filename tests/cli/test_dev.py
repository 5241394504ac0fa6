"""`ninforge dev miniature`: the commands that it prints work as they stand."""

from __future__ import annotations

import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.commands import answered, ninforge, refused, succeeded

GROUPWISE = "qwen3.8-27b.groupwise-int"


def test_the_commands_convert_the_miniature_as_it_lies_there(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    own, registered = map(shlex.split, succeeded("dev", "miniature", GROUPWISE, "--out", folder).splitlines())
    assert own[:3] == ["ninforge", "convert", str(folder / "recipe.yaml")]
    assert registered[:3] == ["ninforge", "convert", GROUPWISE]
    contents = []
    for command in (own, registered):
        succeeded(*command[1:], "--framing", "2")
        artifact = Path(command[-1])
        contents.append(artifact.read_bytes())
        artifact.unlink()
    assert contents[0] == contents[1]


def test_a_target_with_pins_has_only_the_recipe_of_its_own(tmp_path: Path) -> None:
    printed = succeeded("dev", "miniature", "qwen3.6-35b-a3b/groupwise-int", "--out", f"{tmp_path}/").splitlines()
    [command] = map(shlex.split, printed)
    names = [word.partition("=")[0] for option, word in pairwise(command) if option == "--source"]
    assert names == ["base", "dflash", "ranking"]
    assert command[-1] == str(tmp_path / "qwen3.6-35b-a3b.groupwise-int.ninfer")
    planned = answered("plan", *command[2:-2], "--framing", "2")
    assert planned["warnings"] == []


def test_another_seed_gives_other_words(tmp_path: Path) -> None:
    for name, options in {"one": [], "other": ["--seed", "12"]}.items():
        succeeded("dev", "miniature", GROUPWISE, "--out", tmp_path / name, *options)
    files = [tmp_path / name / "base" / "model-00001-of-00002.safetensors" for name in ("one", "other")]
    assert files[0].read_bytes() != files[1].read_bytes()
    assert files[0].stat().st_size == files[1].stat().st_size


@pytest.mark.parametrize(
    ("target", "message"),
    [("all-minilm-l6-v2.demo", "expected one of qwen3.6-27b.groupwise-int"), ("no/such", "found 'no.such'")],
)
def test_what_is_no_target_is_refused(target: str, message: str, tmp_path: Path) -> None:
    assert message in refused("dev", "miniature", target, "--out", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    assert "found a folder with files" in refused("dev", "miniature", GROUPWISE, "--out", tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]
    assert "--out" in refused("dev", "miniature", GROUPWISE, code=2)


def test_it_is_not_among_what_people_are_shown_first() -> None:
    assert "dev" not in [line.split()[0] for line in ninforge("--help").stdout.splitlines() if line.startswith("  ")]
