"""The steps of a worker's part in a job, and events that happen just before or after one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from workers import conversion, conversion_work
from workers.storage import Storage

SEAMS = [
    (conversion_work, "plan_fetched"),
    (conversion, "create_work_files"),
    (conversion_work, "encode_objects"),
    (conversion_work, "verify_artifact"),
    (Storage, "publish"),
]
at_every_seam = pytest.mark.parametrize(("module", "step"), SEAMS)
before_and_after = pytest.mark.parametrize("moment", ["before", "after"])


def happening(patch: pytest.MonkeyPatch, module: Any, step: str, moment: str, event: Callable[[], None]) -> list[str]:
    """Lets `event` happen when a worker first comes to a step, before or after it; filled once it has happened."""
    happened: list[str] = []
    real = getattr(module, step)

    def around(*arguments: Any, **options: Any) -> Any:
        is_first = not happened
        happened.append(step)
        if is_first and moment == "before":
            event()
        result = real(*arguments, **options)
        if is_first and moment == "after":
            event()
        return result

    patch.setattr(module, step, around)
    return happened
