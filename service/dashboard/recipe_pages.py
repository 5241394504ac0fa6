"""Pages of recipes: which there are, and of one its source, what it expands to, and what differs from another."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from schemas.interface import PRINTABLE, RecipeDocument
from service.dashboard.differences import MOST_LINES, differences
from service.dashboard.highlighted import highlighted_lines, readable, spaced_json
from service.dashboard.object_rows import row_page
from service.dashboard.page import render
from service.dashboard.page_links import page_links
from service.dashboard.recipe_expansion_rows import expanded_rows
from service.dependencies import CurrentService, Service
from service.recipe_documents import recipe_document, recipe_page
from service.routes import recipes
from service.routes.recipes import RECIPE_ID, RecipeId, Revision, unknown_recipe
from workers.recipe_expansion import Document, expanded

router = APIRouter(include_in_schema=False, prefix="/recipes")

_PAGE = 50
FilterText = Annotated[str, Query(max_length=200, pattern=PRINTABLE)]
Start = Annotated[int, Query(ge=0, le=1_000_000)]
OtherId = Annotated[str, Query(pattern=rf"^$|{RECIPE_ID}")]


@router.get("")
def list_recipes(
    request: Request,
    service: CurrentService,
    text: FilterText = "",
    cursor: OtherId = "",
) -> Response:
    """Recipes by id, filtered by what stands in id or title."""
    with service.database.reading() as session:
        page = recipe_page(session, text=text or None, limit=_PAGE, cursor=cursor)
    filters = {"text": text} if text else {}
    return render(
        request,
        "recipes.html",
        page=page,
        text=text,
        cursor=cursor,
        **page_links("/recipes", filters, cursor=page.next),
    )


@router.get("/{recipe_id}")
def show_source(recipe_id: RecipeId, request: Request, service: CurrentService, revision: Revision = None) -> Response:
    """A recipe as it was written."""
    shown = _existing(service, recipe_id, revision)
    source = readable(shown.document, shown.text)
    lines = highlighted_lines(source)
    return render(request, "recipe.html", recipe=shown, lines=lines, left_out=source.lines - len(lines))


@router.get("/{recipe_id}/text")
def download(recipe_id: RecipeId, service: CurrentService, revision: Revision = None) -> Response:
    """That text as a file."""
    shown = _existing(service, recipe_id, revision)
    source = readable(shown.document, shown.text)
    name = quote(f"{shown.id}.r{shown.revision}{source.suffix}")
    return PlainTextResponse(source.text, headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}"})


@router.get("/{recipe_id}/expansion")
def show_expansion(
    recipe_id: RecipeId,
    request: Request,
    service: CurrentService,
    revision: Revision = None,
    text: FilterText = "",
    format: FilterText = "",
    start: Start = 0,
) -> Response:
    """The objects that a recipe makes, with all loops, templates and defaults resolved."""
    shown = _existing(service, recipe_id, revision)
    recipe = expanded(Document.of(shown.document), {})
    rows = row_page(expanded_rows(recipe), text=text, format=format, start=start)
    filters = {"revision": shown.revision, "text": text, "format": format}
    return render(
        request,
        "expansion.html",
        recipe=shown,
        expanded=recipe,
        page=rows,
        text=text,
        format=format,
        **page_links(f"/recipes/{recipe_id}/expansion", filters, start=rows.next),
    )


@router.get("/{recipe_id}/differences")
def show_differences(
    recipe_id: RecipeId,
    request: Request,
    service: CurrentService,
    revision: Revision = None,
    other: OtherId = "",
    other_revision: Annotated[Revision, Query()] = None,
) -> Response:
    """What this revision changes in an older one, or in another recipe."""
    shown = _existing(service, recipe_id, revision)
    older = [one for one in shown.revisions if one < shown.revision]
    chosen = other or recipe_id
    compared: RecipeDocument | None = None
    if other_revision is not None or chosen != recipe_id or older:
        newest_older = older[0] if chosen == recipe_id and older else None
        compared = _existing(service, chosen, other_revision or newest_older)
    context: dict[str, Any] = {"recipe": shown, "other": compared, "chosen": chosen, "places": None}
    if compared is not None:
        context["places"] = _compared(compared, shown)
    return render(request, "differences.html", most_lines=MOST_LINES, **context)


@router.get("/{recipe_id}/delete")
def ask_before_deleting(
    recipe_id: RecipeId, request: Request, service: CurrentService, revision: Revision = None
) -> Response:
    """Asks whether a stored recipe, or one revision of it, is to go."""
    shown = _existing(service, recipe_id, revision)
    return render(request, "delete_recipe.html", recipe=shown, revision=revision)


@router.post("/{recipe_id}/delete")
def delete(recipe_id: RecipeId, service: CurrentService, revision: Revision = None) -> Response:
    """Removes it, and goes to what is left."""
    recipes.delete_recipe(recipe_id, service, revision)
    with service.database.reading() as session:
        is_left = recipe_document(session, recipe_id, None) is not None
    return RedirectResponse(f"/recipes/{recipe_id}" if is_left else "/recipes", HTTPStatus.SEE_OTHER)


@dataclass(frozen=True, slots=True)
class Compared:
    """The places where two recipes differ, None where they are too long to be compared; `as_json` if one of them was
    written as YAML and the other was not."""

    groups: list[list[Any]] | None
    as_json: bool


def _compared(old: RecipeDocument, new: RecipeDocument) -> Compared:
    as_json = old.text is None or new.text is None
    texts = [spaced_json(one.document) if as_json else readable(one.document, one.text).text for one in (old, new)]
    try:
        groups = differences(*map(str.splitlines, texts))
    except ValueError:
        return Compared(None, as_json)
    return Compared(list(groups), as_json)


def _existing(service: Service, recipe_id: str, revision: int | None) -> RecipeDocument:
    with service.database.reading() as session:
        found = recipe_document(session, recipe_id, revision)
    if found is None:
        raise unknown_recipe(recipe_id, revision)
    return found
