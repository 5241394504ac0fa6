"""How much resident memory a process takes above what it had before the work that is measured."""

from __future__ import annotations

import re
from pathlib import Path

_STATUS = Path("/proc/self/status")


class PeakMemory:
    """Of this process, from now on: whatever it took before, and its parent before it, is forgotten."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")
        self._idle = _kilobytes("VmRSS")

    def mib_above_idle(self) -> float:
        """The highest so far, in MiB."""
        return (_kilobytes("VmHWM") - self._idle) / 1024


def _kilobytes(member: str) -> int:
    [figure] = re.findall(rf"{member}:\s+(\d+) kB", _STATUS.read_text())
    return int(figure)
