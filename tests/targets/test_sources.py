"""The five targets against the tensors of their checkpoints: each is used and fits, or may stay unused."""

from __future__ import annotations

import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from schemas.errors import PlanError
from schemas.recipe.expanded import Tensor
from tests.targets.sizes import DENSE, MOE
from tests.targets.targets import IDS, Target, published, small
from workers.engine.miniature.headers import Headers, dense_headers, dflash_headers, moe_headers
from workers.engine.recipe.inference import TensorType, infer_recipe
from workers.engine.recipe.operands import walk_expression
from workers.engine.recipe.registered import load_registered

Key = tuple[str, str]
LISTED = Path(__file__).parents[1] / "data" / "sources" / "qwen3.6-27b.json"


def listed_headers() -> Headers:
    """The 1199 tensors of Qwen3.6-27B."""
    listed: dict[str, tuple[str, list[int]]] = json.loads(LISTED.read_text(encoding="utf-8"))
    return {name: TensorType(dtype, tuple(shape)) for name, (dtype, shape) in listed.items()}


def used(target: Target) -> set[Key]:
    """Source and name of each tensor that an object names, in `equals` too."""
    values = [value for one in target.recipe.objects for value in (one.value, *one.equals)]
    return {(op.source, op.tensor) for value in values for op in walk_expression(value) if isinstance(op, Tensor)}


def unused(target: Target) -> set[Key]:
    return {(source, name) for source, headers in target.headers.items() for name in headers} - used(target)


def test_the_listed_checkpoint_is_the_one_that_the_page_describes() -> None:
    assert dict(listed_headers()) == dict(dense_headers(DENSE))


def test_checkpoints_have_as_many_tensors_as_the_page_counts() -> None:
    assert [len(listed_headers()), len(moe_headers(MOE)), len(dflash_headers(MOE))] == [1199, 1045, 69]


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("form", [published, small])
def test_every_tensor_that_is_needed_exists_and_fits(id: str, form: Callable[[str], Target]) -> None:
    target = form(id)
    assert [one.spec for one in target.typed()] == list(target.recipe.objects)


@pytest.mark.parametrize("id", IDS)
def test_every_tensor_is_used_or_may_stay_unused(id: str) -> None:
    target = published(id)
    for source, name in unused(target):
        assert any(fnmatchcase(name, pattern) for pattern in target.recipe.sources[source].unused), (source, name)


@pytest.mark.parametrize("id", IDS)
def test_every_pattern_is_needed(id: str) -> None:
    target = published(id)
    for source in target.recipe.sources.values():
        left = [name for owner, name in unused(target) if owner == source.name]
        for pattern in source.unused:
            assert any(fnmatchcase(name, pattern) for name in left), pattern


@pytest.mark.parametrize("id", IDS)
def test_a_tensor_that_stays_unused_has_its_counterpart_used(id: str) -> None:
    """No weight is dropped: what one checkpoint does not give, another one does."""
    target = published(id)
    given = {name.removesuffix("_packed") for _, name in used(target)}
    assert {name for _, name in unused(target)} <= given


@pytest.mark.parametrize("id", ["qwen3.6-27b.groupwise-int", "qwen3.8-27b.groupwise-int"])
def test_a_recipe_of_one_checkpoint_leaves_nothing_unused(id: str) -> None:
    assert unused(published(id)) == set()
    assert all(source.unused == () for source in published(id).recipe.sources.values())


def test_a_checkpoint_that_lacks_a_tensor_is_refused_with_its_name() -> None:
    headers: Headers = {name: one for name, one in listed_headers().items() if "layers.5.mlp.up_proj" not in name}
    with pytest.raises(PlanError, match=r"layers\.5\.mlp\.up_proj\.weight"):
        infer_recipe(load_registered(IDS[0]), lambda _, name: headers.get(name))
