"""Progress of long work: plain lines into a pipe, a bar on a terminal, and totals that come out."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas.errors import CancelledError
from service.cli import progress
from service.cli.progress import Phase, watched
from tests.cli.commands import INSTALLED, Model, installed, ninforge
from tests.engine.conversions import document, write_checkpoint

ROWS, COLUMNS = 128, 320


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows every byte, and no line before the last."""
    monkeypatch.setattr(progress, "decimal", str)
    monkeypatch.setattr(progress, "LINE_SECONDS", 1000.0)


def model_of_all_formats(folder: Path) -> Model:
    """One object of each format; a tensor and a resource that must be compared besides."""
    numbers = np.random.default_rng(3)
    floats = numbers.standard_normal((ROWS, COLUMNS), np.float32)
    half = floats.view(np.uint32) >> 16
    scales = numbers.integers(1, 0x60, (ROWS, COLUMNS // 16), np.uint8)
    tensors = {
        "float": ("F32", (ROWS, COLUMNS), floats.tobytes()),
        "brain": ("BF16", (ROWS, COLUMNS), half.astype(np.uint16).tobytes()),
        "integer": ("I32", (ROWS,), np.arange(ROWS, dtype=np.int32).tobytes()),
        "codes": ("U8", (ROWS, COLUMNS // 2), numbers.integers(0, 256, (ROWS, COLUMNS // 2), np.uint8).tobytes()),
        "scales": ("F8_E4M3", (ROWS, COLUMNS // 16), scales.tobytes()),
        "divisor": ("F32", (1,), np.float32(3).tobytes()),
    }
    folder.mkdir()
    write_checkpoint(folder / "model.safetensors", tensors)
    (folder / "vocab.txt").write_bytes(bytes(range(256)) * 40)
    grouped = [
        (format, "MAXABS_F16_RECIP_RNE_V1") for format in ("Q4G64_F16S", "Q5G64_F16S", "Q6G64_F16S", "W8G32_F16S")
    ]
    matrix = {"shape": [ROWS, COLUMNS], "value": {"tensor": "float"}, "equals": [{"tensor": "float"}]}
    objects: list[dict[str, Any]] = [
        {"name": format, "format": format, "encode": encode, **matrix}
        for format, encode in [*grouped, ("FP8_E4M3FN_ROW_BF16S", "FP8_ROW_MAXABS_RECIP_RNE_V1")]
    ]
    copied = {"codes": {"tensor": "codes"}, "scales": {"tensor": "scales"}, "divisors": [{"tensor": "divisor"}]}
    objects += [
        {"name": "FP32", "format": "FP32", **matrix},
        {"name": "BF16", "format": "BF16", "shape": [ROWS, COLUMNS], "value": {"tensor": "brain"}},
        {"name": "I32", "format": "I32", "shape": [ROWS], "value": {"tensor": "integer"}},
        {"name": "NVFP4", "format": "NVFP4", "encode": "copy", "shape": [ROWS, COLUMNS], "value": {"nvfp4": copied}},
    ]
    content = document(objects, resources=[{"name": "vocab", "source": "base", "file": "vocab.txt"}])
    recipe = folder / "recipe.json"
    recipe.write_text(json.dumps(content))
    return Model(folder, folder, recipe, content)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("block_bytes", ["1500", "30000"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_each_phase_passes_over_every_payload_byte_once(tmp_path: Path, block_bytes: str, threads: str) -> None:
    model = model_of_all_formats(tmp_path / "all")
    options = ["--json", "--block-bytes", block_bytes, "--threads", threads]
    result = ninforge("convert", *model.given, "--out", tmp_path / "out", *options)
    assert result.exit_code == 0, result.stderr
    total = sum(one["bytes"] for one in json.loads(result.stdout)["objects"])
    assert result.stderr.splitlines() == [f"{title}: {total} of {total}" for title in ("converting", "verifying")]


@pytest.mark.usefixtures("exact")
def test_lines_on_the_way_rise(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    result = ninforge("convert", *model.given, "--out", model.folder / "out", "--block-bytes", "1024")
    for title in ("converting", "verifying"):
        lines = [line for line in result.stderr.splitlines() if line.startswith(title)]
        done = [int(line.split()[1]) for line in lines]
        assert done == sorted(set(done))
        assert len(done) > 20
        assert done[-1] == 4424


def test_no_phase_is_shown_that_does_not_happen(model: Model) -> None:
    result = ninforge("convert", *model.given, "--out", model.folder / "out", "--verify", "none")
    assert result.stderr == "converting: 4.4 kB of 4.4 kB\n"


def test_a_phase_of_unknown_length_has_no_total(model: Model) -> None:
    out = model.convert("out")
    assert ninforge("verify", out).stderr.startswith("verifying: 4.4 kB")
    result = ninforge("convert", *model.given, "--out", model.folder / "sample", "--verify", "sample")
    assert result.stderr.splitlines()[1].startswith("verifying: ")
    assert " of " not in result.stderr.splitlines()[1]


@pytest.mark.usefixtures("exact")
def test_an_artifact_by_itself_is_passed_over_once(model: Model) -> None:
    assert ninforge("verify", model.convert("out")).stderr == "verifying: 4424 of 4424\n"


def test_threads_that_outlive_an_interruption_are_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    watch = watched(Phase("converting", 10))
    (observer,) = watch.__enter__()
    observer.advanced(0, 5)
    interruption = KeyboardInterrupt()
    assert not watch.__exit__(KeyboardInterrupt, interruption, None)
    with pytest.raises(CancelledError):
        observer.advanced(0, 5)
    assert capsys.readouterr().err == ""


def on_a_terminal(*arguments: str | Path) -> tuple[int, bytes, str]:
    """Exit code, standard output into a pipe, and what a terminal shows of standard error."""
    master, slave = pty.openpty()
    environment = {"TERM": "xterm-256color", "COLUMNS": "120"}
    with subprocess.Popen([INSTALLED, *arguments], stdout=subprocess.PIPE, stderr=slave, env=environment) as process:
        os.close(slave)
        shown = b""
        try:
            while block := os.read(master, 65536):
                shown += block
        except OSError:  # the other end was closed
            pass
        out, _ = process.communicate(timeout=60)
    os.close(master)
    return process.returncode, out, shown.decode()


def test_a_terminal_gets_a_bar_and_a_pipe_the_document(model: Model) -> None:
    code, out, shown = on_a_terminal("convert", *model.given, "--out", model.folder / "out", "--json")
    assert code == 0
    assert json.loads(out)["artifact"]["bytes"] == 8768
    assert "\x1b[" in shown
    assert "━" in shown
    for title in ("converting", "verifying"):
        assert any(title in line and "4.4/4.4 kB" in line for line in shown.splitlines())


def test_forced_colours_do_not_reach_a_pipe(model: Model) -> None:
    environment = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "GITHUB_ACTIONS": "true"}
    done = installed("convert", *model.given, "--out", model.folder / "out", env=environment)
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.stderr.decode().splitlines()[0] == "converting: 4.4 kB of 4.4 kB"
