"""Texts with variables, "model.layers.{l}.mlp": recipe.md (let, values, text). `{{` and `}}` are braces."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from schemas.recipe.arithmetic import NAME
from schemas.recipe.limits import TEXT_VARIABLES

_BRACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True, slots=True)
class Text:
    """`parts` alternate: literal, variable, literal, …, literal. `literal` is the whole, where it has no variable."""

    written: str
    parts: tuple[str, ...]
    literal: str | None


def parse_text(written: str) -> Text:
    """Splits a text at its variables. Raises ValueError with a message for the user."""
    parts: list[str] = []
    literal: list[str] = []
    end = 0
    for brace in _BRACE.finditer(written):
        literal.append(written[end : brace.start()])
        end = brace.end()
        if brace[0] in ("{{", "}}"):
            literal.append(brace[0][0])
        elif brace[1] is None:
            raise ValueError(
                f"a lone {brace[0]!r} at character {brace.start() + 1}; a brace is written '{brace[0] * 2}'"
            )
        elif NAME.fullmatch(brace[1]) is None:
            raise ValueError(
                f"{brace[0][:60]!r} is not a variable: expected a name of letters, digits and '_' in braces"
            )
        else:
            parts += ("".join(literal), brace[1])
            literal = []
    parts.append("".join([*literal, written[end:]]))
    if len(parts) // 2 > TEXT_VARIABLES:
        raise ValueError(f"a text with {len(parts) // 2} variables; the limit is {TEXT_VARIABLES}")
    return Text(written, tuple(parts), parts[0] if len(parts) == 1 else None)


def render(text: Text, lookup: Callable[[str], str], *, limit: int) -> str:
    """The text with its variables replaced.

    Raises ValueError past `limit` bytes of UTF-8, and whatever `lookup` raises for a name.
    """
    pieces = list(text.parts)
    for index in range(1, len(pieces), 2):
        pieces[index] = lookup(pieces[index])
    result = "".join(pieces)
    if len(result) > limit or (not result.isascii() and len(result.encode()) > limit):
        raise ValueError(f"longer than the limit of {limit} bytes")
    return result
