"""Loops and templates unrolled to the object entries that they stand for: recipe.md (objects)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.recipe.document import RecipeDocument
from schemas.recipe.entries import EntryDocument, LoopDocument, ObjectDocument, UseDocument
from schemas.recipe.fields import Faulty
from schemas.recipe.pointer import NodePath
from workers.engine.recipe.fault_list import unknown
from workers.engine.recipe.resolution import Resolver
from workers.engine.recipe.scope import Scope

Entry = tuple[EntryDocument | Faulty, NodePath]


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """One object entry of the document, the scope that it is to be evaluated in, and where it stands."""

    entry: ObjectDocument
    scope: Scope
    path: NodePath


@dataclass(frozen=True, slots=True)
class _Frame:
    """Entries still to come, and the template that they are from, if any."""

    entries: Iterator[tuple[EntryDocument | Faulty, Scope, NodePath]]
    template: str | None


class EntryExpander:
    """Goes through `objects` in order. `complete` turns false once an entry was left out because of a fault.

    `cyclic` says that templates contain themselves, which is then a fault already.
    """

    def __init__(self, document: RecipeDocument, resolver: Resolver, scope: Scope, *, cyclic: bool) -> None:
        self.complete = True
        self._cyclic = cyclic
        self._document = document
        self._resolver = resolver
        self._scope = scope
        self._active: set[str] = set()

    def placed(self) -> Iterator[PlacedEntry]:
        """Every object entry, once a turn; an explicit stack, so that nesting cannot exhaust Python's."""
        root = _listed(self._document.objects, (None, "objects"))
        stack = [_Frame(self._in_scope(root, self._scope), None)]
        while stack:
            following = next(stack[-1].entries, None)
            if following is None:
                self._active.discard(stack.pop().template or "")
                continue
            entry, scope, path = following
            self._resolver.budget.steps(1, path)
            match entry:
                case Faulty():
                    self.complete = False
                case LoopDocument():
                    stack.append(_Frame(self._turns(entry, scope, path), None))
                case UseDocument() if self._passes(entry, scope, path):
                    stack.append(self._used(entry, scope, path))
                case ObjectDocument() if self._passes(entry, scope, path):
                    yield PlacedEntry(entry, scope, path)
                case _:
                    pass

    def _passes(self, entry: EntryDocument, scope: Scope, path: NodePath) -> bool:
        admitted = self._resolver.admits(entry, scope, path)
        if admitted is None:
            self.complete = False
        return bool(admitted)

    def _turns(
        self, loop: LoopDocument, scope: Scope, path: NodePath
    ) -> Iterator[tuple[EntryDocument | Faulty, Scope, NodePath]]:
        """The body of a loop once a turn; `when` and `unless` see the loop's variable, then `with` is added."""
        variable = self._resolver.variable(loop.variable, scope, (path, "for"))
        integers = self._resolver.turns(loop.over, scope, (path, "in"))
        if variable is None or integers is None:
            self.complete = False
            return
        body = _listed(loop.objects, (path, "objects"))
        for value in integers:
            self._resolver.budget.turn(path)
            turn = scope.bind(variable, value)
            if self._passes(loop, turn, path):
                yield from self._with_texts(loop, body, turn, path)

    def _used(self, use: UseDocument, scope: Scope, path: NodePath) -> _Frame:
        name = self._resolver.name(use.template, scope, (path, "use"))
        templates = self._document.templates
        if name is None or isinstance(templates, Faulty):
            self.complete = False
        elif name not in templates:
            self._resolver.faults.add((path, "use"), unknown("template", name, templates))
            self.complete = False
        elif name in self._active:
            if not self._cyclic:
                self._resolver.faults.add((path, "use"), f"the template {name!r} contains itself")
        else:
            self._active.add(name)
            body = _listed(templates[name], ((None, "templates"), name))
            return _Frame(self._with_texts(use, body, scope, path), name)
        return _Frame(iter(()), None)

    def _with_texts(
        self, entry: LoopDocument | UseDocument, body: list[Entry], scope: Scope, path: NodePath
    ) -> Iterator[tuple[EntryDocument | Faulty, Scope, NodePath]]:
        inner = self._resolver.inner_scope(entry.texts, scope, (path, "with"))
        if inner is None:
            self.complete = False
        else:
            yield from self._in_scope(body, inner)

    def _in_scope(self, entries: list[Entry], scope: Scope) -> Iterator[tuple[EntryDocument | Faulty, Scope, NodePath]]:
        for entry, path in entries:
            yield entry, scope, path


def _listed(entries: list[EntryDocument | Faulty] | Faulty, path: NodePath) -> list[Entry]:
    """Entries with their paths; a list that could not be read counts as one faulty entry."""
    if isinstance(entries, Faulty):
        return [(entries, path)]
    return [(entry, (path, index)) for index, entry in enumerate(entries)]
