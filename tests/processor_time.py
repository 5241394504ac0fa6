"""What work costs in processor time, on a machine whose cores others share."""

from __future__ import annotations

import time
from collections.abc import Callable

_TIMES = 40


def processor_seconds(work: Callable[[], object], *, enough: float) -> float:
    """The least processor seconds of this process that `work` takes once it is warm: the first time that is less than
    `enough`, or else the least of many. What runs on the other half of a core makes any one time longer, and no
    time shorter."""
    work()
    least = float("inf")
    for _ in range(_TIMES):
        begin = time.process_time()
        work()
        least = min(least, time.process_time() - begin)
        if least < enough:
            break
    return least
