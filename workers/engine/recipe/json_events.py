"""The JSON spelling of a recipe as events. The grammar is checked by the standard library; this only adds places."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from schemas.recipe.limits import DOCUMENT_LEVELS
from workers.engine.recipe.text_events import Event, Kind, RecipeText

_TOKEN = re.compile(r'(?P<mark>[\[\]{}])|(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[^\s\[\]{}",:]+)')
_COLON = re.compile(r"\s*:")
_MARKS = {"{": Kind.OBJECT, "[": Kind.LIST, "}": Kind.END, "]": Kind.END}
_WORDS = {"true": True, "false": False, "null": None}


def json_events(source: RecipeText) -> Iterator[Event]:
    """The events of a JSON text.

    Raises json.JSONDecodeError where it is no JSON, RecipeError for NaN, infinities and numbers too large.
    """
    text = source.text
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except RecursionError:
        raise source.error(0, f"the limit of {DOCUMENT_LEVELS} levels of nesting is passed") from None
    for token in _TOKEN.finditer(text):
        start, end = token.span()
        match token.lastgroup:
            case "mark":
                yield Event(_MARKS[token[0]], None, start, end)
            case "text":
                yield Event(Kind.MEMBER if _COLON.match(text, end) else Kind.SCALAR, json.loads(token[0]), start, end)
            case _:
                yield Event(Kind.SCALAR, _word(token[0], start, source), start, end)


def _word(word: str, index: int, source: RecipeText) -> bool | int | float | None:
    if word in _WORDS:
        return _WORDS[word]
    if word in ("NaN", "Infinity", "-Infinity"):
        raise source.error(index, f"{word} is no number of JSON")
    return source.integer(word, index) if word.lstrip("-").isdigit() else source.real(word, index)
