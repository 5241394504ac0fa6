"""What `/readyz` answers when all is well; when something is not, it answers a problem."""

from __future__ import annotations

from typing import Literal

from schemas.interface import Answer


class Readiness(Answer):
    """That the service can do its work, with the names of what was checked."""

    status: Literal["ready"]
    checks: tuple[str, ...]
