"""Where the encoder's values come from: source tensors by position, row lists and draft ids of the same plan."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod
from threading import Lock
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from schemas.recipe.expanded import DraftIds
from workers.engine.draft_inputs import selected_ids
from workers.engine.encode.evaluation import Evaluation, Inputs, Positions
from workers.engine.encode.lifting import lifted
from workers.engine.encode.parts import Parts
from workers.engine.encode.running_digest import RunningDigest
from workers.engine.plan import Plan
from workers.engine.planned_objects import PlannedTensor, SourceTensor
from workers.engine.row_lists import RowLists
from workers.engine.scratch import Bytes, Scratch
from workers.engine.sources.reading import OpenFiles


class PlannedInputs:
    """The inputs of one plan, open for reading from any number of threads."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._files = OpenFiles(plan.sources.roots)
        self._values = {
            planned.name: lifted(planned.value) for planned in plan.objects if isinstance(planned, PlannedTensor)
        }
        self._row_lists = RowLists(self._values, self._make_rows)
        self._selections: dict[DraftIds, npt.NDArray[np.int32]] = {}
        self._lock = Lock()

    def read_tensor(self, source: str, tensor: str, offset: int, out: Bytes) -> None:
        """Fills `out` with the tensor's data from byte `offset` on. Raises SourceError."""
        self._files.read_into(self._plan.sources.tensor(source, tensor), offset, out)

    def running_digest(self, source: str, tensor: str, parts: Parts) -> RunningDigest:
        """The digest of the tensor's data, of which nothing has gone by."""
        size = self._plan.sources.tensor(source, tensor).bytes
        return RunningDigest(size, partial(self.read_tensor, source, tensor), parts)

    def rows_of(self, name: str, start: int, stop: int) -> Positions:
        """Elements start to stop of the I32 object of this name, as row numbers."""
        return self._row_lists.of(name)[start:stop]

    def _make_rows(self, name: str) -> Positions:
        value = self._values[name]
        words = np.empty(4 * prod(value.shape), np.uint8)
        Evaluation(name, self, Scratch()).read(value, 0, words)
        return words.view("<i4").astype(np.int64)

    def draft_ids(self, op: DraftIds) -> npt.NDArray[np.int32]:
        """The selection of the draft head's ids, made once."""
        with self._lock:
            if op not in self._selections:
                self._selections[op] = selected_ids(op, self._plan.sources)
            return self._selections[op]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._files.close()


class DigestedInputs:
    """The inputs of one part of an object's making, of whose tensors some are digested as they are read."""

    def __init__(self, inputs: Inputs, digests: Mapping[SourceTensor, RunningDigest], part: int) -> None:
        self._inputs = inputs
        self._digests = digests
        self._part = part
        self.rows_of = inputs.rows_of
        self.draft_ids = inputs.draft_ids

    def read_tensor(self, source: str, tensor: str, offset: int, out: Bytes) -> None:
        """Fills `out` with the tensor's data from byte `offset` on. Raises SourceError."""
        self._inputs.read_tensor(source, tensor, offset, out)
        digest = self._digests.get((source, tensor))
        if digest is not None:
            digest.passing(self._part, offset, out)
