"""Whole conversions whose words come from the kernels: the same files as from the CPU, and what is recorded of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import WordError
from tests.cuda.emulated_stream import emulated_encoders
from tests.engine.conversions import SILENT, one_object, recipe, write_checkpoint
from tests.small_job import recipe_document
from tests.small_job import write_checkpoint as write_small_checkpoint
from workers.engine.convert import convert
from workers.engine.encode.encoders import NATIVE, Encoders
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan, plan_conversion
from workers.engine.recipe.load import load_recipe
from workers.engine.sources.roots import ANYWHERE
from workers.engine.verify import Coverage


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    made_of = load_recipe(json.dumps(recipe_document()), where="test")
    return plan_conversion(
        made_of, {"base": write_small_checkpoint(tmp_path / "small")}, packaging=Packaging(1), roots=ANYWHERE
    )


def backends(plan: Plan, out: Path, encoders: Encoders, threads: int = 2, block_bytes: int = 10_000) -> list[str]:
    """Converts with full verification; the backend that is recorded of each object."""
    report = convert(
        plan,
        out,
        coverage=Coverage.FULL,
        threads=threads,
        observers=SILENT,
        block_bytes=block_bytes,
        encoders=encoders,
    )
    return [str(one.backend) for one in report.objects]


@pytest.mark.parametrize(("threads", "block_bytes"), [(1, 10_000), (2, 10_000), (3, 1 << 20)])
def test_the_same_file_as_from_the_cpu(plan: Plan, tmp_path: Path, threads: int, block_bytes: int) -> None:
    on_device, on_cpu = tmp_path / "device.ninfer", tmp_path / "cpu.ninfer"
    device = "cuda (an emulated device)"
    by_format = {"Q4G64_F16S": device, "W8G32_F16S": device, "FP8_E4M3FN_ROW_BF16S": device}
    expected = [by_format.get(str(one.format), "cpu") for one in plan.objects]
    assert backends(plan, on_device, emulated_encoders(), threads, block_bytes) == expected
    assert set(backends(plan, on_cpu, NATIVE)) == {"cpu"}
    assert on_device.read_bytes() == on_cpu.read_bytes()


def test_nvfp4_scales_are_swizzled_on_the_device(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    tensors = {
        "codes": ("U8", (256, 96), rng.integers(0, 256, 256 * 96, np.uint8).tobytes()),
        "scales": ("F8_E4M3", (256, 12), rng.integers(0, 0x7F, 256 * 12, np.uint8).tobytes()),
        "divisor": ("F32", (1,), np.array([2.5], "<f4").tobytes()),
    }
    place = write_checkpoint(tmp_path / "model.safetensors", tensors)
    parts = {name: {"tensor": name} for name in ("codes", "scales")}
    value = {"nvfp4": {**parts, "divisors": [{"tensor": "divisor"}]}}
    plan = plan_conversion(
        recipe([one_object("NVFP4", (256, 192), "copy", value)]),
        {"base": place},
        packaging=Packaging(1),
        roots=ANYWHERE,
    )
    on_device, on_cpu = tmp_path / "device.ninfer", tmp_path / "cpu.ninfer"
    assert backends(plan, on_device, emulated_encoders()) == ["cuda (an emulated device)"]
    assert backends(plan, on_cpu, NATIVE) == ["cpu"]
    assert on_device.read_bytes() == on_cpu.read_bytes()


def test_a_word_that_cannot_be_stored_is_named_as_on_the_cpu(tmp_path: Path) -> None:
    words = np.full((40, 130), 0x3F80, "<u2")
    words[33, 129] = 0xFF80
    place = write_checkpoint(tmp_path / "model.safetensors", {"w": ("BF16", (40, 130), words.tobytes())})
    objects = [one_object("Q5G64_F16S", (40, 130), "MAXABS_F16_RECIP_RNE_V1", {"tensor": "w"})]
    plan = plan_conversion(recipe(objects), {"base": place}, packaging=Packaging(1), roots=ANYWHERE)
    said = []
    for encoders in (emulated_encoders(), NATIVE):
        with pytest.raises(WordError) as refused:
            backends(plan, tmp_path / "out.ninfer", encoders)
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert "33" in said[0]
    assert "129" in said[0]
