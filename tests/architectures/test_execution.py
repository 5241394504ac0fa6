"""What the engine can run, sentence by sentence: container-v3.md, 15."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import pytest

from schemas.registry import Format
from tests.architectures.models import (
    DENSE_27B,
    DENSE_38,
    MOE_35B,
    NVFP4_27B,
    NVFP4_38,
    QWEN3_5,
    TARGETS,
    Model,
    described,
    few_layers,
    model,
    model_with_dflash2,
    stored,
)
from workers.engine.architectures.architecture import ExecutionFault
from workers.engine.architectures.qwen3_5.parameters import parameters
from workers.engine.container.directory import TensorObject
from workers.engine.container.model_description import (
    ActivationPolicy,
    Binding,
    ElementRange,
    JoinedRanges,
    ModelDescription,
    WholeTensor,
)

BF16, FP32, NVFP4, FP8 = Format.BF16, Format.FP32, Format.NVFP4, Format.FP8_E4M3FN_ROW_BF16S
Q4, Q5, Q6, Q8 = Format.Q4G64_F16S, Format.Q5G64_F16S, Format.Q6G64_F16S, Format.W8G32_F16S

Objects = dict[str, TensorObject]


def refused(description: ModelDescription, objects: Objects) -> list[str]:
    """What the execution faults are of."""
    return [fault.subject for fault in QWEN3_5.execution_faults(description, objects)]


def rule(description: ModelDescription, objects: Objects) -> ExecutionFault:
    (fault,) = QWEN3_5.execution_faults(description, objects)
    return fault


def in_formats(whole: Model, formats: Mapping[str, Format]) -> list[str]:
    """What is refused of a model whose objects of these names are in other formats."""
    objects = whole.objects()
    for name, format in formats.items():
        objects[name] = replace(objects[name], format=format)
    return refused(whole.describe(), objects)


def placed(
    whole: Model, members: Mapping[str, tuple[str, int]], formats: Mapping[str, Format]
) -> ExecutionFault | None:
    """What is refused of a model whose parameters `members` lie from those elements of other objects on, each of which
    ends where the last of them ends."""
    description, objects = whole.describe(), whole.objects()
    shapes = {one.name: one.shape for one in parameters(whole.configs, description.components["text"].proposal)}
    ends: dict[str, int] = {}
    bindings: dict[str, Binding] = dict(description.bindings)
    for name, (object, start) in members.items():
        stop = start + prod(shapes[name])
        bindings[name] = JoinedRanges((ElementRange(object, start, stop),))
        ends[object] = max(ends.get(object, 0), stop)
        width = shapes[name][-1]
        objects[object] = stored(object, (ends[object] // width, width), formats[object])
    faults = QWEN3_5.execution_faults(replace(description, bindings=bindings), objects)
    assert len(faults) < 2
    return faults[0] if faults else None


@pytest.mark.parametrize("target", TARGETS)
def test_registered_targets_can_be_run(target: str) -> None:
    assert refused(described(target), model(target).objects()) == []


@pytest.mark.parametrize("target", [DENSE_38, NVFP4_38])
def test_targets_with_dflash2_can_be_run(target: str) -> None:
    whole = model_with_dflash2(target)
    assert refused(whole.describe(), whole.objects()) == []


A = "text/layers/3/attention/"
G = "text/layers/0/gdn/"


@pytest.mark.parametrize(
    ("format", "runs"), [(NVFP4, True), (FP8, True), (BF16, True), (Q8, False), (Q6, False), (Q5, False), (Q4, False)]
)
def test_dense_attention_in_one_object(format: Format, runs: bool) -> None:
    found = in_formats(model(NVFP4_38), {f"{A}query_key_gate_value": format})
    assert found == ([] if runs else [f"{A}query"])


def test_a_rule_is_told_in_words_with_what_was_found() -> None:
    objects = model(NVFP4_38).objects()
    objects[f"{A}query_key_gate_value"] = replace(objects[f"{A}query_key_gate_value"], format=Q8)
    assert rule(described(NVFP4_38), objects) == ExecutionFault(
        f"{A}query",
        "dense attention must be query, key, gate, value in one NVFP4, FP8_E4M3FN_ROW_BF16S or BF16 object, or query, "
        "key in one Q4G64_F16S object and gate, value in one Q5G64_F16S object; found [0, 73400320) of "
        "'text/layers/3/attention/query_key_gate_value' in W8G32_F16S",
    )


@pytest.mark.parametrize(
    ("first", "second", "runs"),
    [
        (Q4, Q5, True),
        (Q4, Q6, False),
        (Q8, Q5, False),
        (Q4, Q4, False),
        (Q5, Q5, False),
        (Q5, Q4, False),
        (NVFP4, NVFP4, False),
        (BF16, BF16, False),
    ],
)
def test_dense_attention_and_linear_attention_in_two_objects(first: Format, second: Format, runs: bool) -> None:
    found = in_formats(model(DENSE_27B), {f"{A}query_key": first, f"{A}gate_value": second})
    assert found == ([] if runs else [f"{A}query"])
    found = in_formats(model(DENSE_27B), {f"{G}query_key": first, f"{G}value_z": second})
    assert found == ([] if runs else [f"{G}query"])


@pytest.mark.parametrize(("format", "runs"), [(NVFP4, True), (FP8, True), (BF16, False), (Q8, False), (Q4, False)])
def test_dense_linear_attention_in_one_object(format: Format, runs: bool) -> None:
    found = in_formats(model(NVFP4_38), {f"{G}query_key_value_z": format})
    assert found == ([] if runs else [f"{G}query"])


@pytest.mark.parametrize("format", [BF16, FP8, NVFP4, Q4, Q6])
def test_attention_beside_experts_is_one_q8_object(format: Format) -> None:
    whole = few_layers()
    assert in_formats(whole, {f"{A}query_key_gate_value": format}) == [f"{A}query"]
    assert in_formats(whole, {f"{G}query_key_value_z": format}) == [f"{G}query"]


def test_members_stand_in_their_order() -> None:
    query, key = 31457280, 5242880
    turned = {
        f"{A}key": ("x", 0),
        f"{A}query": ("x", key),
        f"{A}gate": ("x", key + query),
        f"{A}value": ("x", key + 2 * query),
    }
    found = placed(model(NVFP4_27B), turned, {"x": BF16})
    assert found is not None
    assert found.subject == f"{A}query"
    straight = {
        f"{A}query": ("x", 0),
        f"{A}key": ("x", query),
        f"{A}gate": ("x", query + key),
        f"{A}value": ("x", 2 * query + key),
    }
    assert placed(model(NVFP4_27B), straight, {"x": BF16}) is None


def test_four_members_in_two_pairs_of_one_format_are_no_pair() -> None:
    """Query and key in Q4, but gate and value in Q4 as well, and all in one object."""
    query, key = 31457280, 5242880
    members = {
        f"{A}query": ("x", 0),
        f"{A}key": ("x", query),
        f"{A}gate": ("x", query + key),
        f"{A}value": ("x", 2 * query + key),
    }
    found = placed(model(DENSE_27B), members, {"x": Q4})
    assert found is not None
    assert found.subject == f"{A}query"


def test_a_and_b() -> None:
    together, apart = model(NVFP4_38), model(DENSE_27B)
    assert in_formats(together, {f"{G}a_b_projection": Q8}) == [f"{G}a_projection"]
    assert in_formats(apart, {f"{G}b_projection": Q8}) == [f"{G}a_projection"]
    assert in_formats(apart, {f"{G}a_projection": FP32}) == [f"{G}a_projection"]
    # the other way round in one object is separate too
    size = 48 * 5120
    turned = {f"{G}b_projection": ("x", 0), f"{G}a_projection": ("x", size)}
    assert placed(apart, turned, {"x": BF16}) is None
    few = few_layers()
    size = 32 * 2048
    assert placed(few, {f"{G}a_projection": ("x", 0), f"{G}b_projection": ("x", size)}, {"x": BF16}) is None
    for members in (
        {f"{G}a_projection": ("x", 0), f"{G}b_projection": ("y", 0)},
        {f"{G}b_projection": ("x", 0), f"{G}a_projection": ("x", size)},
        {f"{G}a_projection": ("x", 0), f"{G}b_projection": ("x", size + 2048)},
    ):
        found = placed(few, members, {"x": BF16, "y": BF16})
        assert found is not None
        assert found.subject == f"{G}a_projection"
        assert found.message.startswith(
            "a_projection, b_projection must be BF16 and adjacent in one object where there are 32 value heads, not 48"
        )


@pytest.mark.parametrize("p", ["text/layers/0/mlp/", "mtp/layers/0/mlp/", "dflash2/layers/0/mlp/"])
def test_gate_and_up_are_adjacent(p: str) -> None:
    whole, size = model_with_dflash2(DENSE_38), 17408 * 5120
    assert placed(whole, {f"{p}gate": ("x", 0), f"{p}up": ("x", size)}, {"x": Q6}) is None
    for members in (
        {f"{p}gate": ("x", 0), f"{p}up": ("y", 0)},
        {f"{p}up": ("x", 0), f"{p}gate": ("x", size)},
        {f"{p}gate": ("x", 0), f"{p}up": ("x", size + 5120)},
    ):
        found = placed(whole, members, {"x": Q4, "y": Q4})
        assert found is not None
        assert (found.subject, found.message.partition(";")[0]) == (
            f"{p}gate",
            "gate, up must be adjacent in one object",
        )


@pytest.mark.parametrize("p", ["text/layers/0/moe/", "mtp/layer/moe/"])
def test_a_router_is_one_bf16_object_with_the_score(p: str) -> None:
    whole, parameters = few_layers(), p.replace("layer/", "layers/0/") if "mtp" in p else p
    assert in_formats(whole, {f"{p}router_shared_gate": Q8}) == [f"{parameters}router"]
    apart = {f"{parameters}router": ("x", 0), f"{parameters}shared_score": ("y", 0)}
    found = placed(whole, apart, {"x": BF16, "y": BF16})
    assert found is not None
    assert found.subject == f"{parameters}router"


@pytest.mark.parametrize(
    ("gates", "downs", "runs"),
    [
        (Q4, Q5, True),
        (Q4, Q6, True),
        (Q8, Q8, True),
        (Q4, Q4, False),
        (Q4, Q8, False),
        (Q8, Q5, False),
        (Q8, Q6, False),
        (Q5, Q5, False),
        (NVFP4, NVFP4, False),
        (BF16, BF16, False),
    ],
)
def test_formats_of_an_expert_bank(gates: Format, downs: Format, runs: bool) -> None:
    for p, bound in (("text/layers/1/moe/", "text/layers/1/moe/"), ("mtp/layer/moe/", "mtp/layers/0/moe/")):
        found = in_formats(few_layers(), {f"{p}routed_gate_up": gates, f"{p}routed_down": downs})
        assert found == ([] if runs else [f"{bound}experts/0/gate"])


def test_an_expert_bank_is_one_object_expert_by_expert() -> None:
    p, size = "text/layers/1/moe/experts/", 512 * 2048
    straight = {
        f"{p}{expert}/{name}": ("x", (2 * expert + half) * size)
        for expert in range(6)
        for half, name in enumerate(("gate", "up"))
    }
    assert placed(few_layers(), straight, {"x": Q4}) is None
    swapped = straight | {f"{p}0/gate": straight[f"{p}1/gate"], f"{p}1/gate": straight[f"{p}0/gate"]}
    beside = straight | {f"{p}5/up": ("y", 0)}
    downs = {f"{p}{expert}/down": ("x", expert * size) for expert in (1, 0, 2, 3, 4, 5)}
    assert placed(few_layers(), downs, {"x": Q5}) is None
    split = downs | {f"{p}5/down": ("y", 0)}
    for members in (swapped, beside, split):
        found = placed(
            few_layers(), members, {"x": Q5 if members is split else Q4, "y": Q5 if members is split else Q4}
        )
        assert found is not None
        assert found.subject == f"{p}0/gate"


@pytest.mark.parametrize("format", [BF16, Q4, Q6, FP8, NVFP4])
def test_a_shared_expert_is_q8(format: Format) -> None:
    p = "text/layers/1/moe/"
    assert in_formats(few_layers(), {f"{p}shared_gate_up": format}) == [f"{p}shared/gate"]
    assert in_formats(few_layers(), {f"{p}shared_down": format}) == [f"{p}shared/down"]


def test_vision_has_its_three_and_their_biases_adjacent() -> None:
    p, size = "vision/layers/1/attention/", 1152 * 1152
    three = {f"{p}{name}": ("x", index * size) for index, name in enumerate(("query", "key", "value"))}
    assert placed(few_layers(), three, {"x": Q8}) is None
    found = placed(few_layers(), three | {f"{p}value": ("y", 0)}, {"x": Q4, "y": Q4})
    assert found is not None
    assert (found.subject, found.message.partition(";")[0]) == (
        f"{p}query",
        "vision attention must be query, key, value adjacent in one object",
    )
    biases = {f"{p}{name}_bias": ("x", index * 1152) for index, name in enumerate(("query", "key", "value"))}
    assert placed(few_layers(), biases, {"x": BF16}) is None
    found = placed(few_layers(), biases | {f"{p}query_bias": ("y", 0)}, {"x": BF16, "y": BF16})
    assert found is not None
    assert found.subject == f"{p}query_bias"


@pytest.mark.parametrize("format", [BF16, Q4, Q6, FP8])
def test_draft_attention_is_one_q8_object(format: Format) -> None:
    p = "dflash/layers/0/attention/"
    found = in_formats(few_layers(), {f"{p}query_key_value": format})
    # FP8 is not taken in parts either, and context key and value are parts
    parts = [f"{p}query_key_value"] * 2 if format is FP8 else []
    assert found == [f"{p}query", *parts]
    found = in_formats(model_with_dflash2(DENSE_38), {"dflash2/layers/3/attention/query_key_value": format})
    assert found[0] == "dflash2/layers/3/attention/query"


def test_draft_attention_in_two_objects() -> None:
    p = "dflash/layers/0/attention/"
    found = placed(few_layers(), {f"{p}value": ("x", 0)}, {"x": Q8})
    assert found is not None
    assert found.subject == f"{p}query"


@pytest.mark.parametrize("target", [DENSE_27B, MOE_35B])
def test_mtp_attention_is_one_object_of_any_format(target: str) -> None:
    whole = few_layers() if target == MOE_35B else model(target)
    for format in (BF16, Q4, Q6, FP8, NVFP4):
        assert in_formats(whole, {"mtp/layer/attention/query_key_gate_value": format}) == []
    p = "mtp/layers/0/attention/"
    found = placed(whole, {f"{p}value": ("x", 0)}, {"x": Q8})
    assert found is not None
    assert (found.subject, found.message.partition(";")[0]) == (
        f"{p}query",
        "MTP attention must be query, key, gate, value in one object",
    )


@pytest.mark.parametrize(("format", "runs"), [(NVFP4, False), (FP8, False), (Q4, True), (Q8, True), (BF16, True)])
def test_nvfp4_and_fp8_are_consumed_as_complete_objects_only(format: Format, runs: bool) -> None:
    """A matrix of its own and a fused pair, each with rows before them that belong to nobody."""
    size = 17408 * 5120
    down, p = "text/layers/0/mlp/down", "text/layers/0/mlp/"
    alone = placed(model(DENSE_27B), {down: ("x", 128 * 17408)}, {"x": format})
    pair = placed(model(DENSE_27B), {f"{p}gate": ("x", 128 * 5120), f"{p}up": ("x", 128 * 5120 + size)}, {"x": format})
    if runs:
        assert alone is None
        assert pair is None
    else:
        assert alone == ExecutionFault(
            "x",
            f"{format} is consumed only as a complete object, here of 91357184 elements; found {down!r} at "
            "[2228224, 91357184)",
        )
        assert pair is not None
        assert pair.subject == "x"


def test_row_split_objects_are_consumed_as_whole_rows() -> None:
    down = "text/layers/0/mlp/down"
    found = placed(model(DENSE_27B), {down: ("x", 17408 - 64)}, {"x": Q5})
    message = f"{Q5} is consumed as whole rows, here of 17408 elements; found {down!r} at [17344, 89146304)"
    assert found == ExecutionFault("x", f"{message} where a row has 17408")
    assert placed(model(DENSE_27B), {down: ("x", 17408 - 64)}, {"x": BF16}) is None


@pytest.mark.parametrize("format", [Q4, Q8, FP8, NVFP4, BF16])
def test_a_quantized_matrix_is_not_reshaped(format: Format) -> None:
    whole, down = model(DENSE_27B), "text/layers/0/mlp/down"
    description, objects = whole.describe(), whole.objects()
    elements = 5120 * 17408
    objects["x"] = stored("x", (10240, 8704), format)
    bindings = {**description.bindings, down: JoinedRanges((ElementRange("x", 0, elements),))}
    reshaped = replace(description, bindings=bindings)
    if format is BF16:
        assert refused(reshaped, objects) == []
    else:
        message = f"{format} is consumed as whole rows, here of 17408 elements; found {down!r} at [0, {elements})"
        assert rule(reshaped, objects) == ExecutionFault("x", f"{message} where a row has 8704")


@pytest.mark.parametrize("format", [Q4, Q8, FP8, NVFP4])
def test_a_quantized_matrix_is_one_range_of_one_object(format: Format) -> None:
    whole, down = model(DENSE_27B), "text/layers/0/mlp/down"
    description, objects = whole.describe(), whole.objects()
    objects |= {one: stored(one, (2560, 17408), format) for one in ("x", "y")}
    half = 2560 * 17408
    pieces = JoinedRanges((ElementRange("x", 0, half), ElementRange("y", 0, half)))
    found = rule(replace(description, bindings={**description.bindings, down: pieces}), objects)
    assert found == ExecutionFault(
        down,
        f"must be one range of one object; found [0, {half}) of 'x' in {format}, [0, {half}) of 'y' in {format}",
    )


def test_direct_and_quantized_pieces_make_no_matrix() -> None:
    whole, down = model(DENSE_27B), "text/layers/0/mlp/down"
    description, objects = whole.describe(), whole.objects()
    objects |= {"x": stored("x", (2560, 17408), BF16), "y": stored("y", (2560, 17408), Q5)}
    half = 2560 * 17408
    pieces = JoinedRanges((ElementRange("x", 0, half), ElementRange("y", 0, half)))
    assert refused(replace(description, bindings={**description.bindings, down: pieces}), objects) == [down]


def test_ranges_that_go_on_in_the_same_object_are_one() -> None:
    whole, down = model(DENSE_27B), "text/layers/0/mlp/down"
    description, objects = whole.describe(), whole.objects()
    objects[down] = replace(objects[down], format=FP8)
    pieces = JoinedRanges((ElementRange(down, 0, 1000), ElementRange(down, 1000, 5120 * 17408)))
    assert refused(replace(description, bindings={**description.bindings, down: pieces}), objects) == []


def test_direct_words_may_be_gathered() -> None:
    whole = few_layers()
    description, objects = whole.describe(), whole.objects()
    objects |= {one: stored(one, (2048,), BF16) for one in ("x", "y")}
    pieces = JoinedRanges((ElementRange("x", 3, 1003), ElementRange("y", 0, 1048)))
    assert refused(replace(description, bindings={**description.bindings, "text/final_norm": pieces}), objects) == []


def test_4_bits_need_a_divisor() -> None:
    whole = model(NVFP4_27B)
    name = "text/layers/1/mlp/down"
    uses = tuple(replace(use, auxiliaries={}) if use.parameter == name else use for use in described(NVFP4_27B).uses)
    assert rule(replace(described(NVFP4_27B), uses=uses), whole.objects()) == ExecutionFault(
        name,
        "is NVFP4 and allows 4-bit activations at 'text/layers/1/mlp/product', which needs an activation_input_divisor",
    )
    less = tuple(replace(use, policy=ActivationPolicy.A16_ONLY) if use.parameter == name else use for use in uses)
    assert refused(replace(described(NVFP4_27B), uses=less), whole.objects()) == []


def test_4_bits_need_no_divisor_where_the_matrix_is_not_nvfp4() -> None:
    whole = few_layers()
    uses = tuple(replace(use, policy=ActivationPolicy.ALLOW_A4) for use in whole.describe().uses)
    assert refused(replace(whole.describe(), uses=uses), whole.objects()) == []


def test_ids_and_grouping_of_the_writer_are_free() -> None:
    """Linear attention of two layers in one object: rows of a row-split object are taken from anywhere in it."""
    whole = few_layers()
    description, objects = whole.describe(), whole.objects()
    rows = (2048 + 2048 + 4096 + 4096) * 2048
    objects["both"] = stored("both", (2 * rows // 2048, 2048), Q8)
    bindings: dict[str, Binding] = dict(description.bindings)
    for layer in (0, 1):
        for name, binding in description.bindings.items():
            if (
                isinstance(binding, JoinedRanges)
                and binding.ranges[0].object == f"text/layers/{layer}/gdn/query_key_value_z"
            ):
                (one,) = binding.ranges
                bindings[name] = JoinedRanges(
                    (ElementRange("both", one.start + layer * rows, one.stop + layer * rows),)
                )
    moved = replace(description, bindings=bindings)
    assert WholeTensor("both") not in moved.bindings.values()
    assert list(QWEN3_5.architecture_faults(moved, objects)) == []
    assert refused(moved, objects) == []
