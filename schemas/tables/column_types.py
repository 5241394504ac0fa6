"""Types of columns that are the same on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, String, Text, TypeDecorator

BIG_INTEGER = BigInteger().with_variant(Integer, "sqlite")
"""64 bits on both: SQLite's INTEGER holds as many, and only under that name can it number rows itself."""

HEX_DIGEST = String(64)
"""SHA-256 or BLAKE3 in lower-case hexadecimal digits."""

ORDERED_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that sorts by its characters' numbers, on both and as Python does."""


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC. SQLite has no time zones, so it goes in and comes out without one there."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - signature
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - signature
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
