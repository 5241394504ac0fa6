"""Where a submission's sources are: below the roots, whichever of them, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schemas.errors import NinforgeError, PlanError, SourceError
from tests.small_job import recipe_document, write_checkpoint
from workers.engine.packaging import Packaging
from workers.public_problems import public_problem
from workers.recipe_expansion import Document
from workers.settings import Settings
from workers.submission import Submission, locate, plan_submission

PLAIN = Submission(Document.of(recipe_document()), {}, {"base": "small"}, {}, Packaging(), False, "full", "auto")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "first").mkdir()
    write_checkpoint(tmp_path / "second" / "small")
    return Settings(data=tmp_path / "data", source_roots=(tmp_path / "first", tmp_path / "second"))


def test_a_relative_place_is_below_the_first_root_that_has_it(settings: Settings, tmp_path: Path) -> None:
    recipe = PLAIN.expand()
    assert locate(PLAIN, recipe, settings).sources == {"base": tmp_path / "second" / "small"}
    write_checkpoint(tmp_path / "first" / "small")
    assert locate(PLAIN, recipe, settings).sources == {"base": tmp_path / "first" / "small"}


def test_a_place_that_is_nowhere_is_for_planning_to_tell(settings: Settings) -> None:
    elsewhere = replace(PLAIN, sources={"base": "nowhere"})
    locate(elsewhere, PLAIN.expand(), settings)
    with pytest.raises(PlanError) as raised:
        plan_submission(elsewhere, settings)
    assert [fault.at for fault in raised.value.faults] == ["/sources/base"]


def test_a_name_that_no_file_system_takes_is_told(settings: Settings) -> None:
    with pytest.raises(PlanError):
        plan_submission(replace(PLAIN, sources={"base": "x" * 4000}), settings)


def test_without_roots_nothing_is_allowed(settings: Settings, tmp_path: Path) -> None:
    closed = settings.model_copy(update={"source_roots": ()})
    for where in ("small", str(tmp_path / "second" / "small")):
        with pytest.raises(PlanError, match="source roots"):
            locate(replace(PLAIN, sources={"base": where}), PLAIN.expand(), closed)


def test_a_resource_may_be_given_another_place(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "first" / "other.json").write_text("{}")
    plan = plan_submission(replace(PLAIN, resources={"frontend/tokenizer.json": "other.json"}), settings)
    assert plan.objects[0].bytes == 2


@pytest.mark.parametrize(
    "error",
    [
        SourceError("source base, file {root}/small/a.safetensors", expected="a file", found="nothing at {root}"),
        SourceError("work file", expected="room", found="a full disk at {data}/work/17/3.ninfer"),
    ],
)
def test_paths_of_the_service_are_not_told_outside(settings: Settings, tmp_path: Path, error: NinforgeError) -> None:
    places = {"root": tmp_path / "second", "data": settings.data}
    told = type(error)(error.where.format(**places), expected=error.expected, found=error.found.format(**places))
    assert str(tmp_path) in str(told)
    assert str(tmp_path) not in public_problem(told, settings).model_dump_json()


def test_where_everything_is_a_source_paths_stay_readable(settings: Settings) -> None:
    everything = settings.model_copy(update={"source_roots": (Path("/"),)})
    told = public_problem(SourceError("/a/b.safetensors", expected="a file", found="none"), everything)
    assert told.detail == "/a/b.safetensors: expected a file, found none"
