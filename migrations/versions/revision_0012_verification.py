"""Checks of verification as rows, histograms of quantized objects, and the RMS of what lossy ones were made of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_BIG_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

_TO_ROWS = {
    "sqlite": """
        INSERT INTO verification_checks (job_id, object_index, position, name, "rows", passed)
        SELECT objects.job_id, objects."index", one.key, json_extract(one.value, '$.name'),
            json_extract(one.value, '$.rows'), json_extract(one.value, '$.passed')
        FROM objects, json_each(objects.checks) AS one
    """,
    "postgresql": """
        INSERT INTO verification_checks (job_id, object_index, position, name, "rows", passed)
        SELECT objects.job_id, objects."index", one.number - 1, one.value ->> 'name',
            CAST(one.value ->> 'rows' AS BIGINT), CAST(one.value ->> 'passed' AS BOOLEAN)
        FROM objects, json_array_elements(objects.checks) WITH ORDINALITY AS one(value, number)
    """,
}
_TO_JSON = {
    "sqlite": """
        UPDATE objects SET checks = (
            SELECT json_group_array(
                json_object('name', name, 'rows', "rows", 'passed', json(iif(passed, 'true', 'false')))
            )
            FROM (
                SELECT * FROM verification_checks
                WHERE job_id = objects.job_id AND object_index = objects."index" ORDER BY position
            )
        )
    """,
    "postgresql": """
        UPDATE objects SET checks = coalesce((
            SELECT json_agg(json_build_object('name', name, 'rows', "rows", 'passed', passed) ORDER BY position)
            FROM verification_checks WHERE job_id = objects.job_id AND object_index = objects."index"
        ), '[]')
    """,
}


def upgrade() -> None:
    _create_verification_checks()
    _create_object_histograms()
    op.execute(sa.text(_TO_ROWS[op.get_bind().dialect.name]))
    with op.batch_alter_table("objects") as objects:
        objects.add_column(sa.Column("source_rms", sa.Double(), nullable=True))
        objects.drop_column("checks")


def downgrade() -> None:
    with op.batch_alter_table("objects") as objects:
        objects.add_column(sa.Column("checks", sa.JSON(), nullable=False, server_default="[]"))
    op.execute(sa.text(_TO_JSON[op.get_bind().dialect.name]))
    op.drop_table("object_histograms")
    op.drop_table("verification_checks")
    with op.batch_alter_table("objects") as objects:
        objects.drop_column("source_rms")
        objects.alter_column("checks", server_default=None)


def _create_verification_checks() -> None:
    op.create_table(
        "verification_checks",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("object_index", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("position", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("rows", _BIG_INTEGER, nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id", "object_index"],
            ["objects.job_id", "objects.index"],
            name="fk_verification_checks_job_id_object_index",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("job_id", "object_index", "position", name="pk_verification_checks"),
    )


def _create_object_histograms() -> None:
    op.create_table(
        "object_histograms",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("object_index", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("codes", sa.JSON(), nullable=False),
        sa.Column("scales", sa.JSON(), nullable=False),
        sa.Column("zero_scales", _BIG_INTEGER, nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id", "object_index"],
            ["objects.job_id", "objects.index"],
            name="fk_object_histograms_job_id_object_index",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("job_id", "object_index", name="pk_object_histograms"),
    )
