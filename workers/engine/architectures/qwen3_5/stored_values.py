"""Which stored words of a model an engine looks at when it loads, and what must hold of them (container-v3.md, 9, 10
and 13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from schemas.registry import Format
from workers.engine.architectures.architecture import Parameter
from workers.engine.architectures.qwen3_5.binding_rules import Tensors, ranges
from workers.engine.architectures.qwen3_5.components import TARGET
from workers.engine.architectures.qwen3_5.describe import DIVISOR_ROLE
from workers.engine.architectures.qwen3_5.parameters import parameters
from workers.engine.architectures.qwen3_5.validation import component_configs_of
from workers.engine.architectures.value_checks import (
    DistinctTokens,
    Element,
    IdenticalElements,
    PositiveElement,
    PositiveWeightDivisor,
    ValueCheck,
)
from workers.engine.container.model_description import ActivationPolicy, ModelDescription, Use


def value_checks(description: ModelDescription, tensors: Tensors) -> Iterator[ValueCheck]:
    """Every check of a description that has no architecture faults, each word once: weight divisors, activation
    divisors, those that one object must agree on, token ids.

    Token ids are held to vocab_size: how many tokens the tokenizer has is in a resource, which is not read here.
    """
    text = description.components[TARGET]
    table = parameters(component_configs_of(description), text.proposal)
    for object in _nvfp4_objects(description, table, tensors):
        yield PositiveWeightDivisor(object)
    divided = _divided_uses(description, table)
    for element in dict.fromkeys(_divisor(use, tensors) for use in divided):
        yield PositiveElement(element)
    yield from _agreements(description, table, divided, tensors)
    vocabulary = text.config["vocab_size"]
    if text.proposal is not None and text.proposal.rows is not None and isinstance(vocabulary, int):
        yield DistinctTokens(ranges([description.bindings["proposal/token_ids"]], tensors), vocabulary)


def _nvfp4_objects(
    description: ModelDescription, table: Sequence[Parameter], tensors: Tensors
) -> Mapping[str, set[str]]:
    """The parameters in each NVFP4 object."""
    members: dict[str, set[str]] = {}
    for parameter in table:
        for one in ranges([description.bindings[parameter.name]], tensors):
            if tensors[one.object].format is Format.NVFP4:
                members.setdefault(one.object, set()).add(parameter.name)
    return members


def _divided_uses(description: ModelDescription, table: Sequence[Parameter]) -> list[Use]:
    known = {(parameter.name, input) for parameter in table for input in parameter.inputs}
    return [use for use in description.uses if DIVISOR_ROLE in use.auxiliaries and (use.parameter, use.input) in known]


def _divisor(use: Use, tensors: Tensors) -> Element:
    (one,) = ranges([use.auxiliaries[DIVISOR_ROLE]], tensors)
    return Element(one.object, one.start)


def _agreements(
    description: ModelDescription, table: Sequence[Parameter], divided: Sequence[Use], tensors: Tensors
) -> Iterator[IdenticalElements]:
    """The divisors of uses at one input that share an object, where all of its uses there allow 4 bits."""
    allowed = {(use.parameter, use.input): use.policy is ActivationPolicy.ALLOW_A4 for use in description.uses}
    by_parameter: dict[str, list[Use]] = {}
    for use in divided:
        by_parameter.setdefault(use.parameter, []).append(use)
    inputs = {parameter.name: parameter.inputs for parameter in table}
    for object, members in _nvfp4_objects(description, table, tensors).items():
        elements: dict[str, dict[Element, None]] = {}
        refused = {input for member in members for input in inputs[member] if not allowed[member, input]}
        for member in sorted(members):
            for use in by_parameter.get(member, []):
                elements.setdefault(use.input, {})[_divisor(use, tensors)] = None
        for input, found in elements.items():
            if input not in refused and len(found) > 1:
                yield IdenticalElements(object, tuple(found))
