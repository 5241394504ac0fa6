"""The YAML spelling of a recipe as events: YAML 1.2 core schema, without what has no counterpart in JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from workers.engine.recipe.text_events import Event, Kind, RecipeText

_INTEGERS = (
    (re.compile(r"([-+]?[0-9]+)"), 10),
    (re.compile(r"0o([0-7]+)"), 8),
    (re.compile(r"0x([0-9a-fA-F]+)"), 16),
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def yaml_events(source: RecipeText) -> Iterator[Event]:
    """The events of a YAML text.

    Raises yaml.YAMLError where it is no YAML, RecipeError for anchors, aliases, merge keys, tags, several documents,
    member names that are no texts, and numbers that are not finite.
    """
    documents = 0
    open_nodes: list[_Node] = []
    for event in yaml.parse(source.text, Loader=yaml.CSafeLoader):
        match event:
            case yaml.DocumentStartEvent():
                documents += 1
                _check_document(event, documents, source)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                open_nodes.pop()
                yield Event(Kind.END, None, *_span(event))
            case yaml.NodeEvent():
                names = bool(open_nodes) and open_nodes[-1].turn()
                yield _name(event, source) if names else _value(event, source)
                if isinstance(event, yaml.CollectionStartEvent):
                    open_nodes.append(_Node(isinstance(event, yaml.MappingStartEvent)))
            case _:
                pass


class _Node:
    """An open list or object; in an object, names and values take turns."""

    def __init__(self, is_object: bool) -> None:
        self._is_object = is_object
        self._name_next = False

    def turn(self) -> bool:
        """Whether the node that now comes is a name."""
        self._name_next = self._is_object and not self._name_next
        return self._name_next


def _start(event: yaml.Event) -> int:
    """The character at which an event starts."""
    return 0 if event.start_mark is None else event.start_mark.index


def _span(event: yaml.Event) -> tuple[int, int]:
    """The characters of an event; of a collection, those that open or close it."""
    return _start(event), 0 if event.end_mark is None else event.end_mark.index


def _check_document(event: yaml.DocumentStartEvent, number: int, source: RecipeText) -> None:
    if number > 1:
        raise source.error(_start(event), "a second document; a recipe is one")
    if event.version not in (None, (1, 2)):
        raise source.error(_start(event), "a %YAML directive for another version than 1.2")


def _check_plain(event: yaml.NodeEvent, source: RecipeText) -> None:
    """What YAML has and JSON has not."""
    index = _start(event)
    if isinstance(event, yaml.AliasEvent):
        raise source.error(index, f"the alias *{event.anchor}; a recipe has none, 'let' and 'values' name things")
    if event.anchor is not None:
        raise source.error(index, f"the anchor &{event.anchor}; a recipe has none, 'let' and 'values' name things")
    if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
        raise source.error(index, f"the tag {event.tag!r}; a recipe has none, quotes make a text")


def _name(event: yaml.NodeEvent, source: RecipeText) -> Event:
    _check_plain(event, source)
    index = _start(event)
    if not isinstance(event, yaml.ScalarEvent):
        raise source.error(index, "a list or an object as the name of a member")
    if event.implicit[0] and event.value == "<<":
        raise source.error(index, "the merge key <<; a recipe has none, 'templates' and 'with' share members")
    name = _scalar(event, source)
    if not isinstance(name, str):
        raise source.error(index, f"the name of a member is a text, found {event.value!r}; quotes make it one")
    return Event(Kind.MEMBER, name, *_span(event))


def _value(event: yaml.NodeEvent, source: RecipeText) -> Event:
    _check_plain(event, source)
    match event:
        case yaml.ScalarEvent():
            return Event(Kind.SCALAR, _scalar(event, source), *_span(event))
        case yaml.MappingStartEvent():
            return Event(Kind.OBJECT, None, *_span(event))
        case _:
            return Event(Kind.LIST, None, *_span(event))


def _scalar(event: yaml.ScalarEvent, source: RecipeText) -> str | int | float | bool | None:
    """The value of a scalar by the core schema; quoted and block scalars are texts."""
    written, index = event.value, _start(event)
    if not event.implicit[0]:
        return written
    if written in _WORDS:
        return _WORDS[written]
    if _NOT_FINITE.fullmatch(written):
        raise source.error(index, f"{written} is no number that a recipe can hold; quotes make it a text")
    for pattern, base in _INTEGERS:
        if digits := pattern.fullmatch(written):
            return source.integer(digits[1], index, base=base)
    if _FLOAT.fullmatch(written):
        return source.real(written, index)
    return written
