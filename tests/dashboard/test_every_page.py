"""What holds for each page: it can be used by everybody, on narrow screens, without scripting, and loads nothing from
elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.dashboard.seeded import LARGE_PAGES, PAGES, SeededService, address

ALL_PAGES = [*PAGES, *LARGE_PAGES]
SERIOUS = {"serious", "critical"}
WIDTHS = {"light": 1280, "dark": 360}


@pytest.fixture
def watched(browser: Browser) -> Iterator[Page]:
    """A page without moving parts, for pictures."""
    context = browser.new_context(reduced_motion="reduce")
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", ALL_PAGES)
def test_a_page_fits_each_width_and_loads_nothing_from_elsewhere(
    watched: Page, seeded: SeededService, name: str, screenshots: Path
) -> None:
    heard: list[str] = []
    asked: set[str] = set()
    watched.on("console", lambda message: heard.extend([message.text] * (message.type in {"warning", "error"})))
    watched.on("pageerror", lambda error: heard.append(str(error)))
    watched.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
    for scheme, width in WIDTHS.items():
        watched.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        watched.set_viewport_size({"width": width, "height": 900})
        answer = watched.goto(address(seeded, name))
        assert answer is not None
        assert answer.status == (404 if name == "not-found" else 200)
        watched.screenshot(path=screenshots / f"{name}-{width}-{scheme}.png", full_page=name not in LARGE_PAGES)
        assert watched.evaluate("document.documentElement.scrollWidth") <= width
    assert asked == {urlsplit(seeded.url).netloc}
    assert [text for text in heard if "404" not in text or name != "not-found"] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_used_by_everybody(browser: Browser, seeded: SeededService, name: str) -> None:
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(address(seeded, name))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        found = Axe().run(page).response["violations"]
        serious = {one["id"]: [node["html"] for node in one["nodes"]][:3] for one in found if one["impact"] in SERIOUS}
        assert serious == {}, scheme
    context.close()


@pytest.fixture(scope="module")
def scriptless(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", ALL_PAGES)
def test_a_page_reads_without_scripting(scriptless: Page, seeded: SeededService, name: str) -> None:
    scriptless.goto(address(seeded, name))
    assert scriptless.locator("h1").count() == 1
    assert scriptless.locator("h1").is_visible()
    assert scriptless.locator("main").inner_text().strip() != scriptless.locator("h1").inner_text().strip()
