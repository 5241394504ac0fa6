"""A worker process that lives no longer than the process which started it.

The parent writes the settings as one line of JSON to standard input and then keeps that open. When it closes, because
the parent wants the worker to end or because the parent is no more, the worker ends as on SIGTERM.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time

from schemas.errors import DeviceError
from workers.process import run_worker
from workers.settings import Settings

logger = logging.getLogger(__name__)

GRACE_SECONDS = 20
"""What a worker has to stop in; then it ends where it is, which costs no more than a claim that expires."""


def main() -> int:
    settings = Settings.model_validate_json(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, name="lifeline", daemon=True).start()
    try:
        return run_worker(settings)
    except DeviceError as error:
        logger.error("%s", error)  # noqa: TRY400 - the message says it all
        return 1


def _end_with_parent() -> None:
    # Not through sys.stdin, whose lock a waiting thread would still hold when the interpreter ends.
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
