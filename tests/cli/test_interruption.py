"""A signal in the middle of a conversion: an exit code, a word, and nothing left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.commands import INSTALLED, Model
from tests.engine.conversions import document, one_object

pytestmark = pytest.mark.usefixtures("usual_signals")

OLD = b"what was there before"
ROWS, COLUMNS = 16384, 4096


@pytest.fixture
def long_work(tmp_path: Path) -> Model:
    """A checkpoint of 128 MiB, which takes long in blocks of one row, and files that the conversion is to replace."""
    checkpoint = tmp_path / "model.safetensors"
    header = {"w": {"dtype": "BF16", "shape": [ROWS, COLUMNS], "data_offsets": [0, 2 * ROWS * COLUMNS]}}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with checkpoint.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + 2 * ROWS * COLUMNS)
    content = document([one_object("Q4G64_F16S", (ROWS, COLUMNS), "MAXABS_F16_RECIP_RNE_V1", {"tensor": "w"})])
    (tmp_path / "recipe.json").write_text(json.dumps(content))
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    for name in ("out", "report"):
        (outputs / name).write_bytes(OLD)
    return Model(outputs, checkpoint, tmp_path / "recipe.json", content)


@contextmanager
def converting(model: Model, threads: int) -> Iterator[subprocess.Popen[str]]:
    """A conversion in another process that has begun to write."""
    command = [
        *(INSTALLED, "convert", *model.given, "--out", model.folder / "out", "--report", model.folder / "report"),
        *("--force", "--block-bytes", "512", "--threads", str(threads)),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not any(name.endswith(".partial") for name in model.files()):
                assert process.poll() is None
                time.sleep(0.01)
            time.sleep(0.2)
            assert process.poll() is None
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("number", "threads"), [(signal.SIGINT, 1), (signal.SIGHUP, 2)])
def test_nothing_is_left_behind(long_work: Model, number: signal.Signals, threads: int) -> None:
    with converting(long_work, threads) as process:
        process.send_signal(number)
        out, error = process.communicate(timeout=30)
    assert (process.returncode, out, error) == (128 + number, "", "error: interrupted\n")
    assert long_work.files() == {"out", "report"}
    assert {path.read_bytes() for path in long_work.folder.iterdir()} == {OLD}


def test_further_signals_do_not_stop_the_cleaning_up(long_work: Model) -> None:
    with converting(long_work, 2) as process:
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.001)
        _, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (128 + signal.SIGINT, "error: interrupted\n")
    assert long_work.files() == {"out", "report"}


def test_a_hangup_that_the_caller_ignores_is_ignored(long_work: Model) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with converting(long_work, 2) as process:
            process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert process.returncode == 128 + signal.SIGTERM
    assert long_work.files() == {"out", "report"}
