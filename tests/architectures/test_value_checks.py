"""Which stored words must be read, and what must hold of them: container-v3.md, 9, 10 and 13."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemas.registry import Format
from tests.architectures.models import (
    DENSE_27B,
    MOE_35B,
    NVFP4_27B,
    NVFP4_38,
    QWEN3_5,
    described,
    few_layers,
    model,
    stored,
)
from workers.engine.architectures.value_checks import (
    DistinctTokens,
    Element,
    IdenticalElements,
    PositiveElement,
    PositiveWeightDivisor,
    ValueCheck,
)
from workers.engine.container.directory import TensorObject
from workers.engine.container.model_description import (
    ActivationPolicy,
    ElementRange,
    JoinedRanges,
    ModelDescription,
    Use,
    WholeTensor,
)

TOKENS = DistinctTokens((ElementRange("text/draft_head_token_ids", 0, 131072),), 248320)
ROLE = "activation_input_divisor"


def checks(description: ModelDescription, objects: dict[str, TensorObject]) -> list[ValueCheck]:
    return list(QWEN3_5.value_checks(description, objects))


@pytest.mark.parametrize("target", [DENSE_27B, MOE_35B])
def test_without_nvfp4_only_token_ids_are_looked_at(target: str) -> None:
    assert checks(described(target), model(target).objects()) == [TOKENS]


@pytest.mark.parametrize("target", [NVFP4_27B, NVFP4_38])
def test_every_divisor_is_looked_at_once(target: str) -> None:
    tensors = model(target).tensors
    expected = {
        *(PositiveWeightDivisor(one.name) for one in tensors if one.format is Format.NVFP4),
        *(PositiveElement(Element(one.name, 0)) for one in tensors if one.name.endswith("/input_scale_divisor")),
        TOKENS,
    }
    found = checks(described(target), model(target).objects())
    assert set(found) == expected
    assert len(found) == len(expected)


def test_a_proposal_of_the_whole_vocabulary_has_no_ids() -> None:
    full = few_layers().without("text/draft_head").with_tensor("text/draft_head", (248320, 2048), Format.BF16)
    assert checks(full.describe(), full.objects()) == []
    none = few_layers().without("text/draft_head")
    assert checks(none.describe(), none.objects()) == []


def test_token_ids_in_pieces_are_held_together() -> None:
    description, objects = few_layers().describe(), few_layers().objects()
    objects |= {"a": stored("a", (1000,), Format.I32), "b": stored("b", (200000,), Format.I32)}
    pieces = (ElementRange("a", 10, 20), ElementRange("b", 0, 131062))
    pieced = replace(description, bindings={**description.bindings, "proposal/token_ids": JoinedRanges(pieces)})
    assert checks(pieced, objects) == [DistinctTokens(pieces, 248320)]


def one_scalar_a_use() -> tuple[ModelDescription, dict[str, TensorObject]]:
    """3.6 nvfp4 as a direct conversion has it: elements of one vector, in the order of the uses."""
    description, objects = described(NVFP4_27B), model(NVFP4_27B).objects()
    objects["divisors"] = stored("divisors", (485,), Format.FP32)
    uses: list[Use] = []
    count = 0
    for use in description.uses:
        if use.auxiliaries:
            uses.append(replace(use, auxiliaries={ROLE: JoinedRanges((ElementRange("divisors", count, count + 1),))}))
            count += 1
        else:
            uses.append(use)
    assert count == 485
    return replace(description, uses=tuple(uses)), objects


def agreements(description: ModelDescription, objects: dict[str, TensorObject]) -> list[IdenticalElements]:
    return [one for one in checks(description, objects) if isinstance(one, IdenticalElements)]


def test_members_of_a_fused_object_must_agree_on_their_divisor() -> None:
    description, objects = one_scalar_a_use()
    found = checks(description, objects)
    assert [one for one in found if isinstance(one, PositiveElement)] == [
        PositiveElement(Element("divisors", index)) for index in range(485)
    ]
    fused = [one for one in model(NVFP4_27B).tensors if one.format is Format.NVFP4]
    fused = [one for one in fused if one.name.rpartition("/")[2] not in {"output", "down"}]
    together = {one.object: one.elements for one in agreements(description, objects)}
    assert together.keys() == {one.name for one in fused}
    divisors = {use.parameter: next(iter(use.auxiliaries.values())) for use in description.uses if use.auxiliaries}
    for name, elements in together.items():
        members = [
            key
            for key, binding in description.bindings.items()
            if isinstance(binding, JoinedRanges) and binding.ranges[0].object == name
        ]
        starts = {one.ranges[0].start for key in members if isinstance(one := divisors[key], JoinedRanges)}
        assert {one.index for one in elements} == starts
        assert {one.object for one in elements} == {"divisors"}
        assert len(elements) == (2 if name.endswith("gate_up") else 4)


def test_divisors_need_not_agree_where_a_member_allows_no_4_bits() -> None:
    """The policies of fused members are intersected."""
    description, objects = one_scalar_a_use()
    name = "text/layers/0/mlp/up"
    uses = tuple(
        replace(use, policy=ActivationPolicy.A16_ONLY) if use.parameter == name else use for use in description.uses
    )
    before = {one.object for one in agreements(description, objects)}
    after = {one.object for one in agreements(replace(description, uses=uses), objects)}
    assert before - after == {"text/layers/0/mlp/gate_up"}


def test_divisors_at_several_inputs_need_not_agree() -> None:
    description, objects = few_layers().describe(), few_layers().objects()
    objects["text/output_head"] = replace(objects["text/output_head"], format=Format.NVFP4)
    uses: list[Use] = []
    for use in description.uses:
        if use.parameter == "text/output_head":
            name = f"divisor/{use.input}"
            objects[name] = stored(name, (), Format.FP32)
            uses.append(Use(use.parameter, use.input, ActivationPolicy.ALLOW_A4, {ROLE: WholeTensor(name)}))
        else:
            uses.append(use)
    found = checks(replace(description, uses=tuple(uses)), objects)
    assert found == [
        PositiveWeightDivisor("text/output_head"),
        *(PositiveElement(Element(f"divisor/{input}/final_hidden", 0)) for input in ("text", "mtp", "dflash")),
        TOKENS,
    ]


def test_what_the_architecture_does_not_ask_for_is_not_looked_at() -> None:
    description, objects = few_layers().describe(), few_layers().objects()
    objects |= {"n": stored("n", (128, 64), Format.NVFP4), "d": stored("d", (), Format.FP32)}
    more = replace(
        description,
        bindings={**description.bindings, "decision/readout": WholeTensor("n")},
        uses=(*description.uses, Use("decision/readout", "x", ActivationPolicy.ALLOW_A4, {ROLE: WholeTensor("d")})),
    )
    assert checks(more, objects) == [TOKENS]
