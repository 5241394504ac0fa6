"""A checkpoint's quantization config against its tensors: where the two disagree, both claims are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas.errors import PlanError
from tests.engine.conversions import Tensors, one_object, recipe, write_checkpoint
from workers.engine.plan import Plan, plan_conversion
from workers.engine.sources.roots import ANYWHERE

NVFP4 = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16, "symmetric": True}
FP8 = {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True}
INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}


def tensors() -> Tensors:
    """One linear stored in each way, and an embedding."""
    return {
        "mlp.up.weight_packed": ("U8", (128, 32), bytes(128 * 32)),
        "mlp.up.weight_scale": ("F8_E4M3", (128, 4), bytes([0x38]) * 512),
        "mlp.up.weight_global_scale": ("F32", (1,), np.float32(2).tobytes()),
        "attn.q.weight": ("F8_E4M3", (8, 16), bytes([0x38]) * 128),
        "attn.q.weight_scale": ("BF16", (8, 1), np.full(8, 0x3F80, "<u2").tobytes()),
        "attn.gate.weight": ("BF16", (8, 16), np.ones(128, "<u2").tobytes()),
        "embed_tokens.weight": ("BF16", (8, 16), np.ones(128, "<u2").tobytes()),
    }


def modelopt_tensors() -> Tensors:
    """The same as ModelOpt names it."""
    renamed = {"weight_packed": "weight", "weight_global_scale": "weight_scale_2"}
    return {
        name.replace(kind, renamed.get(kind, kind)): tensor
        for name, tensor in tensors().items()
        for kind in [name.rpartition(".")[2]]
    }


def objects(codes: str = "weight_packed", factor: str = "weight_global_scale") -> list[dict[str, Any]]:
    packed = {
        "codes": {"tensor": f"mlp.up.{codes}"},
        "scales": {"tensor": "mlp.up.weight_scale"},
        "divisors" if factor == "weight_global_scale" else "multipliers": [{"tensor": f"mlp.up.{factor}"}],
    }
    row = {"codes": {"tensor": "attn.q.weight"}, "scales": {"tensor": "attn.q.weight_scale"}}
    made = [
        one_object("NVFP4", (128, 64), "copy", {"nvfp4": packed}),
        one_object("FP8_E4M3FN_ROW_BF16S", (8, 16), "copy", {"fp8_row": row}),
        one_object("BF16", (8, 16), "preserve", {"tensor": "attn.gate.weight"}),
        one_object("BF16", (8, 16), "preserve", {"tensor": "embed_tokens.weight"}),
    ]
    return [{**one, "name": f"object{i}"} for i, one in enumerate(made)]


def config(**groups: Any) -> dict[str, Any]:
    return {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["attn.gate"]}


def planned(folder: Path, quantization_config: object, kind: str = "compressed-tensors") -> Plan:
    modelopt = kind == "modelopt"
    place = write_checkpoint(folder / "model.safetensors", modelopt_tensors() if modelopt else tensors())
    (folder / "config.json").write_text(json.dumps({"quantization_config": quantization_config}))
    made = objects("weight", "weight_scale_2") if modelopt else objects()
    sources = {"base": {"kind": "checkpoint", "quantization": kind}}
    return plan_conversion(recipe(made, sources=sources), {"base": place}, roots=ANYWHERE)


AGREEING = {
    "by regular expressions": config(
        a={"targets": ["re:.*mlp.*"], "weights": NVFP4}, b={"targets": ["re:attn"], "weights": FP8}
    ),
    "by names and the class": config(
        a={"targets": ["mlp.up"], "weights": NVFP4}, b={"targets": ["Linear"], "weights": FP8}
    ),
}


@pytest.mark.parametrize("found", AGREEING.values(), ids=AGREEING.keys())
def test_a_config_that_agrees_passes(found: dict[str, Any], tmp_path: Path) -> None:
    assert len(planned(tmp_path, found).objects) == 4


DISAGREEING = {
    "swapped": (
        config(a={"targets": ["mlp.up"], "weights": FP8}, b={"targets": ["attn.q"], "weights": NVFP4}),
        [
            "attn.q: its tensors say FP8 with a scale a row, "
            "config.json of base says 4-bit float, tensor_group of 16 (b)",
            "mlp.up: its tensors say NVFP4, config.json of base says 8-bit float, channel (a)",
        ],
    ),
    "ignored": (
        {**AGREEING["by names and the class"], "ignore": ["attn.gate", "re:mlp"]},
        ["mlp.up: its tensors say NVFP4, config.json of base says ignored by 're:mlp'"],
    ),
    "in no group": (
        config(a={"targets": ["mlp.up"], "weights": NVFP4}),
        ["attn.q: its tensors say FP8 with a scale a row, config.json of base says in no group"],
    ),
    "not ignored": (
        {**AGREEING["by names and the class"], "ignore": []},
        ["attn.gate: its tensors say not quantized, config.json of base says 8-bit float, channel (b)"],
    ),
    "another scheme": (
        config(a={"targets": ["mlp.up"], "weights": INT4}, b={"targets": ["attn.q"], "weights": FP8}),
        ["mlp.up: its tensors say NVFP4, config.json of base says 4-bit int, group of 128 (a)"],
    ),
}


@pytest.mark.parametrize(("found", "messages"), DISAGREEING.values(), ids=DISAGREEING.keys())
def test_a_config_that_disagrees_shows_both_claims(found: dict[str, Any], messages: list[str], tmp_path: Path) -> None:
    with pytest.raises(PlanError) as raised:
        planned(tmp_path, found)
    assert [fault.message for fault in raised.value.faults] == messages
    assert {fault.at for fault in raised.value.faults} == {"/sources/base/quantization"}


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "quantization_config: expected an object, since the recipe says compressed-tensors, found none"),
        ({"quant_method": "gptq"}, "quant_method: expected compressed-tensors, found 'gptq'"),
        ({"quant_method": "compressed-tensors"}, "config_groups: expected an object, found none"),
        (config(a=[]), r"config_groups, a: expected an object, found \[\]"),
        (config(a={"targets": ["x"]}), "config_groups, a, weights: expected an object, found none"),
        (config(a={"targets": "x", "weights": FP8}), "config_groups, a, targets: expected a list of texts, found 'x'"),
        ({**config(), "ignore": [1]}, r"ignore: expected a list of texts, found \[1\]"),
        (config(a={"targets": ["re:("], "weights": FP8}), r"a, targets: expected regular expressions, found 're:\('"),
    ],
)
def test_a_config_that_cannot_be_read_is_refused(found: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=message):
        planned(tmp_path, found)


@pytest.mark.parametrize("count", [1, 400])
def test_regular_expressions_that_take_too_long_together_are_refused(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that does not end, and many of which each ends soon."""
    monkeypatch.setattr("workers.engine.quantization_config.MATCH_SECONDS", 0.2)
    name = "a" * (60 if count == 1 else 12)
    place = write_checkpoint(tmp_path / "model.safetensors", {f"{name}.weight": ("BF16", (2, 2), bytes(8))})
    slow = [rf"re:(?:a|a|aa)+\d(?#{number})" for number in range(count)]
    found = config(a={"targets": slow, "weights": FP8})
    (tmp_path / "config.json").write_text(json.dumps({"quantization_config": found}))
    made = recipe(
        [one_object("BF16", (2, 2), "preserve", {"tensor": f"{name}.weight"})],
        sources={"base": {"kind": "checkpoint", "quantization": "compressed-tensors"}},
    )
    with pytest.raises(
        PlanError, match=r"expected regular expressions that take less than 0\.2 s for all linears, found 're:"
    ):
        plan_conversion(made, {"base": place}, roots=ANYWHERE)


def test_modelopt_names_layers_and_patterns(tmp_path: Path) -> None:
    layers = {"mlp.up": {"quant_algo": "NVFP4", "group_size": 16}, "attn.q": {"quant_algo": "FP8"}}
    found = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    with pytest.raises(PlanError) as raised:
        planned(tmp_path, found, "modelopt")
    assert [fault.message for fault in raised.value.faults] == [
        "attn.q: its tensors say FP8 with a scale a row, config.json of base says FP8"
    ]
    found = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["attn*"]}
    with pytest.raises(PlanError, match=r"attn\.q: its tensors say FP8.*ignored by 'attn\*'") as raised:
        planned(tmp_path, found, "modelopt")
    assert len(raised.value.faults) == 1
