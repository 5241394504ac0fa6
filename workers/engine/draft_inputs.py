"""The files that a draft head's ids follow from: a ranking, and what tells special tokens (targets.md, Draft head)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from schemas.errors import Fault, SourceError, WordError
from schemas.recipe.expanded import DraftIds
from workers.engine.binding import BoundSources
from workers.engine.draft_head import COUNT_BYTES, check_ranking_size, ranking_counts, select_draft_ids, special_ids

MAX_TOKENIZER_CONFIG_BYTES = 64 << 20
MAX_RANKING_BYTES = 256 << 20


def draft_faults(at: str, op: DraftIds, bound: BoundSources) -> Iterator[Fault]:
    """A fault for a ranking of another size or with counts that cannot be, and one for special tokens that cannot be
    used: a conversion would meet them only after most of its objects."""
    for check in (_counts, _forced):
        try:
            check(op, bound)
        except (SourceError, WordError) as error:
            yield Fault(at, str(error))


def selected_ids(op: DraftIds, bound: BoundSources) -> npt.NDArray[np.int32]:
    """The selection of the draft head's ids. Raises SourceError and WordError for files that give none."""
    return select_draft_ids(_counts(op, bound), _forced(op, bound), op.take)


def _counts(op: DraftIds, bound: BoundSources) -> npt.NDArray[np.int64]:
    ranking = bound.files[op.counts]
    check_ranking_size(ranking.file.bytes, op, where=ranking.file.where)
    row = ranking.content(bound.roots, limit=MAX_RANKING_BYTES)[: COUNT_BYTES * op.width]
    return ranking_counts(row, op, where=ranking.file.where)


def _forced(op: DraftIds, bound: BoundSources) -> tuple[int, ...]:
    config = bound.resources[op.special]
    document = config.content(bound.roots, limit=MAX_TOKENIZER_CONFIG_BYTES)
    return special_ids(document, op, where=config.file.where)
