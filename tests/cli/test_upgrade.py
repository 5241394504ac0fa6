"""`ninforge upgrade`, on a miniature, whose sizes are then taken for those of its registered target."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.cli.commands import answered, refused, succeeded
from tests.engine.upgrades import miniature_model, payload_of
from workers.engine.container.front import Artifact
from workers.engine.container.reader import read_artifact
from workers.engine.miniature import Miniature, write_miniature
from workers.engine.upgrade import expected
from workers.engine.upgrade.expected import UpgradableModel
from workers.engine.upgrade.plan import TEMPLATE

READER = "opens in a current engine, one that reads framing 3; older ones, which read framing 1 or 2, refuse it"


@pytest.fixture(scope="module")
def miniature(tmp_path_factory: pytest.TempPathFactory) -> Miniature:
    """A miniature, converted in framing 2."""
    made = write_miniature("qwen3.6-27b.groupwise-int", tmp_path_factory.mktemp("miniature"))
    places = [f"--source={name}={place}" for name, place in made.places.items()]
    succeeded("convert", made.recipe, *places, "--framing=2", "--out", made.recipe.with_name("old.ninfer"))
    return made


@pytest.fixture
def old(miniature: Miniature, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That file, which is taken for one of the registered target."""
    model = miniature_model(miniature)

    def registered(_artifact: Artifact, *, where: str) -> UpgradableModel:
        assert where.endswith("old.ninfer")
        return model

    monkeypatch.setattr(expected, "registered_model", registered)
    return miniature.recipe.with_name("old.ninfer")


def test_the_result_says_what_was_made_and_who_reads_it(old: Path, tmp_path: Path) -> None:
    out = tmp_path / "new.ninfer"
    said = succeeded("upgrade", old, "--out", out).splitlines()
    size, digest = old.stat().st_size, sha256(old.read_bytes()).hexdigest()
    assert said[0] == "qwen3.6-27b / groupwise-int, framing 2 upgraded to 3"
    assert said[1].startswith(f"{old}: {size} bytes ")
    assert said[1].endswith(f"SHA-256 {digest}, left as it was")
    assert said[2].startswith(f"{out}: {out.stat().st_size} bytes ")
    assert said[2].endswith(f"SHA-256 {sha256(out.read_bytes()).hexdigest()}")
    assert said[3:5] == ["chat template: kept", READER]
    assert said[5].startswith("in an engine: loads and ")
    assert said[-1] == "verified: every byte of the old payload is the same in the new files"
    assert payload_of(out) == payload_of(old)


def test_the_report_holds_for_the_new_files(old: Path, tmp_path: Path) -> None:
    out, report, template = tmp_path / "new.ninfer", tmp_path / "report.json", tmp_path / "t.jinja"
    template.write_text("{{ messages | length }}")
    options = ("--chat-template", template, "--part-bytes=100000", f"--artifact-id={'0f' * 16}")
    told = answered("upgrade", old, "--out", out, "--report", report, *options)
    assert told == json.loads(report.read_text())
    assert told["upgraded_from"] == {
        "framing": 2,
        "model_id": "qwen3.6-27b",
        "weights_id": "groupwise-int",
        "bytes": old.stat().st_size,
        "sha256": sha256(old.read_bytes()).hexdigest(),
    }
    digest = sha256(template.read_bytes()).hexdigest()
    assert told["chat_template"] == {"bytes": template.stat().st_size, "sha256": digest}
    assert told["artifact"]["artifact_id"] == "0f" * 16
    assert len(told["artifact"]["parts"]) > 2
    assert payload_of(out)[TEMPLATE] == template.read_bytes()
    assert "are those of the report" in succeeded("verify", out, "--report", report)
    last = out.with_name(told["artifact"]["parts"][-1]["name"])
    content = bytearray(last.read_bytes())
    content[-1] ^= 1
    last.write_bytes(content)
    assert "as reported" in refused("verify", out, "--report", report)


def test_nothing_that_is_read_is_overwritten(old: Path, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{{ messages }}")
    before = old.read_bytes()
    assert "found the file to upgrade" in refused("upgrade", old, "--out", old, "--force")
    given = ("upgrade", old, "--chat-template", template)
    assert "found the chat template" in refused(*given, "--out", template, "--force")
    message = refused(*given, "--out", tmp_path / "new", "--report", template, "--force")
    assert "found the chat template" in message
    assert "another file than that of --out" in refused(*given, "--out", "x", "--report", "x", code=2)
    assert old.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"t.jinja"}


def test_files_that_exist_are_replaced_only_by_force(old: Path, tmp_path: Path) -> None:
    out = tmp_path / "new.ninfer"
    out.write_text("mine")
    assert "(or --force)" in refused("upgrade", old, "--out", out)
    assert out.read_text() == "mine"
    succeeded("upgrade", old, "--out", out, "--force")
    assert read_artifact(out).model is not None


@pytest.mark.parametrize(("content", "message"), [(b"", "an empty file"), (b"\xff", "no UTF-8")])
def test_a_template_that_cannot_be_one_is_refused(old: Path, tmp_path: Path, content: bytes, message: str) -> None:
    template = tmp_path / "t.jinja"
    template.write_bytes(content)
    assert message in refused("upgrade", old, "--out", tmp_path / "new", "--chat-template", template)
    assert {path.name for path in tmp_path.iterdir()} == {"t.jinja"}


def test_without_that_sizes_are_those_of_the_target(miniature: Miniature, tmp_path: Path) -> None:
    old = miniature.recipe.with_name("old.ninfer")
    message = refused("upgrade", old, "--out", tmp_path / "new.ninfer")
    assert "expected the objects of qwen3.6-27b/groupwise-int, found 1131 faults:" in message
    assert "the target has 'text/layers/6/input_norm', which the file does not hold" in message
    assert list(tmp_path.iterdir()) == []
