"""The draft head's token ids, chosen from ranking counts (targets.md, Draft head)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from schemas.errors import SourceError, WordError
from schemas.recipe.expanded import DraftIds
from workers.engine.sources.json_object import parse_object

COUNT_BYTES = 8
MAX_ID_DIGITS = 10


def check_ranking_size(size: int, op: DraftIds, *, where: str) -> None:
    """Raises SourceError unless a ranking file of `size` bytes holds whole rows of `width` I64 counts, one at least."""
    row = COUNT_BYTES * op.width
    if size == 0 or size % row:
        raise SourceError(
            where, expected=f"a positive multiple of {row} bytes ({op.width} counts)", found=f"{size} bytes"
        )


def ranking_counts(row: bytes, op: DraftIds, *, where: str) -> npt.NDArray[np.int64]:
    """Row 0 of a ranking file as the counts of the domain.

    Raises WordError for a negative count in the domain, or one that is not zero beyond it.
    """
    counts = np.frombuffer(row, "<i8", count=op.width)
    negative = np.flatnonzero(counts[: op.domain] < 0)
    if negative.size:
        at = int(negative[0])
        raise WordError(where, expected="counts that are not negative", found=f"{counts[at]} for id {at}")
    beyond = np.flatnonzero(counts[op.domain :])
    if beyond.size:
        at = op.domain + int(beyond[0])
        raise WordError(where, expected=f"zero for ids from {op.domain} on", found=f"{counts[at]} for id {at}")
    return counts[: op.domain]


def special_ids(tokenizer_config: bytes, op: DraftIds, *, where: str) -> tuple[int, ...]:
    """Ids of the entries of `added_tokens_decoder` whose `special` is true, ascending.

    Raises SourceError where the document has no such member, or an id is no id of the domain.
    """
    decoder = parse_object(tokenizer_config, where).get("added_tokens_decoder")
    if not isinstance(decoder, Mapping):
        found = "none" if decoder is None else repr(decoder)[:60]
        raise SourceError(where, expected="a member added_tokens_decoder with token entries", found=found)
    ids = []
    for key, entry in decoder.items():
        if not isinstance(entry, Mapping) or not isinstance(entry.get("special", False), bool):
            found = f"entry {key[:20]!r}: {str(entry)[:60]}"
            raise SourceError(where, expected="entries whose `special` is true or false", found=found)
        if not (key.isascii() and key.isdecimal() and len(key) <= MAX_ID_DIGITS and int(key) < op.domain):
            raise SourceError(where, expected=f"ids from 0 to {op.domain - 1}", found=f"entry {key[:20]!r}")
        if key != str(int(key)):
            raise SourceError(where, expected="ids without leading zeros", found=f"entry {key!r}")
        if entry.get("special", False):
            ids.append(int(key))
    if len(ids) > op.take:
        raise SourceError(where, expected=f"at most {op.take} special ids", found=str(len(ids)))
    return tuple(sorted(ids))


def select_draft_ids(counts: npt.NDArray[np.int64], forced: tuple[int, ...], take: int) -> npt.NDArray[np.int32]:
    """The `take` ids of the draft head, most counted first; `forced` (ascending) are always among them.

    counts: I64 [domain], not negative. Follows the numbered steps of targets.md; ties keep the order that they name.
    Raises WordError when the domain has too few ids.
    """
    if take > counts.size:
        raise WordError("draft head", expected=f"{take} ids", found=f"a domain of {counts.size}")
    ranked = np.argsort(-counts, kind="stable")
    is_forced = np.zeros(counts.size, dtype=bool)
    is_forced[list(forced)] = True
    free = ranked[~is_forced[ranked]][: take - len(forced)]
    picked = np.concatenate([free, np.array(forced, dtype=ranked.dtype)])
    return picked[np.argsort(-counts[picked], kind="stable")].astype(np.int32)
