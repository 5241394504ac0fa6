"""JSON objects from untrusted files: bounded, and free of what readers disagree on."""

from __future__ import annotations

import json
import re
from collections import Counter

from schemas.errors import SourceError
from workers.engine.sources.wording import quoted

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")

MAX_VALUES = 4_000_000
"""Values in one document. It bounds the memory that parsing takes, whatever the document's bytes are spent on."""


def parse_object(document: bytes, where: str) -> dict[str, object]:
    """The members of the JSON object (RFC 8259, UTF-8) that `document` is.

    Raises SourceError for text that is not JSON, nesting past what the parser can follow, a name that stands twice in
    one object, a lone surrogate, more than MAX_VALUES values, and any other value than an object. NaN and Infinity are
    read, as Python's own writer puts them into config.json.
    """
    if document.count(b",") + document.count(b"[") + document.count(b"{") > MAX_VALUES:
        raise SourceError(where, expected=f"at most {MAX_VALUES} JSON values", found="more")
    try:
        value = json.loads(document.decode("utf-8"), object_pairs_hook=_distinct)
        if _SURROGATE_ESCAPE.search(document):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        expected, found = _fault_words(error)
        raise SourceError(where, expected=expected, found=found) from error
    if not isinstance(value, dict):
        raise SourceError(where, expected="a JSON object", found="another JSON value")
    return value


class _RepeatedNameError(ValueError):
    """A name stands twice in one object."""


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise _RepeatedNameError(max(counts, key=counts.__getitem__))
    return members


def _fault_words(error: ValueError | RecursionError) -> tuple[str, str]:
    """What was expected and what was found."""
    match error:
        case json.JSONDecodeError():
            return "JSON", f"{error.msg} at line {error.lineno}, column {error.colno}"
        case UnicodeDecodeError():
            return "UTF-8 text", f"a byte that is none at {error.start}"
        case UnicodeEncodeError():
            return "Unicode text", "half a surrogate pair in a text"
        case _RepeatedNameError():
            return "every name once in a JSON object", f"{quoted(error.args[0])} more than once"
        case RecursionError():
            return "JSON nested less deep", "too many levels of nesting"
        case _:
            return "numbers of a length that can be read", "an integer of more digits than that"
