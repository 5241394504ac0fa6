"""Alembic's entry point: runs migrations over the connection that it is given, inside that one's transaction."""

from __future__ import annotations

from alembic import context

from schemas.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
