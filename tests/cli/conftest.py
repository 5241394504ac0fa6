"""What the tests of the command share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import Model, small_model


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """A small checkpoint and its recipe in a folder of their own."""
    return small_model(tmp_path)


@pytest.fixture
def usual_signals() -> Iterator[None]:
    """Signals as a terminal leaves them: who runs the tests may have them ignored, as a shell's background job."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
