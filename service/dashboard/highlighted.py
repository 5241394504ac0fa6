"""Recipes as people read them: their text, and its lines with what each word is told by classes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import JsonLexer, YamlLexer

_MOST_CHARACTERS = 300_000
"""Of a longer text the lines stay as they are: each word of it would take many times its length on the wire."""
MOST_SHOWN_LINES = 20_000
"""On one page. A text of blank lines, as long as a recipe may be, has millions, each of which becomes an element."""
_BLANK = re.compile(r'<span class="w">( *)</span>')


@dataclass(frozen=True, slots=True)
class Readable:
    """A recipe's text to be read: the YAML that it was written as, comments and all, or its JSON, spaced out."""

    text: str
    is_yaml: bool

    @property
    def lines(self) -> int:
        """How many there are."""
        return self.text.removesuffix("\n").count("\n") + 1

    @property
    def suffix(self) -> str:
        """Of a file that holds it."""
        return ".yaml" if self.is_yaml else ".json"


def readable(document: Mapping[str, Any], text: str | None) -> Readable:
    """What to show of a recipe."""
    return Readable(spaced_json(document), is_yaml=False) if text is None else Readable(text, is_yaml=True)


def spaced_json(document: Mapping[str, Any]) -> str:
    """JSON with a member a line."""
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


@lru_cache(maxsize=8)
def highlighted_lines(shown: Readable) -> tuple[Markup, ...]:
    """The lines of a text, the first MOST_SHOWN_LINES of them."""
    text = shown.text.replace("\r\n", "\n").removesuffix("\n")
    if len(text) > _MOST_CHARACTERS:
        return tuple(map(escape, text.split("\n", MOST_SHOWN_LINES)[:MOST_SHOWN_LINES]))
    lexer = YamlLexer(stripnl=False) if shown.is_yaml else JsonLexer(stripnl=False)
    marked = highlight(f"{text}\n", lexer, HtmlFormatter(nowrap=True)).removesuffix("\n")
    lines = _BLANK.sub(r"\1", marked).split("\n", MOST_SHOWN_LINES)
    return tuple(map(Markup, lines[:MOST_SHOWN_LINES]))
