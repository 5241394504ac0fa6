"""Registered inventories, and recipes that claim to be one."""

from __future__ import annotations

import dataclasses

import pytest

from schemas.errors import RecipeError
from schemas.recipe.expanded import ExpandedRecipe
from schemas.registry import FORMATS, DirectGeometry, Format, Layout
from schemas.storage_layouts import payload
from tests.recipe.documents import EVIDENCE, Document, expand, plain, recipe
from workers.engine.recipe.inventory import (
    Inventory,
    InventoryTensor,
    inventory_faults,
    load_inventory,
    registered_targets,
)

COUNTS = {
    "qwen3.6-27b/groupwise-int": 1124,
    "qwen3.6-27b/nvfp4": 1307,
    "qwen3.6-35b-a3b/groupwise-int": 940,
    "qwen3.8-27b/groupwise-int": 1124,
    "qwen3.8-27b/nvfp4": 1124,
}


def test_the_targets_of_the_table() -> None:
    assert {target: objects_of(load_inventory(target)) for target in registered_targets()} == COUNTS


def objects_of(inventory: Inventory) -> int:
    return len(inventory.resources) + len(inventory.tensors)


@pytest.mark.parametrize("target", COUNTS)
def test_every_inventory_is_legal(target: str) -> None:
    inventory = load_inventory(target)
    assert f"{inventory.model_id}/{inventory.weights_id}" == target
    assert len(inventory.resources) == 6
    assert len({tensor.name for tensor in inventory.tensors}) == len(inventory.tensors)
    for tensor in inventory.tensors:
        assert FORMATS[tensor.format].layout is tensor.layout
        assert payload(tensor.format, tensor.shape, where=tensor.name).bytes > 0


SMALL = Inventory(
    "tiny",
    "plain",
    ("r",),
    (
        InventoryTensor("a", (4,), Format.BF16, Layout.CONTIGUOUS),
        InventoryTensor("b", (2, 2), Format.FP32, Layout.CONTIGUOUS),
    ),
)


def made(*objects: Document, **members: object) -> ExpandedRecipe:
    resources = [{"name": "r", "source": "base", "file": "f"}]
    return expand(recipe(resources=resources, objects=list(objects), **members))


A = plain()
B = plain(name="b", shape=[2, 2], format="FP32")


def found(expanded: ExpandedRecipe) -> list[str]:
    return [str(fault) for fault in inventory_faults(expanded, SMALL)]


def test_the_same_objects_in_the_same_order_are_the_target() -> None:
    assert found(made(A, B)) == []


@pytest.mark.parametrize(
    ("expanded", "faults"),
    [
        (made(A), ["/objects: the target has the object 'b', which the recipe does not make"]),
        (made(A, B, plain(name="c")), ["/objects/2: the target has no object 'c'"]),
        (made(B, A), ["/objects/0: the target has 'a' as object 0, found 'b'"]),
        (
            made(A, {**B, "shape": [2, 3]}),
            [
                "/objects/1: the target has the object 'b' as FP32 [2, 2] in contiguous-le-v1, "
                "found FP32 [2, 3] in contiguous-le-v1"
            ],
        ),
        (
            made(A, {**B, "format": "I32"}),
            [
                "/objects/1: the target has the object 'b' as FP32 [2, 2] in contiguous-le-v1, "
                "found I32 [2, 2] in contiguous-le-v1"
            ],
        ),
        (made(A, B, weights_id="other"), ["/weights_id: the target has the weights_id 'plain', found 'other'"]),
        (made(A, B, model_id="small"), ["/model_id: the target has the model_id 'tiny', found 'small'"]),
        (
            dataclasses.replace(made(A, B), resources=()),
            ["/resources: the target has the resource 'r', which the recipe does not make"],
        ),
    ],
)
def test_every_difference_is_a_fault(expanded: ExpandedRecipe, faults: list[str]) -> None:
    assert found(expanded) == faults


def claiming(target: str, let: dict[str, int] | None = None) -> Document:
    """A recipe that makes exactly the tensors of a target, each from one tensor, and its resources."""
    inventory = load_inventory(target)
    encodes = {
        Format.NVFP4: {"encode": "copy", "value": {"nvfp4": {"codes": W, "scales": W, "divisors": [W]}}},
        Format.FP8_E4M3FN_ROW_BF16S: {"encode": "copy", "value": {"fp8_row": {"codes": W, "scales": W}}},
    }
    objects = [
        {"name": tensor.name, "shape": list(tensor.shape), "format": tensor.format, "value": W}
        | ({} if isinstance(FORMATS[tensor.format].geometry, DirectGeometry) else {"encode": "MAXABS_F16_RECIP_RNE_V1"})
        | encodes.get(tensor.format, {})
        for tensor in inventory.tensors
    ]
    return recipe(
        model_id=inventory.model_id,
        weights_id=inventory.weights_id,
        target=target,
        let=let or {},
        evidence=EVIDENCE,
        resources=[{"name": name, "source": "base", "file": name} for name in inventory.resources],
        objects=objects,
    )


W = {"tensor": "w"}


@pytest.mark.parametrize("target", COUNTS)
def test_a_recipe_may_claim_a_target_that_it_makes(target: str) -> None:
    assert len(expand(claiming(target)).objects) == COUNTS[target] - 6


def test_a_claim_that_is_not_kept_is_a_fault() -> None:
    document = claiming("qwen3.6-27b/nvfp4")
    document["objects"][7]["name"] = "text/other"
    with pytest.raises(RecipeError) as caught:
        expand(document)
    assert [fault.at for fault in caught.value.faults] == ["/objects", "/objects/7"]


def test_an_override_makes_no_claim() -> None:
    document = claiming("qwen3.6-27b/nvfp4", {"n": 4})
    document["objects"] = document["objects"][:5]
    with pytest.raises(RecipeError):
        expand(document)
    expanded = expand(document, {"n": 4})
    assert expanded.let_overridden
    assert expanded.target == "qwen3.6-27b/nvfp4"
