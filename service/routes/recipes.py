"""Recipes that jobs take by their ids: registered ones, which come with the service, and stored ones."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from schemas.errors import RecipeError, RegisteredRecipeError
from schemas.interface import PRINTABLE, Page, RecipeDocument, RecipeSummary
from schemas.recipe.limits import CANONICAL_INTEGER_MAX, ID_CHARACTERS
from service.content_types import JSON, YAML, content_type
from service.dependencies import CurrentService, Limit, Service
from service.description import problems
from service.located_faults import located_faults
from service.problems import ProblemResponse
from service.recipe_documents import recipe_document, recipe_page
from service.recipe_storing import WHERE, store_recipe_text
from workers.engine.recipe.registered import registered_ids
from workers.public_problems import public_problem
from workers.recipe_records import remove_stored_recipe

router = APIRouter(prefix="/v1/recipes", tags=["recipes"])

RECIPE_ID = rf"^[a-z0-9][a-z0-9._-]{{0,{ID_CHARACTERS - 1}}}$"

_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        JSON: {"schema": {"type": "object", "additionalProperties": True}},
        YAML: {"schema": {"type": "string"}},
    },
}


async def _text(request: Request) -> bytes:
    return await request.body()


async def _is_json(request: Request) -> bool:
    return content_type(request, (JSON, YAML)) == JSON


async def _recipe_id(recipe_id: Annotated[str, Path()]) -> str:
    if re.match(RECIPE_ID, recipe_id) is None:
        raise unknown_recipe(recipe_id, None)
    return recipe_id


RecipeId = Annotated[str, Depends(_recipe_id)]
Revision = Annotated[int | None, Query(ge=1, le=CANONICAL_INTEGER_MAX)]


@router.get("")
def list_recipes(
    service: CurrentService,
    text: Annotated[str | None, Query(min_length=1, max_length=200, pattern=PRINTABLE)] = None,
    limit: Limit = 100,
    cursor: Annotated[str, Query(pattern=rf"^$|{RECIPE_ID}")] = "",
) -> Page[RecipeSummary]:
    """Every registered and stored recipe in its newest revision, by id; `text` stands somewhere in id or title, in
    upper or lower case."""
    with service.database.reading() as session:
        return recipe_page(session, text=text, limit=limit, cursor=cursor)


@router.post(
    "",
    status_code=HTTPStatus.CREATED,
    response_model=RecipeSummary,
    responses={
        HTTPStatus.OK: {"model": RecipeSummary, "description": "The same document is stored already"},
        **problems(HTTPStatus.CONFLICT, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    },
    openapi_extra={"requestBody": _BODY},
)
def store(
    service: CurrentService,
    text: Annotated[bytes, Depends(_text)],
    is_json: Annotated[bool, Depends(_is_json)],
) -> Response:
    """Validates a recipe and stores it under its id and revision. Of YAML the comments are kept, to be shown. Faults
    are told all at once, with their lines. What is stored stays as it is: a change takes a new revision."""
    try:
        stored, is_new = store_recipe_text(service.database, text, as_json=is_json)
    except RecipeError as error:
        return _faulty(text, error, service)
    return JSONResponse(
        stored.model_dump(mode="json"),
        HTTPStatus.CREATED if is_new else HTTPStatus.OK,
        {"Location": f"{router.prefix}/{stored.id}?revision={stored.revision}"},
    )


@router.get("/{recipe_id}")
def show_recipe(recipe_id: RecipeId, service: CurrentService, revision: Revision = None) -> RecipeDocument:
    """One recipe with its document, in the newest revision or in the one that is named."""
    with service.database.reading() as session:
        document = recipe_document(session, recipe_id, revision)
    if document is None:
        raise unknown_recipe(recipe_id, revision)
    return document


@router.delete("/{recipe_id}", status_code=HTTPStatus.NO_CONTENT, responses=problems(HTTPStatus.CONFLICT))
def delete_recipe(recipe_id: RecipeId, service: CurrentService, revision: Revision = None) -> None:
    """Removes all revisions of a stored recipe, or the one that is named. Jobs that were submitted with it keep it."""
    if recipe_id in registered_ids():
        raise RegisteredRecipeError(
            f"recipe {recipe_id}", expected="a stored one", found="one that comes with the service"
        )
    with service.database.writing() as session:
        removed = remove_stored_recipe(session, recipe_id, revision)
    if not removed:
        raise unknown_recipe(recipe_id, revision)


def unknown_recipe(recipe_id: str, revision: int | None) -> HTTPException:
    """404 for a recipe, or for a revision of one."""
    which = "" if revision is None else f" with revision {revision}"
    return HTTPException(HTTPStatus.NOT_FOUND, f"There is no recipe {recipe_id}{which}.")


def _faulty(text: bytes, error: RecipeError, service: Service) -> Response:
    """The problem of a recipe with faults, with the lines of its text."""
    problem = public_problem(error, service.settings)
    located = located_faults(text, error.faults, where=WHERE)
    faults = [
        fault.model_copy(update={"message": place.message, "line": place.line, "column": place.column})
        for fault, place in zip(problem.errors or (), located, strict=True)
    ]
    return ProblemResponse(problem.model_copy(update={"errors": tuple(faults)}))
