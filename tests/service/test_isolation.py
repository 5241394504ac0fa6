"""The API process plans and serves; it loads neither torch nor the native kernels (design.md, Layers)."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import sys
import {module}
print(*(name for name in sys.modules if name.partition(".")[0] == "torch" or name == "workers._native"))
"""


@pytest.mark.parametrize("module", ["service.application", "service.embedded", "service.server"])
def test_the_api_process_loads_no_kernel(module: str) -> None:
    command = [sys.executable, "-c", _PROGRAM.format(module=module)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == ""


def test_a_worker_does_load_the_kernels() -> None:
    command = [sys.executable, "-c", _PROGRAM.format(module="workers.process")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "workers._native"
