"""The compose file as a machine without its containers can run it: commands and environments of its services."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


def interpolated(value: Any, variables: Mapping[str, str]) -> Any:
    """A document with `${NAME}` and `${NAME:-default}` replaced in all of its strings."""
    if isinstance(value, dict):
        return {name: interpolated(one, variables) for name, one in value.items()}
    if isinstance(value, list):
        return [interpolated(one, variables) for one in value]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: variables.get(found[1]) or found[2] or "", value)
    return value


def compose_document(variables: Mapping[str, str]) -> dict[str, Any]:
    """The file, with the variables that a user would set."""
    document: dict[str, Any] = interpolated(yaml.safe_load((ROOT / "docker-compose.yml").read_text()), variables)
    return document


@dataclass(frozen=True)
class LocalMachine:
    """What stands for containers, volumes and networks: each text of the file that is something else here."""

    texts: Mapping[str, str]

    def environment(self, service: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, str]:
        """The environment of a service. Variables without a value are taken from outside, or left out."""
        given = {
            name: variables.get(name) if value is None else self.here(str(value))
            for name, value in service["environment"].items()
        }
        return {name: value for name, value in given.items() if value is not None}

    def here(self, text: str) -> str:
        """A text of the file as it is here."""
        there = "|".join(map(re.escape, sorted(self.texts, key=len, reverse=True)))
        return re.sub(rf"({there})(?!\w)", lambda found: self.texts[found[0]], text)
