"""Where files are made that are not finished yet: a folder of their own, on the file system that they are made for."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.errors import OutputError


@contextmanager
def work_folder(out: Path) -> Iterator[Path]:
    """A folder beside `out` for files that are not finished yet; it is gone when the block ends. Raises OutputError."""
    folder = out.with_name(f".{secrets.token_hex(8)}.ninfer.partial")
    try:
        folder.mkdir()
    except OSError as error:
        expected = "a folder in which files can be made"
        raise OutputError(str(folder.parent), expected=expected, found=str(error.strerror)) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
