"""Taking members out of a config.json, with the places that they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas.errors import Fault
from schemas.recipe.pointer import escape
from workers.engine.architectures.binary32 import to_binary32
from workers.engine.architectures.qwen3_5.config_members import REAL, Path, shown
from workers.engine.container.model_description import ConfigValue

REALS = frozenset({"rms_norm_eps", "rope_theta", "partial_rotary_factor"})


@dataclass(frozen=True, slots=True)
class Section:
    """An object of a config.json and the JSON pointer to it."""

    members: Mapping[str, object]
    prefix: str

    def pointer(self, *path: str | int) -> str:
        return self.prefix + "".join(f"/{escape(token)}" for token in path)

    def section(self, name: str) -> Section | None:
        """The object that a member is; None where it is none."""
        found = self.members.get(name)
        return Section(found, self.pointer(name)) if isinstance(found, dict) else None


@dataclass(frozen=True, slots=True)
class Derived:
    """The config of one component as it comes about: what was taken, from where, and what was wrong with it.

    `origins` has the pointers of members that did not come from the same place of `section`.
    """

    component: str
    section: Section
    config: dict[str, ConfigValue] = field(default_factory=dict)
    origins: dict[Path, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def take(self, name: str, *, default: object = None) -> None:
        """The member of this name, else the default, else nothing: the rules then tell that it is missing."""
        value = self.section.members.get(name, default)
        if value is not None or name in self.section.members:
            self.put(name, value)

    def put(self, name: str, value: object) -> None:
        self.config[name] = stored(name, value)

    def hold(self, expected: Mapping[str, ConfigValue]) -> None:
        """Members that, where they are present, must be as expected. None expects nothing."""
        for name, value in expected.items():
            found = self.section.members.get(name, value)
            if value is not None and not same(found, value):
                self.fault_in(name, f"expected {shown(value)}, found {shown(found)}")

    def among(self, name: str, *expected: str) -> None:
        """A member that, where it is present, must be one of these."""
        found = self.section.members.get(name, expected[0])
        if found not in expected:
            self.fault_in(name, f"expected {' or '.join(map(shown, expected))}, found {shown(found)}")

    def fault_in(self, name: str, message: str) -> None:
        self.fault(self.section.pointer(name), message)

    def fault(self, at: str, message: str) -> None:
        self.faults.append(Fault(at, f"{self.component}: {message}"))

    def pointer(self, path: Path) -> str:
        """Where in config.json a member of the config comes from, or would."""
        for length in range(len(path), 0, -1):
            origin = self.origins.get(path[:length])
            if origin is not None:
                return Section({}, origin).pointer(*path[length:])
        return self.section.pointer(*path)


def stored(name: str, value: object) -> ConfigValue:
    """A decoded JSON value as a config stores it: reals are floats that binary32 holds."""
    if name in REALS and REAL.holds(value) and isinstance(value, int | float):
        return to_binary32(value)
    if isinstance(value, list):
        return [stored("", one) for one in value]
    if isinstance(value, dict):
        return {key: stored(key, one) for key, one in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"no JSON value: {value!r}")


def same(found: object, expected: object) -> bool:
    """Equal as JSON: true is not 1."""
    return isinstance(found, bool) == isinstance(expected, bool) and found == expected
