"""Documents of recipes in SQL: one row for all who refer to it, gone with the last, on both databases."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import alembic.command
import pytest
from sqlalchemy import URL, Connection, column, event, insert, select, table, text
from sqlalchemy.exc import IntegrityError

from schemas.errors import RecipeTakenError
from schemas.states import JobState
from schemas.tables import JobRow, RecipeRow, SubmissionKeyRow
from tests.job_rows import job_row
from tests.small_job import recipe_document
from tests.workers.test_database import _JOB as OLD_JOB
from workers import job_endings, recipe_records
from workers.claims import locked_job
from workers.database import Database, migration_config
from workers.engine.recipe.load import expand_document
from workers.identifiers import time_ordered_id
from workers.recipe_expansion import Document, expanded

_ROUNDS = 30


def _documents(database: Database) -> list[dict[str, Any]]:
    with database.reading() as session:
        return list(session.scalars(select(RecipeRow.document)))


def _add_job(database: Database, document: dict[str, Any]) -> JobRow:
    with database.writing() as session:
        job = job_row(JobState.CANCELLED)
        job.recipe_document_sha256 = recipe_records.hold_document(session, Document.of(document))
        session.add(job)
        session.flush()
        session.expunge(job)
    return job


def _remove_job(database: Database, job: JobRow) -> None:
    with database.writing() as session:
        row = locked_job(session, job.id)
        assert row is not None
        job_endings.remove(session, row)


def _store(database: Database, document: dict[str, Any], sent: str | None = None) -> bool:
    recipe = expand_document(document, where="test")
    with database.writing() as session:
        return recipe_records.store_recipe(session, Document.of(document), recipe, text=sent)[1]


def _revision(revision: int, **members: Any) -> dict[str, Any]:
    return {**recipe_document(layers=1), "revision": revision, **members}


def test_a_document_is_there_once_and_as_long_as_a_job_refers_to_it(database: Database) -> None:
    reordered = dict(reversed(recipe_document().items()))
    jobs = [_add_job(database, recipe_document()), _add_job(database, reordered)]
    assert _documents(database) == [recipe_document()]
    _remove_job(database, jobs[0])
    assert _documents(database) == [recipe_document()]
    _remove_job(database, jobs[1])
    assert _documents(database) == []


def test_documents_that_differ_in_what_identity_leaves_out_are_two(database: Database) -> None:
    other = {**recipe_document(), "title": "another"}
    assert expand_document(other, where="test").sha256 == expand_document(recipe_document(), where="test").sha256
    for document in (recipe_document(), other):
        _add_job(database, document)
    assert len(_documents(database)) == 2


def test_a_stored_recipe_that_is_removed_leaves_jobs_their_document(database: Database) -> None:
    _store(database, recipe_document())
    job = _add_job(database, recipe_document())
    with database.writing() as session:
        assert recipe_records.remove_stored_recipe(session, "small.mixed", None) == 1
    with database.reading() as session:
        row = session.get_one(JobRow, job.id)
        assert row.recipe is not None
        assert row.recipe.document == recipe_document()
    _remove_job(database, job)
    assert _documents(database) == []


def test_a_job_that_is_removed_leaves_a_stored_recipe_its_document(database: Database) -> None:
    _store(database, recipe_document())
    _remove_job(database, _add_job(database, recipe_document()))
    assert _documents(database) == [recipe_document()]
    with database.writing() as session:
        recipe_records.remove_stored_recipe(session, "small.mixed", 3)
    assert _documents(database) == []


def test_revisions_are_kept_and_the_newest_is_found(database: Database) -> None:
    for revision in (2, 10, 9):
        assert _store(database, _revision(revision), f"# {revision}\n")
    assert not _store(database, _revision(9), "# sent again\n")
    with database.reading() as session:
        assert recipe_records.stored_revisions(session, "small.mixed") == [10, 9, 2]
        newest, ninth = (recipe_records.stored_recipe(session, "small.mixed", number) for number in (None, 9))
        assert newest is not None
        assert (newest.revision, newest.recipe.document) == (10, _revision(10))
        assert ninth is not None
        assert ninth.text == "# 9\n"
        assert recipe_records.stored_recipe(session, "small.mixed", 3) is None
    with database.writing() as session:
        assert recipe_records.remove_stored_recipe(session, "small.mixed", 10) == 1
        assert recipe_records.remove_stored_recipe(session, "small.mixed", 10) == 0
        assert recipe_records.remove_stored_recipe(session, "small.mixed", None) == 2
    assert _documents(database) == []


def test_another_document_under_the_same_id_and_revision_is_refused(database: Database) -> None:
    _store(database, _revision(1))
    with pytest.raises(RecipeTakenError, match=r"recipe small\.mixed"):
        _store(database, _revision(1, title="another"))
    assert _documents(database) == [_revision(1)]


def test_what_is_in_the_way_may_be_gone_at_once(postgresql_database: Database) -> None:
    """One that another stores just before it, and removes just after."""
    first, second = _revision(1, title="first"), _revision(1, title="second")
    elsewhere = Database(postgresql_database.engine.url)

    def meanwhile(moment: str, action: Callable[[], object]) -> None:
        left = [action]

        def at_first(*call: Any) -> None:
            if left and "INSERT INTO stored_recipes" in call[2]:
                left.pop()()

        event.listen(postgresql_database.engine, moment, at_first)

    def remove() -> None:
        with elsewhere.writing() as session:
            recipe_records.remove_stored_recipe(session, "small.mixed", 1)

    meanwhile("before_cursor_execute", lambda: _store(elsewhere, first))
    meanwhile("after_cursor_execute", remove)
    assert _store(postgresql_database, second)
    elsewhere.close()
    assert _documents(postgresql_database) == [second]


def test_of_many_who_store_at_once_one_does(database: Database) -> None:
    start = threading.Barrier(6)

    def store(_: int) -> bool:
        start.wait()
        return _store(database, _revision(1))

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(store, range(6))) == [False] * 5 + [True]


def test_a_document_does_not_go_from_under_who_comes_to_refer_to_it(database: Database) -> None:
    """Removing the last reference races with a new one: whichever wins, the job has its document in the end."""

    def come_and_go(_: int) -> None:
        for _ in range(_ROUNDS):
            _remove_job(database, _add_job(database, recipe_document(layers=1)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(come_and_go, range(4)))
    assert _documents(database) == []


def test_storing_and_removing_the_same_at_once_waits_for_each_other(database: Database) -> None:
    def store(_: int) -> None:
        for _ in range(_ROUNDS):
            _store(database, _revision(1))

    def remove(_: int) -> None:
        for _ in range(_ROUNDS):
            with database.writing() as session:
                recipe_records.remove_stored_recipe(session, "small.mixed", None)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: (store, remove)[number % 2](number), range(4)))
    remove(0)
    assert _documents(database) == []


def test_who_sends_a_key_again_waits_for_its_job_to_go(database: Database) -> None:
    """Both come to the document before the key, so neither waits for the other in a circle."""
    job = _add_job(database, recipe_document())
    key = {"owner": "", "key": "sent again", "body_sha256": "0" * 64}
    with database.writing() as session:
        session.add(SubmissionKeyRow(**key, job_id=job.id))
    with ThreadPoolExecutor(1) as pool:
        with database.writing() as session:
            recipe_records.hold_document(session, Document.of(recipe_document()))
            removed = pool.submit(_remove_job, database, job)
            wait([removed], timeout=0.3)
            again = insert(SubmissionKeyRow).values(**key, job_id=job.id)
            with pytest.raises(IntegrityError), session.begin_nested():
                session.execute(again)
        removed.result(30)
    assert _documents(database) == []


def test_lists_have_the_newest_of_each_id_in_order(database: Database) -> None:
    for recipe_id, revision in (("b", 1), ("a.z", 1), ("a-z", 2), ("a_z", 1), ("a-z", 1)):
        _store(database, _revision(revision, id=recipe_id, title=f"Title of {recipe_id.upper()}"))

    def listed(chosen: str | None = None, after: str = "", limit: int = 9) -> list[tuple[str, int]]:
        with database.reading() as session:
            rows = recipe_records.newest_stored_recipes(session, text=chosen, after=after, limit=limit)
            return [(row.id, row.revision) for row in rows]

    everything = [("a-z", 2), ("a.z", 1), ("a_z", 1), ("b", 1)]
    assert listed() == everything
    assert listed(limit=2) == everything[:2]
    assert listed(after="a.z") == everything[2:]
    assert listed("of a_") == [("a_z", 1)]
    assert listed("TITLE OF B") == [("b", 1)]


def _downgrade(connection: Connection, revision: str) -> None:
    alembic.command.downgrade(migration_config(connection), revision)


def test_jobs_keep_their_documents_through_migrations_both_ways(database_url: URL) -> None:
    database = Database(database_url)
    documents: list[dict[str, Any]] = [{"b": 1.0, "a": "ä"}, {"a": "ä", "b": 1.0}, {"c": []}]
    ids = [time_ordered_id() for _ in documents]
    jobs = [
        {**OLD_JOB, "id": job_id.hex, "allow_unexecutable": False, "last_event": 0, "recipe_document": json.dumps(one)}
        for job_id, one in zip(ids, documents, strict=True)
    ]
    with database.engine.begin() as connection:
        alembic.command.upgrade(migration_config(connection), "0006")
        for values in jobs:
            connection.execute(insert(table("jobs", *map(column, values))).values(values))
    database.upgrade()
    assert len(_documents(database)) == 2
    with database.reading() as session:
        found = [session.get_one(JobRow, job_id).recipe for job_id in ids]
        assert [row and (row.document, row.sha256) for row in found] == [
            (document, Document.of(document).sha256) for document in documents
        ]
    with database.engine.begin() as connection:
        _downgrade(connection, "0006")
        rows = connection.scalars(text("SELECT recipe_document FROM jobs")).all()
        assert sorted(map(_plain, rows)) == sorted(map(_plain, documents))
    database.close()


def _plain(document: Any) -> str:
    return json.dumps(json.loads(document) if isinstance(document, str) else document, sort_keys=True)


def test_a_recipe_is_expanded_once_for_all_who_ask_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counting(*arguments: Any, **members: Any) -> Any:
        calls.append(1)
        return expand_document(*arguments, **members)

    monkeypatch.setattr("workers.recipe_expansion.expand_document", counting)
    document = {**recipe_document(layers=2), "weights_id": "asked for by many"}
    with ThreadPoolExecutor(8) as pool:
        recipes = list(pool.map(lambda _: expanded(Document.of(document), {}), range(16)))
    assert all(recipe is recipes[0] for recipe in recipes)
    assert len(calls) == 1
    assert expanded(Document.of({**document, "title": "x"}), {}) is not recipes[0]
    assert len(calls) == 2
