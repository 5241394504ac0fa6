"""How pages are looked at: by axe-core, and at two widths and in two schemes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
WIDTHS: Mapping[Scheme, int] = {"light": 1280, "dark": 360}
_SERIOUS = {"serious", "critical"}


def serious_findings(page: Page) -> dict[str, list[str]]:
    """What axe-core finds that keeps people from using the page, in either window, with some places of each.

    Its script takes a context in which the Content-Security-Policy is passed over.
    """
    found: dict[str, list[str]] = {}
    for scheme in SCHEMES:
        show(page, scheme)
        for one in Axe().run(page).response["violations"]:
            if one["impact"] in _SERIOUS:
                found[f"{one['id']}, {scheme}"] = [node["html"] for node in one["nodes"]][:3]
    return found


def too_wide(page: Page) -> int:
    """CSS pixels by which a page is wider than its window."""
    pixels: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return pixels


def show(page: Page, scheme: Scheme) -> None:
    """Shows the page as that scheme's window would have it."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": WIDTHS[scheme], "height": 900})


def picture(page: Page, folder: Path, name: str, scheme: Scheme, *, whole: bool = True) -> None:
    """Keeps a picture of the page as it is shown, of the whole one or of what is in the window."""
    page.screenshot(path=folder / f"{name}-{WIDTHS[scheme]}-{scheme}.png", full_page=whole)
