"""Log records: JSON documents for machines, plain lines on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from datetime import datetime
from typing import Any

PROGRAM = """
import logging
import warnings
from workers.logs import configure_logging, logging_with

configure_logging()
log = logging.getLogger("forge")
log.debug("not told")
log.info("before")
with logging_with(request_id="r-1"):
    with logging_with(job_id="j-1"):
        log.warning("two\\nlines of %d", 2, extra={"seconds": 0.5, "color_message": "\\x1b[1m"})
    log.info("after the job")
try:
    raise ValueError("what went wrong")
except ValueError:
    log.exception("failed")
warnings.warn("take care")
"""
COMMAND = [sys.executable, "-c", PROGRAM]


def records() -> list[dict[str, Any]]:
    told = subprocess.run(COMMAND, capture_output=True, text=True, check=True)
    assert told.stdout == ""
    return [json.loads(line) for line in told.stderr.splitlines()]


def test_a_record_is_one_document_in_a_line() -> None:
    before, warning, after, failed, of_python = records()
    assert set(before) == {"level", "logger", "message", "timestamp"}
    assert (before["level"], before["logger"], before["message"]) == ("INFO", "forge", "before")
    assert datetime.fromisoformat(before["timestamp"]).tzinfo is not None
    assert warning["message"] == "two\nlines of 2"
    assert warning["seconds"] == 0.5
    assert "color_message" not in warning
    assert "ValueError: what went wrong" in failed["exception"]
    assert "job_id" not in after
    assert "UserWarning: take care" in of_python["message"]


def test_records_carry_what_they_are_about() -> None:
    about = [(record.get("request_id"), record.get("job_id")) for record in records()]
    assert about == [(None, None), ("r-1", "j-1"), ("r-1", None), (None, None), (None, None)]


def test_a_terminal_gets_plain_lines() -> None:
    reader, terminal = pty.openpty()
    with os.fdopen(reader, "rb"), os.fdopen(terminal, "wb"):
        subprocess.run(COMMAND, stderr=terminal, check=True)
        first = os.read(reader, 4096).decode().splitlines()[0]
    assert first.endswith("INFO forge: before")
