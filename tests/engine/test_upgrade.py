"""Upgrades of whole files: of miniatures, whose words a direct conversion to framing 3 must have too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

from schemas.errors import CancelledError, OutputError, UpgradeError, VerificationError
from tests.engine.conversions import SILENT as SILENT_CONVERSION
from tests.engine.upgrades import KEPT, SILENT, miniature_model, payload_of, planned, upgraded
from workers.engine.container.front import Artifact
from workers.engine.container.model_records import ModelDirectory
from workers.engine.container.reader import ArtifactReader, read_artifact
from workers.engine.convert import convert
from workers.engine.miniature import TARGET_IDS, write_miniature
from workers.engine.packaging import Packaging
from workers.engine.plan import plan_conversion
from workers.engine.recipe.load import read_recipe
from workers.engine.sources.roots import ANYWHERE
from workers.engine.steps import Observer, SilentObserver
from workers.engine.upgrade import copying, upgrading
from workers.engine.upgrade.expected import UpgradableModel
from workers.engine.upgrade.plan import TEMPLATE, UpgradeOptions, plan_upgrade
from workers.engine.upgrade.upgrading import UpgradeObservers, upgrade
from workers.engine.verify.legality import verify_words

PART_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Files:
    """One miniature in all framings, and what an upgrade expects of it."""

    by_framing: dict[int, Path]
    model: UpgradableModel


def made(target: str, folder: Path) -> Files:
    miniature = write_miniature(target, folder / "miniature")
    recipe = read_recipe(miniature.recipe)
    files: dict[int, Path] = {}
    for framing in (1, 2, 3):
        plan = plan_conversion(recipe, miniature.places, packaging=Packaging(framing), roots=ANYWHERE)
        files[framing] = folder / f"{framing}.ninfer"
        convert(plan, files[framing], coverage=None, threads=2, observers=SILENT_CONVERSION)
    return Files(files, miniature_model(miniature))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The smallest miniature."""
    return made("qwen3.6-27b.groupwise-int", tmp_path_factory.mktemp("files"))


def model_of(artifact: Artifact) -> ModelDirectory:
    assert artifact.model is not None
    return artifact.model


@pytest.mark.parametrize("target", TARGET_IDS)
def test_an_upgrade_has_the_words_and_the_meaning_of_a_direct_conversion(tmp_path: Path, target: str) -> None:
    files = made(target, tmp_path)
    direct, words = read_artifact(files.by_framing[3]), payload_of(files.by_framing[3])
    for framing in (1, 2):
        old = files.by_framing[framing]
        before = old.read_bytes()
        out = tmp_path / f"{framing}to3.ninfer"
        report = upgraded(old, out, files.model)
        new = read_artifact(out)
        assert new.description == direct.description
        assert new.objects == direct.objects
        assert payload_of(out) == words
        assert model_of(new).provenance["upgraded_from"] == {
            "version": framing,
            "model_id": files.model.inventory.model_id,
            "weights_id": files.model.inventory.weights_id,
        }
        assert old.read_bytes() == before
        assert report.upgraded_from.sha256 == sha256(before).hexdigest()
        assert report.artifact.sha256 == sha256(out.read_bytes()).hexdigest()
        assert {one.name: one.payload_blake3 for one in report.objects} == {
            name: blake3(content).hexdigest() for name, content in words.items()
        }
        verify_words(out, threads=2, observer=SilentObserver())


def test_the_payload_is_copied_with_gaps_and_tail(tmp_path: Path, files: Files) -> None:
    content = bytearray(files.by_framing[2].read_bytes())
    front = read_artifact(files.by_framing[2])
    gap = next(
        front.payload_offset + before.end
        for before, after in zip(front.objects, front.objects[1:], strict=False)
        if before.end < after.offset
    )
    assert content[gap] == 0
    content[gap] = 7
    content += b"after the last object"
    old = tmp_path / "old.ninfer"
    old.write_bytes(content)
    upgraded(old, tmp_path / "new.ninfer", files.model)
    new = (tmp_path / "new.ninfer").read_bytes()
    assert new[read_artifact(tmp_path / "new.ninfer").payload_offset :] == content[front.payload_offset :]


def test_a_new_template_is_appended(tmp_path: Path, files: Files) -> None:
    template = "{# neu: ü #}".encode()
    out = tmp_path / "new.ninfer"
    report = upgraded(files.by_framing[2], out, files.model, UpgradeOptions(chat_template=template))
    before, words = read_artifact(files.by_framing[2]), payload_of(out)
    old_words = payload_of(files.by_framing[2])
    assert words.pop(TEMPLATE) == template
    old_template = old_words.pop(TEMPLATE)
    assert words == old_words
    new = read_artifact(out)
    payload = out.read_bytes()[new.payload_offset :]
    at = before.object(TEMPLATE).offset
    assert payload[at : at + len(old_template)] == old_template
    assert payload[before.payload_bytes : -len(template)] == bytes(new.objects[-1].offset - before.payload_bytes)
    digest = sha256(template).hexdigest()
    assert model_of(new).provenance["chat_template"] == {"sha256": digest}
    assert report.chat_template is not None
    assert (report.chat_template.bytes, report.chat_template.sha256) == (len(template), digest)
    assert [one.name for one in report.objects if one.checks[0].name == "bytes equal the new template's"] == [TEMPLATE]


def test_parts_are_named_after_the_model_whatever_the_entry_is_called(tmp_path: Path, files: Files) -> None:
    out = tmp_path / "mine"
    report = upgraded(files.by_framing[2], out, files.model, UpgradeOptions(b"{{ other }}", part_bytes=PART_BYTES))
    inventory = files.model.inventory
    stem = f"{inventory.model_id}.{inventory.weights_id}.v3.ninfer"
    names = [one.name for one in report.artifact.parts]
    assert len(names) > 2
    assert names == [stem, *(f"{stem}.part-{number:04d}" for number in range(1, len(names)))]
    assert {path.name for path in tmp_path.iterdir()} == {"mine", *names[1:]}
    for path, part in zip([out, *(tmp_path / name for name in names[1:])], report.artifact.parts, strict=True):
        assert path.stat().st_size == part.bytes <= PART_BYTES
        assert sha256(path.read_bytes()).hexdigest() == part.sha256
    words = payload_of(out)
    assert words.pop(TEMPLATE) == b"{{ other }}"
    assert words.items() <= payload_of(files.by_framing[2]).items()


def test_the_id_follows_from_the_old_file_and_the_options(tmp_path: Path, files: Files) -> None:
    def id_of(name: str, old: int = 2, **options: Any) -> bytes | None:
        upgraded(files.by_framing[old], tmp_path / name, files.model, UpgradeOptions(**options))
        return read_artifact(tmp_path / name).prefix.artifact_id

    lines = f"upgrade\n{sha256(files.by_framing[2].read_bytes()).hexdigest()}\npart_bytes 32000000000\n"
    assert id_of("one") == id_of("same") == sha256(lines.encode()).digest()[:16]
    others = [id_of("v1", 1), id_of("template", chat_template=b"x"), id_of("parts", part_bytes=PART_BYTES)]
    assert len({id_of("again"), *others}) == 4
    assert id_of("given", artifact_id=bytes(range(16))) == bytes(range(16))


class _Stops:
    """An observer that ends the work at its first sign of life."""

    def advanced(self, index: int, payload_bytes: int) -> None:
        raise CancelledError("the work", expected="that it goes on", found=f"{payload_bytes} bytes of {index}")


@pytest.mark.parametrize(
    "observers", [UpgradeObservers(_Stops(), SilentObserver()), UpgradeObservers(SilentObserver(), _Stops())]
)
def test_an_upgrade_that_is_stopped_leaves_nothing(tmp_path: Path, files: Files, observers: UpgradeObservers) -> None:
    with pytest.raises(CancelledError):
        upgraded(files.by_framing[2], tmp_path / "new.ninfer", files.model, observers=observers)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["first", "last", "gap", "directory", "id", "template"])
def test_a_byte_that_is_another_in_the_new_file_is_found(
    tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    old = read_artifact(files.by_framing[2])
    first, last = old.objects[0], old.objects[-1]
    gap = next(a.end for a, b in zip(old.objects, old.objects[1:], strict=False) if a.end < b.offset)
    expected = {
        "first": f"object '{first.name}', payload byte 0",
        "last": f"object '{last.name}', payload byte {last.bytes - 1}",
        "gap": f"byte {gap} of the payload, which belongs to no object",
        "directory": "header and directory of new.ninfer",
        "id": "header and directory of new.ninfer",
        "template": f"object '{TEMPLATE}'",
    }

    def damage(path: Path) -> None:
        new = read_artifact(path)
        at = {
            "first": new.payload_offset,
            "last": new.payload_offset + last.end - 1,
            "gap": new.payload_offset + gap,
            "directory": new.payload_offset - 1,
            "id": 31,
            "template": new.file_bytes - 1,
        }[place]
        content = bytearray(path.read_bytes())
        content[at] ^= 0x29
        path.write_bytes(content)

    damage_after_writing(monkeypatch, damage)
    with pytest.raises(VerificationError, match=expected[place]):
        upgraded(files.by_framing[2], tmp_path / "new.ninfer", files.model, UpgradeOptions(b"{{ template }}"))
    assert list(tmp_path.iterdir()) == []


def damage_after_writing(monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]) -> None:
    write = copying.write_upgraded

    def damaged(plan: Any, reader: ArtifactReader, path: Path, observer: Observer) -> str:
        found = write(plan, reader, path, observer)
        damage(path)
        return found

    monkeypatch.setattr(upgrading, "write_upgraded", damaged)


@pytest.mark.parametrize("when", ["before copying", "before verifying ends"])
def test_an_old_file_that_changes_meanwhile_is_refused(
    tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    old = tmp_path / "old.ninfer"
    old.write_bytes(files.by_framing[2].read_bytes())
    if when == "before verifying ends":
        damage_after_writing(monkeypatch, lambda _path: old.touch())
    with ArtifactReader(old) as reader:
        plan = plan_upgrade(reader, files.model, KEPT)
        if when == "before copying":
            old.touch()
        with pytest.raises(UpgradeError, match="changed while it was read"):
            upgrade(plan, reader, tmp_path / "new.ninfer", threads=2, observers=SILENT)
    assert [path.name for path in tmp_path.iterdir()] == ["old.ninfer"]


def test_the_old_file_is_never_overwritten(tmp_path: Path, files: Files) -> None:
    old = tmp_path / "old.ninfer"
    old.write_bytes(files.by_framing[2].read_bytes())
    (tmp_path / "link").hardlink_to(old)
    for out in (old, tmp_path / "link"):
        with pytest.raises(OutputError, match="another file than the one to upgrade"):
            upgraded(old, out, files.model, overwrite=True)
    assert old.read_bytes() == files.by_framing[2].read_bytes()
    with pytest.raises(OutputError, match="not taken"):
        upgraded(old, old, files.model)


def test_a_name_that_is_taken_is_overwritten_only_on_request(tmp_path: Path, files: Files) -> None:
    out = tmp_path / "new.ninfer"
    out.write_bytes(b"something")
    with pytest.raises(OutputError, match="not taken"):
        upgraded(files.by_framing[2], out, files.model)
    assert out.read_bytes() == b"something"
    upgraded(files.by_framing[2], out, files.model, overwrite=True)
    assert read_artifact(out).model is not None


def test_a_file_of_framing_3_is_current_already(files: Files) -> None:
    with pytest.raises(UpgradeError, match="framing 3 is what current engines read"):
        planned(files.by_framing[3])


def test_registered_models_have_the_sizes_that_were_published(files: Files) -> None:
    with pytest.raises(UpgradeError, match=r"(?s)objects of qwen3\.6-27b/groupwise-int.*which the file does not hold"):
        planned(files.by_framing[2])


def test_copying_goes_chunk_by_chunk(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "CHUNK_BYTES", 8192)
    told: list[int] = []

    class Notes:
        def advanced(self, index: int, payload_bytes: int) -> None:
            assert index == 0
            told.append(payload_bytes)

    observers = UpgradeObservers(Notes(), SilentObserver())
    upgraded(files.by_framing[2], tmp_path / "new.ninfer", files.model, observers=observers)
    assert sum(told) == read_artifact(files.by_framing[2]).payload_bytes
    assert set(told[:-1]) == {8192}
    assert payload_of(tmp_path / "new.ninfer") == payload_of(files.by_framing[2])
