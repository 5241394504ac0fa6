"""Whether the service is there."""

from __future__ import annotations

from typing import Literal

from schemas.interface.answers import Answer


class Health(Answer):
    """That the process answers."""

    status: Literal["ok"]
