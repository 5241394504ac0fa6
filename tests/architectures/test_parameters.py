"""The parameter table against section 7 of container-v3.md, and models that lack parts of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.architectures.models import QWEN3_5, few_layers
from tests.architectures.section6 import DFLASH2
from tests.architectures.section7 import OFFICIAL_27B, OFFICIAL_35B, Official, rows
from workers.engine.architectures.qwen3_5.parameters import parameters
from workers.engine.container.model_description import Proposal

INDEXED = Proposal(131072)


@pytest.mark.parametrize(
    ("model_id", "official", "backends"),
    [
        ("qwen3.6-27b", OFFICIAL_27B, ("mtp",)),
        ("qwen3.8-27b", OFFICIAL_27B, ("mtp", "dflash2")),
        ("qwen3.6-35b-a3b", OFFICIAL_35B, ("mtp", "dflash")),
        ("qwen3.6-35b-a3b", OFFICIAL_35B, ("dflash",)),
    ],
)
def test_the_table_is_section_7_in_its_order(model_id: str, official: Official, backends: tuple[str, ...]) -> None:
    configs = QWEN3_5.published_configs(model_id, ("text", "vision", *backends))
    found = [(one.name, one.shape, one.format, one.inputs) for one in parameters(configs, INDEXED)]
    assert found == list(rows(official, backends))


@pytest.mark.parametrize(
    ("model_id", "offered", "counts"),
    [
        ("qwen3.6-27b", ("text",), {"text": 963}),
        ("qwen3.6-27b", ("text", "vision"), {"text": 963, "vision": 441}),
        ("qwen3.6-27b", ("text", "mtp"), {"text": 963, "mtp": 16}),
        ("qwen3.8-27b", ("text", "dflash2"), {"text": 963, "dflash2": 91}),
        ("qwen3.6-35b-a3b", ("text", "mtp", "dflash"), {"text": 31_403, "mtp": 786, "dflash": 81}),
    ],
)
def test_each_component_has_the_parameters_that_section_7_counts(
    model_id: str, offered: tuple[str, ...], counts: dict[str, int]
) -> None:
    table = parameters(QWEN3_5.published_configs(model_id, offered), None)
    assert Counter(one.name.partition("/")[0] for one in table) == counts


def test_a_proposal_of_the_whole_vocabulary_has_a_head_of_all_rows_and_no_ids() -> None:
    configs = QWEN3_5.published_configs("qwen3.6-27b", ("text", "mtp"))
    proposal = [one for one in parameters(configs, Proposal(None)) if one.name.startswith("proposal/")]
    assert [(one.name, one.shape, one.inputs) for one in proposal] == [
        ("proposal/head", (248320, 5120), ("mtp/final_hidden",))
    ]


def test_heads_are_used_by_every_offered_backend_in_order() -> None:
    model = few_layers()
    configs = {**model.configs, "dflash2": QWEN3_5.published_configs("qwen3.8-27b", ("dflash2",))["dflash2"]}
    inputs = {one.name: one.inputs for one in parameters(configs, INDEXED)}
    heard = ("mtp/final_hidden", "dflash/final_hidden", "dflash2/final_hidden")
    assert inputs["proposal/head"] == heard
    assert inputs["text/output_head"] == ("text/final_hidden", *heard)
    alone = {one.name: one.inputs for one in parameters({"text": configs["text"]}, INDEXED)}
    assert (alone["proposal/head"], alone["text/output_head"]) == ((), ("text/final_hidden",))


def test_kernels_of_a_draft_have_a_row_for_each_side_tap_and_group() -> None:
    configs = QWEN3_5.published_configs("qwen3.8-27b", ("text", "dflash2"))
    own: Any = {**configs["dflash2"], "dflash_config": {**DFLASH2["dflash_config"], "conv_kernel_size": 3}}
    own["dflash_config"] |= {"conv_group_size": 64, "selector_rank": 24}
    shapes = {one.name: one.shape for one in parameters({**configs, "dflash2": own}, None)}
    assert shapes["dflash2/layers/0/mlp_conv/kernel_projection"] == (2 * 3 * 80, 5120)
    assert shapes["dflash2/layers/0/attention_conv/base_kernel"] == (2, 3, 5120)
    assert shapes["dflash2/candidate_selector/successor_codebook"] == (248320, 24)
