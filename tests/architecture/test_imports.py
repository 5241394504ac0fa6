"""Imports go one way: service → workers → schemas. The engine is a library, and the verifier shares nothing with the
encoder."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = {"schemas": set[str](), "workers": {"schemas"}, "service": {"schemas", "workers"}}
MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Full names of the modules that a file imports anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_imports_go_one_way(path: Path) -> None:
    layer = path.relative_to(ROOT).parts[0]
    own = {name.partition(".")[0] for name in imported(path)} & {*LAYERS, "tests", "benchmarks", "migrations"}
    allowed = LAYERS[layer] | {layer} | ({"migrations"} if layer != "schemas" else set())
    assert own <= allowed


@pytest.mark.parametrize("path", [path for path in MODULES if "engine" in path.parts], ids=shown)
def test_the_engine_knows_no_queue_no_database_and_no_web(path: Path) -> None:
    outside = {"celery", "kombu", "sqlalchemy", "alembic", "redis", "fastapi", "starlette", "uvicorn", "httpx", "torch"}
    names = set(imported(path))
    assert not {name.partition(".")[0] for name in names} & outside
    assert not {
        name
        for name in names
        if name.startswith("workers.") and not name.startswith(("workers.engine", "workers._native"))
    }


@pytest.mark.parametrize("path", [path for path in MODULES if path.parts[-2] == "verify"], ids=shown)
def test_the_verifier_uses_nothing_of_the_encoder(path: Path) -> None:
    writing = ("workers.engine.encode", "workers.engine.container.writer", "workers.engine.container.arrangement")
    kernels = {"encode_grouped", "encode_fp8_row", "swizzle_scales", "cast"}
    assert not [name for name in imported(path) if name.startswith((*writing, "workers.engine.reciprocal"))]
    used = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    assert not used & kernels


def test_native_verifier_sources_include_nothing_of_the_encoder() -> None:
    sources = [*(ROOT / "workers/native/verify").iterdir()]
    assert sources
    for path in sources:
        assert '"encode/' not in path.read_text() and '"../encode' not in path.read_text(), shown(path)


@pytest.mark.parametrize("module", ["workers.engine.plan", "service.application"])
def test_planning_and_the_api_load_no_kernel(module: str) -> None:
    code = f"import sys, {module}; sys.exit(any(name in sys.modules for name in ('workers._native', 'torch')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("layer", LAYERS)
def test_every_folder_of_modules_is_a_package(layer: str) -> None:
    folders = {path.parent for path in (ROOT / layer).rglob("*.py")}
    assert all((folder / "__init__.py").exists() for folder in folders)
