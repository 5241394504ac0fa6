"""What is below the source roots."""

from __future__ import annotations

from typing import Literal

from schemas.interface.answers import Answer


class SourceEntry(Answer):
    """A folder or a file below the source roots, under the name by which a job takes it."""

    name: str
    kind: Literal["folder", "file"]
    bytes: int | None
