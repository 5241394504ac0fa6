"""What every answer begins with, and lists that are answered part by part."""

from __future__ import annotations

from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

Item = TypeVar("Item")


class Answer(BaseModel):
    """Base of what is answered."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Page(Answer, Generic[Item]):
    """Part of a list. `next` is the cursor that the following part begins at, None at the end."""

    items: tuple[Item, ...]
    next: str | None
