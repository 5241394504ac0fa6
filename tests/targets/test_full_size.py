"""Qwen3.6-27B at its full size, in a checkpoint of holes: what a plan says of it, and how soon."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from benchmarks.sparse_checkpoint import FullSize, write_full_size
from workers.engine.packaging import Packaging
from workers.engine.plan import Plan, plan_conversion
from workers.engine.recipe.load import read_recipe
from workers.engine.sources.roots import ANYWHERE

FILE_BYTES = 17_495_365_888
DIRECTORY_SHA256 = "df352a3e3b8555f15fd00d143be213b9e5ff6fb910a1c2390f0785f9a1e2d386"
TENSOR_BYTES = 55_562_855_904
RANKING_BYTES = 11_919_360
DISK_BYTES = 64 << 20
PLAN_SECONDS = 2.0


@pytest.fixture(scope="module")
def full_size(tmp_path_factory: pytest.TempPathFactory) -> FullSize:
    return write_full_size(tmp_path_factory.mktemp("full_size"))


def plan(full_size: FullSize) -> Plan:
    """A plan from the text of the recipe and the headers of the checkpoint, in the framing of the published file."""
    return plan_conversion(read_recipe(full_size.recipe), full_size.places, packaging=Packaging(1), roots=ANYWHERE)


def test_the_checkpoint_has_the_size_of_the_real_one_and_takes_little_disk(full_size: FullSize) -> None:
    shards = sorted(full_size.base.glob("*.safetensors"))
    assert len(shards) == 15
    assert TENSOR_BYTES < sum(shard.stat().st_size for shard in shards) < TENSOR_BYTES + (1 << 20)
    assert full_size.ranking.stat().st_size == RANKING_BYTES
    files = [path for path in full_size.recipe.parent.rglob("*") if path.is_file()]
    assert sum(512 * path.stat().st_blocks for path in files) < DISK_BYTES


def test_the_plan_has_size_and_directory_of_the_published_artifact(full_size: FullSize) -> None:
    planned = plan(full_size)
    assert planned.file_bytes == FILE_BYTES
    assert planned.arrangement.directory_sha256 == DIRECTORY_SHA256
    assert len(planned.objects) == 1124
    assert sum(entry.bytes for entry in planned.sources.checkpoints["base"].tensors.values()) == TENSOR_BYTES
    assert (planned.unused, planned.ignored, planned.warnings) == ((), (), ())


def test_planning_takes_less_than_two_seconds(
    full_size: FullSize, record_property: Callable[[str, object], None]
) -> None:
    def seconds() -> float:
        started = time.perf_counter()
        plan(full_size)
        return time.perf_counter() - started

    best = min(seconds() for _ in range(3))
    record_property("seconds", best)
    assert best < PLAN_SECONDS
