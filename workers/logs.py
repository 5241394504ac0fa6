"""One form of log lines for service and workers, on standard error."""

from __future__ import annotations

import logging


def configure_logging() -> None:
    """Sends records of level INFO and above to standard error."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty in ("alembic", "celery.worker.strategy", "celery.app.trace"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
