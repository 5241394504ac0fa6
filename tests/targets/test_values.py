"""Small forms of the five targets, object for object against targets.md in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt
import pytest

from schemas.recipe.expanded import DraftIds, Require, Tensor
from schemas.registry import Format
from schemas.source_dtypes import ELEMENT_BYTES, SourceDtype
from tests.targets import values
from tests.targets.targets import IDS, Target, small
from tests.targets.values import Checkpoint, Made, Words
from tests.targets.words import WORD_TYPES, random_words
from workers.engine.encode.evaluation import Evaluation
from workers.engine.recipe.inference import Typed
from workers.engine.scratch import Bytes, Scratch


@dataclass(frozen=True, slots=True)
class SmallInputs:
    """Checkpoints in memory, and ids for the draft head."""

    checkpoints: Mapping[str, Checkpoint]
    ids: npt.NDArray[np.int32]

    def read_tensor(self, source: str, tensor: str, offset: int, out: Bytes) -> None:
        out[:] = self.checkpoints[source][tensor].reshape(-1).view(np.uint8)[offset : offset + out.size]

    def rows_of(self, name: str, start: int, stop: int) -> npt.NDArray[np.int64]:
        assert name == "text/draft_head_token_ids"
        return self.ids[start:stop].astype(np.int64)

    def draft_ids(self, _op: DraftIds) -> npt.NDArray[np.int32]:
        return self.ids


def small_inputs(target: Target) -> SmallInputs:
    """Every checkpoint with words of its own, so that none stands in for another."""
    checkpoints = {source: random_words(headers, seed) for seed, (source, headers) in enumerate(target.headers.items())}
    ids = np.random.default_rng(7).permutation(target.sizes["domain"])[: target.sizes["take"]].astype(np.int32)
    return SmallInputs(checkpoints, ids)


def expected_objects(id: str, target: Target, inputs: SmallInputs) -> dict[str, Made]:
    """Every object of a target by name, as targets.md has it."""
    base, s, ids = inputs.checkpoints["base"], target.sizes, inputs.ids
    made = [*values.mtp(base, s), *values.vision(base, s)]
    text_norm = base
    match id:
        case "qwen3.6-35b-a3b.groupwise-int":
            made += [*values.moe_text(base, s), *values.moe("mtp/layer/", "mtp.layers.0.", base, s)]
            made += [*values.dflash(inputs.checkpoints["dflash"], s), ("text/output_head", (base["lm_head.weight"],))]
        case "qwen3.6-27b.nvfp4":
            made += values.quantized_text(base, inputs.checkpoints["quantized"], s, joined_a_b=False)
            made.append(("text/output_head", (base["lm_head.weight"],)))
        case "qwen3.8-27b.nvfp4":
            text_norm = quantized = inputs.checkpoints["quantized"]
            made += values.quantized_text(quantized, quantized, s, joined_a_b=True)
            made.append(("text/output_head", (quantized["lm_head.weight"], quantized["lm_head.weight_scale"])))
        case _:
            made += [*values.groupwise_text(base, s), ("text/output_head", (base["lm_head.weight"],))]
    if id != "qwen3.6-35b-a3b.groupwise-int":
        made += values.dense_mlp("mtp/layer/", "mtp.layers.0.", base)
    return dict([*made, *values.heads(base, text_norm, base, ids)])


def evaluated(value: Typed, inputs: SmallInputs) -> Made:
    """The planes of a value, as the encoder reads them."""
    parts = value.of if value.dtype in (Format.NVFP4, Format.FP8_E4M3FN_ROW_BF16S) else (value,)
    return tuple(read(part, inputs) for part in parts)


def read(value: Typed, inputs: SmallInputs) -> Words:
    assert isinstance(value.dtype, SourceDtype)
    width = ELEMENT_BYTES[value.dtype]
    out = np.empty(prod(value.shape) * width, np.uint8)
    Evaluation("object", inputs, Scratch()).read(value, 0, out)
    return out.view(WORD_TYPES[width]).reshape(value.shape)


@pytest.mark.parametrize("id", IDS)
def test_every_object_is_made_of_what_the_page_says(id: str) -> None:
    target = small(id)
    inputs = small_inputs(target)
    expected = expected_objects(id, target, inputs)
    assert {one.spec.name for one in target.typed()} == set(expected)
    for one in target.typed():
        found, made = evaluated(one.value, inputs), expected[one.spec.name]
        assert len(found) == len(made), one.spec.name
        for plane, words in zip(found, made, strict=True):
            np.testing.assert_array_equal(plane, words, err_msg=one.spec.name, strict=True)


def test_what_was_left_in_bf16_equals_the_quantized_checkpoints_own() -> None:
    target = small("qwen3.6-27b.nvfp4")
    inputs = small_inputs(target)
    other = {**inputs.checkpoints, "base": inputs.checkpoints["quantized"]}
    compared = [one for one in target.typed() if one.equals]
    names = [f"{layer}/attention/query_key_gate_value" for layer in (3, 7, 11, 15, 19, 23)]
    names += ["3/attention/output", "7/attention/output", "4/gdn/output"]
    assert {one.spec.name for one in compared} == {f"text/layers/{name}" for name in names}
    for one in compared:
        assert one.spec.format is Format.BF16
        [equal] = one.equals
        np.testing.assert_array_equal(read(equal, inputs), read(one.value, SmallInputs(other, inputs.ids)))


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
