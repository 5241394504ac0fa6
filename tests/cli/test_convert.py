"""`ninforge convert`: what it makes, what it says, and what it leaves alone."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import WEIGHT, Argument, Model, answered, ninforge, refused, succeeded
from tests.engine.conversions import write_checkpoint

OLD = b"what was there before"


def break_a_word(model: Model) -> None:
    """Puts a NaN into the last tensor, where only encoding finds it."""
    numbers = np.zeros(16, np.float32)
    numbers[11] = np.nan
    tensors = {
        "weight": ("F32", (32, 256), bytes(4 * 32 * 256)),
        "norm": ("F32", (16,), numbers.tobytes()),
        "extra.bias": ("F32", (1,), bytes(4)),
    }
    write_checkpoint(model.checkpoint / "model.safetensors", tensors)


def test_what_it_says(model: Model) -> None:
    out = model.folder / "out"
    lines = succeeded("convert", *model.given, "--out", out).splitlines()
    digest = hashlib.sha256(out.read_bytes()).hexdigest()
    assert lines == [
        "format        objects  bytes  size",
        "raw-bytes-v1        1      8  8 bytes",
        "Q4G64_F16S          1   4352  4.4 kB",
        "FP32                1     64  64 bytes",
        f"{out}: 8768 bytes (8.8 kB), SHA-256 {digest}",
        "opens in an older engine that reads framing 2; current ones, which read framing 3 alone, refuse it",
        "in an engine: not known",
        "  framing 2 does not say what its objects are, and the recipe claims no target",
        "verified: every row of every object",
        "warning: /sources/base/unused/1: the pattern 'idle.*' matches no tensor",
    ]


def test_json_is_the_report(model: Model) -> None:
    report = model.folder / "report.json"
    out = model.folder / "out"
    printed = answered("convert", *model.given, "--out", out, "--report", report)
    assert printed == json.loads(report.read_bytes())
    assert printed["artifact"]["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert [one["name"] for one in printed["objects"]] == ["vocab", WEIGHT, "norm"]
    assert {one["state"] for one in printed["objects"]} == {"verified"}


def test_the_artifact_depends_on_nothing_but_recipe_and_sources(model: Model) -> None:
    plain = model.convert("plain").read_bytes()
    for number, options in enumerate(
        [
            [],
            ["--threads", "1"],
            ["--threads", "2"],
            ["--block-bytes", "1"],
            ["--block-bytes", "600", "--threads", "5"],
            ["--verify", "none"],
            ["--verify", "sample"],
            ["--device", "cpu"],
            ["--framing", "2"],
            ["--let", "H=32"],
        ]
    ):
        assert model.convert(f"out{number}", *options).read_bytes() == plain, options


@pytest.mark.parametrize("framing", [1, 2])
def test_framings(model: Model, framing: int) -> None:
    out = model.convert("out", "--framing", str(framing))
    assert out.read_bytes()[:8] == b"NINFER\0" + bytes([framing])
    shown = answered("inspect", out)
    assert shown["framing"] == framing
    assert f"that reads framing {framing};" in shown["minimum_reader"]
    assert shown["weights_id"] == (None if framing == 1 else "test-weights")
    assert f"engine that reads framing {framing};" in succeeded("inspect", out)
    assert "ok: every word" in succeeded("verify", out, "--recipe", *model.given)


def test_another_file_for_a_resource(model: Model) -> None:
    other = model.folder / "other.txt"
    other.write_bytes(b"three\n")
    out = model.convert("out", "--resource", f"vocab={other}")
    assert out.read_bytes()[4096:4102] == b"three\n"


def test_another_value_for_a_named_integer(model: Model) -> None:
    report = model.folder / "report.json"
    said = succeeded("convert", *model.given, "--out", model.folder / "out", "--report", report, "--let", "H=016")
    assert "`let` values are overridden: this makes no claim to the recipe's target" in said
    made = json.loads(report.read_bytes())
    assert made["let_overridden"] is True
    assert made["objects"][1]["shape"] == [16, 256]


def test_a_sample_names_its_seed(model: Model) -> None:
    report = model.folder / "report.json"
    said = succeeded("convert", *model.given, "--out", model.folder / "out", "--report", report, "--verify", "sample")
    assert f"verified: a sample of rows, seed {json.loads(report.read_bytes())['verification']['seed']}\n" in said


def test_an_unverified_artifact_is_called_so_everywhere(model: Model) -> None:
    report, out = model.folder / "report.json", model.folder / "out"
    said = succeeded("convert", *model.given, "--out", out, "--report", report, "--verify", "none")
    assert "warning: not verified" in said
    assert "verified: " not in said.replace("not verified: ", "")
    assert "not verified" in report.read_text()
    assert "not verified" in succeeded("verify", out, "--report", report)
    assert any("not verified" in line for line in answered("verify", out, "--report", report)["not_shown"])
    printed = answered("convert", *model.given, "--out", out, "--verify", "none", "--force")
    assert printed["verification"] == {"coverage": "none", "seed": None}
    assert any("not verified" in line for line in printed["warnings"])


def nowhere(folder: Path) -> Path:
    return folder / "missing" / "out"


def below_a_file(folder: Path) -> Path:
    return folder / "recipe.json" / "out"


def a_folder(folder: Path) -> Path:
    return folder / "checkpoint"


def a_file(folder: Path) -> Path:
    return folder / "checkpoint" / "vocab.txt"


def a_link(folder: Path) -> Path:
    (folder / "link").symlink_to(folder / "target")
    return folder / "link"


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def a_long_name(folder: Path) -> Path:
    return folder / ("n" * 300)


REFUSED_PLACES: list[tuple[Callable[[Path], Path], bool, str]] = [
    (nowhere, False, "expected a folder that exists, found no folder"),
    (nowhere, True, "expected a folder that exists, found no folder"),
    (below_a_file, True, "found Not a directory"),
    (a_folder, True, "expected a file name, found a folder"),
    (a_file, False, "expected a name that is not taken (or --force), found an existing file"),
    (a_link, True, "expected a file itself, found a symbolic link"),
    (a_pipe, True, "expected a regular file, found a device, pipe or socket"),
    (a_long_name, False, "found File name too long"),
]


@pytest.mark.parametrize("option", ["--out", "--report"])
@pytest.mark.parametrize(("place", "force", "said"), REFUSED_PLACES)
def test_a_place_that_cannot_be_written(
    model: Model, option: str, place: Callable[[Path], Path], force: bool, said: str
) -> None:
    given = place(model.folder)
    before = model.files()
    other: list[Argument] = ["--out", model.folder / "out"] if option == "--report" else []
    # A recipe that is missing is not even looked for: places are checked before any work.
    message = refused("convert", "nowhere", option, given, *other, *(["--force"] if force else []))
    assert message.startswith(f"error: {given}: ")
    assert said in message
    assert model.files() == before


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "vocab.txt"])
@pytest.mark.parametrize("option", ["--out", "--report"])
def test_no_source_is_overwritten(model: Model, option: str, name: str) -> None:
    (model.checkpoint / "config.json").write_text("{}")
    content = (model.checkpoint / name).read_bytes()
    other: list[Argument] = ["--out", model.folder / "out"] if option == "--report" else []
    message = refused("convert", *model.given, option, model.checkpoint / name, *other, "--force")
    assert "expected another file than the conversion reads, found" in message
    assert (model.checkpoint / name).read_bytes() == content
    assert "out" not in model.files()


def test_neither_the_recipe_nor_a_source_under_another_name_is_overwritten(model: Model) -> None:
    assert "found the recipe" in refused("convert", *model.given, "--out", model.recipe, "--force")
    (model.folder / "same").hardlink_to(model.checkpoint / "model.safetensors")
    assert "found a file of source base" in refused("convert", *model.given, "--out", model.folder / "same", "--force")


def test_force_replaces_files(model: Model) -> None:
    for name in ("out", "report"):
        (model.folder / name).write_bytes(OLD)
    report = model.folder / "report"
    out = model.convert("out", "--report", report, "--force")
    assert out.read_bytes()[:6] == b"NINFER"
    assert json.loads(report.read_bytes())["artifact"]["bytes"] == out.stat().st_size


def test_a_failure_leaves_what_was_there(model: Model) -> None:
    break_a_word(model)
    for name in ("out", "report"):
        (model.folder / name).write_bytes(OLD)
    before = model.files()
    result = ninforge(
        "convert", *model.given, "--out", model.folder / "out", "--report", model.folder / "report", "--force"
    )
    assert (result.exit_code, result.stdout) == (1, "")
    assert "object norm" in result.stderr
    assert model.files() == before
    assert {(model.folder / name).read_bytes() for name in ("out", "report")} == {OLD}


def test_a_failure_leaves_nothing_behind(model: Model) -> None:
    break_a_word(model)
    before = model.files()
    arguments: list[Argument] = ["--out", model.folder / "out", "--report", model.folder / "report", "--json"]
    assert "object norm" in refused("convert", *model.given, *arguments)
    assert model.files() == before


def test_a_report_that_cannot_be_written_is_refused_before_the_work(model: Model) -> None:
    out = model.folder / "out"
    message = refused("convert", *model.given, "--out", out, "--report", "/proc/report.json")
    assert message == (
        "error: /proc/report.json: expected a file that can be written, found No such file or directory\n"
    )
    assert not out.exists()


def test_a_source_of_a_name_that_is_no_utf8(model: Model) -> None:
    name = os.fsdecode(os.fsencode(model.checkpoint) + b"/\xff.safetensors")
    (model.checkpoint / "model.safetensors").rename(name)
    out, report = model.folder / os.fsdecode(b"out\xff"), model.folder / "report"
    said = succeeded("convert", model.recipe, "--source", f"base={name}", "--out", out, "--report", report)
    assert "/out\\udcff: 8768 bytes" in said
    assert "those of the report" in succeeded("verify", out, "--report", report)
