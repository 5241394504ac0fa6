"""The selection of a draft head's ids (targets.md, draft head)."""

from __future__ import annotations


def by_the_page(counts: list[int], forced: list[int], take: int) -> list[int]:
    """The numbered steps of the page, one at a time, on the counts of a domain."""
    ordered = sorted(range(len(counts)), key=lambda i: (-counts[i], i))
    picked = [i for i in ordered if i not in forced][: take - len(forced)] + sorted(forced)
    return sorted(picked, key=lambda i: -counts[i])
