"""Services and artifacts that several modules try."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL

from tests.running_service import RunningService, running_service
from tests.service.download import Download
from workers.database import Database


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest, tmp_path: Path, sqlite_template: Path) -> Iterator[RunningService]:
    """A service without jobs on each of the two databases."""
    data = tmp_path / "data"
    data.mkdir()
    settings: dict[str, Any] = {}
    if request.param == "sqlite":
        shutil.copyfile(sqlite_template, data / "ninforge.sqlite3")
    else:
        url: URL = request.getfixturevalue("postgresql_url")
        database: Database = request.getfixturevalue("postgresql_database")
        assert database.engine.url.database == url.database
        settings["database_url"] = url.render_as_string(hide_password=False)
    with running_service(data, **settings) as service:
        yield service


@pytest.fixture(scope="module")
def download(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Download]:
    with running_service(tmp_path_factory.mktemp("service") / "data") as service:
        yield Download(service)
