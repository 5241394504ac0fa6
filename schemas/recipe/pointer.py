"""JSON pointers (RFC 6901) into a document, built from the inside out only when a fault needs one."""

from __future__ import annotations

NodePath = tuple["NodePath | None", str | int]
"""The path of a node: that of its parent, and its own member name or list index. None is the document."""


def pointer(path: NodePath | None) -> str:
    """The JSON pointer of a path."""
    tokens: list[str] = []
    while path is not None:
        path, token = path
        tokens.append(escape(token))
    return "".join(f"/{token}" for token in reversed(tokens))


def escape(token: str | int) -> str:
    """One reference token of a pointer."""
    return str(token).replace("~", "~0").replace("/", "~1")
