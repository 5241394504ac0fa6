"""What the library quantized and packed, word for word in the artifact, and decoded to the values that it decodes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from compressed_tensors.quantization import QuantizationConfig

from tests.engine.conversions import SILENT, Converted, one_object, recipe
from tests.oracle import fp8_row, nvfp4
from tests.oracle.storage_layouts import decode_block_scale, decode_row_scale
from tests.producers.library import Tensors, config, decompressed, read, scheme, words, write_quantized
from tests.targets.values import Words
from workers.engine.convert import convert
from workers.engine.plan import plan_conversion
from workers.engine.sources.roots import ANYWHERE
from workers.engine.verify import Coverage

SHAPES = {
    "mlp.gate_proj": (128, 64),
    "mlp.up_proj": (128, 64),
    "mlp.down_proj": (128, 128),
    "attn.q_proj": (24, 40),
    "attn.gate": (8, 40),
    "visual.blocks.0.attn.qkv": (12, 20),
    "embed_tokens": (16, 40),
}
WHOLE = 2.625
"""The library's global scale of weights that reach this far is 448 * 6 / 2.625, which is 1024."""

NVFP4_LINEARS = ["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]
CONFIGS = {
    "by regular expressions and the class": config(
        scheme("FP8_DYNAMIC", ["Linear"]),
        scheme("NVFP4", [r"re:.*mlp\.(gate|up|down)_proj$"]),
        ignore=["re:.*attn.gate", "re:visual"],
    ),
    "by names": config(scheme("NVFP4", NVFP4_LINEARS), scheme("FP8_DYNAMIC", ["attn.q_proj"])),
    "weights alone": config(scheme("NVFP4A16", ["re:mlp"]), scheme("FP8_DYNAMIC", ["re:attn.q"])),
}


def weights(*, whole: bool) -> Tensors:
    """BF16 matrices with a zero row and group, and zeros of both signs; where `whole`, none greater than WHOLE."""
    generator = torch.Generator().manual_seed(5)
    made = {}
    for linear, shape in SHAPES.items():
        one = torch.randn(shape, generator=generator).clamp(-2.5, 2.5)
        one[3], one[5, :16], one[6, 1] = 0.0, 0.0, -0.0
        one[7, 9] = -WHOLE if whole else -3.1
        made[f"{linear}.weight"] = one.bfloat16()
    made["visual.blocks.0.attn.qkv.bias"] = torch.ones(12).bfloat16()
    return made


def site(linear: str) -> str:
    return "mlp.gate_up" if linear in NVFP4_LINEARS[:2] else linear


def part(linear: str, kind: str) -> dict[str, Any]:
    return {"tensor": f"{linear}.{kind}"}


def objects(*, inputs: bool) -> list[dict[str, Any]]:
    """A fused NVFP4 parent, one of a single linear, row FP8, what was left alone, and the input divisor."""

    def rows(kind: str) -> dict[str, Any]:
        return {"concat": [part("mlp.gate_proj", kind), part("mlp.up_proj", kind)], "axis": 0}

    pair = [part(one, "weight_global_scale") for one in ("mlp.gate_proj", "mlp.up_proj")]
    fused = {"codes": rows("weight_packed"), "scales": rows("weight_scale"), "divisors": pair}
    down = {"codes": part("mlp.down_proj", "weight_packed"), "scales": part("mlp.down_proj", "weight_scale")}
    down |= {"divisors": [part("mlp.down_proj", "weight_global_scale")]}  # type: ignore[dict-item]
    row = {"codes": part("attn.q_proj", "weight"), "scales": part("attn.q_proj", "weight_scale")}
    made = [
        one_object("NVFP4", (256, 64), "copy", {"nvfp4": fused}, name="gate_up"),
        one_object("NVFP4", (128, 128), "copy", {"nvfp4": down}, name="down"),
        one_object("FP8_E4M3FN_ROW_BF16S", (24, 40), "copy", {"fp8_row": row}, name="q"),
    ]
    alone = ("attn.gate", "visual.blocks.0.attn.qkv", "embed_tokens")
    made += [one_object("BF16", SHAPES[one], "preserve", part(one, "weight"), name=one) for one in alone]
    bias = part("visual.blocks.0.attn.qkv", "bias")
    made.append(one_object("BF16", (12,), "preserve", bias, name="bias"))
    if inputs:
        shared = {"same": [part(one, "input_global_scale") for one in ("mlp.gate_proj", "mlp.up_proj")]}
        scalar = {"reshape": shared, "to": []}
        made.append(one_object("FP32", (), "preserve", scalar, name="input", require="positive"))
    return made


def made_of(folder: Path, wanted: QuantizationConfig, *, whole: bool) -> tuple[Tensors, Converted]:
    """What the library wrote, and the artifact that was made of it."""
    write_quantized(folder, weights(whole=whole), wanted, site)
    tensors = read(folder)
    source = {"kind": "checkpoint", "quantization": "compressed-tensors", "unused": ["*.input_global_scale"]}
    inputs = "mlp.up_proj.input_global_scale" in tensors
    plan = plan_conversion(recipe(objects(inputs=inputs), sources={"base": source}), {"base": folder}, roots=ANYWHERE)
    out = folder / "out.ninfer"
    report = convert(plan, out, coverage=Coverage.FULL, threads=2, observers=SILENT)
    return tensors, Converted(out, plan, report)


@pytest.fixture(scope="module", params=CONFIGS.keys())
def quantized(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tensors, Converted]:
    return made_of(tmp_path_factory.mktemp("quantized"), CONFIGS[request.param], whole=False)


def nibbles(packed: Any) -> Words:
    """Codes [N,K] of bytes [N,K/2], the low nibble first."""
    return np.stack([packed & 0xF, packed >> 4], axis=-1).reshape(packed.shape[0], -1)


def test_nvfp4_words_are_the_librarys(quantized: tuple[Tensors, Converted]) -> None:
    tensors, made = quantized
    for index, linears in enumerate((NVFP4_LINEARS[:2], NVFP4_LINEARS[2:])):
        n, k = made.plan.objects[index].shape or ()
        found = decode_block_scale(n, k, made.payload(index))
        packed, scales = (
            np.concatenate([words(tensors[f"{one}.{kind}"]) for one in linears])
            for kind in ("weight_packed", "weight_scale")
        )
        np.testing.assert_array_equal(found.codes, nibbles(packed))
        np.testing.assert_array_equal(found.scales, scales)
        assert {words(tensors[f"{one}.weight_global_scale"]).item() for one in linears} == {found.divisor}


def test_row_fp8_words_are_the_librarys(quantized: tuple[Tensors, Converted]) -> None:
    tensors, made = quantized
    codes, scales = decode_row_scale(24, 40, made.payload(2))
    np.testing.assert_array_equal(codes, words(tensors["attn.q_proj.weight"]))
    np.testing.assert_array_equal(scales, words(tensors["attn.q_proj.weight_scale"]).reshape(-1))


def test_what_the_library_left_alone_and_the_input_divisor_are_its_words(quantized: tuple[Tensors, Converted]) -> None:
    tensors, made = quantized
    for index, name in enumerate(("attn.gate.weight", "visual.blocks.0.attn.qkv.weight", "embed_tokens.weight"), 3):
        assert made.payload(index) == words(tensors[name]).tobytes()
    if "mlp.gate_proj.input_global_scale" in tensors:
        assert made.payload(7) == words(tensors["mlp.gate_proj.input_global_scale"]).tobytes()
    else:
        assert len(made.plan.objects) == 7


def exact(matrix: list[list[Fraction]]) -> Words:
    """Fractions that binary64 holds exactly, as such."""
    values: Words = np.array([[float(value) for value in row] for row in matrix])
    assert all(
        Fraction(value) == of
        for row, row_of in zip(values, matrix, strict=True)
        for value, of in zip(row, row_of, strict=True)
    )
    return values


def test_decoded_values_are_the_librarys(tmp_path: Path) -> None:
    """With a divisor that is a power of two, every value is a BF16, which is what the library decodes to."""
    wanted = CONFIGS["by names"]
    tensors, made = made_of(tmp_path, wanted, whole=True)
    found = decode_block_scale(128, 128, made.payload(1))
    assert found.divisor == words(torch.tensor(1024.0)).item()
    values = [
        [nvfp4.reconstruct(code, scales[k // 16], found.divisor) for k, code in enumerate(codes)]
        for codes, scales in zip(found.codes, found.scales, strict=True)
    ]
    library = decompressed(tensors, "mlp.down_proj", scheme("NVFP4", ["Linear"]))
    assert library.dtype is torch.bfloat16
    np.testing.assert_array_equal(library.double().numpy(), exact(values))


def test_decoded_products_of_code_and_scale_are_the_librarys(quantized: tuple[Tensors, Converted]) -> None:
    """With any divisor: what is divided is equal, and so is the divisor's word."""
    tensors, made = quantized
    found = decode_block_scale(128, 128, made.payload(1))
    one = words(torch.tensor(1.0)).item()
    values = [
        [nvfp4.reconstruct(code, scales[k // 16], one) for k, code in enumerate(codes)]
        for codes, scales in zip(found.codes, found.scales, strict=True)
    ]
    without = {name: tensor for name, tensor in tensors.items() if not name.endswith("weight_global_scale")}
    library = decompressed(without, "mlp.down_proj", scheme("NVFP4", ["Linear"]))
    np.testing.assert_array_equal(library.double().numpy(), exact(values))


def test_decoded_row_fp8_values_are_the_librarys_in_binary32(quantized: tuple[Tensors, Converted]) -> None:
    tensors, made = quantized
    codes, scales = decode_row_scale(24, 40, made.payload(2))
    rows = [fp8_row.reconstruct(fp8_row.Row(s, tuple(c))) for c, s in zip(codes, scales, strict=True)]
    widened = {**tensors, "attn.q_proj.weight_scale": tensors["attn.q_proj.weight_scale"].float()}
    library = decompressed(widened, "attn.q_proj", scheme("FP8_DYNAMIC", ["Linear"]))
    assert library.dtype is torch.float32
    np.testing.assert_array_equal(words(library), np.array(rows, np.uint32))
