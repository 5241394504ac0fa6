"""The oracle shares nothing with what it judges, and has no floating-point arithmetic."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ORACLE = Path(__file__).parents[1] / "oracle"
MODULES = sorted(ORACLE.glob("*.py"))

STANDARD = {"__future__", "collections.abc", "dataclasses", "enum", "fractions", "functools", "math", "typing"}


def imported(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_imports_are_of_the_standard_library_and_the_oracle(module: Path) -> None:
    names = imported(ast.parse(module.read_text(encoding="utf-8")))
    assert {name for name in names if not name.startswith("tests.oracle")} <= STANDARD


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_no_floating_point(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), ast.unparse(node)
        assert not (isinstance(node, ast.Name) and node.id in ("float", "complex", "eval", "exec", "__import__"))
    from_math = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "math"
        for alias in node.names
    ]
    assert set(from_math) <= {"prod"}


def test_nothing_of_the_software_is_loaded() -> None:
    """In an interpreter that imports the oracle alone."""
    names = ", ".join(f"tests.oracle.{module.stem}" for module in MODULES if module.stem != "__init__")
    program = f"import sys; sys.path.insert(0, {str(ORACLE.parents[1])!r}); import {names}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    assert "tests.oracle.grouped" in loaded
    assert not {name.split(".")[0] for name in loaded} & {"schemas", "workers", "service", "numpy", "struct"}
    assert not [name for name in loaded if name.startswith("tests.") and not name.startswith("tests.oracle")]
