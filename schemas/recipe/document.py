"""A whole recipe as a document writes it: the members that recipe.md names, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, PlainValidator

from schemas.errors import Fault
from schemas.recipe.arithmetic import Formula
from schemas.recipe.entries import EntryDocument, read_entries
from schemas.recipe.fields import (
    Closed,
    Faulty,
    Integer,
    OptionalText,
    SetLiteral,
    TextMember,
    describe,
    faults_in,
    faulty,
    read_integer,
    read_list,
    read_mapping,
    read_model,
    read_plain,
    read_set_literal,
    read_text,
    read_variables,
)
from schemas.recipe.limits import SOURCES
from schemas.recipe.operators import ExpressionDocument, read_expression
from schemas.recipe.pointer import escape
from schemas.recipe.text import Text

LANGUAGE_VERSION = 1

LetDocument = int | Formula | SetLiteral
"""An integer, or a set of them."""


def read_version(value: object) -> int | Faulty:
    if isinstance(value, bool) or not isinstance(value, int):
        return faulty(f"expected the language version {LANGUAGE_VERSION}, found {describe(value)}")
    return value if value == LANGUAGE_VERSION else faulty(f"language version {value} is not known; this is version 1")


def read_optional_plain(value: object) -> str | Faulty | None:
    """`target` and `architecture` may be null."""
    return None if value is None else read_plain(value)


@dataclass(frozen=True, slots=True)
class ConfigMembers:
    """Members of config.json as written. They may be anything, so variables in them are only looked at in expansion."""

    members: Mapping[str, object]


def read_config(value: object) -> ConfigMembers | Faulty:
    return (
        ConfigMembers(value)
        if isinstance(value, dict)
        else faulty(f"expected members of config.json, found {describe(value)}")
    )


def read_patterns(value: object) -> list[Text | Faulty] | Faulty:
    return read_list(value, read_text, what="patterns")


def read_repairs(value: object) -> list[Text | Faulty] | Faulty:
    return read_list(value, read_text, what="repairs")


class CheckpointDocument(Closed):
    kind: TextMember
    origin: OptionalText = None
    quantization: OptionalText = None
    config: Annotated[ConfigMembers | Faulty | None, PlainValidator(read_config)] = None
    unused: Annotated[list[Text | Faulty] | Faulty, PlainValidator(read_patterns)] = Field(default_factory=list)


class FileDocument(Closed):
    kind: TextMember
    origin: OptionalText = None
    sha256: OptionalText = None


SourceDocument = CheckpointDocument | FileDocument


class EvidenceDocument(Closed):
    claim: TextMember
    url: TextMember


class ResourceDocument(Closed):
    name: TextMember
    source: TextMember
    file: OptionalText = None
    sha256: OptionalText = None
    repair: Annotated[list[Text | Faulty] | Faulty, PlainValidator(read_repairs)] = Field(default_factory=list)


def read_source(value: object) -> SourceDocument | Faulty:
    """A checkpoint or a file, told apart by `kind`."""
    if not isinstance(value, dict):
        return faulty(f"expected a source, found {describe(value)}")
    match value.get("kind"):
        case "checkpoint":
            return read_model(CheckpointDocument, value, what="a checkpoint")
        case "file":
            return read_model(FileDocument, value, what="a file source")
        case None:
            return faulty("a source needs the member 'kind': checkpoint or file")
        case kind:
            return Faulty((Fault("/kind", f"unknown kind of source: found {describe(kind)}; known: checkpoint, file"),))


def read_sources(value: object) -> dict[str, SourceDocument | Faulty] | Faulty:
    if isinstance(value, dict) and len(value) > SOURCES:
        return faulty(f"{len(value)} sources; the limit is {SOURCES}")
    return read_mapping(value, read_source, what="sources")


def read_evidence(value: object) -> list[EvidenceDocument | Faulty] | Faulty:
    return read_list(value, lambda item: read_model(EvidenceDocument, item, what="evidence"), what="evidence")


def read_let_value(value: object) -> LetDocument:
    """An integer, an "=expression", a range or a list; not the name of another set."""
    return read_set_literal(value) if isinstance(value, list | dict) else read_integer(value)


def read_let(value: object) -> dict[str, LetDocument] | Faulty:
    return read_variables(value, read_let_value, what="integers and sets")


def read_values(value: object) -> dict[str, ExpressionDocument | Faulty] | Faulty:
    return read_mapping(value, read_expression, what="expressions")


def read_templates(value: object) -> dict[str, list[EntryDocument | Faulty] | Faulty] | Faulty:
    return read_mapping(value, read_entries, what="templates")


def read_resources(value: object) -> list[ResourceDocument | Faulty] | Faulty:
    return read_list(value, lambda item: read_model(ResourceDocument, item, what="a resource"), what="resources")


def _required(member: str) -> Faulty:
    return faulty(f"a recipe needs the member {member!r}")


Plain = Annotated[str | Faulty, PlainValidator(read_plain)]
OptionalPlain = Annotated[str | Faulty | None, PlainValidator(read_optional_plain)]


class RecipeDocument(Closed):
    """One recipe as written. A required member that is missing is Faulty, so that the others are still looked at."""

    recipe: Annotated[int | Faulty, PlainValidator(read_version)] = _required("recipe")
    id: Plain = _required("id")
    revision: Integer = _required("revision")
    model_id: TextMember = _required("model_id")
    weights_id: TextMember = _required("weights_id")
    title: OptionalText = None
    target: OptionalPlain = None
    architecture: OptionalPlain = None
    sources: Annotated[dict[str, SourceDocument | Faulty] | Faulty, PlainValidator(read_sources)] = _required("sources")
    evidence: Annotated[list[EvidenceDocument | Faulty] | Faulty, PlainValidator(read_evidence)] = Field(
        default_factory=list
    )
    let: Annotated[dict[str, LetDocument] | Faulty, PlainValidator(read_let)] = Field(default_factory=dict)
    values: Annotated[dict[str, ExpressionDocument | Faulty] | Faulty, PlainValidator(read_values)] = Field(
        default_factory=dict
    )
    templates: Annotated[dict[str, list[EntryDocument | Faulty] | Faulty] | Faulty, PlainValidator(read_templates)] = (
        Field(default_factory=dict)
    )
    resources: Annotated[list[ResourceDocument | Faulty] | Faulty, PlainValidator(read_resources)] = Field(
        default_factory=list
    )
    objects: Annotated[list[EntryDocument | Faulty] | Faulty, PlainValidator(read_entries)] = _required("objects")


def read_recipe_document(value: dict[str, object]) -> tuple[RecipeDocument, list[Fault]]:
    """The document as far as it can be read, and every fault of its structure by pointer.

    `value` is plain JSON data with text keys.
    """
    members = RecipeDocument.model_fields
    known = ", ".join(members)
    faults = [
        Fault(f"/{escape(name)}", f"unknown member {name!r} of a recipe; known: {known}")
        for name in value
        if name not in members
    ]
    document = RecipeDocument.model_validate({name: item for name, item in value.items() if name in members})
    missing = {f"/{name}" for name in members if name not in value}
    faults += [Fault("", fault.message) if fault.at in missing else fault for fault in faults_in(document)]
    return document, faults
