"""The page of a new job in a browser: completion, faults, the preview, and all of it without scripting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from tests.dashboard.looking import SCHEMES, picture, serious_findings, show, too_wide
from tests.dashboard.seeded import SeededService
from tests.small_job import recipe_document


@pytest.fixture(params=[True, False], ids=["scripts", "no-scripts"])
def either(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page with scripting and one without."""
    context = browser.new_context(java_script_enabled=request.param)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(bypass_csp=True)
    yield context.new_page()
    context.close()


def preview(page: Page, seeded: SeededService, where: str) -> None:
    page.goto(f"{seeded.url}/jobs/new")
    page.get_by_label("Recipe", exact=True).select_option("small.mixed")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("base").fill(where)
    page.get_by_role("button", name="Preview the plan").click()


def faulty_text() -> str:
    text = yaml.safe_dump(recipe_document(layers=3), sort_keys=False)
    return text.replace("revision: 3", "revision: three").replace("FP8_E4M3FN_ROW_BF16S", "FP8_E4M3")


def paste_faulty(page: Page, seeded: SeededService) -> None:
    page.goto(f"{seeded.url}/jobs/new")
    page.get_by_label("Text of the recipe").fill(faulty_text())
    page.get_by_role("button", name="Use this recipe").click()


def test_a_job_is_made_with_and_without_scripting(either: Page, seeded: SeededService) -> None:
    preview(either, seeded, "small")
    expect(either.get_by_role("heading", name="What would be made")).to_be_visible()
    either.get_by_label("Name").fill("of the preview")
    either.locator("#plan").get_by_role("button", name="Submit the job").click()
    expect(either.locator("h1")).to_have_text("of the preview")
    expect(either).to_have_url(re.compile("/jobs/[0-9a-f-]{36}$"))


def test_the_preview_can_be_used_by_everybody(page: Page, seeded: SeededService, screenshots: Path) -> None:
    preview(page, seeded, "small")
    expect(page.locator("#plan")).to_be_in_viewport()
    assert serious_findings(page) == {}
    for scheme in SCHEMES:
        show(page, scheme)
        picture(page, screenshots, "preview", scheme)
        assert too_wide(page) <= 0


def test_faults_can_be_read_by_everybody(page: Page, seeded: SeededService, screenshots: Path) -> None:
    preview(page, seeded, "nowhere")
    assert serious_findings(page) == {}
    field = page.get_by_label("base")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("found nothing there"))
    page.get_by_role("link", name="Source base").click()
    expect(field).to_be_focused()
    paste_faulty(page, seeded)
    assert serious_findings(page) == {}
    for scheme in SCHEMES:
        show(page, scheme)
        picture(page, screenshots, "faulty-recipe", scheme)
        assert too_wide(page) <= 0


def test_a_fault_leads_to_its_line(page: Page, seeded: SeededService) -> None:
    paste_faulty(page, seeded)
    fault = page.get_by_role("alert").get_by_role("listitem").filter(has_text="FP8_E4M3")
    line = int(re.findall(r"Line (\d+)", fault.inner_text())[0])
    assert "FP8_E4M3" in faulty_text().split("\n")[line - 1]
    fault.get_by_role("link").click()
    text = page.get_by_label("Text of the recipe")
    expect(text).to_be_focused()
    before = text.evaluate("element => element.value.slice(0, element.selectionStart)")
    assert before.count("\n") == line - 1
    expect(page.locator(f"#line-{line}")).to_be_in_viewport()


def test_line_numbers_keep_up_with_the_text(page: Page, seeded: SeededService) -> None:
    page.goto(f"{seeded.url}/jobs/new")
    text = page.get_by_label("Text of the recipe")
    for lines in (40, 3):
        text.fill("\n".join("a" for _ in range(lines)))
        expect(page.locator(".gutter span")).to_have_count(max(lines, 12))
        numbers, rows = page.locator(".gutter").bounding_box(), text.bounding_box()
        assert numbers is not None
        assert rows is not None
        assert abs(numbers["height"] - rows["height"]) < 25  # a line, for a horizontal scroll bar


def test_places_are_completed_while_they_are_typed(page: Page, seeded: SeededService) -> None:
    page.goto(f"{seeded.url}/jobs/new?recipe=small.mixed")
    field = page.get_by_label("base")
    options = page.locator("#places-1 option")
    field.press_sequentially("small/")
    for position, place in enumerate(("small/model.safetensors", "small/tokenizer.json")):
        expect(options.nth(position)).to_have_attribute("value", place)
    expect(options).to_have_count(2)
    field.fill("")
    expect(options.first).to_have_attribute("value", re.compile("^[^/]+/$"))
