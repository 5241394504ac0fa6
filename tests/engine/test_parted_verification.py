"""Verification of an artifact in several files: whatever byte of any of them is another, it is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from schemas.errors import ArchitectureError, ArtifactError, VerificationError
from tests.engine.conversions import SILENT
from workers.engine.container.slices import Slice
from workers.engine.container.writer import artifact_paths
from workers.engine.convert import convert
from workers.engine.miniature import write_miniature
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan, plan_conversion
from workers.engine.planned_objects import PlannedResource
from workers.engine.recipe.load import read_recipe
from workers.engine.sources.roots import ANYWHERE
from workers.engine.steps import SilentObserver
from workers.engine.verify import Coverage, Verification, verify_artifact
from workers.engine.verify.model_front import expected_model_fronts

ARTIFACT_ID = bytes(range(16))
PARTS = 4


@dataclass(frozen=True, slots=True)
class Parted:
    """A finished artifact in PARTS files, and the plan that it was made by."""

    plan: Plan
    paths: tuple[Path, ...]

    def verified(self) -> Verification:
        return verify_artifact(
            self.plan,
            self.paths[0],
            coverage=Coverage.FULL,
            threads=1,
            observer=SilentObserver(),
            artifact_id=ARTIFACT_ID,
        )


@pytest.fixture(scope="module")
def parted(tmp_path_factory: pytest.TempPathFactory) -> Parted:
    folder = tmp_path_factory.mktemp("parted")
    miniature = write_miniature("qwen3.6-27b.groupwise-int", folder / "miniature")
    recipe = read_recipe(miniature.recipe)

    def planned(part_bytes: int | None) -> Plan:
        packaging = Packaging(3, part_bytes, ARTIFACT_ID)
        return plan_conversion(recipe, miniature.places, packaging=packaging, roots=ANYWHERE)

    whole = planned(None).arrangement
    plan = planned(whole.payload_offset + -(-whole.payload_bytes // PARTS // 4096) * 4096)
    path = folder / "m.ninfer"
    convert(plan, path, coverage=Coverage.FULL, threads=2, observers=SILENT)
    paths = artifact_paths(path, plan.arrangement)
    assert len(paths) == PARTS
    return Parted(plan, paths)


def test_what_was_made_holds(parted: Parted) -> None:
    assert len(parted.verified().sha256) == PARTS


def test_the_fronts_that_verification_expects_are_those_that_were_arranged(parted: Parted) -> None:
    arrangement, plan = parted.plan.arrangement, parted.plan
    assert plan.inscription is not None
    resource_bytes = {one.name: one.bytes for one in plan.objects if isinstance(one, PlannedResource)}
    found = expected_model_fronts(plan.recipe, plan.inscription, resource_bytes, ARTIFACT_ID)
    assert found == tuple(
        arrangement.front(number).ljust(one.payload_offset, b"\0") for number, one in enumerate(arrangement.slices)
    )


def places(number: int, one: Slice) -> Iterator[int]:
    """Bytes of a file to change: in each part of its header, in what follows, and at both ends of its slice."""
    yield from (0, 7, 8, 15, 16, 31, 32, 100 if number else 5000)
    yield from (one.payload_offset - 1, one.payload_offset, one.file_bytes - 1)


@pytest.mark.parametrize("number", range(PARTS))
def test_any_changed_byte_of_any_file_is_found(parted: Parted, number: int) -> None:
    path = parted.paths[number]
    good = path.read_bytes()
    try:
        for place in places(number, parted.plan.arrangement.slices[number]):
            changed = bytearray(good)
            changed[place] ^= 1
            path.write_bytes(changed)
            with pytest.raises((ArtifactError, ArchitectureError, VerificationError)):
                parted.verified()
    finally:
        path.write_bytes(good)


@pytest.mark.parametrize("number", range(PARTS))
@pytest.mark.parametrize("more", [-1, 1])
def test_a_file_of_another_length_is_found(parted: Parted, number: int, more: int) -> None:
    path = parted.paths[number]
    good = path.read_bytes()
    path.write_bytes((good + b"\0")[: len(good) + more])
    try:
        with pytest.raises((ArtifactError, VerificationError)):
            parted.verified()
    finally:
        path.write_bytes(good)


def test_parts_that_changed_places_are_found(parted: Parted) -> None:
    first, second = parted.paths[1], parted.paths[2]
    data = first.read_bytes(), second.read_bytes()
    first.write_bytes(data[1])
    second.write_bytes(data[0])
    try:
        with pytest.raises(
            ArtifactError, match=r"part-0001, number: expected 1, its place in the entry's list, found 2"
        ):
            parted.verified()
    finally:
        first.write_bytes(data[0])
        second.write_bytes(data[1])
