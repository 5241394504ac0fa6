"""`ninforge verify`, in its three forms."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import WEIGHT, Argument, Model, answered, refused, succeeded

PAYLOAD = 4096
WEIGHT_OFFSET = PAYLOAD + 256
NORM_OFFSET = PAYLOAD + 4608


@pytest.fixture
def made(model: Model) -> Path:
    """An artifact; its report lies beside it."""
    return model.convert("out", "--report", model.folder / "report.json")


def changed(path: Path, offset: int, word: bytes) -> Path:
    """A copy of a file with other bytes somewhere."""
    content = bytearray(path.read_bytes())
    assert content[offset : offset + len(word)] != word
    content[offset : offset + len(word)] = word
    copy = path.with_name("changed")
    copy.write_bytes(content)
    return copy


def other_report(model: Model, **members: Any) -> Path:
    """The report with other members."""
    report = json.loads((model.folder / "report.json").read_bytes())
    path = model.folder / "other.json"
    path.write_text(json.dumps({**report, **members}))
    return path


def test_by_itself_it_says_what_it_does_not_show(made: Path) -> None:
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    assert succeeded("verify", made).splitlines() == [
        "ok: structure, zero gaps, and that every stored word is one that its format allows",
        "not shown: that the words are those of any checkpoint (give --recipe and --source)",
        f"{made}: 8768 bytes (8.8 kB), SHA-256 {digest}",
    ]
    document = answered("verify", made)
    assert (document["sha256"], document["bytes"]) == (digest, 8768)
    assert len(document["shown"]) == len(document["not_shown"]) == 1


def test_with_recipe_and_sources_nothing_is_left_open(model: Model, made: Path) -> None:
    document = answered("verify", made, "--recipe", *model.given, "--report", model.folder / "report.json")
    assert document["not_shown"] == []
    assert len(document["shown"]) == 3


def test_each_form_finds_what_it_can_find(model: Model, made: Path) -> None:
    report: list[Argument] = ["--report", model.folder / "report.json"]
    recipe: list[Argument] = ["--recipe", *model.given]
    illegal = changed(made, WEIGHT_OFFSET + 4096, b"\xff\xff")  # a scale that is a NaN
    for form in (list[Argument](), report, recipe):
        assert WEIGHT in refused("verify", illegal, *form)
    other = changed(made, NORM_OFFSET, b"\x00\x00\x80\x3f")  # a legal word, but another
    assert succeeded("verify", other)
    assert "object 'norm', BLAKE3 of its payload" in refused("verify", other, *report)
    assert "object norm" in refused("verify", other, *recipe)


def test_an_artifact_of_other_values(model: Model) -> None:
    out = model.convert("out", "--let", "H=16")
    assert "header and directory of out, byte" in refused("verify", out, "--recipe", *model.given)
    said = succeeded("verify", out, "--recipe", *model.given, "--let", "H=16")
    assert "with `let` values overridden, which makes no claim to the recipe's target" in said


def test_an_artifact_with_another_resource(model: Model) -> None:
    (model.folder / "other.txt").write_text("two\none\n")
    given = ["--resource", f"vocab={model.folder}/other.txt"]
    out = model.convert("out", *given)
    assert "resource vocab, byte 0" in refused("verify", out, "--recipe", *model.given)
    assert "ok: every word" in succeeded("verify", out, "--recipe", *model.given, *given)


def test_the_report_of_a_service(model: Model, made: Path) -> None:
    report = other_report(model, job={"id": "4d2c6d2e-63c1-4f43-9e8f-5f0b8a1b8b4d", "state": "ready"})
    assert "BLAKE3 of 3 payloads are those of the report" in succeeded("verify", made, "--report", report)


def _parts(report: dict[str, Any], **members: object) -> dict[str, Any]:
    """The report's artifact with other members in its only part."""
    [part] = report["artifact"]["parts"]
    return {"artifact": {**report["artifact"], "parts": [{**part, **members}]}}


def test_the_report_of_another_artifact(model: Model, made: Path) -> None:
    report = json.loads((model.folder / "report.json").read_bytes())
    renamed = [{**report["objects"][0], "name": "vocabulary"}, *report["objects"][1:]]
    for members, said in [
        ({"objects": report["objects"][:2]}, "objects: expected 2, as reported, found 3"),
        ({"objects": renamed}, "objects[0]: expected 'vocabulary', as reported, found 'vocab'"),
        (_parts(report, bytes=8769), "file with the entry: expected 8769 bytes with SHA-256"),
        (_parts(report, sha256="00" * 32), f"SHA-256 {'00' * 32}, as reported, found 8768"),
        ({"artifact": {**report["artifact"], "parts": []}}, "files: expected 0, as reported, found 1"),
    ]:
        assert said in refused("verify", made, "--report", other_report(model, **members))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "expected a JSON document"),
        ("{", "expected a JSON document"),
        ("[" * 100_000, "too many levels of nesting"),
        ("[]", "member /: expected a report"),
        ("{}", "member /artifact: expected a report"),
        (
            '{"artifact": {"parts": [{"bytes": "1", "sha256": ""}]}}',
            "member /artifact/parts/0/bytes: expected a report",
        ),
        ('{"artifact": {"parts": [{"bytes": 1, "sha256": 1}]}}', "member /artifact/parts/0/sha256: expected a report"),
    ],
)
def test_what_is_no_report(model: Model, made: Path, content: str, said: str) -> None:
    (model.folder / "no.json").write_text(content)
    message = refused("verify", made, "--report", model.folder / "no.json")
    assert message.startswith(f"error: report {model.folder}/no.json")
    assert said in message


def test_a_report_is_read_before_the_artifact(tmp_path: Path) -> None:
    assert "error: report" in refused("verify", tmp_path / "nothing", "--report", tmp_path / "nothing")
