"""Which parameters the engine consumes together, and how they may lie in objects (container-v3.md, 15)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.registry import Format
from workers.engine.architectures.qwen3_5.geometry import FULL_ATTENTION, Experts, Geometry, Linear, Text

_Q4, _Q5, _Q6, _Q8 = Format.Q4G64_F16S, Format.Q5G64_F16S, Format.Q6G64_F16S, Format.W8G32_F16S
_BF16, _NVFP4, _FP8 = Format.BF16, Format.NVFP4, Format.FP8_E4M3FN_ROW_BF16S

SEPARATE_HEADS = 48
"""Value heads of the one model whose a and b projections the engine takes apart from each other."""


@dataclass(frozen=True, slots=True)
class Group:
    """Parameters that lie one after the other in one object, of one of these formats; of any where there are none."""

    members: tuple[str, ...]
    formats: tuple[Format, ...] = ()


@dataclass(frozen=True, slots=True)
class Packing:
    """Parameters that belong together, and the ways, each of some groups, in which they may lie."""

    rule: str
    ways: tuple[tuple[Group, ...], ...]

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(member for group in self.ways[0] for member in group.members)


def packings(sizes: Geometry) -> Iterator[Packing]:
    """Every packing of a model of these sizes, in the order of its parameters."""
    for index, kind in enumerate(sizes.text.layer_types):
        p = f"text/layers/{index}/"
        if kind == FULL_ATTENTION:
            yield _attention(p, experts=isinstance(sizes.text.mlp, Experts))
        elif sizes.text.linear is not None:
            yield _linear(p, experts=isinstance(sizes.text.mlp, Experts))
            yield _a_and_b(p, sizes.text.linear)
        yield from _mlp(p, sizes.text)
    if sizes.mtp:
        p = "mtp/layers/0/"
        members = _names(f"{p}attention/", "query", "key", "gate", "value")
        yield _one("MTP attention must be query, key, gate, value in one object", members)
        yield from _mlp(p, sizes.text)
    if sizes.vision is not None:
        for index in range(sizes.vision.depth):
            p = f"vision/layers/{index}/attention/"
            weights, biases = _names(p, "query", "key", "value"), _names(p, "query_bias", "key_bias", "value_bias")
            yield _one("vision attention must be query, key, value adjacent in one object", weights)
            yield _one("vision attention must have its biases adjacent in one object, as query, key, value", biases)
    for component, draft in sizes.drafts.items():
        for index in range(draft.layers):
            p = f"{component}/layers/{index}/"
            members = _names(f"{p}attention/", "query", "key", "value")
            yield _one(f"draft attention must be query, key, value in one {_Q8} object", members, _Q8)
            yield _gate_up(f"{p}mlp/")


def _names(prefix: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{name}" for name in names)


def _one(rule: str, members: tuple[str, ...], *formats: Format) -> Packing:
    return Packing(rule, ((Group(members, formats),),))


def _attention(p: str, *, experts: bool) -> Packing:
    members = _names(f"{p}attention/", "query", "key", "gate", "value")
    listed = "query, key, gate, value"
    if experts:
        return _one(f"attention beside experts must be {listed} in one {_Q8} object", members, _Q8)
    rule = (
        f"dense attention must be {listed} in one {_NVFP4}, {_FP8} or {_BF16} object, or query, key in one {_Q4} "
        f"object and gate, value in one {_Q5} object"
    )
    apart = (Group(members[:2], (_Q4,)), Group(members[2:], (_Q5,)))
    return Packing(rule, ((Group(members, (_NVFP4, _FP8, _BF16)),), apart))


def _linear(p: str, *, experts: bool) -> Packing:
    members = _names(f"{p}gdn/", "query", "key", "value", "z")
    listed = "query, key, value, z"
    if experts:
        return _one(f"linear attention beside experts must be {listed} in one {_Q8} object", members, _Q8)
    rule = (
        f"dense linear attention must be {listed} in one {_NVFP4} or {_FP8} object, or query, key in one {_Q4} object "
        f"and value, z in one {_Q5} object"
    )
    apart = (Group(members[:2], (_Q4,)), Group(members[2:], (_Q5,)))
    return Packing(rule, ((Group(members, (_NVFP4, _FP8)),), apart))


def _a_and_b(p: str, sizes: Linear) -> Packing:
    members = _names(f"{p}gdn/", "a_projection", "b_projection")
    rule = f"a_projection, b_projection must be {_BF16} and adjacent in one object"
    together = (Group(members, (_BF16,)),)
    if sizes.heads != SEPARATE_HEADS:
        return Packing(f"{rule} where there are {sizes.heads} value heads, not {SEPARATE_HEADS}", (together,))
    apart = (Group(members[:1], (_BF16,)), Group(members[1:], (_BF16,)))
    return Packing(f"{rule}, or {_BF16} and separate", (together, apart))


def _mlp(p: str, text: Text) -> Iterator[Packing]:
    if not isinstance(text.mlp, Experts):
        yield _gate_up(f"{p}mlp/")
        return
    router = _names(f"{p}moe/", "router", "shared_score")
    yield _one(f"router, shared_score must be one {_BF16} object", router, _BF16)
    yield _bank(f"{p}moe/experts/", text.mlp.count)
    shared = _names(f"{p}moe/shared/", "gate", "up")
    yield _one(f"a shared expert must be gate, up adjacent in one {_Q8} object", shared, _Q8)
    yield _one(f"a shared expert's down must be {_Q8}", (f"{p}moe/shared/down",), _Q8)


def _gate_up(p: str) -> Packing:
    return _one("gate, up must be adjacent in one object", _names(p, "gate", "up"))


def _bank(p: str, count: int) -> Packing:
    gates = tuple(f"{p}{expert}/{name}" for expert in range(count) for name in ("gate", "up"))
    downs = tuple(f"{p}{expert}/down" for expert in range(count))
    rule = (
        "an expert bank must be gate, up, expert by expert, in one object and every down in one object, "
        f"of {_Q4} with {_Q5} or {_Q6}, or of {_Q8} with {_Q8}"
    )
    small = (Group(gates, (_Q4,)), Group(downs, (_Q5, _Q6)))
    return Packing(rule, (small, (Group(gates, (_Q8,)), Group(downs, (_Q8,)))))
