"""What the targets' expressions are, where bytes alone do not show it: what is compared, and who takes part in what."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from schemas.recipe.expanded import DraftIds, Require, Tensor
from schemas.registry import Format
from tests.targets.targets import IDS, small
from workers.engine.recipe.inference import Typed


def of_source(value: Any, source: str) -> Any:
    """An expression with all its tensors from one source."""
    if isinstance(value, Tensor):
        return replace(value, source=source)
    if isinstance(value, tuple):
        return tuple(of_source(one, source) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: of_source(getattr(value, field.name), source) for field in fields(value)})
    return value


def test_what_was_left_in_bf16_is_compared_with_the_quantized_checkpoints_own() -> None:
    compared = [one for one in small("qwen3.6-27b.nvfp4").recipe.objects if one.equals]
    names = [f"{layer}/attention/query_key_gate_value" for layer in (3, 7, 11, 15, 19, 23)]
    names += ["3/attention/output", "7/attention/output", "4/gdn/output"]
    assert {one.name for one in compared} == {f"text/layers/{name}" for name in names}
    for one in compared:
        assert one.format is Format.BF16
        assert one.value == of_source(one.value, "base")
        assert one.equals == (of_source(one.value, "quantized"),)


def test_draft_ids_are_chosen_from_the_ranking_and_the_tokenizers_special_tokens() -> None:
    for id in IDS:
        target = small(id)
        [op] = [one.spec.value for one in target.typed() if isinstance(one.spec.value, DraftIds)]
        s = target.sizes
        assert op == DraftIds("ranking", s["vocab"], s["domain"], s["take"], "frontend/tokenizer_config.json")


@pytest.mark.parametrize("id", ["qwen3.6-27b.nvfp4", "qwen3.8-27b.nvfp4"])
def test_the_linears_of_a_matrix_all_take_part_in_its_divisor_and_in_the_scalar_after_it(id: str) -> None:
    typed = small(id).typed()
    matrices = [index for index, one in enumerate(typed) if one.spec.format is Format.NVFP4]
    scalars = [index for index, one in enumerate(typed) if one.spec.name.endswith("/input_scale_divisor")]
    assert [index + 1 for index in matrices] == scalars
    for index in matrices:
        codes, scales, divisor = typed[index].value.of
        linears = modules(codes, "weight_packed")
        assert modules(scales, "weight_scale") == modules(divisor, "weight_global_scale") == linears
        assert modules(typed[index + 1].value, "input_global_scale") == linears
        assert typed[index + 1].spec.require is Require.POSITIVE


def modules(value: Typed, kind: str) -> set[str]:
    """The linears whose tensors of one kind a value takes; it takes no other tensors."""
    if isinstance(value.op, Tensor):
        module, _, tensor = value.op.tensor.rpartition(".")
        assert (value.op.source, tensor) == ("quantized", kind)
        return {module}
    return {module for child in value.of for module in modules(child, kind)}
