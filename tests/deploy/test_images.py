"""deploy/Dockerfile: as far as can be told without an engine that builds images."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from dockerfile_parse import DockerfileParser

from tests.deploy.compose_file import ROOT, compose_document

DOCKERFILE = ROOT / "deploy" / "Dockerfile"


@dataclass(frozen=True)
class Stage:
    """One stage: what it begins with, and its instructions in order."""

    name: str
    base: str
    instructions: tuple[tuple[str, str], ...]

    def values(self, instruction: str) -> list[str]:
        return [value for name, value in self.instructions if name == instruction]


def stages() -> dict[str, Stage]:
    found: dict[str, Stage] = {}
    parser = DockerfileParser(str(DOCKERFILE), cache_content=True)
    lines = [(line["instruction"], line["value"]) for line in parser.structure if line["instruction"] != "COMMENT"]
    assert lines[0][0] == "ARG"
    starts = [number for number, (name, _) in enumerate(lines) if name == "FROM"]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        base, word, name = lines[start][1].split()
        assert word == "AS"
        found[name] = Stage(name, base, tuple(lines[start + 1 : end]))
    return found


STAGES = stages()


def lineage(name: str) -> list[Stage]:
    """A stage and those that it is built upon."""
    stage = STAGES[name]
    return [stage, *(lineage(stage.base) if stage.base in STAGES else [])]


def test_every_image_of_the_compose_file_is_a_stage_and_the_service_is_the_last() -> None:
    services = compose_document({})["services"].values()
    builds = [service["build"] for service in services if "build" in service]
    assert {build["dockerfile"] for build in builds} == {"deploy/Dockerfile"}
    assert {build["target"] for build in builds} == {"service", "cuda"}
    assert all((ROOT / build["context"]).resolve() == ROOT for build in builds)
    assert list(STAGES)[-1] == "service"


def test_what_is_copied_is_there_and_sent_to_the_engine() -> None:
    ignored = [
        line for line in (ROOT / "deploy/Dockerfile.dockerignore").read_text().splitlines() if line[:1] not in "#"
    ]
    sent = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = {
        source.rstrip("/")
        for stage in STAGES.values()
        for value in stage.values("COPY")
        if not value.startswith("--from=")
        for source in value.split()[:-1]
    }
    assert copied == sent
    assert all((ROOT / source).exists() for source in copied)
    for stage in STAGES.values():
        for value in stage.values("COPY"):
            if value.startswith("--from="):
                assert value.split()[0].removeprefix("--from=") in STAGES


def test_all_that_the_package_is_built_of_is_copied() -> None:
    assert fnmatch.filter((ROOT / "CMakeLists.txt").read_text().split(), "workers/native/*.cpp")
    copied = " ".join(STAGES["build"].values("COPY")).split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert {f"{name}/" for name in project["tool"]["scikit-build"]["wheel"]["packages"]} <= set(copied)
    assert {project["project"]["readme"], *project["project"]["license-files"]} <= set(copied)


@pytest.mark.parametrize("name", ["service", "cuda"])
def test_an_image_has_no_compiler_and_no_rights(name: str) -> None:
    built_upon = lineage(name)
    assert not any("apt-get" in run or "pip" in run for stage in built_upon for run in stage.values("RUN"))
    users = [user for stage in built_upon for user in stage.values("USER")]
    services = compose_document({})["services"]
    assert users == [services["api"]["user"]] == ["10001:10001"]
    assert "--owner=10001 --group=10001" in STAGES["runtime"].values("RUN")[0]
    assert not any(instruction == "ENTRYPOINT" for stage in built_upon for instruction, _ in stage.instructions)


def test_only_locked_files_are_installed() -> None:
    installs = [
        install
        for stage in STAGES.values()
        for run in stage.values("RUN")
        for install in re.findall(r"pip (?:install|wheel)[^&]*", run)
    ]
    assert len(installs) == 5
    for install in installs:
        assert "--no-deps" in install
        assert "--require-hashes" in install or "--no-index" in install or "--no-build-isolation" in install
        assert all((ROOT / file).is_file() for file in re.findall(r"--requirement (\S+)", install))


@pytest.mark.soak
def test_the_steps_that_build_the_service_work_in_a_folder(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for instruction, value in STAGES["build"].instructions:
        if instruction == "COPY":
            *names, target = value.split()
            for name in names:
                copy(ROOT / name, source / (target if target.endswith("/") and name.endswith("/") else name))
        elif instruction == "RUN" and "apt-get" not in value:
            here = value.replace("/opt/", f"{tmp_path}/opt/").replace("/wheels", f"{tmp_path}/wheels")
            here = re.sub(r"^python ", f"{sys.executable} ", here)
            run(["bash", "-ec", here], source)
    command = tmp_path / "opt/ninforge/bin/ninforge"
    environment = {"NINFORGE_DATA": str(tmp_path / "data")}
    assert "up to date" in run([str(command), "db", "upgrade"], tmp_path, environment)
    assert "MAXABS" in run([str(command), "recipe", "show", "all-minilm-l6-v2.demo"], tmp_path)
    python = str(tmp_path / "opt/ninforge/bin/python")
    run([python, "-c", "import workers._native, psycopg, redis"], tmp_path)
    assert not (tmp_path / "opt/ninforge/bin/cmake").exists()


def copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    else:
        shutil.copyfile(source, target)


def run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout
