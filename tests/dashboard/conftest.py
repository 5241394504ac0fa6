"""One Chromium and one service with jobs for all tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, sync_playwright

from tests.dashboard.seeded import SeededService, seeded_service

CHROMIUM_VARIABLE = "NINFORGE_TEST_CHROMIUM"
SCREENSHOTS_VARIABLE = "NINFORGE_TEST_SCREENSHOTS"
_ROOT = Path(__file__).parents[2]


def _without_browser(reason: str) -> None:
    if "CI" in os.environ:
        pytest.fail(reason)
    pytest.skip(reason)


# Playwright keeps an event loop in the thread of the tests: it has to be gone before those of other packages.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless Chromium of this machine."""
    executable = os.environ.get(CHROMIUM_VARIABLE) or shutil.which("chromium")
    if executable is None:
        _without_browser(f"no chromium to look at pages with: install it, or name one by {CHROMIUM_VARIABLE}")
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=executable)
        except Error as error:
            _without_browser(f"{executable} does not start: {error.message}")
        yield found
        found.close()


@pytest.fixture(scope="package")
def seeded(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[SeededService]:
    """A service with a job of each kind. Tests that change jobs make their own."""
    data = tmp_path_factory.mktemp("dashboard") / "data"
    data.mkdir()
    shutil.copyfile(sqlite_template, data / "ninforge.sqlite3")
    with seeded_service(data) as found:
        yield found


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where pictures of pages go."""
    folder = Path(os.environ.get(SCREENSHOTS_VARIABLE) or _ROOT / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
