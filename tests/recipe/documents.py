"""Small recipes to vary, and what comes of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from schemas.errors import Fault, RecipeError
from schemas.recipe.expanded import ExpandedObject, ExpandedRecipe, Expression
from workers.engine.recipe.load import expand_document

Document = dict[str, Any]

TENSOR: Document = {"tensor": "w"}
EVIDENCE: list[Document] = [{"claim": "as published", "url": "https://example.org/card"}]
SHA256 = "0123456789abcdef" * 4

MINIMAL: Document = {
    "recipe": 1,
    "id": "tiny.plain",
    "revision": 1,
    "model_id": "tiny",
    "weights_id": "plain",
    "sources": {"base": {"kind": "checkpoint"}},
    "objects": [{"name": "a", "shape": [4], "format": "BF16", "value": {"tensor": "w"}}],
}


def recipe(**members: object) -> Document:
    """The minimal recipe with some members replaced or added."""
    return {**copy.deepcopy(MINIMAL), **members}


def plain(**members: object) -> Document:
    """A BF16 object of one tensor, with some members replaced or added."""
    return {"name": "a", "shape": [4], "format": "BF16", "value": {"tensor": "w"}, **members}


def quantized(**members: object) -> Document:
    """A Q4 object of one tensor, with some members replaced or added."""
    encoded = {"name": "q", "shape": [2, 64], "format": "Q4G64_F16S", "encode": "MAXABS_F16_RECIP_RNE_V1"}
    return {**encoded, "value": {"tensor": "w"}, **members}


def of_value(value: object, **members: object) -> Document:
    """The minimal recipe with another value in its object."""
    return recipe(objects=[plain(value=value)], **members)


def expand(document: object, let: Mapping[str, int] | None = None) -> ExpandedRecipe:
    return expand_document(document, where="test", let=let or {})


def objects_of(document: object, let: Mapping[str, int] | None = None) -> tuple[ExpandedObject, ...]:
    return expand(document, let).objects


def names_of(document: object, let: Mapping[str, int] | None = None) -> list[str]:
    return [spec.name for spec in objects_of(document, let)]


def value_of(value: object, **members: object) -> Expression:
    """What the value of the only object expands to."""
    [spec] = objects_of(of_value(value, **members))
    return spec.value


def faults_of(document: object, let: Mapping[str, int] | None = None) -> tuple[Fault, ...]:
    """The faults of a document that has some."""
    with pytest.raises(RecipeError) as caught:
        expand(document, let)
    return caught.value.faults
