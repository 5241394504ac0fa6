"""Small documents that ask for too much are refused in bounded time and memory, by the limit that they pass."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import pytest

from schemas.recipe import limits
from schemas.recipe.expanded import Concat
from tests.recipe.documents import TENSOR, Document, faults_of, objects_of, of_value, plain, recipe
from workers.engine.recipe import fault_list
from workers.engine.recipe.load import expand_document

SECONDS = 60
"""Of one thread that shares its machine with other tests; alone each takes a few."""

Integers = dict[str, int]


def up_to(stop: int) -> Integers:
    return {"from": 0, "to": stop}


def nested(*stops: int, body: list[Document]) -> Document:
    """Loops inside each other."""
    objects = body
    for depth, stop in enumerate(reversed(stops)):
        objects = [{"for": f"l{depth}", "in": up_to(stop), "objects": objects}]
    return recipe(objects=objects)


def doubling(times: int, leaf: Document, **with_: str) -> Document:
    """Values that each contain the one before several times."""
    values: dict[str, Document] = {"v0": leaf}
    for i in range(1, 15):
        values[f"v{i}"] = {"concat": [{"value": f"v{i - 1}", "with": with_}] * times, "axis": 0}
    return of_value({"value": "v14"}, values=values)


def each_part(outer: int, inner: int) -> Document:
    """A concat of concats, of tensors named by both loops."""
    part = {"concat": {"for": "b", "in": up_to(inner), "each": [{"tensor": "{a}.{b}"}]}, "axis": 0}
    return {"concat": {"for": "a", "in": up_to(outer), "each": [part]}, "axis": 0}


BOMBS: list[tuple[str, Callable[[], Document], str]] = [
    ("turns", lambda: nested(1000, 1001, body=[]), "loop turns is passed"),
    ("turns of concat", lambda: of_value(each_part(1000, 1000)), "expression nodes is passed"),
    ("excluded entries", lambda: nested(100_000, body=[plain(when={"l0": [100_000]})] * 50),
     "steps of expansion is passed"),
    ("objects", lambda: nested(1000, 101, body=[plain(name="{l1}/{l0}")]), "objects is passed"),
    ("values", lambda: doubling(3, TENSOR), "expression nodes is passed"),
    ("values with variables", lambda: doubling(4, {"tensor": "{x}"}, x="y"), "expression nodes is passed"),
    ("long names", lambda: nested(1000, 100, body=[plain(name="{l1}/{l0}" + "x" * 500, value={"tensor": "y" * 500})]),
     "MiB of canonical form is passed"),
    ("growing texts", lambda: recipe(objects=[{"for": "l", "in": [1], "objects": [],
                                               "with": {"x0": "x" * 8, **{f"x{i}": f"{{x{i - 1}}}" * 2
                                                                          for i in range(1, 60)}}}]),
     "longer than the limit of 512 bytes"),
    ("empty variables", lambda: recipe(objects=[{"for": "l", "in": up_to(100_000), "objects": [],
                                                 "with": {"e": "", "f": "{e}" * 256}}]),
     "steps of expansion is passed"),
    ("many variables", lambda: recipe(objects=[{"for": "l", "in": up_to(100_000), "objects": [],
                                                "with": {f"x{i}": "" for i in range(3000)}}]),
     "steps of expansion is passed"),
    ("large conditions", lambda: nested(100_000, body=[plain(when={"l0": [f"={i}" for i in range(100_000)]})]),
     "steps of expansion is passed"),
    ("formulas", lambda: recipe(let={"a": 2**62}, objects=[
        {"for": "l", "in": up_to(100_000), "objects": [plain(name="{l}", shape=["=1+0*" + "*".join("a" * 490)])]}]),
     "steps of expansion is passed"),
    ("long reshapes", lambda: nested(100_000, body=[
        plain(name="{l0}", value={"reshape": TENSOR, "to": [1] * 100_000})]), "steps of expansion is passed"),
    ("chain of templates with variables", lambda: recipe(
        templates={f"t{i}": [{"use": f"t{i + 1}", "with": {f"x{i}": ""}}] for i in range(20_000)},
        objects=[{"use": "t0"}]), "steps of expansion is passed"),
    ("circle of values", lambda: of_value({"value": "v0"}, values={
        f"v{i}": {"value": f"v{(i + 1) % 20_000}"} for i in range(20_000)}), "the value 'v0' contains itself"),
    ("values by variable", lambda: of_value({"value": "v", "with": {"n": "v"}}, values={"v": {"value": "{n}"}}),
     "the value 'v' contains itself"),
    ("circles of values", lambda: of_value(TENSOR, values={f"v{i}": {"value": f"v{i}"} for i in range(20_000)}),
     "the limit of 1,000 faults is reached"),
    ("faults of turns", lambda: nested(100_000, body=[plain(name="{l0}", shape=["=l0*0"])]),
     "the limit of 1,000 faults is reached"),
    ("unknown members", lambda: {f"m{i}": 1 for i in range(300_000)}, "the limit of 1,000 faults is reached"),
]  # fmt: skip


def assert_refused(document: Document, message: str) -> None:
    started = time.process_time()
    found = [fault.message for fault in faults_of(document)]
    assert time.process_time() - started < SECONDS
    assert any(message in text for text in found)


@pytest.fixture
def lower_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fiftieth of what counts work, so that reaching it takes a fiftieth of the time."""
    for name in ("OBJECTS", "LOOP_TURNS", "EXPRESSION_NODES", "EXPANSION_STEPS", "CANONICAL_BYTES"):
        monkeypatch.setattr(fault_list, name, getattr(limits, name) // 50)


@pytest.mark.usefixtures("lower_limits")
@pytest.mark.parametrize(("build", "message"), [bomb[1:] for bomb in BOMBS], ids=[bomb[0] for bomb in BOMBS])
def test_bombs(build: Callable[[], Document], message: str) -> None:
    assert_refused(build(), message)


@pytest.mark.soak
@pytest.mark.parametrize(("build", "message"), [bomb[1:] for bomb in BOMBS], ids=[bomb[0] for bomb in BOMBS])
def test_bombs_at_full_size(build: Callable[[], Document], message: str) -> None:
    assert_refused(build(), message)


def test_the_limits_are_those_of_the_language() -> None:
    assert limits.TEXT_BYTES == 4 * 1024 * 1024
    assert limits.CANONICAL_BYTES == 64 * 1024 * 1024
    assert (limits.OBJECTS, limits.LOOP_TURNS, limits.EXPRESSION_NODES) == (100_000, 1_000_000, 1_000_000)
    assert (limits.SET_INTEGERS, limits.EXPRESSION_LEVELS, limits.SOURCES, limits.NAME_BYTES) == (100_000, 16, 64, 512)


@pytest.mark.parametrize("id", ["values", "growing texts", "values with variables", "many variables"])
def test_bombs_stay_small_in_memory(id: str) -> None:
    [build] = [bomb[1] for bomb in BOMBS if bomb[0] == id]
    document = build()
    tracemalloc.start()
    try:
        faults_of(document)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * 2**20


def test_long_chains_of_templates_and_values_are_no_fault() -> None:
    count = 5_000
    templates: Document = {f"t{i}": [{"use": f"t{i + 1}"}] for i in range(count)}
    values: Document = {f"v{i}": {"value": f"v{i + 1}"} for i in range(count)}
    document = recipe(
        templates={**templates, f"t{count}": [plain(value={"value": "v0"})]},
        values={**values, f"v{count}": TENSOR},
        objects=[{"use": "t0"}],
    )
    assert [spec.name for spec in objects_of(document)] == ["a"]


@pytest.mark.soak
def test_what_the_limits_allow_is_allowed() -> None:
    assert len(objects_of(nested(1000, 100, body=[plain(name="{l1}/{l0}")]))) == 100_000
    assert len(objects_of(nested(1000, 999, body=[plain(name="{l1}", when={"l0": [1]})]))) == 1000
    [spec] = objects_of(of_value({"concat": [each_part(1000, 998), TENSOR], "axis": 0}))
    assert isinstance(spec.value, Concat)


def test_deep_data_is_refused_without_recursion() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    [fault] = faults_of(recipe(sources=deep))
    assert fault.message == "the limit of 100 levels of nesting is passed"


def test_much_data_is_refused() -> None:
    [fault] = faults_of(recipe(title="x" * (4 * 2**20)))
    assert fault.message == "the limit of 4 MiB of text is passed"


def test_a_recipe_of_a_thousand_objects_expands_quickly() -> None:
    query = {"reshape": {"tensor": "{p}q_proj.weight"}, "to": [24, 512, "=H"]}
    sliced = {"slice": {"value": "query"}, "axis": 1, "from": 0, "to": 256}
    attention = plain(
        name="{o}query_key",
        shape=["=24*256+1024", "=H"],
        value={"concat": [{"reshape": sliced, "to": [6144, "=H"]}, {"tensor": "{p}k_proj.weight"}], "axis": 0},
    )
    document = recipe(
        let={"H": 5120, "full": {"from": 3, "to": 435, "step": 4}},
        values={"query": query},
        templates={"attention": [attention], "norm": [plain(name="{o}norm", value={"tensor": "{p}norm.weight"})]},
        objects=[
            {
                "for": "l",
                "in": up_to(435),
                "with": {"o": "text/layers/{l}/", "p": "model.layers.{l}."},
                "objects": [
                    {"use": "norm"},
                    {"use": "attention", "when": {"l": "full"}},
                    plain(name="{o}in", shape=["=H"], value={"tensor": "{p}in.weight"}, unless={"l": "full"}),
                    plain(name="{o}down", shape=["=H", 17408], value={"tensor": "{p}mlp.down_proj.weight"}),
                ],
            }
        ],
    )
    expand_document(document, where="test")
    started = time.process_time()
    assert len(objects_of(document)) == 1305
    assert time.process_time() - started < 1
