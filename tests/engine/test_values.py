"""Values read in runs: the encoder's evaluation, the verifier's own, and the tracing of one element, against numpy."""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import WordError
from schemas.recipe.expanded import Gather
from schemas.source_dtypes import SourceDtype
from tests.engine.expressions import Array, World, values
from workers.engine.encode import evaluation as encoding
from workers.engine.encode.evaluation import Evaluation
from workers.engine.recipe.inference import Typed
from workers.engine.scratch import Scratch
from workers.engine.trace import origin
from workers.engine.verify import evaluation as verifying
from workers.engine.verify.evaluation import evaluate

LIMITS = {
    "COVER_BYTES": (8, 64, 4 << 20),
    "SHORT_BYTES": (2, 16 << 10),
    "MAX_WASTE": (1, 32),
    "SCATTERED_UNITS": (1, 3, 1 << 19),
}


@st.composite
def runs(draw: st.DrawFn) -> tuple[World, Typed, Array, int, int]:
    world, node, array = draw(values())
    start = draw(st.integers(0, array.size - 1))
    stop = draw(st.integers(start + 1, array.size))
    return world, node, array, start, stop


@settings(max_examples=600, deadline=None)
@given(runs(), st.fixed_dictionaries({name: st.sampled_from(sizes) for name, sizes in LIMITS.items()}))
def test_the_encoder_reads_any_run_of_any_value(
    run: tuple[World, Typed, Array, int, int], limits: dict[str, int]
) -> None:
    world, node, array, start, stop = run
    out = np.empty(2 * (stop - start), np.uint8)
    with ExitStack() as stack:
        for name, limit in limits.items():
            stack.enter_context(patch.object(encoding, name, limit))
        Evaluation("object", world, Scratch()).read(node, start, out)
    assert out.view(np.uint16).tolist() == array.reshape(-1)[start:stop].tolist()


@settings(max_examples=600, deadline=None)
@given(runs(), st.sampled_from([8, 64, 8 << 20]), st.sampled_from([0, 64 << 10]))
def test_the_verifier_reads_any_run_of_any_value(
    run: tuple[World, Typed, Array, int, int], window: int, small: int
) -> None:
    world, node, array, start, stop = run
    out = np.empty(2 * (stop - start), np.uint8)
    with patch.multiple(verifying, WINDOW_BYTES=window, SMALL_BYTES=small):
        evaluate("object", node, start, out, world, Scratch())  # type: ignore[arg-type]
    assert out.view(np.uint16).tolist() == array.reshape(-1)[start:stop].tolist()


@settings(max_examples=300, deadline=None)
@given(runs())
def test_tracing_names_the_element_that_a_value_holds(run: tuple[World, Typed, Array, int, int]) -> None:
    world, node, array, start, _ = run
    found = origin(node, start, lambda name, at: int(world.lists[name][at]))
    assert found is not None
    assert world.tensors[found.tensor][found.index] == array.reshape(-1)[start]


def test_a_row_number_outside_the_operand_is_refused() -> None:
    world = World()
    child, _ = world.leaf((3, 2))
    world.lists["ids"] = np.array([0, 3], dtype=np.int64)
    node = Typed(Gather(child.op, "ids"), (2, 2), SourceDtype.BF16, (child,))
    with pytest.raises(WordError, match="row numbers from 0 to 2 in object ids, found 3 at position 1"):
        Evaluation("object", world, Scratch()).read(node, 0, np.empty(8, np.uint8))
