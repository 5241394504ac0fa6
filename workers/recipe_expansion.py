"""Recipes expanded once for many submissions, in this process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping
from threading import Condition
from typing import Any

from cachetools import LRUCache, cached

from schemas.recipe.expanded import ExpandedRecipe
from workers.engine.recipe.load import expand_document

_CACHE_BYTES = 8 << 20
"""Of canonical form. An expanded recipe takes four to five times as many bytes."""
_LEAST_BYTES = 64 << 10
"""What a small one counts as."""


def document_sha256(document: Mapping[str, Any]) -> str:
    """What tells documents apart: all that their JSON says, but not the order of members."""
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _size(recipe: ExpandedRecipe) -> int:
    return max(len(recipe.canonical), _LEAST_BYTES)


def _key(document: Mapping[str, Any], let: Mapping[str, int]) -> Hashable:
    return document_sha256(document), tuple(sorted(let.items()))


@cached(LRUCache(_CACHE_BYTES, getsizeof=_size), key=_key, condition=Condition())
def expanded(document: Mapping[str, Any], let: Mapping[str, int]) -> ExpandedRecipe:
    """The recipe of a document. Threads that ask for the same at once wait for the one that came first.

    Raises RecipeError with all its faults.
    """
    return expand_document(document, where="recipe", let=let)
