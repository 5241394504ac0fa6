"""What is wrong with recipe, source, artifact or report ends with exit code 1 and a message on standard error."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commands import Model, refused
from tests.container.samples import TEXT_2, file_bytes

REGISTERED = "all-minilm-l6-v2.demo"


def empty(path: Path) -> None:
    path.touch()


def text(path: Path) -> None:
    path.write_text("this is no such file")


def noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 64)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def circle(path: Path) -> None:
    path.symlink_to(path)


def nothing(path: Path) -> None:
    assert not path.exists()


STRANGE = [empty, text, noise, pipe, circle, nothing, Path.mkdir]
Make = Callable[[Path], None]
each_strange = pytest.mark.parametrize("make", STRANGE, ids=lambda make: make.__name__)


@each_strange
@pytest.mark.parametrize("command", ["inspect", "verify"])
def test_a_strange_file_for_an_artifact(tmp_path: Path, make: Make, command: str) -> None:
    make(tmp_path / "given")
    assert refused(command, tmp_path / "given").startswith(f"error: {tmp_path}/given")


@each_strange
def test_a_strange_file_for_a_checkpoint(model: Model, make: Make) -> None:
    make(model.folder / "given")
    message = refused("plan", model.recipe, "--source", f"base={model.folder}/given")
    assert message.startswith("error: recipe test: expected sources as the recipe describes them, found")
    assert f"{model.folder}/given" in message


@pytest.mark.parametrize("make", [text, noise, circle, nothing, Path.mkdir], ids=lambda make: make.__name__)
def test_a_strange_file_for_a_report(model: Model, make: Make) -> None:
    out = model.convert("out")
    make(model.folder / "given")
    assert refused("verify", out, "--report", model.folder / "given").startswith(f"error: report {model.folder}/given")


@pytest.mark.parametrize("make", [empty, text, noise, circle, Path.mkdir], ids=lambda make: make.__name__)
def test_a_strange_file_for_a_recipe(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "given")
    assert refused("recipe", "check", tmp_path / "given").startswith(f"error: {tmp_path}/given")
    assert refused("plan", tmp_path / "given").startswith(f"error: {tmp_path}/given")


def test_an_unknown_recipe_lists_the_registered_ones(tmp_path: Path) -> None:
    message = refused("convert", "all-minilm", "--out", tmp_path / "out")
    assert REGISTERED in message
    assert "found no such id, and no file of that name" in message
    assert REGISTERED in refused("recipe", "show", "all-minilm")


def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\x1b[2J")
    assert "/\\udcff\\x1b[2J: expected a readable file" in refused("inspect", name)
    assert "\\udcff" in refused("plan", name)


def test_sources_and_resources_of_other_names(model: Model) -> None:
    message = refused("plan", model.recipe, "--source", "bass=.", "--resource", "merges=m.txt")
    assert "/sources: expected one of base, found a place for 'bass'" in message
    assert "/sources/base: source base: expected a place, as in base=WHERE, found none" in message
    assert "/resources: expected a resource of the recipe, found a place for 'merges'" in message


def test_a_let_of_another_name(model: Model) -> None:
    assert "unknown override of 'let' 'G'; known: H" in refused("plan", *model.given, "--let", "G=1")


def test_a_continuation_file_names_its_entry(tmp_path: Path) -> None:
    (tmp_path / "m.ninfer.part-0001").write_bytes(b"NINPRT\0\x03" + bytes(4088))
    message = refused("inspect", tmp_path / "m.ninfer.part-0001")
    assert "a continuation file: give its entry" in message


@pytest.mark.parametrize("number", [0, 4, 255])
def test_a_framing_that_is_not_read(tmp_path: Path, number: int) -> None:
    (tmp_path / "given").write_bytes(file_bytes(TEXT_2, magic=b"NINFER\0" + bytes([number])))
    for command in ("inspect", "verify"):
        message = refused(command, tmp_path / "given")
        assert "expected one of the framings 1, 2, 3" in message
        assert f"framing {number}" in message


def test_a_file_that_fails_when_it_is_read(model: Model) -> None:
    out = model.convert("out")
    assert "the file cannot be read: Input/output error" in refused("plan", "/proc/self/mem")
    assert "the file cannot be read: Input/output error" in refused("recipe", "check", "/proc/self/mem")
    assert "expected a readable file, found Input/output error" in refused("verify", out, "--report", "/proc/self/mem")
