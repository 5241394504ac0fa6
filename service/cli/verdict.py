"""What an engine makes of an artifact, in words."""

from __future__ import annotations

from collections.abc import Sequence

from service.cli.consoles import say


def say_verdict(verdict: str, reasons: Sequence[str]) -> None:
    """Whether an engine runs it, and each reason on a line of its own."""
    say(f"in an engine: {verdict}")
    for reason in reasons:
        say(f"  {reason}")
