"""How names, paths and JSON values from untrusted files stand in messages: escaped, and of bounded length."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

_LONGEST_TEXT = 200
_LONGEST_PATH = 1000


def _shortened(text: str, longest: int = _LONGEST_TEXT) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def quoted(name: str) -> str:
    """A tensor or file name in quotes, its control characters and lone surrogates escaped."""
    return repr(_shortened(name))


def shown_path(path: Path) -> str:
    """A path as text that can be printed: control characters and bytes that are no UTF-8 are escaped."""
    text = _shortened(str(path), _LONGEST_PATH)
    return text if text.isprintable() else repr(text)


def shown_json(value: object) -> str:
    """A JSON value as JSON: objects by their number of members, other values as written, shortened."""
    if isinstance(value, Mapping):
        return f"an object of {len(value)} member{'' if len(value) == 1 else 's'}"
    if isinstance(value, str):
        return _shortened(json.dumps(value[:_LONGEST_TEXT]))
    try:
        return _shortened(json.dumps(value, default=dict))
    except RecursionError:
        return "a list nested too deep to show"
