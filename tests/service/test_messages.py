"""Messages to the workers: requests do not wait for them, and neither does the end of the service."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest

from service import messages
from tests.running_service import RunningService


def test_messages_leave_the_interpreter_to_requests_in_between(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[float] = []
    monkeypatch.setattr(messages, "wake", lambda *_: sent.append(time.monotonic()))
    for _ in range(5):
        service.submit()
    service.application.state.service.messages.flush()
    assert len(sent) == 5
    assert all(later - earlier >= 0.01 for earlier, later in pairwise(sent))


def test_a_service_that_ends_does_not_send_what_waits(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis that is away may take seconds for each; the sweeper finds the jobs."""
    sent = []

    def send_slowly(*_: Any) -> None:
        sent.append(1)
        time.sleep(1)

    monkeypatch.setattr(messages, "wake", send_slowly)
    for _ in range(20):
        service.submit()
    began = time.monotonic()
    service.application.state.service.close()
    assert time.monotonic() - began < 5
    assert len(sent) < 10
