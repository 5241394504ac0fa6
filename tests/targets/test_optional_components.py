"""Recipes that leave parts of a model out: the file has no such component, and a validator takes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Argument, refused, succeeded
from tests.targets.framing_3_files import read_model_files
from workers.engine.miniature import Miniature, write_miniature
from workers.engine.recipe.document_text import read_text_document

DENSE, EXPERTS = "qwen3.8-27b.groupwise-int", "qwen3.6-35b-a3b.groupwise-int"
PARTS = {"mtp": "mtp/", "vision": "vision/", "draft head": "text/draft_head", "dflash": "dflash/"}
UNUSED = {"mtp": ("base", "mtp.*"), "vision": ("base", "model.visual.*")}
VISION_FILES = ("frontend/preprocessor_config.json", "frontend/video_preprocessor_config.json")


@pytest.fixture(scope="module", params=[DENSE, EXPERTS])
def miniature(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Miniature:
    return write_miniature(request.param, tmp_path_factory.mktemp("miniature") / "sources")


def document_of(miniature: Miniature) -> dict[str, Any]:
    data = read_text_document(miniature.recipe.read_text(), where="recipe").data
    assert isinstance(data, dict)
    return data


def without(miniature: Miniature, parts: Iterable[str], folder: Path) -> list[Argument]:
    """The miniature's recipe with those parts left out, and its sources."""
    document = document_of(miniature)
    document["target"] = None
    places = dict(miniature.places)
    for part in parts:
        document["objects"] = [one for one in document["objects"] if not _first_name(one).startswith(PARTS[part])]
        if part in UNUSED:
            source, pattern = UNUSED[part]
            document["sources"][source].setdefault("unused", []).append(pattern)
        if part == "vision":
            document["resources"] = [one for one in document["resources"] if one["name"] not in VISION_FILES]
    for source, needed in (("ranking", "draft head"), ("dflash", "dflash")):
        if needed in parts and source in document["sources"]:
            del document["sources"][source], places[source]
    recipe = folder / "recipe.json"
    recipe.write_text(json.dumps(document))
    return [recipe, *(word for name, place in places.items() for word in ("--source", f"{name}={place}"))]


def _first_name(entry: dict[str, Any]) -> str:
    """A name, or the beginning of the names, of what an entry makes."""
    name = entry.get("name") or entry.get("with", {}).get("o")
    assert isinstance(name, str)
    return name


@pytest.mark.parametrize(
    "parts", [("mtp",), ("vision",), ("draft head",), ("dflash",), ("mtp", "vision", "draft head", "dflash")], ids=str
)
def test_what_a_recipe_leaves_out_the_file_does_not_have(
    miniature: Miniature, parts: tuple[str, ...], tmp_path: Path
) -> None:
    if parts == ("dflash",) and miniature.id == DENSE:
        parts = ()
    given = without(miniature, parts, tmp_path)
    out = tmp_path / "a.ninfer"
    succeeded("convert", *given, "--out", out)
    succeeded("verify", out)
    stored = read_model_files(out).directory
    components = ["text", "vision", "mtp", *(["dflash"] if miniature.id == EXPERTS else [])]
    assert list(stored["components"]) == [one for one in components if one not in parts]
    assert ("proposal" in stored["components"]["text"]) == ("draft head" not in parts)
    for part in parts:
        name = "proposal/" if part == "draft head" else PARTS[part]
        assert not any(parameter.startswith(name) for parameter in stored["bindings"])
        assert not any(use["input"].startswith(name) for use in stored["uses"])
    heads = {use["input"] for use in stored["uses"] if use["parameter"] == "text/output_head"}
    backends = [one for one in ("mtp", "dflash") if one in stored["components"]]
    assert heads == {f"{one}/final_hidden" for one in ("text", *backends)}


def test_a_component_of_which_a_parameter_is_missing_is_refused_by_its_name(
    miniature: Miniature, tmp_path: Path
) -> None:
    document = document_of(miniature)
    document["target"] = None
    document["objects"] = [one for one in document["objects"] if _first_name(one) != "mtp/hidden_norm"]
    document["sources"]["base"]["unused"] = ["mtp.pre_fc_norm_hidden.weight"]
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps(document))
    sources = [word for name, place in miniature.places.items() for word in ("--source", f"{name}={place}")]
    told = refused("plan", recipe, *sources)
    assert "no object holds the parameter 'mtp/hidden_norm'" in told
