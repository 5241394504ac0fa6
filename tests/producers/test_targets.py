"""Which linears a config names, as the library applies it: groups, targets, ignore, and what it writes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from compressed_tensors.compressors import ModelCompressor
from compressed_tensors.quantization import QuantizationConfig, QuantizationScheme, apply_quantization_config
from compressed_tensors.transform import TransformArgs, TransformConfig, TransformScheme
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import SourceError
from schemas.recipe.expanded import ExpandedSource
from tests.engine.conversions import recipe
from tests.producers.library import config, module_tree, scheme
from workers.engine.linear_storage import LinearStorage
from workers.engine.quantization_config import read_config
from workers.engine.sources.checkpoint import Checkpoint
from workers.engine.sources.roots import ANYWHERE

LINEARS = (
    "lm_head",
    "model.language_model.embed_tokens",
    "model.language_model.layers.0.mlp.gate_proj",
    "model.language_model.layers.0.mlp.down_proj",
    "model.language_model.layers.0.self_attn.q_proj",
    "model.language_model.layers.10.mlp.gate_proj",
    "model.visual.blocks.0.attn.qkv",
    "model.visual.merger.linear_fc1",
    "mtp.fc",
)
TARGETS = (
    "Linear",
    "Embedding",
    *LINEARS,
    "re:.*mlp",
    r"re:.*layers\.[0-5]\..*proj$",
    r"re:.*layers\.\d+\.mlp\.gate_proj",
    "re:mlp",
    "re:model",
    "re:.*(gate|up)_proj",
    "gate_proj",
    "model.visual",
)
PRESETS = {
    "NVFP4": LinearStorage.NVFP4,
    "NVFP4A16": LinearStorage.NVFP4,
    "FP8_DYNAMIC": LinearStorage.FP8_ROW,
    "FP8": None,
    "FP8_BLOCK": None,
    "W4A16": None,
    "W4A16_ASYM": None,
    "W8A8": None,
    "MXFP4": None,
    "MXFP8": None,
}


def model() -> torch.nn.Module:
    return module_tree({f"{linear}.weight": torch.empty(128, 128, dtype=torch.bfloat16) for linear in LINEARS})


def source(folder: Path) -> tuple[ExpandedSource, Checkpoint]:
    """A checkpoint of which only config.json matters here."""
    made = recipe(
        [{"name": "x", "shape": [1], "format": "BF16", "value": {"tensor": "x"}}],
        sources={"base": {"kind": "checkpoint", "quantization": "compressed-tensors"}},
    )
    return made.sources["base"], Checkpoint("base", folder, ANYWHERE, (), {}, ())


def claims(folder: Path, written: ModelCompressor) -> dict[str, LinearStorage | None]:
    """What our reading of the config.json that the library writes says of every linear."""
    written.update_config(folder)
    read = read_config(*source(folder))
    return {linear: read.claim(linear).storage for linear in LINEARS}


groups = st.lists(
    st.tuples(st.sampled_from(sorted(PRESETS)), st.lists(st.sampled_from(TARGETS), min_size=1, max_size=3)),
    min_size=1,
    max_size=3,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(groups, st.lists(st.sampled_from(TARGETS), max_size=2))
def test_a_linear_is_in_the_group_that_the_library_puts_it_in(
    tmp_path: Path, named: list[tuple[str, list[str]]], ignore: list[str]
) -> None:
    presets = {f"group_{index}": preset for index, (preset, _) in enumerate(named)}
    wanted = config(*(scheme(preset, targets) for preset, targets in named), ignore=ignore)
    given_to = model()
    apply_quantization_config(given_to, wanted, show_progress=False)
    expected = {}
    for linear in LINEARS:
        applied = getattr(given_to.get_submodule(linear), "quantization_scheme", None)
        expected[linear] = LinearStorage.PLAIN if applied is None else PRESETS[preset_of(applied, wanted, presets)]
    assert claims(tmp_path, ModelCompressor(quantization_config=wanted)) == expected


def preset_of(applied: QuantizationScheme, wanted: QuantizationConfig, presets: dict[str, str]) -> str:
    """Of which preset an applied scheme is: its group is the one that equals it."""
    return next(presets[name] for name, one in wanted.config_groups.items() if one == applied)


@pytest.mark.parametrize("preset", [name for name, storage in PRESETS.items() if storage])
def test_the_config_that_the_library_makes_of_a_model_is_read_as_the_model_is(preset: str, tmp_path: Path) -> None:
    wanted = config(scheme(preset, ["Linear"]), ignore=["lm_head", "re:.*visual", "re:mtp"])
    given_to = model()
    apply_quantization_config(given_to, wanted, show_progress=False)
    written = ModelCompressor.from_pretrained_model(given_to)
    assert sorted(written.quantization_config.ignore) == ["lm_head", *LINEARS[6:]]
    alone = {"lm_head", "model.language_model.embed_tokens", *LINEARS[6:]}
    storage = PRESETS[preset]
    assert claims(tmp_path, written) == {one: LinearStorage.PLAIN if one in alone else storage for one in LINEARS}


def test_a_cache_scheme_and_a_group_of_activations_alone_leave_weights_alone(tmp_path: Path) -> None:
    cache = scheme("FP8", ["re:.*self_attn$"])
    activations = QuantizationScheme(targets=["lm_head"], input_activations=cache.input_activations)
    wanted = QuantizationConfig(
        config_groups={"a": activations, "b": scheme("NVFP4", ["re:.*mlp"])},
        kv_cache_scheme=cache.input_activations,
        ignore=None,
    )
    found = claims(tmp_path, ModelCompressor(quantization_config=wanted))
    assert {one for one, storage in found.items() if storage is LinearStorage.NVFP4} == {
        LINEARS[2],
        LINEARS[3],
        LINEARS[5],
    }
    assert found["lm_head"] is LinearStorage.PLAIN
    written = json.loads((tmp_path / "config.json").read_text())["quantization_config"]
    assert written["ignore"] is None
    assert written["config_groups"]["a"]["weights"] is None


def test_weights_that_are_turned_are_refused(tmp_path: Path) -> None:
    turned = TransformScheme(type="hadamard", apply=[TransformArgs(targets=["Linear"], location="weight_input")])
    written = ModelCompressor(
        quantization_config=config(scheme("NVFP4", ["Linear"])),
        transform_config=TransformConfig(config_groups={"u": turned}),
    )
    with pytest.raises(SourceError, match=r"transform_config: expected no transforms, .*found {'u': "):
        claims(tmp_path, written)
