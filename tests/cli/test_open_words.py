"""What framing 3 lets stand in a file without a meaning: `inspect` shows it, `verify` does not pass over it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import answered, refused, succeeded
from tests.container.model_changes import stored
from tests.container.model_samples import TEXT, entry_bytes
from tests.engine.conversions import SILENT
from workers.engine.container.reader import read_artifact
from workers.engine.convert import convert
from workers.engine.miniature import write_miniature
from workers.engine.packaging import Packaging
from workers.engine.plan import plan_conversion
from workers.engine.recipe.load import read_recipe
from workers.engine.sources.roots import ANYWHERE


@pytest.mark.parametrize(
    ("data", "row", "member", "words"),
    [
        (
            stored(1, format="gguf_q4_k", layout="gguf_blocks_v1"),
            "matrix           [3, 2]    gguf_q4_k, which is not known",
            {"name": "matrix", "kind": "tensor", "shape": [3, 2], "format": "gguf_q4_k", "layout": "gguf_blocks_v1"},
            "object 'matrix': expected an encoding whose words are known, found 'gguf_q4_k in gguf_blocks_v1'",
        ),
        (
            stored(0, encoding="zstd"),
            "frontend/é.json            zstd, which is not known",
            {"name": "frontend/é.json", "kind": "resource", "encoding": "zstd"},
            "object 'frontend/é.json': expected an encoding whose words are known, found 'zstd'",
        ),
    ],
)
def test_an_unknown_encoding_is_shown_and_not_called_legal(
    tmp_path: Path, data: bytes, row: str, member: dict[str, object], words: str
) -> None:
    path = tmp_path / "theirs.ninfer"
    path.write_bytes(data)
    lines = succeeded("inspect", path).splitlines()
    assert lines[:5] == [
        "tiny, framing 3",
        "artifact id 000102030405060708090a0b0c0d0e0f",
        "components text, mtp; 2 bindings, 2 uses",
        "in an engine: not known",
        "  its architecture is not a registered one",
    ]
    assert any(line.startswith(row) for line in lines)
    assert any(member.items() <= one.items() for one in answered("inspect", path)["objects"])
    assert refused("verify", path) == f"error: {words}\n"


def test_bytes_between_objects_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "theirs.ninfer"
    data = bytearray(entry_bytes(TEXT))
    data[4096 + 100] = 9
    path.write_bytes(data)
    stray = f"{path}, byte 4196, in the gap before objects[1] 'matrix': expected zero, found 0x09"
    assert answered("inspect", path)["strays"] == [stray]


def test_a_legal_file_with_bytes_after_its_objects_is_verified_and_they_are_told(tmp_path: Path) -> None:
    miniature = write_miniature("qwen3.6-27b.groupwise-int", tmp_path / "miniature")
    plan = plan_conversion(read_recipe(miniature.recipe), miniature.places, packaging=Packaging(3), roots=ANYWHERE)
    path = tmp_path / "m.ninfer"
    convert(plan, path, coverage=None, threads=2, observers=SILENT)
    clean = answered("verify", path)
    data = bytearray(path.read_bytes())
    artifact = read_artifact(path)
    before, after = next(
        pair for pair in zip(artifact.objects, artifact.objects[1:], strict=False) if pair[0].end < pair[1].offset
    )
    at = artifact.payload_offset + before.end
    assert data[at] == 0
    data[at] = 7
    path.write_bytes(data)
    told = answered("verify", path)
    asked = "what its architecture asks: parameters bound, uses, policies, divisors, token ids, resources"
    words = "and that every stored word is one that its format allows"
    assert clean["shown"] == [f"structure, zero gaps, {words}", asked]
    assert told["shown"] == [f"structure, gaps where they must be zero, {words}", asked]
    index = artifact.objects.index(after)
    stray = f"{path}, byte {at}, in the gap before objects[{index}] '{after.name}': expected zero, found 0x07"
    assert told["not_shown"] == [*clean["not_shown"], f"what is in bytes that may be anything: {stray}"]


def converted_miniature(folder: Path, *options: str) -> Path:
    """A miniature in framing 3, with its entry at folder/a.ninfer."""
    if not (folder / "miniature").exists():
        write_miniature("qwen3.8-27b.groupwise-int", folder / "miniature")
    sources = [f"{name}={folder}/miniature/{place}" for name, place in (("base", "base"), ("ranking", "ranking.i64"))]
    given: list[str | Path] = [
        folder / "miniature" / "recipe.yaml",
        *(word for one in sources for word in ("--source", one)),
    ]
    path = folder / "a.ninfer"
    (folder / "said").write_text(succeeded("convert", *given, *options, "--force", "--out", path))
    return path


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the directory of a single file, and keeps it as long as it was."""
    data = path.read_bytes()
    length = int.from_bytes(data[8:16], "little")
    directory = json.loads(data[32 : 32 + length])
    change(directory)
    text = json.dumps(directory, ensure_ascii=False, separators=(",", ":")).encode()
    assert len(text) <= length
    path.write_bytes(data[:32] + text.ljust(length) + data[32 + length :])


def test_a_component_that_is_not_known_is_not_called_verified(tmp_path: Path) -> None:
    path = converted_miniature(tmp_path)
    rewritten(path, lambda root: root["components"].update(decision={"config": {}}))
    assert "decision" in succeeded("inspect", path)
    message = refused("verify", path)
    assert "components: expected one that is known of qwen3_5" in message
    assert message.endswith("found 'decision'\n")


def test_bindings_that_are_not_known_are_not_called_verified(tmp_path: Path) -> None:
    path = converted_miniature(tmp_path)
    rewritten(path, lambda root: root["bindings"].update({"text/extra": {"object": "text/final_norm"}}))
    told = answered("verify", path)
    assert "anything of the parameter 'text/extra', which its architecture does not know" in told["not_shown"]
    assert told["execution"] == {"verdict": "loads and runs", "reasons": []}


def test_text_works_for_no_other_component(tmp_path: Path) -> None:
    path = converted_miniature(tmp_path)
    rewritten(path, lambda root: root["components"]["text"].update(target="text"))
    assert "/components/text/target: expected none" in refused("verify", path)


def test_a_missing_continuation_is_told_and_the_directory_shown(tmp_path: Path) -> None:
    path = converted_miniature(tmp_path, "--part-bytes", "200000")
    [first, *_] = sorted(tmp_path.glob("*.part-0001"))
    first.unlink()
    shown = answered("inspect", path)
    assert len(shown["objects"]) > 100
    [stray] = shown["strays"]
    assert stray.startswith("not all looked at: ")
    assert first.name in stray
    assert first.name in refused("verify", path)


def test_continuations_of_another_artifact_of_the_name_are_told(tmp_path: Path) -> None:
    converted_miniature(tmp_path, "--part-bytes", "120000")
    parts = sorted(tmp_path.glob("*.part-*"))
    assert len(parts) > 2
    converted_miniature(tmp_path, "--part-bytes", "400000")
    said = (tmp_path / "said").read_text()
    assert f"warning: {parts[-1]} is no file of this artifact" in said
