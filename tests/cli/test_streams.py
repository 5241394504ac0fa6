"""Standard output and standard error that are closed, full, or read by nobody: an exit code, and never a traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import INSTALLED, Model

REGISTERED = "all-minilm-l6-v2.demo"
FULL = "error: standard output: expected that it can be written, found No space left on device\n"


def shell(redirection: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The installed command with its streams redirected by a shell."""
    command = ["/bin/sh", "-c", f'exec "$0" "$@" {redirection}', str(INSTALLED), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("arguments", [("--help",), ("recipe", "show", REGISTERED)])
def test_a_full_device_is_an_error(arguments: tuple[str, ...]) -> None:
    done = shell(">/dev/full", *arguments)
    assert (done.returncode, done.stderr) == (1, FULL)


def test_a_closed_standard_output_is_the_callers_wish() -> None:
    done = shell(">&-", "recipe", "show", REGISTERED)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_left_is_no_reason_for_a_message() -> None:
    command = [str(INSTALLED), "recipe", "show", REGISTERED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize("redirection", ["2>&-", "2>&1 | true"])
def test_a_conversion_outlives_its_progress(model: Model, redirection: str) -> None:
    out = model.folder / "out"
    shell(redirection, "convert", *model.given, "--out", out, "--report", model.folder / "report")
    assert out.read_bytes() == model.convert("other").read_bytes()
    assert {"out", "report"} <= model.files()


def test_an_error_that_nobody_can_read_keeps_its_exit_code() -> None:
    done = shell("2>/dev/full", "inspect", "/nowhere")
    assert (done.returncode, done.stdout) == (1, "")


def test_ascii_output_escapes_what_it_cannot_show(tmp_path: Path) -> None:
    name = tmp_path / "名"
    done = subprocess.run(
        [INSTALLED, "inspect", name],
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path}/".encode() + rb"\u540d: expected a readable file")
