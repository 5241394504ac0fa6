"""Fills the files of an artifact from two processes at once."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import workers
from workers.engine.container.arrangement import Arrangement

Piece = tuple[int, int, bytes]
"""Index of an object, offset in it, bytes to write there."""

_WRITING_PROCESS = """
import pickle, sys
from workers.engine.container.writer import ArtifactFiles
path, arrangement, pieces = pickle.load(sys.stdin.buffer)
with ArtifactFiles.open(path, arrangement) as files:
    for index, offset, data in pieces:
        files.write_at(arrangement.objects[index], offset, data)
    files.sync()
"""


def write_from_two_processes(path: Path, arrangement: Arrangement, pieces: list[Piece]) -> None:
    """Writes every other piece from each process into files that are there."""
    root = Path(workers.__file__).parents[1]
    processes = [
        subprocess.Popen([sys.executable, "-c", _WRITING_PROCESS], stdin=subprocess.PIPE, cwd=root) for _ in range(2)
    ]
    for i, process in enumerate(processes):
        assert process.stdin is not None
        with process.stdin as stdin:
            pickle.dump((path, arrangement, pieces[i::2]), stdin)
    assert [process.wait(120) for process in processes] == [0, 0]
