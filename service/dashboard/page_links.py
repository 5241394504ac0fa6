"""Links between the pages of a list."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode


def page_links(path: str, filters: Mapping[str, object], **following: object) -> dict[str, str | None]:
    """What templates take: `first_page`, the list from its beginning, and `next_page`, where `following` names and says
    where that begins, None where it says None. `filters` are kept from page to page."""
    [start] = following.values()
    return {
        "first_page": f"{path}?{urlencode(filters)}",
        "next_page": None if start is None else f"{path}?{urlencode({**filters, **following})}",
    }
