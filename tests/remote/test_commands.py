"""Commands whose sources are fetched: from a Hub, and single files by https."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import answered, refused, succeeded
from tests.remote.hub_server import HubServer
from tests.small_job import recipe_document, write_checkpoint

HUB = "base=hf:org/small"


@pytest.fixture
def cache(tmp_path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is fetched; the Hub may be asked."""
    monkeypatch.delenv("NINFORGE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NINFORGE_PRIVATE_SOURCE_HOSTS", hub.host)
    return tmp_path / "cache" / "ninforge" / "fetched"


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return written(tmp_path, recipe_document())


def written(folder: Path, document: dict[str, Any]) -> Path:
    file = folder / "recipe.json"
    file.write_text(json.dumps(document))
    return file


def files(folder: Path, pattern: str) -> list[Path]:
    return [path for path in folder.rglob(pattern) if path.is_file()]


def test_a_plan_is_made_of_headers(cache: Path, recipe: Path, tmp_path: Path) -> None:
    local = write_checkpoint(tmp_path / "local")
    assert answered("plan", recipe, "--source", HUB) == answered("plan", recipe, "--source", f"base={local}")
    assert files(cache, "*.safetensors") == []


def test_a_conversion_tells_what_it_is_of(cache: Path, recipe: Path, hub: HubServer, tmp_path: Path) -> None:
    out, report = tmp_path / "out.ninfer", tmp_path / "report.json"
    commit = hub.repositories["org/small"].branches["main"]
    made = answered("convert", recipe, "--source", HUB, "--out", out, "--report", report)
    assert made["fetched"] == [{"member": "source", "name": "base", "where": "hf:org/small", "commit": commit}]
    assert json.loads(report.read_text())["fetched"] == made["fetched"]
    local = write_checkpoint(tmp_path / "local")
    same = tmp_path / "same.ninfer"
    assert answered("convert", recipe, "--source", f"base={local}", "--out", same)["fetched"] == []
    assert same.read_bytes() == out.read_bytes()
    assert len(files(cache, "*.safetensors")) == 1
    hub.requests.clear()
    shown = succeeded("verify", out, "--recipe", recipe, "--source", f"base=hf:org/small@{commit}")
    assert "every word of every payload, derived again" in shown
    assert "SHA-256 of" in succeeded("verify", out, "--report", report)
    assert hub.requests == []


def test_the_data_folder_of_a_service_is_used_where_it_is_named(
    cache: Path, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NINFORGE_DATA", str(tmp_path / "data"))
    succeeded("convert", recipe, "--source", HUB, "--out", tmp_path / "out.ninfer")
    assert files(tmp_path / "data" / "fetched" / "hub", "model.safetensors")
    assert not cache.exists()


def test_a_host_has_to_be_listed(recipe: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NINFORGE_PRIVATE_SOURCE_HOSTS", raising=False)
    for command in (["plan"], ["convert", "--out", "out.ninfer"]):
        told = refused(*command, recipe, "--source", HUB)
        assert "source base, host 127.0.0.1: expected a host that NINFORGE_SOURCE_HOSTS lists" in told
    assert hub.requests == []
    monkeypatch.setenv("NINFORGE_SOURCE_HOSTS", "https://huggingface.co")
    assert "NINFORGE_SOURCE_HOSTS: expected HOST, HOST:PORT or *.DOMAIN" in refused("plan", recipe, "--source", HUB)


def test_an_origin_stands_in_for_a_place(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = recipe_document()
    document["sources"]["base"]["origin"] = "hf:org/small"
    recipe = written(tmp_path, document)
    made = answered("convert", recipe, "--out", tmp_path / "out.ninfer")
    assert made["fetched"][0]["where"] == "hf:org/small"
    assert cache.exists()
    monkeypatch.delenv("NINFORGE_PRIVATE_SOURCE_HOSTS")
    assert "found none, and its origin, hf:org/small, not fetched" in refused("plan", recipe)


def test_a_recipe_that_does_not_fit_is_told_before_the_weights_come(
    cache: Path, tmp_path: Path, hub: HubServer
) -> None:
    recipe = written(tmp_path, recipe_document(rows=95))
    told = refused("convert", recipe, "--source", HUB, "--out", tmp_path / "out.ninfer")
    assert "shape" in told
    assert files(cache, "*.safetensors") == []
    assert [one for one in hub.contents() if one.path.startswith("/store/") and one.range is None] == []


def test_a_full_disk_is_told_before_anything_is_fetched(
    cache: Path, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    told = refused("convert", recipe, "--source", HUB, "--out", tmp_path / "out.ninfer")
    assert "bytes free for what is fetched, found 1000" in told
    assert files(cache, "*.safetensors") == []


def test_a_recipe_is_adapted_to_a_repository(cache: Path, tmp_path: Path, small_files: dict[str, bytes]) -> None:
    document = recipe_document()
    document["resources"][0]["sha256"] = "0" * 64
    text = succeeded("recipe", "adapt", written(tmp_path, document), "--id", "mine", "--source", HUB)
    assert sha256(small_files["tokenizer.json"]).hexdigest() in text
    assert files(cache, "*.safetensors") == []


def test_a_file_by_https(secure: HubServer, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NINFORGE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NINFORGE_PRIVATE_SOURCE_HOSTS", secure.host)
    local = write_checkpoint(tmp_path / "local")
    model, tokenizer = (local / name for name in ("model.safetensors", "tokenizer.json"))
    secure.files = {"/a/model.safetensors": model.read_bytes(), "/b/tokenizer.json": tokenizer.read_bytes()}
    digests = [sha256(path.read_bytes()).hexdigest() for path in (model, tokenizer)]
    places = [
        "--source",
        f"base={secure.url}/a/model.safetensors#sha256={digests[0]}",
        "--resource",
        f"frontend/tokenizer.json={secure.url}/b/tokenizer.json#sha256={digests[1]}",
    ]
    out = tmp_path / "out.ninfer"
    planned = answered("plan", recipe, *places)
    assert files(tmp_path / "data", "*.safetensors") == []
    made = answered("convert", recipe, *places, "--out", out)
    assert made["artifact"]["bytes"] == planned["file_bytes"] == out.stat().st_size
    assert [one["commit"] for one in made["fetched"]] == [None, None]
    assert [path.parent.name for path in files(tmp_path / "data", "model.safetensors")] == [digests[0]]
    secure.requests.clear()
    succeeded("verify", out, "--recipe", recipe, *places)
    assert secure.requests == []
    wrong = ["--source", f"base={secure.url}/a/model.safetensors#sha256={'0' * 64}", *places[2:]]
    told = refused("convert", recipe, *wrong, "--out", tmp_path / "other.ninfer")
    assert f"expected SHA-256 {'0' * 64}, found {digests[0]}" in told
    assert "found none there (status 404)" in refused("plan", recipe, "--source", f"{wrong[1]}".replace("/a/", "/c/"))
