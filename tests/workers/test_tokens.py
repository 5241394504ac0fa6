"""Tokens in the settings: every form that is none is told, and no secret is kept or shown."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.cli.commands import INSTALLED
from workers.settings import Settings
from workers.tokens import Scope, parse_tokens, secret_digest

SECRET = "0123456789abcdef" * 2
OTHER = "fedcba9876543210" * 2


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("NINFORGE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NINFORGE_DATA", str(tmp_path / "data"))


def test_tokens_have_names_scopes_and_digests() -> None:
    reader, writer = parse_tokens([f"grafana:read:{SECRET}", f"ci-1:submit:{OTHER}"])
    assert (reader.name, reader.scope, reader.sha256) == ("grafana", Scope.READ, secret_digest(SECRET))
    assert (writer.name, writer.scope) == ("ci-1", Scope.SUBMIT)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([""], "token 1"),
        (["secret"], "token 1"),
        ([f"a:{SECRET}"], "token 1"),
        ([f"a:write:{SECRET}"], "token 1"),
        ([f":read:{SECRET}"], "token 1"),
        ([f"a b:read:{SECRET}"], "token 1"),
        ([f"a:read:{SECRET}", "b:read:tooshort"], "token 2"),
        ([f"a:read:{SECRET}:"], "token 1"),
        ([f"a:read:{SECRET}é"], "token 1"),
        ([f"a:read:{'x' * 513}"], "token 1"),
        ([f"a:read:{SECRET}", f"a:read:{OTHER}"], "same name"),
        ([f"a:read:{SECRET}", f"b:submit:{SECRET}"], "same secret"),
    ],
)
def test_what_is_no_list_of_tokens_is_refused_without_its_secrets(entries: list[str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as raised:
        parse_tokens(entries)
    assert not any(secret in str(raised.value) for secret in (SECRET, OTHER, "tooshort"))


def test_settings_hold_digests_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NINFORGE_TOKENS", f"a:read:{SECRET},b:submit:{OTHER}")
    settings = Settings(host="0.0.0.0")  # noqa: S104 - with tokens it is allowed
    assert [token.name for token in settings.tokens] == ["a", "b"]
    for text in (repr(settings), settings.model_dump_json()):
        assert SECRET not in text
        assert OTHER not in text
    assert secret_digest(SECRET) not in repr(settings)


def test_tokens_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# those who look\na:read:{SECRET}\n\n  b:submit:{OTHER}\n")
    assert [token.name for token in Settings(tokens_file=file, host="::").tokens] == ["a", "b"]


@pytest.mark.parametrize("content", [None, "", "# none yet\n", "\xff"])
def test_a_file_without_tokens_opens_nothing(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "tokens"
    if content is not None:
        file.write_text(content, encoding="latin-1")
    with pytest.raises(ValidationError) as raised:
        Settings(tokens_file=file, host="::")
    assert [error["loc"] for error in raised.value.errors()] == [("tokens",)]


@pytest.mark.parametrize("as_file", [False, True])
def test_a_worker_takes_over_the_tokens_in_the_same_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_file: bool
) -> None:
    monkeypatch.setenv("NINFORGE_HOST", "0.0.0.0")  # noqa: S104 - with tokens it is allowed
    entry = f"a:read:{SECRET}"
    if as_file:
        (tmp_path / "tokens").write_text(entry)
        monkeypatch.setenv("NINFORGE_TOKENS_FILE", str(tmp_path / "tokens"))
    else:
        monkeypatch.setenv("NINFORGE_TOKENS", entry)
    settings = Settings()
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


def test_both_places_of_tokens_are_one_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokens").write_text(f"a:read:{SECRET}")
    monkeypatch.setenv("NINFORGE_TOKENS_FILE", str(tmp_path / "tokens"))
    monkeypatch.setenv("NINFORGE_TOKENS", f"b:read:{OTHER}")
    with pytest.raises(ValidationError, match="found both"):
        Settings()


def test_a_command_with_wrong_tokens_shows_none_of_them(tmp_path: Path) -> None:
    environment = {"NINFORGE_DATA": str(tmp_path), "NINFORGE_TOKENS": f"a:all:{SECRET}", "NINFORGE_PORT": "x"}
    started = subprocess.run(
        [INSTALLED, "up"], env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False
    )
    assert started.returncode == 1
    assert "NINFORGE_TOKENS" in started.stderr
    assert "NINFORGE_PORT" in started.stderr
    assert SECRET not in started.stdout + started.stderr
