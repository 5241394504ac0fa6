"""Rotary parameters in a config.json: one object, or the older way with some of them beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from workers.engine.architectures.qwen3_5.checkpoint_members import Derived, Section, same, stored
from workers.engine.architectures.qwen3_5.config_members import shown
from workers.engine.container.model_description import ConfigValue

NAME = "rope_parameters"

_OBJECTS = (NAME, "rope_scaling")
_BESIDE = ("rope_theta", "partial_rotary_factor")
_HOLDS: Mapping[str, ConfigValue] = {"rope_type": "default", "type": "default", "factor": 1, "mrope_interleaved": True}


def derive_rope(derived: Derived, names: Sequence[str], defaults: Mapping[str, float]) -> None:
    """Puts `rope_parameters` with these members. One that is told in two places must be the same in both."""
    sections = list(_sections(derived))
    rope: dict[str, ConfigValue] = {}
    for section in sections:
        inner = Derived(derived.component, section)
        inner.hold(_HOLDS)
        derived.faults.extend(inner.faults)
    beside = Section({name: derived.section.members.get(name) for name in _BESIDE}, derived.section.prefix)
    for name in names:
        places = [place for place in (*sections, beside) if place.members.get(name) is not None]
        if places:
            first = places[0]
            rope[name] = stored(name, first.members[name])
            derived.origins[NAME, name] = first.pointer(name)
            for other in places[1:]:
                found, expected = other.members[name], first.members[name]
                if not same(found, expected):
                    message = f"expected {shown(expected)}, as {first.pointer(name)} says, found {shown(found)}"
                    derived.fault(other.pointer(name), message)
        elif name in defaults:
            rope[name] = stored(name, defaults[name])
    derived.config[NAME] = rope


def _sections(derived: Derived) -> Iterator[Section]:
    """The objects that hold rotary parameters."""
    for name in _OBJECTS:
        found = derived.section.members.get(name)
        section = derived.section.section(name)
        if section is not None:
            yield section
        elif found is not None:
            derived.fault_in(name, f"expected an object, found {shown(found)}")
