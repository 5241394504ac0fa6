"""What every table begins with: how constraints are named, and which column a Python type becomes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import Enum, MetaData, Uuid
from sqlalchemy.orm import DeclarativeBase

from schemas.states import EventKind, JobState, ObjectState, Stage
from schemas.tables.column_types import UtcDateTime


def _text_enum(states: type[StrEnum]) -> Enum:
    return Enum(states, native_enum=False, length=16, values_callable=lambda kind: [member.value for member in kind])


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[Mapping[Any, Any]] = {
        datetime: UtcDateTime(),
        UUID: Uuid(),
        JobState: _text_enum(JobState),
        ObjectState: _text_enum(ObjectState),
        Stage: _text_enum(Stage),
        EventKind: _text_enum(EventKind),
    }
