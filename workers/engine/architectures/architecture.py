"""What every architecture offers to the rest of the engine, and the plain data that it speaks in (container-v3.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from schemas.errors import Fault
from schemas.registry import Format
from workers.engine.architectures.value_checks import ValueCheck
from workers.engine.container.directory import TensorObject
from workers.engine.container.model_description import ConfigValue, ModelDescription

Config: TypeAlias = Mapping[str, ConfigValue]
Configs: TypeAlias = Mapping[str, Config]
"""The config of each offered component, by component id; `text` is always there."""

Documents: TypeAlias = Mapping[str, Mapping[str, object]]
"""The decoded config.json of the checkpoint behind each component, by component id."""


MAX_RESOURCE_BYTES = 256 << 20
"""Of a resource whose content is looked at."""


@dataclass(frozen=True, slots=True)
class NamedTensor:
    """A tensor object by its inventory name. `at` is the JSON pointer that faults of it carry."""

    name: str
    shape: tuple[int, ...]
    format: Format
    at: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A logical parameter: `format` is None where any matrix format may hold it, `inputs` are the positions at which it
    meets activations."""

    name: str
    shape: tuple[int, ...]
    format: Format | None
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResourceFindings:
    """Each fault of the resources, a JSON pointer into the directory, and how many tokens they number: None where that
    is not told."""

    faults: tuple[Fault, ...]
    tokens: int | None


@dataclass(frozen=True, slots=True)
class ExecutionFault:
    """An object or parameter that is legal in a file but that the engine cannot run, and the rule that it breaks."""

    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class Architecture:
    """One architecture, as functions.

    recognizes: whether a text config is of this architecture.
    component_configs(offered, documents): raises ArchitectureError with all faults, each a pointer into config.json.
    published_configs(model_id, offered): raises ArchitectureError for a model or component that is not published.
    offered_components(names): the component ids that object names belong to, in the order of section 4.2.
    describe(tensors, resources, configs): raises ArchitectureError with all faults, each at its tensor's `at`.
    architecture_faults(description, tensors): each fault a JSON pointer into the directory.
    components: the ids of all components that are known.
    passed_over(description): components, parameters and uses that a file has beyond those of the architecture, which
        an engine never asks for; they are no faults.
    resource_findings(description, read): what the resources hold; `read` gives the content of a resource object by its
        id.
    value_checks, execution_faults: for a description that has no architecture faults.
    """

    name: str
    components: tuple[str, ...]
    recognizes: Callable[[Config], bool]
    component_configs: Callable[[Sequence[str], Documents], Configs]
    published_configs: Callable[[str, Sequence[str]], Configs]
    offered_components: Callable[[Sequence[str]], tuple[str, ...]]
    describe: Callable[[Sequence[NamedTensor], Sequence[str], Configs], ModelDescription]
    architecture_faults: Callable[[ModelDescription, Mapping[str, TensorObject]], Iterator[Fault]]
    passed_over: Callable[[ModelDescription], Iterator[str]]
    resource_findings: Callable[[ModelDescription, Callable[[str], bytes]], ResourceFindings]
    value_checks: Callable[[ModelDescription, Mapping[str, TensorObject]], Iterator[ValueCheck]]
    execution_faults: Callable[[ModelDescription, Mapping[str, TensorObject]], tuple[ExecutionFault, ...]]
