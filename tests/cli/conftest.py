"""What the tests of the command share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Model, small_model


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """A small checkpoint and its recipe in a folder of their own."""
    return small_model(tmp_path)
