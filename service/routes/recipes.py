"""Registered recipes."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus

from fastapi import APIRouter, HTTPException

from schemas.errors import RegistryError
from schemas.interface import Page, RecipeDocument, RecipeSummary
from service.registered_documents import registered_document
from workers.engine.recipe.registered import load_registered, registered_ids

router = APIRouter(prefix="/v1/recipes", tags=["recipes"])


@router.get("")
def list_recipes() -> Page[RecipeSummary]:
    """Every registered recipe, by id."""
    return Page(items=tuple(_summary(recipe_id) for recipe_id in registered_ids()), next=None)


@router.get("/{recipe_id}")
def show_recipe(recipe_id: str) -> RecipeDocument:
    """One registered recipe, with its document."""
    try:
        document = registered_document(recipe_id)
    except RegistryError as error:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no recipe {recipe_id}.") from error
    return RecipeDocument(**dict(_summary(recipe_id)), document=document.data)


@cache
def _summary(recipe_id: str) -> RecipeSummary:
    """Of a registered recipe: expanding one takes a while, and it never changes."""
    recipe = load_registered(recipe_id)
    return RecipeSummary(
        id=recipe.id,
        revision=recipe.revision,
        sha256=recipe.sha256,
        title=recipe.title,
        target=recipe.target,
        architecture=recipe.architecture,
        objects=len(recipe.resources) + len(recipe.objects),
    )
