"""Settings from the environment: defaults that are safe, and every wrong value told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

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
