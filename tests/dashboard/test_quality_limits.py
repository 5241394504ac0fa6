"""What the quality page draws of objects whose names are not those of a model."""

from __future__ import annotations

import pytest

from service.dashboard.quality import LossyObject
from service.dashboard.quality_page import MAX_PLACES, MAX_STACKS, _measured


@pytest.mark.parametrize(
    ("stacks", "layers", "charts"),
    [(MAX_STACKS, 10, 2), (MAX_STACKS + 1, 10, 0), (2, MAX_PLACES // 2, 2), (2, MAX_PLACES // 2 + 1, 0)],
)
def test_layers_are_drawn_as_long_as_a_chart_takes_them(stacks: int, layers: int, charts: int) -> None:
    names = [f"{stack}-/{layer}/up" for stack in range(stacks) for layer in range(layers)]
    objects = [LossyObject(index, name, "Q4G64_F16S", 64, 1.0, 0.1, 1.0) for index, name in enumerate(names)]
    found = _measured(objects)
    assert (len(found["layer_charts"]), len(found["layers"])) == (charts, stacks * layers)
