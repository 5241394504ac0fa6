"""What of a repository is fetched, by which commit, and what is told where it cannot be."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import hf_hub_download, scan_cache_dir

from schemas.errors import FetchError, NinforgeError, SourceError
from tests.remote.hub_server import SIGNATURE, TOKEN, HubServer, serving
from tests.small_job import recipe_document
from workers.engine.recipe.load import expand_document
from workers.remote import fetching
from workers.remote.fetching import LocalPlaces, Places, RemoteSources, remote_sources
from workers.remote.header_fetching import HeaderFetching
from workers.remote.hosts import SourceHosts
from workers.remote.places import parse_remote

RECIPE = expand_document(recipe_document(), where="recipe")
NEEDED = ["config.json", "model.safetensors", "tokenizer.json"]


class Cache:
    """A cache, and what is fetched into it."""

    def __init__(self, folder: Path, *hubs: HubServer) -> None:
        self.folder = folder / "fetched"
        self.hosts = SourceHosts((), tuple(hub.host for hub in hubs))

    @contextmanager
    def surveyed(self, where: str = "hf:org/small", resources: Mapping[str, str] | None = None) -> Any:
        places = Places(
            {"base": parse_remote(where, "source base")},
            {name: parse_remote(place, f"resource {name}") for name, place in (resources or {}).items()},
        )
        with remote_sources(places, RECIPE, self.folder, self.hosts, HeaderFetching()) as remote:
            yield remote

    def fetched(self, where: str = "hf:org/small", resources: Mapping[str, str] | None = None) -> LocalPlaces:
        with self.surveyed(where, resources) as remote:
            assert isinstance(remote, RemoteSources)
            return remote.fetch(0)

    def refusal(self, where: str = "hf:org/small", error: type[NinforgeError] = SourceError) -> str:
        with pytest.raises(error) as refused:
            self.fetched(where)
        assert type(refused.value) is error
        return str(refused.value)


@pytest.fixture
def cache(hub: HubServer, tmp_path: Path) -> Cache:
    return Cache(tmp_path, hub)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def sharded(files: Mapping[str, bytes], folder: str = "", **weight_map: str) -> dict[str, bytes]:
    """Files of a repository whose index names the small checkpoint as its second shard."""
    index = {"weight_map": weight_map or {f"layer.{layer}": "b.safetensors" for layer in range(8)}}
    moved = {"b.safetensors" if name == "model.safetensors" else name: data for name, data in files.items()}
    moved["model.safetensors.index.json"] = json.dumps(index).encode()
    return {folder + name: data for name, data in moved.items()}


def test_only_what_is_needed_is_fetched(cache: Cache, hub: HubServer, small_files: dict[str, bytes]) -> None:
    folder = cache.fetched().sources["base"]
    assert names(folder) == NEEDED
    assert {name: (folder / name).read_bytes() for name in NEEDED} == {name: small_files[name] for name in NEEDED}
    assert sorted(one.path.rpartition("/")[2] for one in hub.contents() if "/resolve/" in one.path) == NEEDED


def test_what_is_there_needs_no_request(cache: Cache, hub: HubServer) -> None:
    commit = hub.repositories["org/small"].branches["main"]
    cache.fetched()
    hub.requests.clear()
    assert names(cache.fetched(f"hf:org/small@{commit}").sources["base"]) == NEEDED
    assert hub.requests == []


def test_a_listing_that_a_disk_lost_is_asked_for_again(cache: Cache, hub: HubServer) -> None:
    commit = hub.repositories["org/small"].branches["main"]
    cache.fetched()
    hub.requests.clear()
    [listing] = (cache.folder / "listings").rglob("*.json")
    listing.write_bytes(b"")
    assert names(cache.fetched(f"hf:org/small@{commit}").sources["base"]) == NEEDED
    assert [one.path.partition("?")[0] for one in hub.requests] == [f"/api/models/org/small/revision/{commit}"]


def test_one_content_is_fetched_once(cache: Cache, hub: HubServer, small_files: dict[str, bytes]) -> None:
    cache.fetched()
    hub.requests.clear()
    hub.repositories["org/small"].commit({**small_files, "config.json": b"{}"})
    assert (cache.fetched().sources["base"] / "config.json").read_bytes() == b"{}"
    assert [one.path.rpartition("/")[2] for one in hub.contents()] == ["config.json"]


def test_the_library_reads_the_cache(hub: HubServer, tmp_path: Path) -> None:
    with serving(HubServer(name="localhost")) as store:
        hub.store = store
        cache = Cache(tmp_path, hub, store)
        model = cache.fetched().sources["base"] / "model.safetensors"
        [repository] = scan_cache_dir(cache.folder / "hub").repos
        assert (repository.repo_id, repository.nb_files) == ("org/small", len(NEEDED))
        before = len(store.requests)
        found = hf_hub_download(
            "org/small", "model.safetensors", revision="main", cache_dir=cache.folder / "hub", endpoint=hub.url
        )
        assert Path(found).samefile(model)
        assert hub.contents()[-1].method == "HEAD"
        assert len(store.requests) == before


def test_shards(cache: Cache, hub: HubServer, small_files: dict[str, bytes]) -> None:
    hub.repository("org/sharded", {**sharded(small_files), "c.safetensors": b"not in the index"})
    folder = cache.fetched("hf:org/sharded").sources["base"]
    assert names(folder) == ["b.safetensors", "config.json", "model.safetensors.index.json", "tokenizer.json"]


def test_a_folder_of_a_repository(cache: Cache, hub: HubServer, small_files: dict[str, bytes]) -> None:
    hub.repository("org/folders", {**sharded(small_files, "bf16/"), "model.safetensors": b"another"})
    place = cache.fetched("hf:org/folders@main/bf16").sources["base"]
    assert names(place) == ["b.safetensors", "config.json", "model.safetensors.index.json", "tokenizer.json"]


def test_a_file_of_a_repository(cache: Cache, hub: HubServer, small_files: dict[str, bytes]) -> None:
    hub.repository("org/files", {**small_files, "other.safetensors": b"of no use", "vocabulary/new.json": b"{}"})
    places = cache.fetched(
        "hf:org/files/model.safetensors", {"frontend/tokenizer.json": "hf:org/files/vocabulary/new.json"}
    )
    assert places.sources["base"].name == "model.safetensors"
    assert names(places.sources["base"].parent) == ["config.json", "model.safetensors", "vocabulary/new.json"]
    assert places.resources["frontend/tokenizer.json"].read_bytes() == b"{}"


@pytest.mark.parametrize("revision", ["v1", "refs/pr/1", "a%2Fb"])
def test_a_revision(cache: Cache, hub: HubServer, small_files: dict[str, bytes], revision: str) -> None:
    name = revision.replace("%2F", "/")
    commit = hub.repositories["org/small"].commit({**small_files, "config.json": b'{"at": 1}'}, name)
    folder = cache.fetched(f"hf:org/small@{revision}").sources["base"]
    assert folder.name == commit
    assert (folder / "config.json").read_bytes() == b'{"at": 1}'


def test_headers_only(cache: Cache, hub: HubServer, small_files: dict[str, bytes]) -> None:
    size = len(small_files["model.safetensors"])
    with cache.surveyed() as remote, remote.headers_only() as local:
        folder = local.sources["base"]
        assert names(folder) == NEEDED
        model = folder / "model.safetensors"
        assert model.stat().st_size == size
        length = 8 + int.from_bytes(small_files["model.safetensors"][:8], "little")
        assert model.read_bytes()[:length] == small_files["model.safetensors"][:length]
    assert not folder.exists()
    assert not [name for name in names(cache.folder) if name.endswith(".safetensors")]
    assert [one.range for one in hub.contents() if one.path.startswith("/store/")] == [f"bytes=0-{size - 1}"]


def test_headers_of_a_long_header_and_without_ranges(
    cache: Cache, hub: HubServer, small_files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.remote.headers._FIRST_BYTES", 100)
    length = 8 + int.from_bytes(small_files["model.safetensors"][:8], "little")
    for hub.ranges in (True, False):
        with cache.surveyed() as remote, remote.headers_only() as local:
            found = (local.sources["base"] / "model.safetensors").read_bytes()
        assert found[:length] == small_files["model.safetensors"][:length]
        assert not any(found[length:])
    assert [one.range for one in hub.contents() if one.path.startswith("/store/")] == [
        "bytes=0-99",
        f"bytes=100-{length - 1}",
    ] * 2


def test_planning_alone_fetches_no_other_large_file(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "MAX_PLANNED_FILE_BYTES", 3)
    refused = pytest.raises(SourceError, match="expected at most 3 bytes")
    with cache.surveyed() as remote, refused, remote.headers_only():
        pass


def test_planning_alone_fetches_no_more_than_it_may(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "MAX_PLANNED_BYTES", 1000)
    refused = pytest.raises(SourceError, match="expected at most 1000 bytes that planning reads")
    with cache.surveyed() as remote, refused, remote.headers_only():
        pass


def test_what_a_killed_process_planned_with_goes(cache: Cache) -> None:
    old, new = cache.folder / "planned-old", cache.folder / "planned-new"
    for folder in (old, new):
        (folder / "hub").mkdir(parents=True)
    os.utime(old, (0, 0))
    with cache.surveyed() as remote, remote.headers_only():
        pass
    assert not old.exists()
    assert new.exists()


def test_the_token_goes_to_the_hub_and_to_nobody_else(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hub.repositories["org/small"].gated = True
    caplog.set_level("DEBUG")
    with serving(HubServer()) as store:
        hub.store = store
        cache = Cache(tmp_path, hub, store)
        assert "HF_TOKEN that was given access to it, found a repository that is closed" in cache.refusal()
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        cache.fetched()
        assert {one.authorization for one in store.requests} == {None}
        assert {one.authorization for one in hub.contents()} == {f"Bearer {TOKEN}"}
    assert TOKEN not in caplog.text
    assert SIGNATURE not in "".join(one.getMessage() for one in caplog.records if one.levelname != "DEBUG")


def test_a_store_that_is_not_listed(hub: HubServer, tmp_path: Path) -> None:
    with serving(HubServer()) as store:
        hub.store = store
        told = Cache(tmp_path, hub).refusal()
        assert store.requests == []
    assert told == (
        "source base, hf:org/small@main, file model.safetensors, host 127.0.0.1: expected a host that "
        "NINFORGE_SOURCE_HOSTS lists, found one that it does not"
    )


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("hf:org/none", "expected a repository org/none that is public, or that HF_TOKEN may read, found none"),
        ("hf:org/small@none", "expected the revision none, found none of that name"),
        ("hf:org/small@" + "0" * 40, f"expected the revision {'0' * 40}, found none of that name"),
        ("hf:org/small@main/none", "expected a folder or file of the repository, found none at that path"),
    ],
)
def test_what_is_not_there(cache: Cache, where: str, told: str) -> None:
    assert cache.refusal(where) == f"source base, {parse_remote(where, 'b')}: {told}"


@pytest.mark.parametrize(
    "listing",
    [
        {"sha": None},
        {"sha": "../../../../evil"},
        {"sha": "f" * 39},
        {"siblings": [{"rfilename": "model.safetensors"}]},
        {"siblings": [{"rfilename": "model.safetensors", "size": -1, "blobId": "0" * 40}]},
        {"siblings": [{"rfilename": "model.safetensors", "size": 2**63, "blobId": "0" * 40}]},
        {"siblings": [{"rfilename": "model.safetensors", "size": 1, "blobId": "../evil"}]},
        {"siblings": [{"rfilename": "a.safetensors", "size": 1, "lfs": {"sha256": "/e", "size": 1, "pointerSize": 1}}]},
    ],
)
def test_a_listing_that_cannot_be(cache: Cache, hub: HubServer, listing: dict[str, Any]) -> None:
    hub.listing = listing
    assert "expected" in cache.refusal()


def test_an_answer_that_is_too_long(cache: Cache, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.remote.client.MAX_ANSWER_BYTES", 1000)
    hub.listing = {"tags": ["x" * 1000]}
    assert "host 127.0.0.1: expected an answer of at most 1000 bytes, found more" in cache.refusal()


def test_an_answer_that_is_compressed(cache: Cache, hub: HubServer) -> None:
    hub.encoding = "gzip"
    assert "host 127.0.0.1: expected an answer as it is, found one in gzip" in cache.refusal()


@pytest.mark.parametrize("listing", [{"siblings": "none"}, {"siblings": [{}]}, {"siblings": [3]}])
def test_an_answer_of_another_form(cache: Cache, hub: HubServer, listing: dict[str, Any]) -> None:
    hub.listing = listing
    assert "expected an answer as the Hub gives it" in cache.refusal(error=FetchError)


def test_paths_that_lead_out_are_no_files(cache: Cache, hub: HubServer, small_files: dict[str, bytes]) -> None:
    hub.repository("org/evil", {**small_files, "../evil.safetensors": b"x", "/evil.safetensors": b"x"})
    assert names(cache.fetched("hf:org/evil").sources["base"]) == NEEDED
    weights = {"layer.0": "../../../../../evil.safetensors"}
    hub.repository("org/index", sharded(small_files, "", **weights))
    assert "expected its shard by the plain name of a file" in cache.refusal("hf:org/index")


def test_a_content_that_is_not_the_listed_one(cache: Cache, hub: HubServer, small_files: dict[str, bytes]) -> None:
    data = small_files["model.safetensors"]
    digest = sha256(data).hexdigest()
    hub.files[f"/store/{digest}"] = b"x" + data[1:]
    told = cache.refusal()
    assert f"file model.safetensors: expected SHA-256 {digest}, found " in told
    assert not [name for name in names(cache.folder) if digest in name and not name.endswith(".lock")]


def test_a_hub_that_is_down(cache: Cache, hub: HubServer) -> None:
    hub.status = 503
    assert cache.refusal(error=FetchError).startswith("source base, hf:org/small@main: expected an answer")


def test_requests_of_the_library_are_checked_too(hub: HubServer, tmp_path: Path) -> None:
    told = Cache(tmp_path).refusal()
    assert "host 127.0.0.1: expected a host that NINFORGE_SOURCE_HOSTS lists (which lists none)" in told
    assert hub.requests == []
