"""What the engine can run of what a file may hold (container-v3.md, 15, "What the engine can run").

The rules speak of parameters that one step consumes together, and look at bindings alone: objects may have any ids, and
hold more than such a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from schemas.registry import FORMATS, Format, Layout
from workers.engine.architectures.architecture import ExecutionFault, Parameter
from workers.engine.architectures.qwen3_5.binding_rules import Tensors, ranges
from workers.engine.architectures.qwen3_5.components import TARGET
from workers.engine.architectures.qwen3_5.describe import DIVISOR_ROLE
from workers.engine.architectures.qwen3_5.geometry import geometry
from workers.engine.architectures.qwen3_5.packing import Group, Packing, packings
from workers.engine.architectures.qwen3_5.parameters import parameters
from workers.engine.architectures.qwen3_5.validation import component_configs_of
from workers.engine.container.model_description import ActivationPolicy, ElementRange, ModelDescription

_COMPLETE = (Layout.BLOCK_SCALE, Layout.ROW_SCALE)


def execution_faults(description: ModelDescription, tensors: Tensors) -> tuple[ExecutionFault, ...]:
    """Every object or parameter of a description without architecture faults that the engine refuses at start."""
    configs = component_configs_of(description)
    table = parameters(configs, description.components[TARGET].proposal)
    return tuple(_Execution(description, tensors, table).faults(packings(geometry(configs))))


class _Execution:
    def __init__(self, description: ModelDescription, tensors: Tensors, table: Sequence[Parameter]) -> None:
        self._description = description
        self._tensors = tensors
        self._table = {parameter.name: parameter for parameter in table}

    def faults(self, rules: Iterator[Packing]) -> Iterator[ExecutionFault]:
        fused: set[str] = set()
        for packing in rules:
            fused.update(packing.members)
            yield from self._packed(packing)
        for name, parameter in self._table.items():
            if name not in fused:
                yield from self._consumed((name,), parameter)
        yield from self._divisors()

    def _packed(self, packing: Packing) -> Iterator[ExecutionFault]:
        """The first of the allowed ways that the bindings follow, and whether its groups can be consumed so."""
        for way in packing.ways:
            if all(self._holds(group) for group in way):
                for group in way:
                    yield from self._consumed(group.members, self._table[group.members[0]])
                return
        yield ExecutionFault(packing.members[0], f"{packing.rule}; found {self._found(packing.members)}")

    def _holds(self, group: Group) -> bool:
        joined = self._joined(group.members)
        return len(joined) == 1 and (not group.formats or self._format(joined[0]) in group.formats)

    def _consumed(self, members: Sequence[str], first: Parameter) -> Iterator[ExecutionFault]:
        """What is not stored word by word must be rows of one object, and in some layouts all of them."""
        joined = self._joined(members)
        layouts = {FORMATS[self._format(one)].layout for one in joined}
        if layouts == {Layout.CONTIGUOUS}:
            return
        if len(joined) > 1:
            yield ExecutionFault(first.name, f"must be one range of one object; found {self._found(members)}")
            return
        (one,) = joined
        shape, columns = self._tensors[one.object].shape, first.shape[-1]
        found = f"found {first.name!r} at [{one.start}, {one.stop})"
        if layouts.intersection(_COMPLETE) and (one.start, one.stop) != (0, prod(shape)):
            message = f"{self._format(one)} is consumed only as a complete object, here of {prod(shape)} elements"
            yield ExecutionFault(one.object, f"{message}; {found}")
        elif shape[-1] != columns or one.start % columns:
            message = f"{self._format(one)} is consumed as whole rows, here of {columns} elements"
            yield ExecutionFault(one.object, f"{message}; {found} where a row has {shape[-1]}")

    def _divisors(self) -> Iterator[ExecutionFault]:
        for use in self._description.uses:
            if use.policy is not ActivationPolicy.ALLOW_A4 or DIVISOR_ROLE in use.auxiliaries:
                continue
            if use.parameter in self._table and Format.NVFP4 in map(self._format, self._joined((use.parameter,))):
                yield ExecutionFault(
                    use.parameter,
                    f"is NVFP4 and allows 4-bit activations at {use.input!r}, which needs an activation_input_divisor",
                )

    def _joined(self, members: Sequence[str]) -> tuple[ElementRange, ...]:
        """The ranges of members one after the other."""
        return ranges([self._description.bindings[name] for name in members], self._tensors)

    def _format(self, one: ElementRange) -> Format:
        return self._tensors[one.object].format

    def _found(self, members: Sequence[str]) -> str:
        """The first ranges that members lie in, for a message."""
        joined = self._joined(members)
        told = [f"[{one.start}, {one.stop}) of {one.object!r} in {self._format(one)}" for one in joined[:4]]
        return ", ".join(told) + (f" and {len(joined) - 4} more" if len(joined) > 4 else "")
