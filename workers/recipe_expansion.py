"""Recipes expanded once for many submissions, in this process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from threading import Condition
from typing import Any

from cachetools import LRUCache, cached

from schemas.recipe.expanded import ExpandedRecipe
from workers.engine.recipe.load import expand_document

_CACHE_BYTES = 8 << 20
"""Of canonical form. An expanded recipe takes four to five times as many bytes."""
_LEAST_BYTES = 64 << 10
"""What a small one counts as."""


@dataclass(frozen=True, slots=True)
class Document:
    """A recipe's document as it was parsed. Its SHA-256 tells it from others: it is of all that its JSON says, but not
    of the order of members."""

    data: Mapping[str, Any]
    sha256: str

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Document:
        """A document of which nothing is known yet."""
        ordered = json.dumps(data, sort_keys=True, separators=(",", ":"))
        return cls(data, hashlib.sha256(ordered.encode()).hexdigest())


def _size(recipe: ExpandedRecipe) -> int:
    return max(len(recipe.canonical), _LEAST_BYTES)


def _key(document: Document, let: Mapping[str, int]) -> Hashable:
    return document.sha256, tuple(sorted(let.items()))


@cached(LRUCache(_CACHE_BYTES, getsizeof=_size), key=_key, condition=Condition())
def expanded(document: Document, let: Mapping[str, int]) -> ExpandedRecipe:
    """The recipe of a document. Threads that ask for the same at once wait for the one that came first.

    Raises RecipeError with all its faults.
    """
    return expand_document(document.data, where="recipe", let=let)
