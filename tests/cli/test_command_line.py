"""A wrong command line ends with exit code 2, before anything is read or written, and says which option is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Model, ninforge, refused

MAX_INTEGER = 2**63 - 1

WRONG_OPTIONS = [
    pytest.param(["--frame", "2"], "No such option: --frame", id="unknown option"),
    pytest.param(["--source", "base"], "--source': expected NAME=WHERE, found 'base'", id="no ="),
    pytest.param(["--source", "=folder"], "--source': expected NAME=WHERE, found '=folder'", id="no name"),
    pytest.param(["--source", "base="], "--source': expected NAME=WHERE, found 'base='", id="no place"),
    pytest.param(["--source", "base=."], "--source: expected each name once, found 'base' twice", id="twice"),
    pytest.param(["--source", "b=s3://a/b"], "or https://HOST/FILE#sha256=HEX, found 's3://a/b'", id="S3"),
    pytest.param(["--source", "b=http://a/b"], "or https://HOST/FILE#sha256=HEX, found 'http://a/b'", id="http"),
    pytest.param(["--resource", "vocab"], "--resource': expected NAME=WHERE, found 'vocab'", id="resource"),
    pytest.param(["--framing", "7"], "--framing'", id="framing 7"),
    pytest.param(["--framing", "two"], "--framing'", id="framing in words"),
    pytest.param(["--let", "H"], "--let': expected NAME=INTEGER, found 'H'", id="let without a value"),
    pytest.param(["--let", "=1"], "--let': expected NAME=INTEGER, found '=1'", id="let without a name"),
    pytest.param(["--let", "H=-1"], "--let': expected NAME=INTEGER, found 'H=-1'", id="negative"),
    pytest.param(["--let", "H=1.5"], "--let': expected NAME=INTEGER, found 'H=1.5'", id="fraction"),
    pytest.param(["--let", "H=٣"], "--let': expected NAME=INTEGER, found 'H=٣'", id="other digits"),
    pytest.param(["--let", f"H={MAX_INTEGER + 1}"], f"expected an integer from 0 to {MAX_INTEGER}", id="2^63"),
    pytest.param(["--let", f"H={'9' * 5000}"], f"expected an integer from 0 to {MAX_INTEGER}", id="5000 digits"),
    pytest.param(["--let", "H=8", "--let", "H=9"], "--let: expected each name once, found 'H' twice", id="let twice"),
    pytest.param(["--verify", "maybe"], "--verify'", id="verify maybe"),
    pytest.param(["--device", "tpu"], "--device'", id="unknown device"),
    pytest.param(["--threads", "0"], "--threads'", id="no thread"),
    pytest.param(["--threads", "many"], "--threads'", id="threads in words"),
    pytest.param(["--threads", "100000"], "--threads'", id="too many threads"),
    pytest.param(["--block-bytes", "0"], "--block-bytes'", id="empty blocks"),
    pytest.param(["--out", "."], "--out': expected a file name, found '.'", id="out is a folder"),
    pytest.param(["--out", "new/"], "--out': expected a file name, found 'new/'", id="out ends in a slash"),
    pytest.param(["--report", ""], "--report': expected a file name, found ''", id="empty report"),
    pytest.param(["more"], "unexpected extra argument(s) (more)", id="one more argument"),
]


@pytest.mark.parametrize(("options", "said"), WRONG_OPTIONS)
def test_a_wrong_option_of_convert(model: Model, options: list[str], said: str) -> None:
    before = model.files()
    message = refused("convert", *model.given, "--out", model.folder / "out", *options, code=2)
    assert said in message
    assert model.files() == before


def test_a_wrong_option_comes_before_a_missing_recipe(tmp_path: Path) -> None:
    message = refused("convert", "nowhere", "--out", tmp_path / "out", "--let", "H=1", "--let", "H=2", code=2)
    assert "twice" in message


def test_report_and_artifact_cannot_be_one_file(model: Model) -> None:
    out = model.folder / "out"
    same = model.folder / "checkpoint" / ".." / "out"
    message = refused("convert", *model.given, "--out", out, "--report", same, "--force", code=2)
    assert "--report: expected another file than that of --out" in message


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Commands:"),
        (["recipe"], "Commands:"),
        (["transmogrify"], "No such command 'transmogrify'"),
        (["convert"], "Missing argument 'RECIPE'"),
        (["convert", "r"], "Missing option '--out'"),
        (["plan"], "Missing argument 'RECIPE'"),
        (["plan", "r", "--out", "x"], "No such option: --out"),
        (["inspect"], "Missing argument 'FILE'"),
        (["inspect", "a", "b"], "unexpected extra argument(s) (b)"),
        (["verify"], "Missing argument 'FILE'"),
        (["verify", "a", "--source", "b=c"], "expected --recipe with them, found none"),
        (["verify", "a", "--let", "b=1"], "expected --recipe with them, found none"),
        (["verify", "a", "--resource", "b=c"], "expected --recipe with them, found none"),
        (["recipe", "show"], "Missing argument 'ID'"),
        (["recipe", "check"], "Missing argument 'FILE'"),
        (["recipe", "list", "x"], "unexpected extra argument(s) (x)"),
    ],
)
def test_a_wrong_command(arguments: list[str], said: str) -> None:
    assert said in refused(*arguments, code=2)


@pytest.mark.parametrize(
    "command", [["convert"], ["plan"], ["inspect"], ["verify"], ["recipe", "list"], ["recipe", "check"]]
)
def test_help_of_a_command(command: list[str]) -> None:
    result = ninforge(*command, "--help")
    assert result.exit_code == 0
    assert "--json" in result.stdout
    assert result.stderr == ""
    assert result.stdout.isascii()
