"""Which engines open an artifact, in words."""

from __future__ import annotations


def minimum_reader(framing: int) -> str:
    """What an engine must be able to do to open a file of this framing (container-v3.md, section 1)."""
    return f"opens in engines that read framing {framing}; current engines, which read framing 3 alone, refuse it"
