"""Pages go on by themselves after the service was away."""

from __future__ import annotations

import re
import socket
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.running_service import running_service

PATIENCE = 60_000


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def test_a_page_goes_on_by_itself_after_the_service_was_started_again(browser: Browser, tmp_path: Path) -> None:
    port = _free_port()
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    job_page, list_page = context.new_page(), context.new_page()
    with running_service(tmp_path, port=port) as service:
        job_id = service.submit(name="interrupted")
        job_page.goto(f"http://127.0.0.1:{port}/jobs/{job_id}")
        list_page.goto(f"http://127.0.0.1:{port}/jobs")
        expect(job_page.locator(".heading .state")).to_have_text(re.compile("queued"))
        job_page.evaluate("window.stays = true")
        list_page.evaluate("window.stays = true")
    for page in (job_page, list_page):
        expect(page.locator("#live")).to_have_text("The connection to the service is lost; trying again.")
    with running_service(tmp_path, port=port) as service:
        service.client.post(f"/v1/jobs/{job_id}/cancel")
        expect(job_page.locator(".heading .state")).to_have_text(re.compile("cancelled"), timeout=PATIENCE)
        expect(list_page.locator(f'[data-job="{job_id}"] .state')).to_have_text(
            re.compile("cancelled"), timeout=PATIENCE
        )
        expect(list_page.locator("#live")).to_have_text("")
        assert job_page.evaluate("window.stays")
        assert list_page.evaluate("window.stays")
        context.close()
