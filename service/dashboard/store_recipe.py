"""The page on which a recipe is stored. Its path is none that a recipe's id could have."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import RedirectResponse, Response

from schemas.errors import FaultyDocumentError, NinforgeError
from schemas.problems import Problem
from service.dashboard.highlighted import readable
from service.dashboard.page import render
from service.dependencies import CurrentService
from service.located_faults import LocatedFault, located_faults
from service.recipe_documents import recipe_document
from service.recipe_storing import WHERE, store_recipe_text
from service.routes.recipes import RECIPE_ID, Revision, unknown_recipe
from workers.public_problems import public_problem

router = APIRouter(include_in_schema=False, prefix="/store-recipe")

_NEXT_STEPS = {
    "recipe": "Mend the recipe where it says so here, and press the button again.",
    "recipe-taken": "Give it the next revision, and press the button again: what is stored stays as it is.",
    "registered-recipe": "Give it an id of your own, and press the button again.",
}


async def _sent_text(request: Request, service: CurrentService) -> str:
    async with request.form(max_files=0, max_fields=1, max_part_size=service.settings.max_body_bytes) as data:
        text = data.get("text")
        if not isinstance(text, str):
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "expected a recipe's text in the form, found none")
        return text.replace("\r\n", "\n")


@router.get("")
def begin(
    request: Request,
    service: CurrentService,
    like: Annotated[str, Query(pattern=rf"^$|{RECIPE_ID}")] = "",
    revision: Revision = None,
) -> Response:
    """An empty text, or that of another recipe to begin with."""
    text = ""
    if like:
        with service.database.reading() as session:
            other = recipe_document(session, like, revision)
        if other is None:
            raise unknown_recipe(like, revision)
        text = readable(other.document, other.text).text
    return render(request, "store_recipe.html", text=text, like=like, problem=None, faults=(), next_step="")


@router.post("")
def store(text: Annotated[str, Depends(_sent_text)], request: Request, service: CurrentService) -> Response:
    """Stores the recipe and goes to it, or shows what is wrong at its lines."""
    try:
        stored, _ = store_recipe_text(service.database, text)
    except NinforgeError as error:
        problem = public_problem(error, service.settings)
        return render(
            request,
            "store_recipe.html",
            HTTPStatus(problem.status),
            text=text,
            like="",
            problem=problem,
            faults=_located(text, error, problem),
            next_step=_NEXT_STEPS.get(error.slug, "Mend what is named here, and press the button again."),
        )
    return RedirectResponse(f"/recipes/{stored.id}?revision={stored.revision}", HTTPStatus.SEE_OTHER)


def _located(text: str, error: NinforgeError, problem: Problem) -> Sequence[LocatedFault]:
    if not isinstance(error, FaultyDocumentError) or problem.errors is None:
        return ()
    return located_faults(text, error.faults, where=WHERE)
