"""Words of a quantized checkpoint that registered recipes refuse, each with its own words: tensor, coordinate, both
sides."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from schemas.errors import WordError
from tests.engine.conversions import SILENT
from workers.engine.convert import convert
from workers.engine.miniature import Miniature, write_miniature
from workers.engine.plan import plan_conversion
from workers.engine.recipe.load import read_recipe
from workers.engine.sources.roots import ANYWHERE

NVFP4, MIXED = "qwen3.6-27b.nvfp4", "qwen3.8-27b.nvfp4"
LAYERS = "model.language_model.layers."
BYTES = {"F32": 4, "BF16": 2, "F8_E4M3": 1, "U8": 1}


@dataclass(frozen=True, slots=True)
class Case:
    """Words of the quantized checkpoint by tensor (below the text layers) and coordinate, and the message that they
    give."""

    name: str
    target: str
    words: Mapping[tuple[str, tuple[int, ...]], int]
    message: str


def set_word(file: Path, tensor: str, coordinate: tuple[int, ...], word: int) -> None:
    """Sets one word of a safetensors file."""
    data = bytearray(file.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    entry = json.loads(data[8:start])[tensor]
    width = BYTES[entry["dtype"]]
    at = start + entry["data_offsets"][0] + width * int(np.ravel_multi_index(coordinate, entry["shape"]))
    data[at : at + width] = word.to_bytes(width, "little")
    file.write_bytes(data)


def word_of(miniature: Miniature, tensor: str) -> int:
    """The one F32 word of a tensor of the quantized checkpoint."""
    with safe_open(miniature.places["quantized"] / "model.safetensors", framework="np") as file:
        return int(file.get_tensor(tensor).view("<u4").item())


DOWN = "3.mlp.down_proj."
UP = "5.mlp.up_proj."
Q = "27.self_attn.q_proj."
EXCEPTION = "3.self_attn.q_proj.weight"
NOT_POSITIVE = {"zero": 0, "minus zero": 0x80000000, "negative": 0xC0000000, "infinite": 0x7F800000, "NaN": 0x7FC00000}


def at(object: str, tensor: str, place: str) -> str:
    return f"object text/layers/{object}, source tensor quantized:{LAYERS}{tensor}[{place}]: "


def nvfp4_cases() -> list[Case]:
    scale = f"{DOWN}weight_scale"
    where = at("3/mlp/down", scale, "77, 5")
    cases = [
        Case(f"{name} scale", NVFP4, {(scale, (77, 5)): word}, f"{where}expected {expected}, found word 0x{word:02x}")
        for name, word, expected in (
            ("a negative", 0xB8, "a scale that is not negative"),
            ("a minus zero", 0x80, "a zero scale with sign bit 0"),
            ("a NaN", 0x7F, "a scale that is a number"),
            ("a minus NaN", 0xFF, "a scale that is a number"),
        )
    ]
    for name, word in NOT_POSITIVE.items():
        divisor, inputs = f"{DOWN}weight_global_scale", f"{DOWN}input_global_scale"
        expected = "a finite value" if name in {"infinite", "NaN"} else "a finite value above zero"
        message = at("3/mlp/down", divisor, "0") + f"expected {expected}, found word 0x{word:x} "
        cases.append(Case(f"{name} divisor", NVFP4, {(divisor, (0,)): word}, message))
        message = at("3/mlp/down_projection/input_scale_divisor", inputs, "0") + f"expected {expected}, found word"
        cases.append(Case(f"{name} input divisor", NVFP4, {(inputs, (0,)): word}, message))
    gate = f"{Q}weight_scale"
    # Rows 32 to 63 of each head are its gate, whose rows follow those of the query and of k_proj.
    message = at("27/attention/query_key_gate_value", gate, "33, 7") + "expected a scale that is a number"
    cases.append(Case("a NaN scale in a gate's row", NVFP4, {(gate, (33, 7)): 0x7F}, message))
    return cases


def row_cases() -> list[Case]:
    codes, scales, name = "3.self_attn.o_proj.weight", "3.self_attn.o_proj.weight_scale", "3/attention/output"
    cases = [
        Case(
            f"{which} code",
            MIXED,
            {(codes, (9, 70)): word},
            at(name, codes, "9, 70") + f"expected a code that is a number, found word 0x{word:x}",
        )
        for which, word in (("a NaN", 0x7F), ("a minus NaN", 0xFF))
    ]
    where = at(name, scales, "9, 0")
    cases += [
        Case(
            f"{which} row scale", MIXED, {(scales, (9, 0)): word}, f"{where}expected {expected}, found word 0x{word:x}"
        )
        for which, word, expected in (
            ("a negative", 0xBF80, "a scale that is not negative"),
            ("a minus zero", 0x8000, "a zero scale with sign bit 0"),
            ("an infinite", 0x7F80, "a finite scale"),
            ("a NaN", 0x7FC0, "a scale that is a number"),
        )
    ]
    message = at(name, codes, "9, 3") + "expected only zero codes under a zero scale, found word 0x38"
    zeros: dict[tuple[str, tuple[int, ...]], int] = {(codes, (9, k)): 0x80 * (k % 2) for k in range(192)}
    cases.append(
        Case("a code under a zero row scale", MIXED, {(scales, (9, 0)): 0, **zeros, (codes, (9, 3)): 0x38}, message)
    )
    return cases


CASES = [*nvfp4_cases(), *row_cases()]


@pytest.fixture(scope="module")
def miniatures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Miniature]:
    return {id: write_miniature(id, tmp_path_factory.mktemp(id)) for id in (NVFP4, MIXED)}


def refused(miniature: Miniature, words: Mapping[tuple[str, tuple[int, ...]], int], folder: Path) -> str:
    """What a conversion says of the miniature with these words in its quantized checkpoint."""
    changed = folder / "quantized"
    shutil.copytree(miniature.places["quantized"], changed)
    for (tensor, coordinate), word in words.items():
        set_word(changed / "model.safetensors", f"{LAYERS}{tensor}", coordinate, word)
    places = {**miniature.places, "quantized": changed}
    plan = plan_conversion(read_recipe(miniature.recipe), places, roots=ANYWHERE)
    out = folder / "out.ninfer"
    with pytest.raises(WordError) as raised:
        convert(plan, out, coverage=None, threads=2, observers=SILENT)
    assert not out.exists()
    return str(raised.value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_faulty_word_is_named(case: Case, miniatures: Mapping[str, Miniature], tmp_path: Path) -> None:
    assert refused(miniatures[case.target], case.words, tmp_path).startswith(case.message)


@pytest.mark.parametrize("kind", ["weight_global_scale", "input_global_scale"])
def test_fused_linears_that_disagree_are_named_with_their_words(
    kind: str, miniatures: Mapping[str, Miniature], tmp_path: Path
) -> None:
    gate, up = (f"{LAYERS}5.mlp.{linear}_proj.{kind}" for linear in ("gate", "up"))
    word = word_of(miniatures[NVFP4], gate)
    message = refused(miniatures[NVFP4], {(f"{UP}{kind}", (0,)): word ^ 1}, tmp_path)
    assert f"source tensor quantized:{gate}[0]: expected under `same` the word of " in message
    assert f"source tensor quantized:{up}[0], 0x{word ^ 1:x}, found 0x{word:x}" in message


def test_a_bf16_exception_that_is_not_the_bases_is_named_with_both_words(
    miniatures: Mapping[str, Miniature], tmp_path: Path
) -> None:
    message = refused(miniatures[NVFP4], {(EXCEPTION, (40, 3)): 0x1234}, tmp_path)
    name = "object text/layers/3/attention/query_key_gate_value"
    assert message.startswith(
        f"{name}, source tensor base:{LAYERS}{EXCEPTION}[40, 3]: expected under `equals` the word of "
    )
    assert f"source tensor quantized:{LAYERS}{EXCEPTION}[40, 3], 0x1234, found 0x" in message
