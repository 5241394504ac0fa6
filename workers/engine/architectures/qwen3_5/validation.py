"""Whether a description that was read is of a whole model of the architecture, whoever wrote it and however it groups
its objects (container-v3.md, 13, Architecture)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from schemas.errors import Fault
from schemas.recipe.pointer import escape
from schemas.registry import Format
from workers.engine.architectures.architecture import Configs, Parameter
from workers.engine.architectures.qwen3_5.binding_rules import Tensors, binding_faults
from workers.engine.architectures.qwen3_5.components import COMPONENTS, RESOURCE_ROLES, TARGET
from workers.engine.architectures.qwen3_5.config_rules import config_faults
from workers.engine.architectures.qwen3_5.describe import DIVISOR_ROLE
from workers.engine.architectures.qwen3_5.parameters import parameters
from workers.engine.container.model_description import ModelDescription, Use

UseKey = tuple[str, str]


def architecture_faults(description: ModelDescription, tensors: Tensors) -> Iterator[Fault]:
    """Every fault of a description whose text config is of this architecture, at JSON pointers into the directory.
    `tensors` has the tensor objects of known formats by id.

    Components, parameters and uses beyond those of the architecture are no faults: an engine asks by name for what it
    needs. While configs have faults, nothing can be said of parameters.
    """
    configs = component_configs_of(description)
    config = list(config_faults(configs))
    for fault in config:
        path = "".join(f"/{escape(token)}" for token in fault.path)
        yield Fault(f"/components/{escape(fault.component)}/config{path}", fault.message)
    yield from _component_faults(description)
    if config:
        return
    yield from _proposal_faults(description)
    table = parameters(configs, description.components[TARGET].proposal)
    yield from _parameter_faults(description, table, tensors)
    yield from _use_faults(description, table, tensors)


def component_configs_of(description: ModelDescription) -> Configs:
    """The configs of the components that the architecture knows."""
    return {name: one.config for name, one in description.components.items() if name in COMPONENTS}


def passed_over(description: ModelDescription) -> Iterator[str]:
    """What a description without architecture faults has beyond the architecture, in words."""
    table = parameters(component_configs_of(description), description.components[TARGET].proposal)
    known = {parameter.name: parameter.inputs for parameter in table}
    for component in description.components:
        if component not in COMPONENTS:
            yield f"component {component!r}"
    for name in description.bindings:
        if name not in known:
            yield f"parameter {name!r}"
    for use in description.uses:
        if use.input not in known.get(use.parameter, ()):
            yield f"use of {use.parameter!r} at {use.input!r}"


def _component_faults(description: ModelDescription) -> Iterator[Fault]:
    for name, component in description.components.items():
        if name not in COMPONENTS:
            continue
        at = f"/components/{escape(name)}"
        if TARGET not in {name, component.target}:
            found = "none" if component.target is None else repr(component.target)
            yield Fault(f"{at}/target", f"expected {TARGET!r}, found {found}")
        if name == TARGET and component.target is not None:
            yield Fault(f"{at}/target", f"expected none, since the others work for it, found {component.target!r}")
        roles = RESOURCE_ROLES.get(name, ())
        for role in roles:
            if role not in component.resources:
                yield Fault(f"{at}/resources", f"expected the role {role!r}, found none")
        for role in component.resources:
            if role not in roles:
                known = ", ".join(roles) or "no roles"
                yield Fault(f"{at}/resources/{escape(role)}", f"expected {known}, found {role!r}")


def _proposal_faults(description: ModelDescription) -> Iterator[Fault]:
    text = description.components[TARGET]
    rows, vocabulary = None if text.proposal is None else text.proposal.rows, text.config["vocab_size"]
    assert isinstance(vocabulary, int)  # noqa: S101
    if rows is not None and rows > vocabulary:
        at = f"/components/{TARGET}/proposal/rows"
        yield Fault(at, f"expected at most vocab_size, {vocabulary}, found {rows}")


def _parameter_faults(description: ModelDescription, table: Sequence[Parameter], tensors: Tensors) -> Iterator[Fault]:
    for parameter in table:
        binding = description.bindings.get(parameter.name)
        if binding is None:
            yield Fault("/bindings", f"expected the parameter {parameter.name!r}, found none")
            continue
        for message in binding_faults(binding, parameter.shape, parameter.format, tensors):
            yield Fault(f"/bindings/{escape(parameter.name)}", message)


def _use_faults(description: ModelDescription, table: Sequence[Parameter], tensors: Tensors) -> Iterator[Fault]:
    places: Mapping[UseKey, int] = {(use.parameter, use.input): at for at, use in enumerate(description.uses)}
    for parameter in table:
        for input in parameter.inputs:
            index = places.get((parameter.name, input))
            if index is None:
                yield Fault("/uses", f"expected a use of {parameter.name!r} at {input!r}, found none")
            else:
                yield from _one_use(description.uses[index], f"/uses/{index}", tensors)


def _one_use(use: Use, at: str, tensors: Tensors) -> Iterator[Fault]:
    if use.policy is None:
        yield Fault(at, f"expected an activation_policy for {use.parameter!r} at {use.input!r}, found none")
    for role, binding in use.auxiliaries.items():
        place = f"{at}/auxiliaries/{escape(role)}"
        if role != DIVISOR_ROLE:
            yield Fault(place, f"expected the role {DIVISOR_ROLE!r}, found {role!r}")
            continue
        for message in binding_faults(binding, (), Format.FP32, tensors):
            yield Fault(place, message)
