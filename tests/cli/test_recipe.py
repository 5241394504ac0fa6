"""`ninforge recipe`: registered recipes, and every fault of one's own at its line and column."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from tests.cli.commands import Model, answered, ninforge, refused, succeeded

REGISTERED = "all-minilm-l6-v2.demo"
FAULTY = """\
recipe: 1
id: No Such Id
revision: 1
model_id: m
weights_id: w
sources:
  base: { kind: checkpoint }
objects:
  - name: "[bold]a"
    shape: [2]
    format: FP33
    value: { tensor: a }
  - { name: b, shape: [-1], format: FP32, value: { tensor: b } }
"""


def test_list() -> None:
    header, *rows = succeeded("recipe", "list").splitlines()
    assert header.split() == ["id", "revision", "objects", "title"]
    listed = answered("recipe", "list")
    assert [row.split()[0] for row in rows] == [one["id"] for one in listed]
    assert REGISTERED in [one["id"] for one in listed]
    assert all(set(one) == {"id", "revision", "title", "sha256", "objects"} for one in listed)


def test_show_gives_the_text_unchanged_and_a_document_of_the_same_content(tmp_path: Path) -> None:
    text = succeeded("recipe", "show", REGISTERED)
    assert text == (files("workers.engine") / "recipes" / f"{REGISTERED}.yaml").read_text()
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.json").write_text(json.dumps(answered("recipe", "show", REGISTERED)))
    one, other = (answered("recipe", "check", tmp_path / name) for name in ("a.yaml", "b.json"))
    assert one == other
    assert one["faults"] == []


def test_check_of_a_good_recipe(model: Model) -> None:
    checked = answered("recipe", "check", model.recipe)
    assert set(checked) == {"id", "revision", "sha256", "faults"}
    said = succeeded("recipe", "check", model.recipe)
    assert said == f"{model.recipe}: no faults; test revision 1, 3 objects, SHA-256 {checked['sha256']}\n"


@pytest.mark.parametrize("command", [["recipe", "check"], ["plan"], ["verify", "FILE", "--recipe"]])
def test_every_fault_stands_at_its_line_and_column(model: Model, command: list[str]) -> None:
    out = model.convert("out")
    recipe = model.folder / "faulty.yaml"
    recipe.write_text(FAULTY)
    lines = refused(*(out if word == "FILE" else word for word in command), recipe).splitlines()
    assert lines[0] == f"error: {recipe}: {len(lines) - 1} faults"
    starts = sorted(line.split(": ")[0] + ": " + line.split(": ")[1] for line in lines[1:])
    assert starts == sorted(
        f"  {recipe}:{place}" for place in ("2:1: /id", "11:5: /objects/0/format", "13:24: /objects/1/shape/0")
    )


def test_every_fault_as_json(tmp_path: Path) -> None:
    recipe = tmp_path / "faulty.yaml"
    recipe.write_text(FAULTY)
    result = ninforge("recipe", "check", recipe, "--json")
    assert (result.exit_code, result.stderr) == (1, "")
    faults = json.loads(result.stdout)["faults"]
    assert {(fault["at"], fault["line"], fault["column"]) for fault in faults} == {
        ("/id", 2, 1),
        ("/objects/0/format", 11, 5),
        ("/objects/1/shape/0", 13, 24),
    }
    assert all(set(fault) == {"at", "message", "line", "column"} for fault in faults)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (b'{"recipe": 1,\n "id": ', 2, 8),
        (b"recipe: 1\nid: [1,\n", 3, 1),
        (b"recipe: 1\nid: a\nid: b\n", 3, 1),
        (b"recipe: 1\nid: \xff\n", None, None),
        (b"", 1, 1),
    ],
)
def test_a_text_that_gives_no_document(tmp_path: Path, text: bytes, line: int | None, column: int | None) -> None:
    recipe = tmp_path / "broken"
    recipe.write_bytes(text)
    result = ninforge("recipe", "check", recipe, "--json")
    assert result.exit_code == 1
    (fault,) = json.loads(result.stdout)["faults"]
    assert (fault["line"], fault["column"]) == (line, column)
    message = refused("recipe", "check", recipe)
    assert message.startswith(f"error: {recipe}: 1 fault\n  {recipe}:{'' if line is None else f'{line}:{column}:'} ")
    assert message.endswith(f" {fault['message']}\n")


def test_check_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = ninforge("recipe", "check", tmp_path / "none", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["faults"] == [
        {"at": "", "message": "the file cannot be read: No such file or directory", "line": None, "column": None}
    ]


def test_a_registered_recipe_is_faulty_only_by_what_overrides_it() -> None:
    message = refused("plan", REGISTERED, "--let", "X=1")
    assert message.startswith(f"error: {REGISTERED}: 1 fault\n  {REGISTERED}:")
