"""Where in a model an object belongs, from its name.

`text/layers/7/attention/output` is in the stack `text/layers`, its layer 7 and its role `attention/output`. The first
part of a name that is a number is the layer; what is before it names the stack, what is after it the role. An object
without such a part is of no layer: its stack is the first part of its name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """`layer` is None for what a model has once. Objects of the same stack and role do the same in each layer."""

    stack: str
    layer: int | None
    role: str


def place_of(name: str) -> ObjectPlace:
    """The place of an object with this name."""
    parts = name.split("/")
    for position, part in enumerate(parts[1:-1], 1):
        if part.isascii() and part.isdigit():
            return ObjectPlace("/".join(parts[:position]), int(part), "/".join(parts[position + 1 :]))
    stack, _, role = name.partition("/")
    return ObjectPlace(stack if role else "", None, role or stack)
