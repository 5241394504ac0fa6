"""Settings from the environment: defaults that are safe, and every wrong value told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import URL, make_url

from workers.settings import Settings


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("NINFORGE_")]:
        monkeypatch.delenv(name)


def test_the_defaults_need_nothing_and_open_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings()
    assert settings.data == tmp_path / "ninforge-data"
    assert settings.source_roots == (tmp_path / "ninforge-data" / "sources",)
    assert (settings.database_url, settings.broker_url) == (None, None)
    assert settings.host == "127.0.0.1"
    assert set(settings.allowed_hosts) == {"localhost", "127.0.0.1", "[::1]"}
    assert settings.threads == len(os.sched_getaffinity(0))


def test_every_setting_has_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NINFORGE_DATA", "elsewhere")
    (tmp_path / "models").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("NINFORGE_SOURCE_ROOTS", f"{tmp_path / 'models'}{os.pathsep}here")
    monkeypatch.setenv("NINFORGE_ALLOWED_HOSTS", "localhost,forge.example")
    monkeypatch.setenv("NINFORGE_PORT", "0")
    monkeypatch.setenv("NINFORGE_THREADS", "3")
    settings = Settings()
    assert settings.data == tmp_path / "elsewhere"
    assert settings.source_roots == (tmp_path / "models", tmp_path / "here")
    assert settings.allowed_hosts == ("localhost", "forge.example")
    assert (settings.port, settings.threads) == (0, 3)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_loopback_addresses_may_be_listened_on(host: str) -> None:
    assert Settings(host=host).host == host


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HOST", "0.0.0.0"),  # noqa: S104 - that it is refused is the point
        ("HOST", "::"),
        ("HOST", "192.168.1.4"),
        ("HOST", "forge.example"),
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("PORT", "http"),
        ("THREADS", "0"),
        ("BATCH_BYTES", "0"),
        ("LEASE_SECONDS", "0"),
        ("SWEEP_SECONDS", "-1"),
        ("MAX_BODY_BYTES", "0"),
    ],
)
def test_a_value_that_is_not_allowed_is_told(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(f"NINFORGE_{variable}", value)
    with pytest.raises(ValidationError) as raised:
        Settings()
    [error] = raised.value.errors()
    assert error["loc"] == (variable.lower(),)


def test_settings_reach_a_child_process_unchanged(tmp_path: Path) -> None:
    roots = (tmp_path / "a", tmp_path / "b")
    for root in roots:
        root.mkdir()
    settings = Settings(data=tmp_path, source_roots=roots, threads=7, lease_seconds=1.5)
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - the example of Standard Webhooks


def test_passwords_and_secrets_may_stand_in_files(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("p@ss:word/\n")
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    settings = Settings(
        data=tmp_path,
        database_password_file=tmp_path / "password",
        database_url="postgresql+psycopg://forge@database:5433/jobs",
        webhook_secret_file=tmp_path / "secret",
    )
    assert make_url(settings.database_url or "") == URL.create(
        "postgresql+psycopg", "forge", "p@ss:word/", "database", 5433, "jobs"
    )
    assert settings.webhook_secret == SECRET
    assert Settings.model_validate_json(settings.model_dump_json()) == settings
    for secret in ("p@ss", "p%40ss", SECRET):
        assert secret not in repr(settings)


@pytest.mark.parametrize("text", [None, "", "one\ntwo\n"])
def test_a_file_that_holds_no_single_secret_is_told(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "secret"
    if text is not None:
        file.write_text(text)
    for variables in (
        {"database_password_file": file, "database_url": "postgresql+psycopg://forge@database/jobs"},
        {"webhook_secret_file": file},
    ):
        with pytest.raises(ValidationError) as raised:
            Settings(**variables)
        assert str(file) in str(raised.value)


@pytest.mark.parametrize("secret", ["", "whsec_", SECRET.removeprefix("whsec_"), SECRET[:30], f"{SECRET}?", "whsec_ö"])
def test_a_webhook_s_secret_has_to_be_strong_and_is_not_told(secret: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Settings(webhook_secret=secret)
    assert "openssl rand" in str(raised.value)
    assert not secret or secret not in str(raised.value).replace("whsec_ and", "").replace("whsec_$", "")


@pytest.mark.parametrize("days", ["0", "-1", "36501", "nan", "for ever"])
def test_a_retention_is_a_number_of_days(monkeypatch: pytest.MonkeyPatch, days: str) -> None:
    monkeypatch.setenv("NINFORGE_RETENTION_DAYS", days)
    with pytest.raises(ValidationError):
        Settings()


@pytest.mark.parametrize("url", ["ftp://host/hook", "host/hook", "https://", "http:///hook", "https"])
def test_a_webhook_is_told_over_http(url: str) -> None:
    with pytest.raises(ValidationError):
        Settings(webhook_url=url)
