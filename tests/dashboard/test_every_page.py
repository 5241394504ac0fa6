"""What holds for each page: it can be used by everybody, on narrow screens, without scripting, and loads nothing from
elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.dashboard.looking import SCHEMES, picture, serious_findings, show, too_wide
from tests.dashboard.seeded import LARGE_PAGES, PAGES, SeededService, address

ALL_PAGES = [*PAGES, *LARGE_PAGES]


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context() as context:
        yield context


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    with context.new_page() as page:
        yield page


def open_page(page: Page, seeded: SeededService, name: str) -> None:
    answer = page.goto(address(seeded, name))
    assert answer is not None
    assert answer.status == (404 if name == "not-found" else 200)


@pytest.mark.parametrize("name", ALL_PAGES)
def test_a_page_fits_each_width_and_loads_nothing_from_elsewhere(
    page: Page, seeded: SeededService, name: str, screenshots: Path
) -> None:
    heard: list[str] = []
    asked: set[str] = set()
    page.on("console", lambda message: heard.extend([message.text] * (message.type in {"warning", "error"})))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
    open_page(page, seeded, name)
    for scheme in SCHEMES:
        show(page, scheme)
        picture(page, screenshots, name, scheme, whole=name not in LARGE_PAGES)
        assert too_wide(page) <= 0, scheme
    assert asked == {urlsplit(seeded.url).netloc}
    assert [text for text in heard if "404" not in text or name != "not-found"] == []


@pytest.fixture(scope="module")
def judged(browser: Browser) -> Iterator[Page]:
    """A page in which axe-core can be run."""
    context = browser.new_context(bypass_csp=True)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_used_by_everybody(judged: Page, seeded: SeededService, name: str) -> None:
    open_page(judged, seeded, name)
    assert serious_findings(judged) == {}


@pytest.fixture(scope="module")
def scriptless(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_reads_without_scripting(scriptless: Page, seeded: SeededService, name: str) -> None:
    open_page(scriptless, seeded, name)
    heading = scriptless.locator("h1")
    assert heading.count() == 1
    assert heading.is_visible()
    assert len(scriptless.locator("main").inner_text()) > len(heading.inner_text()) + 10
