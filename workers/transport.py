"""A Celery transport that needs no server: kombu's filesystem transport with messages put and taken whole.

Kombu's own makes a message visible while it is being written, which ends a worker that polls in that moment, and names
messages so that those of one millisecond are taken in any order. Here a message is written under a name that no poll
looks at and renamed when complete, its name begins with a clock that counts nanoseconds, and it is taken by a rename
within the same file system. A process that dies between taking a message and acknowledging it loses the message, as
with the original: what is due is known from SQL, and the sweeper sees to it.

Queues have to be reached by their names, through the anonymous exchange: for a named one kombu keeps a file of
bindings, and a process can come upon that while another is about to write it.
"""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

from kombu.transport import TRANSPORT_ALIASES, filesystem

logger = logging.getLogger(__name__)

SCHEME = "ninforge-files"
POLLING_SECONDS = 0.1


def register() -> None:
    """Makes the transport known to kombu under SCHEME."""
    TRANSPORT_ALIASES[SCHEME] = f"{__name__}:WholeMessageTransport"


def transport_options(folder: Path) -> dict[str, Any]:
    """Celery's `broker_transport_options` for a queue kept in `folder`, whose subfolders are made here."""
    messages, taken = folder / "messages", folder / "taken"
    for part in (messages, taken):
        part.mkdir(parents=True, exist_ok=True)
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "processed_folder": str(taken),
        "polling_interval": POLLING_SECONDS,
    }


class WholeMessageChannel(filesystem.Channel):
    """A channel whose messages are only ever seen whole, in the order in which they were put."""

    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override] # as kombu's own do
        folder = self._folder(self.data_folder_out)
        name = f"{time.time_ns():020d}_{uuid4().hex}.{queue}.msg"
        hidden = folder / f".{name}"
        hidden.write_text(json.dumps(payload))
        hidden.replace(folder / name)

    def _get(self, queue: str, timeout: float | None = None) -> Any:  # noqa: ARG002 - the base class has it
        taken = self._folder(self.processed_folder)
        for file in self._waiting(queue):
            try:
                mine = file.rename(taken / file.name)
            except FileNotFoundError:
                continue  # another worker was faster
            message = _whole_message(mine)
            if message is not None:
                return message
            logger.warning("dropped the message %s, which is damaged", mine.name)
        raise Empty

    def _size(self, queue: str) -> int:
        return len(self._waiting(queue))

    def _waiting(self, queue: str) -> list[Path]:
        folder = self._folder(self.data_folder_in)
        return [file for file in sorted(folder.glob("[!.]*.msg")) if file.name.partition(".")[2] == f"{queue}.msg"]

    @staticmethod
    def _folder(name: str) -> Path:
        """A folder of the queue, which somebody may have removed meanwhile: that loses messages and nothing else."""
        folder = Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _whole_message(file: Path) -> dict[str, Any] | None:
    """The message in a file, which is removed; None for what is no message of kombu's."""
    try:
        message = json.loads(file.read_bytes())
        file.unlink()
    except (ValueError, OSError):
        return None
    properties = message.get("properties") if isinstance(message, dict) else None
    return message if isinstance(properties, dict) and "delivery_tag" in properties else None


class WholeMessageTransport(filesystem.Transport):
    Channel = WholeMessageChannel
