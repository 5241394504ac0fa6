"""Runs the benchmarks named on the command line, or all that are quick."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import conversion, full_size, gpu, kernels, multiples, planning, submissions, upgrade
from workers import _native

QUICK: dict[str, Callable[[], Table]] = {
    "planning": planning.measure,
    "kernels": kernels.measure,
    multiples.MULTIPLES: multiples.measure,
    conversion.CONVERT: conversion.measure,
    "upgrade": upgrade.measure,
    "submissions": submissions.measure,
}
FULL_SIZE = "full_size"
GPU = "gpu"


def main() -> None:
    """Prints a table for each benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join([*QUICK, FULL_SIZE, GPU]))
    parser.add_argument("--folder", type=Path, help=f"where {FULL_SIZE} makes its files, which take 24 GB")
    parser.add_argument(
        "--gigabytes",
        type=float,
        default=conversion.GIGABYTES,
        help=f"of the checkpoint that {conversion.CONVERT} makes",
    )
    parser.add_argument(
        "--instruction-set",
        default=_native.instruction_set(),
        choices=[name for name, runs in _native.instruction_sets().items() if runs],
        help="of the kernels; the best of this machine if none is given",
    )
    given = parser.parse_args()
    _native.use_instruction_set(given.instruction_set)
    benchmarks = QUICK | {
        conversion.CONVERT: partial(conversion.measure, given.gigabytes),
        FULL_SIZE: partial(full_size.measure, given.folder),
        GPU: gpu.measure,
    }
    names = given.names or list(QUICK)
    unknown = [name for name in names if name not in benchmarks]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}: expected {', '.join(benchmarks)}")
    for name in names:
        Console().print(benchmarks[name]())


main()
