"""What a miniature promises beside the names of its tensors: the same bytes again, sound configs, awkward words."""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import product
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas.errors import OutputError, RegistryError
from tests.targets.checkpoint_words import read_words
from tests.targets.targets import IDS
from tests.targets.values import TEXT
from workers.engine.miniature import SEED, Miniature, write_miniature
from workers.engine.miniature.headers import GDN_LINEARS
from workers.engine.recipe.load import read_recipe
from workers.engine.recipe.registered import load_registered

SMALLEST = "qwen3.6-27b.groupwise-int"
NVFP4_IDS = [id for id in IDS if id.endswith(".nvfp4")]


@pytest.fixture(scope="module", params=IDS)
def miniature(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Miniature:
    return write_miniature(request.param, tmp_path_factory.mktemp("miniature"))


def document(miniature: Miniature, source: str, file: str = "config.json") -> Any:
    return json.loads((miniature.places[source] / file).read_text())


def digests(folder: Path) -> dict[str, str]:
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): sha256(file.read_bytes()).hexdigest() for file in files}


def test_the_same_target_and_seed_give_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in {"one": SEED, "same": SEED, "other": SEED + 1}.items():
        write_miniature(SMALLEST, tmp_path / name, seed=seed)
    one, same, other = (digests(tmp_path / name) for name in ("one", "same", "other"))
    assert one == same
    changed = {name for name in one if one[name] != other[name]}
    assert changed == {name for name in one if name.endswith((".safetensors", ".i64"))}


def test_the_recipe_is_the_registered_one_for_other_sizes_and_resources(miniature: Miniature) -> None:
    own, registered = read_recipe(miniature.recipe), load_registered(miniature.id, let=miniature.let)
    assert own.id == f"{miniature.id}.miniature"
    assert own.target is None
    assert own.objects == registered.objects
    assert own.sources == registered.sources
    for one, before in zip(own.resources, registered.resources, strict=True):
        assert one.file is not None
        found = sha256((miniature.places["base"] / one.file).read_bytes()).hexdigest()
        assert one.sha256 == (None if before.sha256 is None else found)


def test_the_base_is_sharded_and_its_index_whole(miniature: Miniature) -> None:
    base = miniature.places["base"]
    index = document(miniature, "base", "model.safetensors.index.json")
    words = read_words(base)
    assert index["metadata"]["total_size"] == sum(tensor.nbytes for tensor in words.values())
    assert set(index["weight_map"]) == set(words)
    assert set(index["weight_map"].values()) == {file.name for file in base.glob("*.safetensors")}
    assert len(set(index["weight_map"].values())) == 2


def test_text_configs_keep_the_rules_of_framing_3(miniature: Miniature) -> None:
    for source in set(miniature.places) & {"base", "quantized"}:
        whole = document(miniature, source)
        text = whole["text_config"]
        moe = "35b" in miniature.id
        assert whole["architectures"] == [f"Qwen3_5{'Moe' if moe else ''}ForConditionalGeneration"]
        assert text["model_type"] == ("qwen3_5_moe_text" if moe else "qwen3_5_text")
        kinds = text["layer_types"]
        assert len(kinds) == text["num_hidden_layers"]
        for layer, kind in enumerate(kinds):
            full = (layer + 1) % text["full_attention_interval"] == 0
            assert kind == ("full_attention" if full else "linear_attention")
        assert text["num_attention_heads"] % text["num_key_value_heads"] == 0
        assert text["linear_num_value_heads"] % text["linear_num_key_heads"] == 0
        assert ("intermediate_size" in text) != moe
        if moe:
            assert text["num_experts_per_tok"] <= text["num_experts"]
        _check_rope(text["head_dim"], text["rope_parameters"])


def _check_rope(head: int, rope: Any) -> None:
    rotary = int(head * rope["partial_rotary_factor"])
    assert rotary > 0
    assert rotary % 2 == 0
    _, height, width = rope["mrope_section"]
    axes = [
        "h" if pair % 3 == 1 and pair < 3 * height else "w" if pair % 3 == 2 and pair < 3 * width else "t"
        for pair in range(rotary // 2)
    ]
    assert [axes.count(axis) for axis in "thw"] == rope["mrope_section"]
    assert min(rope["mrope_section"]) > 0


def test_vision_configs_keep_the_rules_of_framing_3(miniature: Miniature) -> None:
    config = document(miniature, "base")
    vision = config["vision_config"]
    assert vision["hidden_size"] % vision["num_heads"] == 0
    assert vision["hidden_size"] // vision["num_heads"] % 4 == 0
    assert isqrt(vision["num_position_embeddings"]) ** 2 == vision["num_position_embeddings"]
    assert vision["out_hidden_size"] == config["text_config"]["hidden_size"]
    for file in ("preprocessor_config.json", "video_preprocessor_config.json"):
        processor = document(miniature, "base", file)
        assert [processor[name] for name in ("patch_size", "temporal_patch_size", "merge_size")] == [
            vision[name] for name in ("patch_size", "temporal_patch_size", "spatial_merge_size")
        ]


def test_the_draft_config_keeps_the_rules_of_framing_3(tmp_path: Path) -> None:
    miniature = write_miniature("qwen3.6-35b-a3b.groupwise-int", tmp_path)
    draft, text = document(miniature, "dflash"), document(miniature, "base")["text_config"]
    taps = draft["dflash_config"]["target_layer_ids"]
    assert len(set(taps)) == len(taps) == miniature.let["taps"]
    assert all(0 <= tap < text["num_hidden_layers"] for tap in taps)
    assert draft["dflash_config"]["mask_token_id"] < draft["vocab_size"] == text["vocab_size"]
    assert draft["hidden_size"] == text["hidden_size"]
    assert draft["head_dim"] % 2 == 0
    assert draft["num_attention_heads"] % draft["num_key_value_heads"] == 0
    assert set(draft["layer_types"]) == {"sliding_attention", "full_attention"}
    assert len(draft["layer_types"]) == draft["num_hidden_layers"] == miniature.let["d_layers"]


def test_token_ids_are_without_gaps_and_fill_the_domain(miniature: Miniature) -> None:
    tokenizer = document(miniature, "base", "tokenizer.json")
    added = document(miniature, "base", "tokenizer_config.json")["added_tokens_decoder"]
    ids = [*tokenizer["model"]["vocab"].values(), *map(int, added)]
    domain = miniature.let["domain"]
    assert sorted(ids) == list(range(domain))
    assert domain < miniature.let["vocab"]
    assert {one["id"]: one["content"] for one in tokenizer["added_tokens"]} == {
        int(id): one["content"] for id, one in added.items()
    }
    assert {one["special"] for one in added.values()} == {True, False}
    generation = document(miniature, "base", "generation_config.json")
    assert all(id < domain for id in generation["eos_token_id"])


def test_only_the_first_row_of_the_ranking_would_choose_these_ids(miniature: Miniature) -> None:
    s = miniature.let
    counts = np.frombuffer(miniature.places["ranking"].read_bytes(), "<i8").reshape(-1, s["vocab"])
    assert len(counts) == 6
    assert counts.min() == 0
    assert not counts[:, s["domain"] :].any()
    orders = {tuple(np.argsort(-row[: s["domain"]], kind="stable")[: s["take"]]) for row in counts}
    assert len(orders) == 6
    assert len(set(counts[0].tolist())) < s["domain"] // 2
    assert counts[0].max() >= 1 << 40


def bf16_matrices(miniature: Miniature, source: str) -> list[Any]:
    words = read_words(miniature.places[source])
    return [one.reshape(-1, one.shape[-1]) for one in words.values() if one.dtype == "<u2" and one.ndim > 1]


def test_bf16_words_are_finite_and_awkward(miniature: Miniature) -> None:
    for source in set(miniature.places) - {"ranking", "quantized"}:
        matrices = bf16_matrices(miniature, source)
        words = np.concatenate([one.reshape(-1) for one in matrices])
        magnitudes = words & 0x7FFF
        assert (magnitudes < 0x7F80).all()
        for sign in (0, 0x8000):
            one = words[words & 0x8000 == sign]
            assert (one == sign).any()
            assert ((one & 0x7FFF > 0) & (one & 0x7FFF < 0x80)).any()
            normal = one[one & 0x7FFF >= 0x80] & 0x7FFF
            assert normal.min() < 0x3400
            assert normal.max() > 0x4400
        assert any((~(one & 0x7FFF).any(axis=1)).any() for one in matrices), "no row of zeros"
        wide = [one for one in matrices if one.shape[1] > 64]
        zero_groups = [~(one[:, :64] & 0x7FFF).any(axis=1) & (one[:, 64:] & 0x7FFF).any(axis=1) for one in wide]
        assert any(rows.any() for rows in zero_groups), "no group of zeros in a row of others"
        largest = [(one & 0x7FFF).max(axis=1) for one in matrices]
        assert any(((rows > 0) & (rows < 0x80)).any() for rows in largest), "no row of subnormals"


@pytest.mark.parametrize("id", NVFP4_IDS)
def test_quantized_words_are_legal_and_awkward(id: str, tmp_path: Path) -> None:
    miniature = write_miniature(id, tmp_path)
    words = read_words(miniature.places["quantized"])
    packed = [name.removesuffix(".weight_packed") for name in words if name.endswith(".weight_packed")]
    scales = np.concatenate([words[f"{name}.weight_scale"].reshape(-1) for name in packed])
    assert set(scales.tolist()) == set(range(0x7F))
    assert set(words[f"{packed[0]}.weight_packed"].reshape(-1).tolist()) == set(range(0x100))
    for name, kind in product(packed, ("weight_global_scale", "input_global_scale")):
        [word] = words[f"{name}.{kind}"]
        assert 0 < word < 0x7F800000
    distinct = {words[f"{name}.weight_global_scale"].item() for name in packed}
    fused = [name for name in packed if name.endswith(("up_proj", "k_proj", "v_proj", "in_proj_z"))]
    assert len(distinct) == len(packed) - len(fused)


def test_fp8_words_are_legal_and_awkward(tmp_path: Path) -> None:
    miniature = write_miniature("qwen3.8-27b.nvfp4", tmp_path)
    words = read_words(miniature.places["quantized"])
    rows = [name.removesuffix("_scale") for name, one in words.items() if one.ndim == 2 and one.shape[1] == 1]
    assert len(rows) > 20
    for name in rows:
        codes, scales = words[name], words[f"{name}_scale"].reshape(-1)
        assert not (codes & 0x7F == 0x7F).any()
        assert (scales < 0x7F80).all()
        zero = scales == 0
        assert zero.any()
        assert set(codes[zero].reshape(-1).tolist()) == {0x00, 0x80}
        assert ((scales > 0) & (scales < 0x80)).any()


@pytest.mark.parametrize("id", NVFP4_IDS)
def test_neither_checkpoint_can_stand_in_for_the_other(id: str, tmp_path: Path) -> None:
    miniature = write_miniature(id, tmp_path)
    base, quantized = (read_words(miniature.places[source]) for source in ("base", "quantized"))
    same = {name for name in base if name in quantized and np.array_equal(base[name], quantized[name])}
    kept = {f"{TEXT}layers.{layer}.self_attn.{x}_proj.weight" for layer in (3, 7, 11, 15, 19, 23) for x in "qkv"}
    kept |= {f"{TEXT}layers.{layer}.self_attn.o_proj.weight" for layer in (3, 7)}
    kept.add(f"{TEXT}layers.4.linear_attn.{GDN_LINEARS[-1]}.weight")
    assert same == (kept if id == "qwen3.6-27b.nvfp4" else set())


def test_a_folder_with_files_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(OutputError, match="found a folder with files"):
        write_miniature(SMALLEST, tmp_path)
    with pytest.raises(OutputError, match="expected a folder that can be made"):
        write_miniature(SMALLEST, tmp_path / "mine")
    assert digests(tmp_path) == {"mine": sha256(b"mine").hexdigest()}


def test_an_id_without_miniature_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=r"found 'all-minilm-l6-v2\.demo'"):
        write_miniature("all-minilm-l6-v2.demo", tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
