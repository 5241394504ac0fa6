"""Cycles in a graph of names, found with an explicit stack."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

SHOWN = 8


def cycles(graph: Mapping[str, Collection[str]]) -> Iterator[list[str]]:
    """One cycle for each edge that closes one, as the names on it, of which at most the first eight.

    Names that are no keys of the graph have no edges.
    """
    finished: set[str] = set()
    for root in graph:
        path: dict[str, int] = {}
        names: list[str] = []
        stack = [iter((root,))]
        while stack:
            name = next(stack[-1], None)
            if name is None:
                stack.pop()
                if names:
                    left = names.pop()
                    del path[left]
                    finished.add(left)
            elif name in path:
                yield names[path[name] : path[name] + SHOWN]
            elif name not in finished and name in graph:
                path[name] = len(names)
                names.append(name)
                stack.append(iter(graph[name]))
