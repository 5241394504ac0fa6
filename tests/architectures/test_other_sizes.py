"""The registered recipes at the sizes of miniatures, with configs from their checkpoints: no size is a constant."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import prod

import pytest

from schemas.registry import Format
from tests.architectures.models import QWEN3_5, Model
from workers.engine.architectures.architecture import NamedTensor
from workers.engine.container.model_description import Binding, ElementRange, WholeTensor
from workers.engine.miniature.target_checkpoints import TARGET_IDS, target_checkpoints, target_sizes
from workers.engine.recipe.registered import load_registered


@cache
def miniature(id: str) -> Model:
    """A registered recipe of small sizes."""
    sizes = target_sizes(id)
    recipe = load_registered(id, let=sizes)
    tensors = tuple(NamedTensor(one.name, one.shape, one.format, one.at) for one in recipe.objects)
    offered = QWEN3_5.offered_components([one.name for one in tensors])
    checkpoints = target_checkpoints(id, sizes)
    documents = {name: checkpoints["dflash" if name == "dflash" else "base"].config for name in offered}
    resources = tuple(one.name for one in recipe.resources)
    return Model(tensors, resources, QWEN3_5.component_configs(offered, documents))


def pieces(binding: Binding, model: Model) -> Iterator[ElementRange]:
    if isinstance(binding, WholeTensor):
        yield ElementRange(binding.object, 0, prod(model.objects()[binding.object].shape))
    else:
        yield from binding.ranges


@pytest.mark.parametrize("id", TARGET_IDS)
def test_a_miniature_is_a_model_without_faults(id: str) -> None:
    model = miniature(id)
    assert list(QWEN3_5.architecture_faults(model.describe(), model.objects())) == []


@pytest.mark.parametrize("id", TARGET_IDS)
def test_a_miniature_can_be_run(id: str) -> None:
    model = miniature(id)
    assert QWEN3_5.execution_faults(model.describe(), model.objects()) == ()


@pytest.mark.parametrize("id", TARGET_IDS)
def test_every_element_of_every_matrix_belongs_to_one_parameter(id: str) -> None:
    """Context key and value apart, which are those of a draft's attention."""
    model = miniature(id)
    held: dict[str, list[tuple[int, int]]] = {}
    for name, binding in model.describe().bindings.items():
        if "/attention/context_" not in name:
            for one in pieces(binding, model):
                held.setdefault(one.object, []).append((one.start, one.stop))
    for tensor in model.tensors:
        if tensor.name.endswith("/input_scale_divisor"):
            assert tensor.format is Format.FP32
            continue
        ranges = sorted(held.pop(tensor.name))
        assert [start for start, _ in ranges] == [0, *(stop for _, stop in ranges[:-1])]
        assert ranges[-1][1] == prod(tensor.shape)
    assert held == {}
