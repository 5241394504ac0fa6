"""What is shown of remote sources: where each was fetched from, and at which commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from schemas.report import FetchedRecord
from workers.remote.places import HubPlace, is_remote, parse_remote


def fetched_records(
    sources: Mapping[str, str], resources: Mapping[str, str], commit_of: Callable[[HubPlace], str | None]
) -> tuple[FetchedRecord, ...]:
    """A record for each of these places, by name, that is remote. Paths are not among them."""
    members: tuple[tuple[Literal["source", "resource"], Mapping[str, str]], ...] = (
        ("source", sources),
        ("resource", resources),
    )
    return tuple(
        _record(member, name, where, commit_of)
        for member, places in members
        for name, where in places.items()
        if is_remote(where)
    )


def _record(
    member: Literal["source", "resource"], name: str, where: str, commit_of: Callable[[HubPlace], str | None]
) -> FetchedRecord:
    place = parse_remote(where, name)
    commit = place.commit or commit_of(place) if isinstance(place, HubPlace) else None
    return FetchedRecord(member=member, name=name, where=where, commit=commit)
