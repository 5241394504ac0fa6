"""Which engines open an artifact, in words (container-v3.md, section 1)."""

from __future__ import annotations

from collections.abc import Mapping

_READERS: Mapping[int, str] = {
    1: "an older engine that reads framing 1; current ones, which read framing 3 alone, refuse it",
    2: "an older engine that reads framing 2; current ones, which read framing 3 alone, refuse it",
    3: "a current engine, one that reads framing 3; older ones, which read framing 1 or 2, refuse it",
}


def minimum_reader(framing: int) -> str:
    """What opens a file of this framing. Raises KeyError for one that is not known."""
    return _READERS[framing]
