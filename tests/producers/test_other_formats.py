"""What the library writes and no registered format holds is refused, and the fault says how it is stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from schemas.errors import PlanError
from tests.engine.conversions import one_object, recipe
from tests.producers.library import config, read, scheme, write_quantized
from workers.engine.plan import plan_conversion
from workers.engine.sources.roots import ANYWHERE

NEITHER = "x: its tensors say neither plain, NVFP4 nor FP8 with a scale a row"
SAYS = "config.json of base says"


def planned(folder: Path, *made: dict[str, Any]) -> None:
    objects = [{**one, "name": f"object{index}"} for index, one in enumerate(made)]
    sources = {"base": {"kind": "checkpoint", "quantization": "compressed-tensors", "unused": ["x.*"]}}
    plan_conversion(recipe(objects, sources=sources), {"base": folder}, roots=ANYWHERE)


def write(folder: Path, preset: str, rows: int = 128) -> None:
    weight = torch.randn(rows, 128, generator=torch.Generator().manual_seed(2)).bfloat16()
    write_quantized(folder, {"x.weight": weight}, config(scheme(preset, ["Linear"])))


PACKED = one_object("I32", (128, 16), "preserve", {"tensor": "x.weight_packed"})
CODES = one_object("I32", (128, 128), "preserve", {"cast": {"tensor": "x.weight"}, "to": "I32", "by": "exact"})
SCALES = one_object("BF16", (1,), "preserve", {"tensor": "x.weight_scale"})
REFUSED = {
    "W4A16": (
        PACKED,
        f"{NEITHER} (weight_packed I32 [128, 16], weight_scale BF16 [128, 1], weight_shape I64 [2]), "
        f"{SAYS} 4-bit int, group of 128 (group_0)",
    ),
    "W4A16_ASYM": (
        PACKED,
        f"{NEITHER} (weight_packed I32 [128, 16], weight_scale BF16 [128, 1], weight_zero_point I32 [16, 1], "
        f"weight_shape I64 [2]), {SAYS} 4-bit int, group of 128 (group_0), with zero points",
    ),
    "W8A8": (
        CODES,
        f"{NEITHER} (weight I8 [128, 128], weight_scale BF16 [128, 1]), {SAYS} 8-bit int, channel (group_0)",
    ),
}


@pytest.mark.parametrize("preset", REFUSED)
def test_integers_are_refused(preset: str, tmp_path: Path) -> None:
    made, message = REFUSED[preset]
    write(tmp_path, preset)
    with pytest.raises(PlanError) as raised:
        planned(tmp_path, made)
    assert [fault.message for fault in raised.value.faults] == [message]


@pytest.mark.parametrize(
    ("preset", "value", "message"),
    [
        ("W4A16", "nvfp4", "expected codes U8 [N,K/2], found codes I32 [128, 16]"),
        ("FP8", "fp8_row", "expected scales BF16 [128] or [128, 1], found scales BF16 [1]"),
        ("MXFP8", "fp8_row", "expected scales BF16 [128] or [128, 1], found scales U8 [128, 4]"),
    ],
)
def test_scales_and_codes_of_another_kind_are_no_operands(
    preset: str, value: str, message: str, tmp_path: Path
) -> None:
    write(tmp_path, preset)
    codes = {"tensor": "x.weight_packed" if value == "nvfp4" else "x.weight"}
    parts = {"codes": codes, "scales": {"tensor": "x.weight_scale"}}
    if value == "nvfp4":
        parts["divisors"] = [{"tensor": "x.weight_scale"}]  # type: ignore[assignment]
    format = "NVFP4" if value == "nvfp4" else "FP8_E4M3FN_ROW_BF16S"
    with pytest.raises(PlanError) as raised:
        planned(tmp_path, one_object(format, (128, 128), "copy", {value: parts}))
    assert message in str(raised.value)


def test_a_scale_a_tensor_is_not_taken_for_one_of_a_single_row(tmp_path: Path) -> None:
    """[1] is also the shape of a scale a row: only the config tells."""
    write(tmp_path, "FP8", rows=1)
    row = {"codes": {"tensor": "x.weight"}, "scales": {"tensor": "x.weight_scale"}}
    with pytest.raises(PlanError, match=r"x: its tensors say FP8 with a scale a row, .* says 8-bit float, tensor"):
        planned(tmp_path, one_object("FP8_E4M3FN_ROW_BF16S", (1, 128), "copy", {"fp8_row": row}))


NVFP4 = one_object(
    "NVFP4",
    (128, 128),
    "copy",
    {
        "nvfp4": {
            "codes": {"tensor": "x.weight_packed"},
            "scales": {"tensor": "x.weight_scale"},
            "divisors": [{"tensor": "x.weight_global_scale"}],
        }
    },
)


def edited(folder: Path, change: Any) -> None:
    """An NVFP4 checkpoint of the library whose quantization config was changed afterwards."""
    write(folder, "NVFP4")
    path = folder / "config.json"
    document = json.loads(path.read_text())
    change(document["quantization_config"])
    path.write_text(json.dumps(document))


CHANGES = {
    "another format": (
        lambda found: found["config_groups"]["group_0"].update(format="mxfp4-pack-quantized"),
        "4-bit float, tensor_group of 16 (group_0), in the format 'mxfp4-pack-quantized'",
    ),
    "zero points": (
        lambda found: found["config_groups"]["group_0"]["weights"].update(symmetric=False),
        "4-bit float, tensor_group of 16 (group_0), with zero points",
    ),
    "groups of another size": (
        lambda found: found["config_groups"]["group_0"]["weights"].update(group_size=32),
        "4-bit float, tensor_group of 32 (group_0)",
    ),
    "ignored": (lambda found: found.update(ignore=["x"]), "ignored by 'x'"),
    "strange types": (
        lambda found: found["config_groups"]["group_0"]["weights"].update(strategy=["channel"], type={}),
        "4-bit {}, ['channel'] of 16 (group_0)",
    ),
}


def test_the_unchanged_config_passes(tmp_path: Path) -> None:
    edited(tmp_path, lambda _: None)
    planned(tmp_path, NVFP4)


@pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES.keys())
def test_a_config_that_was_changed_shows_both_claims(change: Any, words: str, tmp_path: Path) -> None:
    edited(tmp_path, change)
    with pytest.raises(PlanError) as raised:
        planned(tmp_path, NVFP4)
    assert [fault.message for fault in raised.value.faults] == [f"x: its tensors say NVFP4, {SAYS} {words}"]


def test_a_linear_that_is_stored_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "NVFP4")
    twice = {**read(tmp_path), "x.weight": torch.ones(128, 128).bfloat16()}
    save_file(twice, tmp_path / "model.safetensors")
    with pytest.raises(PlanError) as raised:
        planned(tmp_path, NVFP4)
    assert [fault.message for fault in raised.value.faults] == [
        f"{NEITHER} (weight BF16 [128, 128], weight_packed U8 [128, 64], weight_scale F8_E4M3 [128, 8], "
        f"weight_global_scale F32 [1]), {SAYS} 4-bit float, tensor_group of 16 (group_0)"
    ]
