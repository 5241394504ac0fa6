"""From the objects of a model to what they mean: bindings, uses, resource roles and the proposal (container-v3.md,
7 to 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from schemas.errors import ArchitectureError, Fault
from schemas.registry import Format
from workers.engine.architectures.architecture import Configs, NamedTensor, Parameter
from workers.engine.architectures.qwen3_5.components import DRAFTS, RESOURCE_ROLES, TARGET
from workers.engine.architectures.qwen3_5.object_names import (
    DRAFT_HEAD,
    DRAFT_HEAD_IDS,
    SHARED_CONTEXT,
    divided_parameters,
    held_parameters,
)
from workers.engine.architectures.qwen3_5.parameters import parameters
from workers.engine.container.model_description import (
    ActivationPolicy,
    Binding,
    Component,
    ElementRange,
    JoinedRanges,
    ModelDescription,
    Proposal,
    Use,
    WholeTensor,
)

DIVISOR_ROLE = "activation_input_divisor"

_RESOURCE_PREFIX = "frontend/"
_POLICIES: Mapping[Format, ActivationPolicy] = MappingProxyType(
    {Format.FP8_E4M3FN_ROW_BF16S: ActivationPolicy.ALLOW_A8}
)
"""Of a matrix whose activations no scalar divides; any other format allows 16 bits only."""
_NO_AUXILIARIES: Mapping[str, Binding] = MappingProxyType({})


def describe(tensors: Sequence[NamedTensor], resources: Sequence[str], configs: Configs) -> ModelDescription:
    """The description of a file with these objects, whose ids are their names. `configs` are free of faults.

    Raises ArchitectureError with every object that the architecture does not know or that does not fit the configs, and
    every parameter and resource role that is left without one.
    """
    faults: list[Fault] = []
    proposal = _proposal(tensors, configs, faults)
    bound = _Bindings(parameters(configs, proposal), configs, faults)
    for tensor in tensors:
        bound.take(tensor)
    bindings, uses = bound.finish()
    roles = _roles(resources, configs, faults)
    if faults:
        raise _error(faults)
    components = {
        component: Component(
            config,
            None if component == TARGET else TARGET,
            roles.get(component, {}),
            proposal if component == TARGET else None,
        )
        for component, config in configs.items()
    }
    return ModelDescription(components, bindings, uses)


def _error(faults: list[Fault]) -> ArchitectureError:
    return ArchitectureError("objects", faults, expected="the objects of a model of architecture qwen3_5")


def _proposal(tensors: Sequence[NamedTensor], configs: Configs, faults: list[Fault]) -> Proposal | None:
    """Over the whole vocabulary where the head has all of its rows and there are no ids; else over as many ids as the
    head has rows."""
    found = {tensor.name: tensor for tensor in tensors if tensor.name in {DRAFT_HEAD, DRAFT_HEAD_IDS}}
    if not found:
        return None
    tensor = found.get(DRAFT_HEAD) or found[DRAFT_HEAD_IDS]
    rows, vocabulary = tensor.shape[0] if tensor.shape else 1, configs[TARGET]["vocab_size"]
    assert isinstance(vocabulary, int)  # noqa: S101
    if DRAFT_HEAD_IDS not in found and rows == vocabulary:
        return Proposal(None)
    if rows > vocabulary:
        message = f"expected at most {vocabulary} rows, as many as the vocabulary has, found {rows}"
        faults.append(Fault(tensor.at, f"object {tensor.name!r}: {message}"))
    return Proposal(rows)


class _Bindings:
    """Parameters as objects take them up, with what is wrong on the way."""

    def __init__(self, table: Sequence[Parameter], configs: Configs, faults: list[Fault]) -> None:
        self._table = {parameter.name: parameter for parameter in table}
        experts = configs[TARGET].get("num_experts", 0)
        assert isinstance(experts, int)  # noqa: S101
        self._experts = experts
        self._faults = faults
        self._holders: dict[str, NamedTensor] = {}
        self._bindings: dict[str, Binding] = {}
        self._divisors: dict[str, NamedTensor] = {}

    def take(self, tensor: NamedTensor) -> None:
        """One object: the parameters that it holds, or the divisor that it is."""
        divided = divided_parameters(tensor.name)
        names = held_parameters(tensor.name, self._experts) if divided is None else divided
        known = [self._table[name] for name in names if name in self._table]
        if not known or len(known) != len(names):
            self._fault(tensor, "the architecture has no such object in a model of these configs")
        elif divided is None:
            self._check(tensor, known)
            self._hold(tensor, known)
        else:
            self._divide(tensor, divided)

    def _check(self, tensor: NamedTensor, held: Sequence[Parameter]) -> None:
        """The parameters lie one after the other along the first axis."""
        first = held[0].shape
        shape = (sum(parameter.shape[0] for parameter in held), *first[1:])
        if tensor.shape != shape:
            self._fault(tensor, f"expected the shape {list(shape)}, as the configs have it, found {list(tensor.shape)}")
        formats = {parameter.format for parameter in held} - {None, tensor.format}
        if formats:
            self._fault(tensor, f"expected format {', '.join(map(str, formats))}, found {tensor.format}")

    def _hold(self, tensor: NamedTensor, held: Sequence[Parameter]) -> None:
        taken = next((parameter.name for parameter in held if parameter.name in self._holders), None)
        if taken is not None:
            self._fault(tensor, f"holds {taken!r}, which {self._holders[taken].name!r} already does")
            return
        if len(held) == 1:
            self._holders[held[0].name] = tensor
            self._bindings[held[0].name] = WholeTensor(tensor.name)
            return
        holders, bindings, object = self._holders, self._bindings, tensor.name
        width = prod(held[0].shape[1:])
        start = 0
        for parameter in held:
            stop = start + parameter.shape[0] * width
            holders[parameter.name] = tensor
            bindings[parameter.name] = JoinedRanges((ElementRange(object, start, stop),))
            start = stop

    def _divide(self, tensor: NamedTensor, names: Sequence[str]) -> None:
        if tensor.shape or tensor.format is not Format.FP32:
            self._fault(tensor, f"expected a scalar of format FP32, found {list(tensor.shape)} of {tensor.format}")
        self._divisors.update(dict.fromkeys(names, tensor))

    def finish(self) -> tuple[dict[str, Binding], tuple[Use, ...]]:
        """Bindings and uses of all parameters in the order of the table, once every object is taken."""
        self._share_context()
        bindings: dict[str, Binding] = {}
        uses: list[Use] = []
        for name, parameter in self._table.items():
            holder = self._holders.get(name)
            if holder is None:
                self._faults.append(Fault("/objects", f"no object holds the parameter {name!r}"))
                continue
            bindings[name] = self._bindings[name]
            divisor = self._divisors.get(name)
            if divisor is None:
                policy, auxiliaries = _POLICIES.get(holder.format, ActivationPolicy.A16_ONLY), _NO_AUXILIARIES
            else:
                self._check_divided(name, holder, divisor)
                policy, auxiliaries = ActivationPolicy.ALLOW_A4, {DIVISOR_ROLE: WholeTensor(divisor.name)}
            for input in parameter.inputs:
                uses.append(Use(name, input, policy, auxiliaries))  # noqa: PERF401
        return bindings, tuple(uses)

    def _share_context(self) -> None:
        for name in self._table:
            if name.startswith(DRAFTS) and name not in self._holders:
                for context, shared in SHARED_CONTEXT.items():
                    source = name.removesuffix(context) + shared
                    if name.endswith(context) and source in self._holders:
                        self._holders[name] = self._holders[source]
                        self._bindings[name] = self._bindings[source]

    def _check_divided(self, name: str, tensor: NamedTensor, divisor: NamedTensor) -> None:
        if tensor.format is not Format.NVFP4:
            self._fault(divisor, f"divides {name!r}, expected to be held in NVFP4, found {tensor.format}")

    def _fault(self, tensor: NamedTensor, message: str) -> None:
        self._faults.append(Fault(tensor.at, f"object {tensor.name!r}: {message}"))


def _roles(resources: Sequence[str], configs: Configs, faults: list[Fault]) -> Mapping[str, Mapping[str, str]]:
    """Resource ids by role, by component."""
    known = {
        f"{_RESOURCE_PREFIX}{role}": (component, role)
        for component, roles in RESOURCE_ROLES.items()
        if component in configs
        for role in roles
    }
    faults.extend(
        Fault("/resources", f"the architecture has no resource {name!r} in a model of these components")
        for name in resources
        if name not in known
    )
    roles: dict[str, dict[str, str]] = {}
    for name, (component, role) in known.items():
        if name in resources:
            roles.setdefault(component, {})[role] = name
        else:
            faults.append(Fault("/resources", f"no resource {name!r}, which {component} needs as {role!r}"))
    return roles
