"""Small registered nvfp4 recipes over checkpoints whose quantized linears the library made of the base's weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from compressed_tensors.quantization import QuantizationConfig

from schemas.registry import Format
from tests.engine.conversions import SILENT, Converted
from tests.oracle.storage_layouts import decode_block_scale, decode_row_scale
from tests.producers.library import config, read, scheme, words, write_quantized
from tests.producers.test_copied_words import nibbles
from tests.targets import values
from tests.targets.values import Checkpoint, Made
from workers.engine.convert import convert
from workers.engine.miniature import write_miniature
from workers.engine.miniature.headers import Headers
from workers.engine.miniature.target_checkpoints import target_checkpoints, target_sizes
from workers.engine.plan import plan_conversion
from workers.engine.recipe.load import load_recipe
from workers.engine.sources.roots import ANYWHERE
from workers.engine.verify import Coverage

IDS = ("qwen3.6-27b.nvfp4", "qwen3.8-27b.nvfp4")
FUSED = {
    "q_proj": "query_key_gate_value",
    "k_proj": "query_key_gate_value",
    "v_proj": "query_key_gate_value",
    "in_proj_qkv": "query_key_value_z",
    "in_proj_z": "query_key_value_z",
    "gate_proj": "gate_up",
    "up_proj": "gate_up",
}


def site(linear: str) -> str:
    module, _, name = linear.rpartition(".")
    return f"{module}.{FUSED.get(name, name)}"


def wanted(id: str) -> QuantizationConfig:
    """3.6 as one group of a class with a list of exceptions, 3.8 as a specific group and one of the class."""
    if id == "qwen3.8-27b.nvfp4":
        return config(
            scheme("FP8_DYNAMIC", ["Linear"]),
            scheme("NVFP4", [r"re:.*language_model\.layers\.[0-5]\.mlp\.(gate|up|down)_proj$"]),
            ignore=[r"re:model\.visual\.", r"re:mtp\.", r"re:.*in_proj_[ab]$"],
        )
    kept = [name for name in target_headers(id) if name.endswith(".weight")]
    return config(scheme("NVFP4", ["Linear"]), ignore=[name.removesuffix(".weight") for name in kept])


def target_headers(id: str) -> Headers:
    """The tensors of the target's quantized checkpoint."""
    return target_checkpoints(id, target_sizes(id))["quantized"].headers


@dataclass(frozen=True, slots=True)
class Case:
    """A target, the words of its checkpoints, the dtypes of the quantized one, and the artifact that was made."""

    id: str
    checkpoints: Mapping[str, Checkpoint]
    dtypes: Mapping[str, torch.dtype]
    made: Converted


@pytest.fixture(scope="module", params=IDS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder: Path = tmp_path_factory.mktemp("registered") / "miniature"
    miniature = write_miniature(request.param, folder)
    base, quantized = miniature.places["base"], miniature.places["quantized"]
    write_quantized(quantized, read(base), wanted(request.param), site)
    recipe = load_recipe(miniature.recipe.read_text(), where="miniature")
    planned = plan_conversion(recipe, miniature.places, roots=ANYWHERE)
    assert planned.warnings == ()
    report = convert(planned, folder / "out.ninfer", coverage=Coverage.FULL, threads=2, observers=SILENT)
    tensors = {"base": read(base), "quantized": read(quantized)}
    checkpoints = {source: {name: words(one) for name, one in held.items()} for source, held in tensors.items()}
    dtypes = {name: one.dtype for name, one in tensors["quantized"].items()}
    return Case(request.param, checkpoints, dtypes, Converted(folder / "out.ninfer", planned, report))


def test_the_library_writes_the_tensors_that_the_target_expects(case: Case) -> None:
    named = {"BF16": torch.bfloat16, "F32": torch.float32, "U8": torch.uint8, "F8_E4M3": torch.float8_e4m3fn}
    expected = {name: (named[one.dtype_name], one.shape) for name, one in target_headers(case.id).items()}
    found = {name: (case.dtypes[name], one.shape) for name, one in case.checkpoints["quantized"].items()}
    assert found == expected


def test_every_quantized_word_is_the_librarys(case: Case) -> None:
    indices = {one.name: index for index, one in enumerate(case.made.plan.objects)}
    formats = set()
    for name, made in expected(case):
        index = indices[name]
        one = case.made.plan.objects[index]
        formats.add(one.format)
        compare(name, one.format, one.shape or (), case.made.payload(index), made)
    assert {Format.NVFP4, Format.BF16, Format.FP32} <= formats
    assert (Format.FP8_E4M3FN_ROW_BF16S in formats) is (case.id == "qwen3.8-27b.nvfp4")


def expected(case: Case) -> Iterator[tuple[str, Made]]:
    """What the page makes of the text layers and of a quantized head."""
    base, quantized, sizes = case.checkpoints["base"], case.checkpoints["quantized"], target_sizes(case.id)
    if case.id == "qwen3.6-27b.nvfp4":
        yield from values.quantized_text(base, quantized, sizes, joined_a_b=False)
    else:
        yield from values.quantized_text(quantized, quantized, sizes, joined_a_b=True)
        yield "text/output_head", (quantized["lm_head.weight"], quantized["lm_head.weight_scale"])


def compare(name: str, format: Format | None, shape: tuple[int, ...], payload: bytes, made: Made) -> None:
    if format is Format.NVFP4:
        codes, scales, divisor = made
        n, k = shape
        found = decode_block_scale(n, k, payload)
        np.testing.assert_array_equal(found.codes, nibbles(codes), err_msg=name)
        np.testing.assert_array_equal(found.scales, scales, err_msg=name)
        assert found.divisor == divisor.item(), name
    elif format is Format.FP8_E4M3FN_ROW_BF16S:
        n, k = shape
        rows, multipliers = decode_row_scale(n, k, payload)
        np.testing.assert_array_equal(rows, made[0], err_msg=name)
        np.testing.assert_array_equal(multipliers, made[1].reshape(-1), err_msg=name)
    else:
        assert payload == made[0].tobytes(), name
