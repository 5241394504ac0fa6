"""Runs the benchmarks named on the command line, or all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from benchmarks import conversion, kernels, planning

BENCHMARKS: dict[str, Callable[[], Table]] = {
    "planning": planning.measure,
    "kernels": kernels.measure,
    "conversion": conversion.measure,
}


def main() -> None:
    """Prints a table for each benchmark."""
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"unknown benchmark {unknown[0]!r}: expected {', '.join(BENCHMARKS)}")
    for name in names:
        Console().print(BENCHMARKS[name]())


main()
