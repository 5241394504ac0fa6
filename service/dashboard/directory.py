"""The directory of an inspected artifact, as rows and sums of a page."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.dashboard.format_totals import FormatTotal
from service.inspection_document import InspectionDocument

_MOST_CONFIG_CHARACTERS = 20_000
"""Of the config of one component, spaced out. Those of registered models have about 5000."""


@dataclass(frozen=True, slots=True)
class DirectoryRow:
    """One object. The format of a resource is its encoding; it has no shape and no layout."""

    index: int
    name: str
    kind: str
    shape: tuple[int, ...] | None
    format: str
    layout: str | None
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ComponentConfig:
    """What framing 3 says of one component: JSON, None if it is too long for a page."""

    name: str
    config: str | None


def directory_rows(document: InspectionDocument) -> list[DirectoryRow]:
    """The objects in payload order."""
    return [_row(index, one) for index, one in enumerate(document["objects"])]


def directory_totals(rows: Sequence[DirectoryRow]) -> list[FormatTotal]:
    """Objects and payload bytes of each format, the largest first."""
    sizes: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        sizes[row.format].append(row.bytes)
    totals = [FormatTotal(name, len(counts), sum(counts)) for name, counts in sizes.items()]
    return sorted(totals, key=lambda total: -total.bytes)


def component_configs(document: InspectionDocument) -> list[ComponentConfig]:
    """The components of framing 3, none in others."""
    components: Mapping[str, Any] = document.get("components", {})
    texts = {name: json.dumps(config, ensure_ascii=False, indent=1) for name, config in components.items()}
    return [
        ComponentConfig(name, text if len(text) <= _MOST_CONFIG_CHARACTERS else None) for name, text in texts.items()
    ]


def _row(index: int, stored: Mapping[str, Any]) -> DirectoryRow:
    is_resource = stored["kind"] == "resource"
    return DirectoryRow(
        index=index,
        name=stored["name"],
        kind=stored["kind"],
        shape=None if is_resource else tuple(stored["shape"]),
        format=stored["encoding"] if is_resource else stored["format"] or "none",
        layout=None if is_resource else stored["layout"],
        offset=stored["offset"],
        bytes=stored["bytes"],
    )
