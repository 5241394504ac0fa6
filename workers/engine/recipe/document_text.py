"""The text of a recipe: JSON, or YAML 1.2 (core schema) with the same content, read to plain data (recipe.md)."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import yaml

from schemas.errors import Fault, RecipeError
from schemas.recipe.limits import TEXT_BYTES
from workers.engine.recipe.fault_list import EXPECTED
from workers.engine.recipe.json_events import json_events
from workers.engine.recipe.text_events import Event, Place, RecipeText, build, locate, scalar_spans
from workers.engine.recipe.yaml_events import yaml_events

_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]*")
_OTHER_ENCODINGS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class TextDocument:
    """A text that was read: its data, and the spelling that it turned out to be in."""

    source: RecipeText
    data: object
    is_json: bool

    def places(self, pointers: Iterable[str]) -> Mapping[str, Place]:
        """Line and column of each JSON pointer; of one to a member that is missing, those of where it would be."""
        ancestors = {at: list(_with_ancestors(at)) for at in pointers}
        wanted = {ancestor for chain in ancestors.values() for ancestor in chain}
        found = locate(self._events(), wanted)
        return {
            at: self.source.place(next(found[ancestor] for ancestor in chain if ancestor in found))
            for at, chain in ancestors.items()
        }

    def with_scalars(self, values: Mapping[str, str | int | None]) -> str:
        """The text with other scalars at some JSON pointers, and all else as it was.

        A text is written without quotes where it stood so and still reads as a text. Raises KeyError for a pointer to
        no scalar.
        """
        text = self.source.text
        spans = scalar_spans(self._events(), values.keys())
        for at in sorted(values, key=lambda at: spans[at].start, reverse=True):
            start = spans[at].start
            old = text[spans[at]].rstrip()  # a block scalar ends where the next line begins
            text = f"{text[:start]}{self._spelled(values[at], old)}{text[start + len(old) :]}"
        return text

    def _spelled(self, value: str | int | None, old: str) -> str:
        plain = isinstance(value, str) and not self.is_json and old[:1].isalnum() and _is_plain(value)
        return str(value) if plain else json.dumps(value)

    def _events(self) -> Iterator[Event]:
        return json_events(self.source) if self.is_json else yaml_events(self.source)


def _is_plain(text: str) -> bool:
    """Whether YAML reads characters without quotes as this text."""
    if not _PLAIN.fullmatch(text):
        return False
    source = RecipeText(text, "")
    try:
        return build(yaml_events(source), source) == text
    except RecipeError:  # digits around an e are a number too large
        return False


def _with_ancestors(at: str) -> Iterator[str]:
    while at:
        yield at
        at = at.rpartition("/")[0]
    yield ""


def read_text_document(text: str | bytes, *, where: str) -> TextDocument:
    """Reads JSON or YAML. Raises RecipeError, with line and column, for a text that is neither or breaks its rules."""
    source = RecipeText(_decode(text, where), where)
    if source.text.lstrip()[:1] not in ("{", "["):
        return _read_yaml(source, "")
    try:
        return TextDocument(source, build(json_events(source), source), is_json=True)
    except json.JSONDecodeError as error:
        place = source.place(error.pos)
        return _read_yaml(source, f"neither JSON ({place}: {error.msg}) nor YAML: ")


def _read_yaml(source: RecipeText, prefix: str) -> TextDocument:
    try:
        return TextDocument(source, build(yaml_events(source), source), is_json=False)
    except yaml.MarkedYAMLError as error:
        index = 0 if error.problem_mark is None else error.problem_mark.index
        raise source.error(index, f"{prefix}{error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        raise source.error(error.position, f"{prefix}{error.reason}") from None


def _decode(text: str | bytes, where: str) -> str:
    """Text of at most 4 MiB without a byte order mark. Raises RecipeError for another encoding than UTF-8."""
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if len(data) > TEXT_BYTES:
        raise _refusal(where, f"{len(data)} bytes of text; the limit is {TEXT_BYTES // 2**20} MiB")
    if data.startswith(_OTHER_ENCODINGS):
        raise _refusal(where, "UTF-16 or UTF-32; a recipe is UTF-8")
    try:
        decoded = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"0x{data[error.start]:02x} at byte {error.start}"
        raise _refusal(where, f"line {line}: {found} is no UTF-8 ({error.reason})") from None
    nul = decoded.find("\0")
    if nul >= 0:
        raise RecipeText(decoded, where).error(nul, "the character NUL")
    return decoded.removeprefix("\ufeff")


def _refusal(where: str, message: str) -> RecipeError:
    return RecipeError(where, [Fault("", message)], expected=EXPECTED)
