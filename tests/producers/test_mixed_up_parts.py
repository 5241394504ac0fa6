"""Recipes over the library's checkpoints that mix up what does not belong together: legal words, wrong weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from schemas.errors import PlanError
from tests.engine.conversions import one_object, recipe
from tests.producers.library import config, scheme, write_quantized
from workers.engine.plan import plan_conversion
from workers.engine.sources.roots import ANYWHERE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("quantized")
    generator = torch.Generator().manual_seed(4)
    names = ("mlp.gate", "mlp.up", "attn.q", "attn.k")
    weights = {f"{name}.weight": torch.randn(128, 64, generator=generator).bfloat16() for name in names}
    wanted = config(scheme("NVFP4", ["re:mlp"]), scheme("FP8_DYNAMIC", ["re:attn"]))
    write_quantized(made, weights, wanted, lambda linear: linear.partition(".")[0])
    return made


def rows(kind: str, *linears: str) -> dict[str, Any]:
    return {"concat": [{"tensor": f"{linear}.{kind}"} for linear in linears], "axis": 0}


def nvfp4(scales: tuple[str, ...], factors: list[dict[str, Any]], convention: str = "divisors") -> dict[str, Any]:
    codes = rows("weight_packed", "mlp.gate", "mlp.up")
    parts = {"codes": codes, "scales": rows("weight_scale", *scales), convention: factors}
    return one_object("NVFP4", (256, 64), "copy", {"nvfp4": parts})


def input_divisor(value: dict[str, Any]) -> dict[str, Any]:
    made = one_object("FP32", (), "preserve", {"reshape": value, "to": []})
    return {**made, "name": "mlp/gate_projection/input_scale_divisor"}


def divisor(linear: str) -> dict[str, Any]:
    return {"tensor": f"{linear}.weight_global_scale"}


def fp8(*scales: str) -> dict[str, Any]:
    parts = {"codes": rows("weight", "attn.q", "attn.k"), "scales": rows("weight_scale", *scales)}
    return one_object("FP8_E4M3FN_ROW_BF16S", (256, 64), "copy", {"fp8_row": parts})


BOTH, TURNED = ("mlp.gate", "mlp.up"), ("mlp.up", "mlp.gate")
ORDER = "expected scales of the linears of the codes, in their order"
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "as they belong": (nvfp4(BOTH, [divisor("mlp.up"), divisor("mlp.gate")]), []),
    "one word that is the same": (nvfp4(BOTH, [{"same": [divisor("mlp.gate"), divisor("mlp.up")]}]), []),
    "a multiplier's reciprocal": (
        nvfp4(BOTH, [{"reciprocal": divisor(one), "by": "nearest"} for one in BOTH], "multipliers"),
        [],
    ),
    "rows as they belong": (fp8("attn.q", "attn.k"), []),
    "scales in another order": (
        nvfp4(TURNED, [divisor("mlp.gate"), divisor("mlp.up")]),
        [f"{ORDER}: mlp.gate in place 0, found mlp.up"],
    ),
    "rows in another order": (fp8("attn.k", "attn.q"), [f"{ORDER}: attn.q in place 0, found attn.k"]),
    "a divisor left out": (
        nvfp4(BOTH, [divisor("mlp.gate")]),
        ["expected the global scale of mlp.up among divisors, found none of it"],
    ),
    "an input's divisor as it is": (input_divisor({"tensor": "mlp.gate.input_global_scale"}), []),
    "an input's divisor as a multiplier": (
        input_divisor({"reciprocal": {"tensor": "mlp.gate.input_global_scale"}, "by": "nearest"}),
        [
            "expected global scales of base among divisors, as compressed-tensors stores them, "
            "found mlp.gate.input_global_scale among multipliers"
        ],
    ),
    "divisors as multipliers": (
        nvfp4(BOTH, [divisor(one) for one in BOTH], "multipliers"),
        [
            "expected global scales of base among divisors, as compressed-tensors stores them, "
            f"found {one}.weight_global_scale among multipliers"
            for one in BOTH
        ],
    ),
}


@pytest.mark.parametrize(("made", "messages"), CASES.values(), ids=CASES.keys())
def test_parts_that_do_not_belong_together_are_named(made: dict[str, Any], messages: list[str], folder: Path) -> None:
    source = {"kind": "checkpoint", "quantization": "compressed-tensors", "unused": ["*"]}
    wanted = recipe([made], sources={"base": source})
    if not messages:
        assert len(plan_conversion(wanted, {"base": folder}, roots=ANYWHERE).objects) == 1
        return
    with pytest.raises(PlanError) as raised:
        plan_conversion(wanted, {"base": folder}, roots=ANYWHERE)
    assert [str(fault) for fault in raised.value.faults] == [f"/objects/0: {message}" for message in messages]


def test_a_divisor_of_another_linear_is_named(folder: Path) -> None:
    """Of a linear that the codes are not of, as well as those that they are of."""
    parts = {"codes": {"tensor": "mlp.gate.weight_packed"}, "scales": {"tensor": "mlp.gate.weight_scale"}}
    value = {"nvfp4": {**parts, "divisors": [divisor("mlp.gate"), divisor("mlp.up")]}}
    source = {"kind": "checkpoint", "quantization": "compressed-tensors", "unused": ["*"]}
    made = recipe([one_object("NVFP4", (128, 64), "copy", value)], sources={"base": source})
    with pytest.raises(PlanError, match=r"expected divisors of the linears of the codes, found one of mlp\.up"):
        plan_conversion(made, {"base": folder}, roots=ANYWHERE)
