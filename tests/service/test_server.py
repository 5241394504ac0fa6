"""The socket that the service listens on."""

from __future__ import annotations

import socket
from pathlib import Path

from service.server import listening
from workers.settings import Settings


def test_answers_are_sent_without_waiting_for_acknowledgements(tmp_path: Path) -> None:
    with listening(Settings(data=tmp_path, port=0)) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
