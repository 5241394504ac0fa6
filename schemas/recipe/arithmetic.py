"""Integer arithmetic of recipe.md (let, values, text): "=2*heads*256".

Decimal integers, names, `+`, `-`, `*` and brackets. A formula is compiled once to postfix order and evaluated with an
explicit stack, so that neither deep brackets nor long chains can exhaust Python's own.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schemas.recipe.limits import FORMULA_CHARACTERS, INTEGER_MAX

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A variable: a name of `let`, of a loop, or of `with`."""

_TOKEN = re.compile(r"(?P<number>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>[-+*()])|(?P<other>\S)")
_BINDS = {"+": 1, "-": 1, "*": 2}

Operation = Callable[[int, int], int]

_OPERATIONS: Mapping[str, Operation] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


@dataclass(frozen=True, slots=True)
class Formula:
    """`written` as in the document, `code` in postfix order: integers, names, and operations on two integers."""

    written: str
    code: tuple[int | str | Operation, ...]


def parse_formula(written: str) -> Formula:
    """Compiles "=…". Raises ValueError with a message for the user."""
    if len(written) > FORMULA_CHARACTERS:
        raise ValueError(f"an expression of {len(written)} characters; the limit is {FORMULA_CHARACTERS}")
    code: list[int | str | Operation] = []
    pending: list[str] = []
    operand_next = True
    for token in _TOKEN.finditer(written, 1):
        kind, text = str(token.lastgroup), token[str(token.lastgroup)]
        opens_operand = kind in ("number", "name") or text == "("
        if kind == "other" or opens_operand is not operand_next:
            wanted = "a number, a name or '('" if operand_next else "'+', '-', '*' or ')'"
            raise ValueError(
                f"{_quote(written)}: expected {wanted} at character {token.start(kind) + 1}, found {text!r}"
            )
        if kind == "number":
            code.append(int(text))
        elif kind == "name":
            code.append(text)
        elif text == "(":
            pending.append(text)
        else:
            _reduce(text, code, pending, written)
        operand_next = text in ("+", "-", "*", "(")
    if operand_next:
        raise ValueError(f"{_quote(written)}: expected a number, a name or '(' at its end")
    _reduce("", code, pending, written)
    return Formula(written, tuple(code))


def _reduce(sign: str, code: list[int | str | Operation], pending: list[str], written: str) -> None:
    """Moves operators that bind at least as tightly as `sign` from `pending` to `code`, then takes `sign` in."""
    least = _BINDS.get(sign, 0)
    while pending and pending[-1] != "(" and _BINDS[pending[-1]] >= least:
        code.append(_OPERATIONS[pending.pop()])
    if sign in _BINDS:
        pending.append(sign)
    elif bool(pending) != (sign == ")"):
        raise ValueError(f"{_quote(written)}: a bracket is not {'opened' if sign else 'closed'}")
    elif sign:
        pending.pop()


def evaluate(formula: Formula, lookup: Callable[[str], int]) -> int:
    """The value, from 0 to 2^63-1; what stands in between may be negative or larger.

    Raises ValueError for a result outside of that, and whatever `lookup` raises for a name.
    """
    stack: list[int] = []
    for item in formula.code:
        if isinstance(item, str):
            stack.append(lookup(item))
        elif isinstance(item, int):
            stack.append(item)
        else:
            right = stack.pop()
            stack[-1] = item(stack[-1], right)
    value = stack.pop()
    if value < 0:
        raise ValueError(f"{_quote(formula.written)} is negative; integers lie in 0 to 2^63-1")
    if value > INTEGER_MAX:
        raise ValueError(f"{_quote(formula.written)} is above 2^63-1, the largest integer")
    return value


def _quote(written: str) -> str:
    return repr(written if len(written) <= 60 else f"{written[:57]}...")
