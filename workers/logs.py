"""Log records of service and workers, on standard error: a JSON document a line, or for a terminal plain lines."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

_context: ContextVar[Mapping[str, str]] = ContextVar("log context", default=MappingProxyType({}))


def configure_logging() -> None:
    """Sends records of level INFO and above, and Python's warnings, to standard error."""
    handler = logging.StreamHandler()
    handler.addFilter(_add_context)
    handler.setFormatter(_plain() if sys.stderr.isatty() else _json())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.captureWarnings(True)
    for chatty in ("alembic", "celery.worker.strategy", "celery.app.trace", "httpx"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


@contextmanager
def logging_with(**members: str) -> Iterator[None]:
    """A context whose records have these members, such as `request_id` and `job_id`.

    They follow tasks and whatever is run with a copy of the context, but not threads that are started in it.
    """
    token = _context.set({**_context.get(), **members})
    try:
        yield
    finally:
        _context.reset(token)


def _add_context(record: logging.LogRecord) -> bool:
    for name, value in _context.get().items():
        setattr(record, name, value)
    return True


def _plain() -> logging.Formatter:
    return logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")


def _json() -> logging.Formatter:
    return JsonFormatter(
        "%(levelname)s %(name)s %(message)s",
        rename_fields={"levelname": "level", "name": "logger", "exc_info": "exception"},
        reserved_attrs=[*RESERVED_ATTRS, "color_message"],  # uvicorn's, with escape sequences
        timestamp=True,
    )
