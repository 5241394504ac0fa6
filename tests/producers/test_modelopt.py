"""ModelOpt's convention: the same codes and scales under other names, and multipliers in place of both divisors.

compressed-tensors has a converter of its own for such checkpoints, which says what the divisors are.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.entrypoints.convert.converters import ModelOptNvfp4Converter
from compressed_tensors.quantization.utils import calculate_qparams
from safetensors.torch import save_file

from schemas.errors import PlanError, WordError
from schemas.recipe.expanded import ExpandedRecipe
from tests.engine.conversions import SILENT, Converted, one_object, recipe
from tests.oracle.storage_layouts import decode_block_scale
from tests.producers.library import Tensors, scheme, words
from tests.producers.test_copied_words import nibbles
from workers.engine.convert import convert
from workers.engine.plan import plan_conversion
from workers.engine.sources.roots import ANYWHERE
from workers.engine.verify import Coverage

LINEARS = ("mlp.gate_proj", "mlp.up_proj")
GROUP = {
    "input_activations": {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16},
    "weights": {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16},
    "targets": ["Linear"],
}
PRODUCER = {"name": "modelopt", "version": "0.47.0"}
CONFIG = {
    "config_groups": {"group_0": GROUP},
    "ignore": ["lm_head", "model.visual*", "mtp"],
    "quant_algo": "NVFP4",
    "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"},
    "producer": PRODUCER,
    "quant_method": "modelopt",
}
"""As ModelOpt writes it into config.json."""
OWN_CONFIG: dict[str, Any] = {
    "producer": PRODUCER,
    "quantization": {
        "quant_algo": "NVFP4",
        "kv_cache_quant_algo": "FP8",
        "group_size": 16,
        "exclude_modules": ["lm_head", "model.visual*", "mtp"],
    },
}
"""As it writes it into hf_quant_config.json."""
WITHOUT_EXACT = 0x3FC00007
"""A multiplier that is not the reciprocal of its reciprocal."""


def multiplier(word: int) -> torch.Tensor:
    """A binary32 word as ModelOpt stores it: a scalar."""
    return torch.from_numpy(np.array(word, "<u4").view("<f4"))


def tensors(*multipliers: int, inputs: int = 0x3D000000) -> Tensors:
    """Two linears of one site and what is left alone, with a multiplier word for each linear."""
    one = scheme("NVFP4", ["Linear"])
    compressor = BaseCompressor.get_value_from_registry("nvfp4-pack-quantized")
    held: dict[str, torch.Tensor] = {}
    for index, (linear, word) in enumerate(zip(LINEARS, multipliers, strict=True)):
        weight = torch.randn(128, 64, generator=torch.Generator().manual_seed(index)).bfloat16()
        divisor = (1 / multiplier(word)).reshape(1)
        groups = weight.reshape(128, 4, 16)
        scales, _ = calculate_qparams(groups.amin(2), groups.amax(2), one.weights, global_scale=divisor)
        state = {"weight": weight, "weight_scale": scales, "weight_global_scale": divisor}
        packed = compressor.compress(state, one)
        held[f"{linear}.weight"], held[f"{linear}.weight_scale"] = packed["weight_packed"], packed["weight_scale"]
        held[f"{linear}.weight_scale_2"], held[f"{linear}.input_scale"] = multiplier(word), multiplier(inputs)
    return {**held, "lm_head.weight": torch.ones(8, 16).bfloat16()}


def concat(kind: str) -> dict[str, Any]:
    return {"concat": [{"tensor": f"{linear}.{kind}"} for linear in LINEARS], "axis": 0}


def made_recipe(rule: str, *, convention: str = "multipliers") -> ExpandedRecipe:
    factors = [{"tensor": f"{linear}.weight_scale_2"} for linear in LINEARS]
    value: dict[str, Any] = {"codes": concat("weight"), "scales": concat("weight_scale"), convention: factors}
    if convention == "multipliers":
        value["reciprocal"] = rule
    shared = {"same": [{"tensor": f"{linear}.input_scale"} for linear in LINEARS]}
    objects = [
        one_object("NVFP4", (256, 64), "copy", {"nvfp4": value}, name="gate_up"),
        one_object("FP32", (), "preserve", {"reciprocal": shared, "by": rule}, name="input", require="positive"),
        one_object("BF16", (8, 16), "preserve", {"tensor": "lm_head.weight"}, name="head"),
    ]
    return recipe(objects, sources={"base": {"kind": "checkpoint", "quantization": "modelopt"}})


def write(folder: Path, held: Tensors, quantization_config: object = CONFIG) -> None:
    save_file(dict(held), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"quantization_config": quantization_config}))


def converted(folder: Path, held: Tensors, rule: str) -> Converted:
    write(folder, held)
    plan = plan_conversion(made_recipe(rule), {"base": folder}, roots=ANYWHERE)
    report = convert(plan, folder / "out.ninfer", coverage=Coverage.FULL, threads=2, observers=SILENT)
    return Converted(folder / "out.ninfer", plan, report)


@pytest.mark.parametrize("rule", ["exact", "nearest"])
@pytest.mark.parametrize("word", [0x3A800000, 0x3F000000, 0x3A4CCCCD])
def test_codes_scales_and_divisors_are_those_of_the_librarys_converter(word: int, rule: str, tmp_path: Path) -> None:
    held = tensors(word, word)
    made = converted(tmp_path, held, rule)
    theirs = ModelOptNvfp4Converter(ignore=["lm_head"]).process(dict(held))
    found = decode_block_scale(256, 64, made.payload(0))
    packed = np.concatenate([words(theirs[f"{linear}.weight_packed"]) for linear in LINEARS])
    scales = np.concatenate([words(theirs[f"{linear}.weight_scale"]) for linear in LINEARS])
    np.testing.assert_array_equal(found.codes, nibbles(packed))
    np.testing.assert_array_equal(found.scales, scales)
    for linear in LINEARS:
        assert words(theirs[f"{linear}.weight_global_scale"]).item() == found.divisor
        assert words(theirs[f"{linear}.input_global_scale"]).tobytes() == made.payload(1)


def test_a_multiplier_without_an_exact_reciprocal_is_refused_or_recorded(tmp_path: Path) -> None:
    held = tensors(WITHOUT_EXACT, WITHOUT_EXACT, inputs=WITHOUT_EXACT)
    with pytest.raises(
        WordError,
        match=r"object gate_up, source tensor base:mlp\.gate_proj\.weight_scale_2\[\]: expected a multiplier that is "
        r"the reciprocal of its reciprocal .*found .*word 0x3fc00007.*`nearest` takes and records it",
    ):
        converted(tmp_path, held, "exact")
    made = converted(tmp_path, held, "nearest")
    m = float(np.uint32(WITHOUT_EXACT).view(np.float32))
    d = float(np.float32(1) / np.float32(m))
    error = float(abs(Fraction(m) * Fraction(d) - 1))
    assert error > 0
    for index, count in ((0, 2), (1, 1)):
        records = made.report.objects[index].reciprocals
        assert [(one.multiplier, one.divisor, one.relative_error) for one in records] == [(m, d, error)] * count
        assert made.payload(index)[-4:] == np.float32(d).tobytes()


def test_multipliers_that_differ_pass_where_their_divisors_are_the_same(tmp_path: Path) -> None:
    """Close to 2 several binary32 numbers have one reciprocal."""
    pair = (0x3FFFFFF0, 0x3FFFFFF1)
    divisors = {(np.float32(1) / np.uint32(word).view(np.float32)).tobytes() for word in pair}
    assert len(divisors) == 1
    made = converted(tmp_path, tensors(*pair), "nearest")
    assert {made.payload(0)[-4:]} == divisors
    assert len({one.multiplier for one in made.report.objects[0].reciprocals}) == 2


def test_multipliers_whose_divisors_differ_are_named_with_the_words(tmp_path: Path) -> None:
    with pytest.raises(WordError) as raised:
        converted(tmp_path, tensors(0x3A800000, 0x3B000000), "exact")
    assert str(raised.value) == (
        "object gate_up: expected bit-identical divisors, found "
        "0x44800000 in object gate_up, source tensor base:mlp.gate_proj.weight_scale_2[]; "
        "0x44000000 in object gate_up, source tensor base:mlp.up_proj.weight_scale_2[]"
    )


def test_multipliers_are_not_taken_for_divisors(tmp_path: Path) -> None:
    write(tmp_path, tensors(0x3A800000, 0x3A800000))
    with pytest.raises(PlanError) as raised:
        plan_conversion(made_recipe("exact", convention="divisors"), {"base": tmp_path}, roots=ANYWHERE)
    assert [str(fault) for fault in raised.value.faults] == [
        "/objects/0: expected global scales of base among multipliers, as modelopt stores them, "
        f"found {linear}.weight_scale_2 among divisors"
        for linear in LINEARS
    ]


def planned_with(folder: Path, quantization_config: object, own: object = None) -> None:
    """Plans with what config.json and hf_quant_config.json say."""
    write(folder, tensors(0x3A800000, 0x3A800000), quantization_config)
    if own is not None:
        (folder / "hf_quant_config.json").write_text(json.dumps(own))
    plan_conversion(made_recipe("exact"), {"base": folder}, roots=ANYWHERE)


def mixed(*algorithms: str) -> dict[str, Any]:
    layers = {linear: {"quant_algo": name, "group_size": 16} for linear, name in zip(LINEARS, algorithms, strict=True)}
    return {**CONFIG, "quant_algo": "MIXED_PRECISION", "ignore": [], "quantized_layers": layers}


AGREEING: dict[str, tuple[object, object]] = {
    "in config.json": (CONFIG, None),
    "in a file of its own": (None, OWN_CONFIG),
    "in both, of which config.json counts": (CONFIG, {"quantization": {"quant_algo": "FP8"}}),
    "layer by layer": (mixed("NVFP4", "W4A16_NVFP4"), None),
}


@pytest.mark.parametrize(("found", "own"), AGREEING.values(), ids=AGREEING.keys())
def test_a_config_that_agrees_passes(found: object, own: object, tmp_path: Path) -> None:
    planned_with(tmp_path, found, own)


def disagree(file: str, words: str, *linears: str, stored: str = "NVFP4") -> list[str]:
    return [f"{linear}: its tensors say {stored}, {file} of base says {words}" for linear in linears]


DISAGREEING: dict[str, tuple[object, object, list[str]]] = {
    "another algorithm": ({**CONFIG, "quant_algo": "FP8"}, None, disagree("config.json", "FP8", *LINEARS)),
    "smoothed": (
        None,
        {"quantization": {**OWN_CONFIG["quantization"], "quant_algo": "NVFP4_AWQ"}},
        disagree("hf_quant_config.json", "NVFP4_AWQ", *LINEARS),
    ),
    "groups of another size": (
        None,
        {"quantization": {**OWN_CONFIG["quantization"], "group_size": 32}},
        disagree("hf_quant_config.json", "NVFP4 of 32", *LINEARS),
    ),
    "excluded by a pattern": (
        {**CONFIG, "ignore": ["lm_head", "mlp*"]},
        None,
        disagree("config.json", "ignored by 'mlp*'", *LINEARS),
    ),
    "excluded by its module": (
        {**CONFIG, "ignore": ["lm_head", "mlp"]},
        None,
        disagree("config.json", "ignored by 'mlp'", *LINEARS),
    ),
    "one layer of another": (mixed("NVFP4", "FP8"), None, disagree("config.json", "FP8", LINEARS[1])),
    "nothing quantized": (
        {**CONFIG, "quant_algo": None},
        None,
        disagree("config.json", "no quant_algo", *LINEARS),
    ),
    "not excluded": (
        {**CONFIG, "ignore": []},
        None,
        disagree("config.json", "NVFP4", "lm_head", stored="not quantized"),
    ),
}


@pytest.mark.parametrize(("found", "own", "messages"), DISAGREEING.values(), ids=DISAGREEING.keys())
def test_a_config_that_disagrees_shows_both_claims(
    found: object, own: object, messages: list[str], tmp_path: Path
) -> None:
    with pytest.raises(PlanError) as raised:
        planned_with(tmp_path, found, own)
    assert [fault.message for fault in raised.value.faults] == messages


@pytest.mark.parametrize(
    ("found", "own", "message"),
    [
        (None, None, "expected a quantization_config in config.json, or this file, found"),
        (None, {}, "hf_quant_config.json, quantization: expected an object, found none"),
        ({**CONFIG, "ignore": "lm_head"}, None, "ignore: expected a list of texts, found 'lm_head'"),
        ({**CONFIG, "quantized_layers": []}, None, r"quantized_layers: expected an object, found \[\]"),
        ({**CONFIG, "quantized_layers": {"x": 4}}, None, "quantized_layers, x: expected an object, found 4"),
        ({**CONFIG, "quant_algo": ["NVFP4"]}, None, r"config.json of base says \['NVFP4'\]"),
        ({**CONFIG, "quant_method": "fp8"}, OWN_CONFIG, "quant_method: expected modelopt, found 'fp8'"),
    ],
)
def test_a_config_that_cannot_be_read_is_refused(found: object, own: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=message):
        planned_with(tmp_path, found, own)
