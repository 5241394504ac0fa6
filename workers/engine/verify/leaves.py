"""What verification reads: source tensors through its own header parse, row lists and draft ids derived again."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

import numpy as np

from schemas.errors import VerificationError
from schemas.recipe.expanded import DraftIds
from workers.engine.plan import Plan
from workers.engine.planned_objects import PlannedTensor
from workers.engine.row_lists import RowLists
from workers.engine.scratch import Bytes, Scratch
from workers.engine.verify.evaluation import Leaves, evaluate
from workers.engine.verify.location import Positions
from workers.engine.verify.source_tensors import OpenShard, read_exactly


class PlannedLeaves(Leaves):
    """The leaves of one plan's values, open for reading from any number of threads."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._values = {planned.name: planned.value for planned in plan.objects if isinstance(planned, PlannedTensor)}
        self._row_lists = RowLists(self._values, self._derive_rows)
        self._shards: dict[Path, OpenShard] = {}
        self._ids: dict[DraftIds, Bytes] = {}
        self._lock = Lock()

    def read(self, source: str, tensor: str, offset: int, out: Bytes) -> None:
        """Fills `out` from byte `offset` of the tensor on. Raises SourceError."""
        self._shard(self._plan.sources.tensor(source, tensor).file.path).read(tensor, offset, out)

    def rows(self, name: str) -> Positions:
        """The row numbers in the I32 object of this name."""
        return self._row_lists.of(name)

    def _derive_rows(self, name: str) -> Positions:
        value = self._values[name]
        words = np.empty(4 * prod(value.shape), np.uint8)
        evaluate(name, value, 0, words, self, Scratch())
        return words.view("<i4").astype(np.int64)

    def draft_ids(self, op: DraftIds) -> Bytes:
        """The little-endian I32 words of the selection."""
        with self._lock:
            if op not in self._ids:
                self._ids[op] = np.array(self._select(op), dtype="<i4").view(np.uint8)
            return self._ids[op]

    def _select(self, op: DraftIds) -> list[int]:
        """The numbered steps of targets.md (Draft head), with nothing but lists and sorts."""
        bound = self._plan.sources
        row = bytearray(8 * op.width)
        with bound.files[op.counts].file.path.open("rb") as ranking:
            ranking.readinto(row)
        counts = [int.from_bytes(row[8 * i : 8 * i + 8], "little", signed=True) for i in range(op.domain)]
        decoder = json.loads(bound.resources[op.special].file.path.read_bytes())["added_tokens_decoder"]
        forced = sorted(int(key) for key, entry in decoder.items() if entry.get("special") is True)
        among_forced = set(forced)
        by_count = sorted(range(op.domain), key=lambda token: (-counts[token], token))
        picked = [token for token in by_count if token not in among_forced][: op.take - len(forced)]
        chosen = sorted([*picked, *forced], key=lambda token: -counts[token])
        if len(set(chosen)) != op.take:
            raise VerificationError("draft head", expected=f"{op.take} distinct ids", found=str(len(set(chosen))))
        return chosen

    def resource(self, name: str, offset: int, out: Bytes) -> None:
        """Fills `out` from byte `offset` of the resource's file on. Raises SourceError where the file ends before."""
        with self._plan.sources.resources[name].file.path.open("rb") as file:
            read_exactly(file.fileno(), offset, out, where=f"resource {name}")

    def _shard(self, path: Path) -> OpenShard:
        with self._lock:
            if path not in self._shards:
                self._shards[path] = OpenShard(path)
            return self._shards[path]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for shard in self._shards.values():
            shard.close()
