"""What `/readyz` answers when all is well; when something is not, it answers a problem."""

from __future__ import annotations

from typing import Literal

from schemas.interface import Answer


class Readiness(Answer):
    """That the service can take jobs, with the names of what was checked; `warnings` are what keeps jobs waiting."""

    status: Literal["ready"]
    checks: tuple[str, ...]
    warnings: tuple[str, ...]
