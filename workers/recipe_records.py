"""Recipes in SQL: documents that jobs refer to, and stored recipes, which are used by their ids.

A document is there as long as a job or a stored recipe refers to it. Whoever comes to refer to it locks its row, and so
does whoever removes the last that did; on SQLite one transaction at a time writes anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from sqlalchemy import and_, delete, exists, func, or_, select
from sqlalchemy.orm import Session

from schemas.errors import RecipeTakenError
from schemas.recipe.expanded import ExpandedRecipe
from schemas.tables import JobRow, RecipeRow, StoredRecipeRow
from workers.database import database_time, insert_if_new
from workers.recipe_expansion import Document


def document_of(row: RecipeRow) -> Document:
    """The document in a row."""
    return Document(row.document, row.sha256)


def hold_document(session: Session, document: Document) -> str:
    """Sees to it that a document is there, and stays until the transaction ends. Its SHA-256."""
    sha256 = document.sha256
    held = select(RecipeRow.sha256).where(RecipeRow.sha256 == sha256).with_for_update(read=True, key_share=True)
    while session.scalar(held) is None:
        row = {"sha256": sha256, "document": dict(document.data)}
        named = {name: document.data[name] for name in ("model_id", "weights_id")}
        session.execute(insert_if_new(session, RecipeRow).values(**row, **named))
    return sha256


@contextmanager
def giving_up_documents(session: Session, sha256: Collection[str]) -> Iterator[list[str]]:
    """Removes those of these documents that nothing refers to any more after the block; gives it those that are there.

    They are locked before the block removes what refers to them: whoever adds a reference has the document first, and
    may then wait for just these rows to go.
    """
    documents = select(RecipeRow.sha256).where(RecipeRow.sha256.in_(sha256)).order_by(RecipeRow.sha256)
    held = list(session.scalars(documents.with_for_update()))
    yield held
    session.flush()
    referred = or_(
        exists().where(JobRow.recipe_document_sha256 == RecipeRow.sha256),
        exists().where(StoredRecipeRow.document_sha256 == RecipeRow.sha256),
    )
    session.execute(delete(RecipeRow).where(RecipeRow.sha256.in_(held), ~referred))


def store_recipe(
    session: Session, document: Document, recipe: ExpandedRecipe, *, text: str | None
) -> tuple[StoredRecipeRow, bool]:
    """Stores what a document expands to, and whether it was not there yet. Where the same document is stored already,
    the text that it was sent as then stays.

    Raises RecipeTakenError if another document is stored under id and revision.
    """
    sha256 = hold_document(session, document)
    adding = (
        insert_if_new(session, StoredRecipeRow)
        .values(
            id=recipe.id,
            revision=recipe.revision,
            document_sha256=sha256,
            text=text,
            sha256=recipe.sha256,
            title=recipe.title,
            target=recipe.target,
            architecture=recipe.architecture,
            objects=len(recipe.resources) + len(recipe.objects),
            created_at=database_time(session),
        )
        .returning(StoredRecipeRow.id)
    )
    is_new = False
    while (row := session.get(StoredRecipeRow, (recipe.id, recipe.revision))) is None:
        is_new = session.scalar(adding) is not None  # not if another was in the way, which may be gone by now
    if row.document_sha256 != sha256:
        raise RecipeTakenError(
            f"recipe {recipe.id}",
            expected=f"a new revision, or the document that is stored as revision {recipe.revision}",
            found="another document",
        )
    return row, is_new


def stored_recipe(session: Session, recipe_id: str, revision: int | None = None) -> StoredRecipeRow | None:
    """One revision of a stored recipe, the newest where none is named; None if there is none."""
    query = select(StoredRecipeRow).where(StoredRecipeRow.id == recipe_id)
    if revision is not None:
        query = query.where(StoredRecipeRow.revision == revision)
    return session.scalar(query.order_by(StoredRecipeRow.revision.desc()).limit(1))


def stored_revisions(session: Session, recipe_id: str) -> list[int]:
    """The revisions of a stored recipe, newest first."""
    query = select(StoredRecipeRow.revision).where(StoredRecipeRow.id == recipe_id)
    return list(session.scalars(query.order_by(StoredRecipeRow.revision.desc())))


def newest_stored_recipes(session: Session, *, text: str | None, after: str, limit: int) -> list[StoredRecipeRow]:
    """The newest revision of each stored recipe whose id comes after this one, with `text` in its id or title."""
    newest = (
        select(StoredRecipeRow.id, func.max(StoredRecipeRow.revision).label("revision"))
        .where(StoredRecipeRow.id > after)
        .group_by(StoredRecipeRow.id)
        .subquery()
    )
    query = select(StoredRecipeRow).join(
        newest, (StoredRecipeRow.id == newest.c.id) & (StoredRecipeRow.revision == newest.c.revision)
    )
    if text is not None:
        columns = (StoredRecipeRow.id, StoredRecipeRow.title)
        query = query.where(or_(*(column.icontains(text, autoescape=True) for column in columns)))
    return list(session.scalars(query.order_by(StoredRecipeRow.id).limit(limit)))


def remove_stored_recipe(session: Session, recipe_id: str, revision: int | None) -> int:
    """Removes one revision of a stored recipe, or all where none is named; how many there were. Jobs keep theirs."""
    goes = StoredRecipeRow.id == recipe_id
    if revision is not None:
        goes = and_(goes, StoredRecipeRow.revision == revision)
    documents = set(session.scalars(select(StoredRecipeRow.document_sha256).where(goes)))
    with giving_up_documents(session, documents) as held:
        # Of a document that has come since it was looked for, what refers to it has, too, and stays.
        going = delete(StoredRecipeRow).where(goes, StoredRecipeRow.document_sha256.in_(held))
        return len(session.scalars(going.returning(StoredRecipeRow.revision)).all())
