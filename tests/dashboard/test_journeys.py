"""What people do on the pages, from a recipe to a file, with a real service and its worker behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard.seeded import SeededService
from tests.service_processes import QUICK, Service, long_job, service
from tests.small_job import job_body, recipe_document, write_checkpoint

LAYERS = 150
PATIENCE = 60_000
"""Milliseconds that a busy machine may take for what takes a moment."""

_COLLECT = """
setInterval(() => {
  const bar = document.getElementById("bar");
  if (bar !== null && window.told !== undefined) window.told(bar.value);
}, 10);
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with a worker that claims one object at a time, so that a job lasts a little."""
    data = tmp_path_factory.mktemp("live")
    write_checkpoint(data / "sources" / "small", layers=LAYERS)
    with service("up", {"NINFORGE_DATA": str(data), "NINFORGE_BATCH_BYTES": "1", **QUICK}) as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


def expect_state(page: Page, state: str) -> None:
    expect(page.locator(".heading .state")).to_have_text(re.compile(f"{state}$"), timeout=PATIENCE)


def test_from_a_pasted_recipe_to_a_file(page: Page, live: Service, tmp_path: Path) -> None:
    told: list[float] = []
    page.expose_function("told", lambda fraction: told.append(fraction))  # noqa: PLW0108 - it marks what it is given
    page.add_init_script(_COLLECT)

    page.goto(f"{live.client.base_url}/jobs/new")
    page.get_by_label("Text of the recipe").fill(json.dumps(recipe_document(layers=LAYERS), indent=1))
    page.get_by_role("button", name="Use this recipe").click()
    page.get_by_label("base").fill("small")
    page.get_by_label("Name").fill("by the form")
    page.get_by_role("button", name="Preview the plan").click()
    plan = live.client.post("/v1/plans", json=long_job(LAYERS)).json()
    size = f"{plan['file_bytes']:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    expect(page.locator("#plan")).to_contain_text(f"{size} bytes")
    page.locator("form .actions").get_by_role("button", name="Submit the job").click()

    expect_state(page, "ready")
    expect(page.locator("#bar")).to_have_js_property("value", 1)
    assert told == sorted(told)
    assert len(set(told)) > 5
    job = live.job(page.url.rpartition("/")[2])
    assert (job["name"], job["state"]) == ("by the form", "ready")
    page.evaluate("() => { const more = document.getElementById('object-more'); while (!more.hidden) more.click(); }")
    expect(page.locator("#objects-table td.verified")).to_have_count(LAYERS + 1)
    expect(page.locator(".map a.verified")).to_have_count(LAYERS + 1)

    page.get_by_role("link", name="layers/1", exact=True).click()
    [found] = [one for one in live.client.get(f"/v1/jobs/{job['id']}/objects").json()["items"] if one["index"] == 2]
    assert found["name"] == "layers/1"
    for recorded in (found["payload_blake3"], found["sources"][0]["blake3"], found["encoder"], found["expression"]):
        expect(page.locator("main")).to_contain_text(recorded)

    page.get_by_role("link", name="by the form").click()
    page.get_by_role("link", name="Artifact").click()
    with page.expect_download() as downloading:
        page.get_by_role("link", name=re.compile("^Download")).click()
    downloading.value.save_as(tmp_path / "file")
    digest = sha256((tmp_path / "file").read_bytes()).hexdigest()
    assert digest == job["artifact"]["sha256"]
    expect(page.locator("dl")).to_contain_text(digest)


def test_a_job_is_cancelled_and_tried_again(page: Page, live: Service) -> None:
    job_id = live.submit(long_job(LAYERS))
    page.goto(f"{live.client.base_url}/jobs/{job_id}")
    page.get_by_role("button", name="Cancel").click()
    expect_state(page, "cancelled")
    page.get_by_role("button", name="Try again").click()
    expect_state(page, "ready")
    expect(page.get_by_role("heading", name="Earlier attempts")).to_be_visible()
    assert live.job(job_id)["state"] == "ready"


def test_a_failed_job_is_followed_to_its_cause(page: Page, live: Service, tmp_path: Path) -> None:
    job_id = live.submit(job_body("not-there", name="of nothing"))
    live.finished(job_id)
    page.goto(f"{live.client.base_url}/jobs?state=failed")
    expect(page.locator("tbody tr")).to_contain_text("Recipe and sources do not fit together")
    page.get_by_role("link", name="of nothing").click()
    notice = page.locator(".notice.problem")
    expect(notice).to_contain_text("place not-there: expected an existing file or directory, found nothing there")
    expect(notice).to_contain_text("What to do next.")
    expect(notice).not_to_contain_text(str(tmp_path.parent))


def test_the_list_shows_a_new_job_by_itself(page: Page, live: Service) -> None:
    live.submit(job_body(name="before"))
    page.goto(f"{live.client.base_url}/jobs")
    table = page.get_by_role("region", name="Table of jobs")
    table.click(position={"x": 5, "y": 5})
    expect(table).to_be_focused()
    page.wait_for_timeout(1500)  # the list is watched from the first look at it on
    job_id = live.submit(job_body(name="unexpected"))
    row = page.locator(f'[data-job="{job_id}"]')
    expect(row).to_contain_text("ready", timeout=PATIENCE)
    expect(table).to_be_focused()


def _tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"the keyboard does not come to {selector}")


def test_a_job_is_submitted_by_the_keyboard_alone(page: Page, seeded: SeededService) -> None:
    page.goto(f"{seeded.url}/jobs/new")
    _tab_to(page, "#recipe")
    page.keyboard.type("small")
    _tab_to(page, "button.primary")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    _tab_to(page, "[name='source.base']")
    page.keyboard.type("small")
    _tab_to(page, "#name")
    page.keyboard.type("by keys")
    _tab_to(page, "button[value=submit]")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("by keys")


def test_two_clicks_make_one_job(page: Page, seeded: SeededService) -> None:
    page.goto(f"{seeded.url}/jobs/new?recipe=small.mixed")
    page.get_by_label("base").fill("small")
    page.get_by_label("Name").fill("clicked twice")
    page.get_by_role("button", name="Submit the job").dblclick()
    expect(page.locator("h1")).to_have_text("clicked twice")
    items = seeded.service.client.get("/v1/jobs", params={"text": "clicked twice"}).json()["items"]
    assert len(items) == 1
