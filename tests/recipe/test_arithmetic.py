"""Integer expressions: the language, its limits, and agreement with Python's own arithmetic."""

from __future__ import annotations

import operator
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.recipe.arithmetic import Formula, evaluate, parse_formula

NAMES = {"H": 5120, "heads": 24, "zero": 0, "_x1": 7, "most": 2**63 - 1}


def value_of(written: str) -> int:
    return evaluate(parse_formula(written), NAMES.__getitem__)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("=2*heads*256", 12288),
        ("=0", 0),
        ("=010", 10),
        ("=9223372036854775807", 2**63 - 1),
        ("=most*most-most*most+1", 1),
        ("=2+3*4", 14),
        ("=(2+3)*4", 20),
        ("=10-3-2", 5),
        ("=10-(3-2)", 9),
        ("=2*3-4*1", 2),
        ("=1-2+3", 2),
        ("=zero*(1-2)", 0),
        ("= 2 *\theads", 48),
        ("=((((_x1))))", 7),
        ("=" + "(" * 490 + "1" + ")" * 490, 1),
    ],
)
def test_values(written: str, value: int) -> None:
    assert value_of(written) == value


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("=", "'=': expected a number, a name or '(' at its end"),
        ("=1+", "'=1+': expected a number, a name or '(' at its end"),
        ("=()", "'=()': expected a number, a name or '(' at character 3, found ')'"),
        ("=-1", "'=-1': expected a number, a name or '(' at character 2, found '-'"),
        ("=1 2", "'=1 2': expected '+', '-', '*' or ')' at character 4, found '2'"),
        ("=2H", "'=2H': expected '+', '-', '*' or ')' at character 3, found 'H'"),
        ("=1/2", "'=1/2': expected '+', '-', '*' or ')' at character 3, found '/'"),
        ("=2**3", "'=2**3': expected a number, a name or '(' at character 4, found '*'"),
        ("=f(1)", "'=f(1)': expected '+', '-', '*' or ')' at character 3, found '('"),
        ("=1.5", "'=1.5': expected '+', '-', '*' or ')' at character 3, found '.'"),
        ("={l}", "'={l}': expected a number, a name or '(' at character 2, found '{'"),
        ("=\u0661", "'=\u0661': expected a number, a name or '(' at character 2, found '\u0661'"),
        ("=(1", "'=(1': a bracket is not closed"),
        ("=1)", "'=1)': a bracket is not opened"),
        ("=1)+(2", "'=1)+(2': a bracket is not opened"),
        ("=1-2", "'=1-2' is negative; integers lie in 0 to 2^63-1"),
        ("=most+1", "'=most+1' is above 2^63-1, the largest integer"),
        ("=" + "most*" * 150 + "1", "is above 2^63-1, the largest integer"),
        ("=1+" + "0+" * 500 + "1", "an expression of 1004 characters; the limit is 1000"),
    ],
)
def test_faults(written: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        value_of(written)


def test_what_a_lookup_raises_passes_through() -> None:
    with pytest.raises(KeyError):
        value_of("=H+nothing")


def test_a_formula_is_compiled_to_postfix_order() -> None:
    assert parse_formula("=2*(H+1)").code == (2, "H", 1, operator.add, operator.mul)
    assert parse_formula("=1-2*3") == Formula("=1-2*3", (1, 2, 3, operator.mul, operator.sub))


@pytest.mark.parametrize("written", ["=" + "*".join(["most"] * 199), "=" + "(" * 333 + "9" * 333 + ")" * 333])
def test_the_longest_formulas_are_quick(written: str) -> None:
    started = time.process_time()
    for _ in range(20):
        with pytest.raises(ValueError, match="above 2\\^63-1"):
            value_of(written)
    assert time.process_time() - started < 2


def formulas() -> st.SearchStrategy[str]:
    """Formulas of numbers, names, + - * and brackets, spaced here and there."""
    leaf = st.one_of(st.integers(0, 10**6).map(str), st.sampled_from(sorted(NAMES)))

    def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        binary = st.tuples(inner, st.sampled_from([" + ", "-", "*", " *"]), inner).map("".join)
        return st.one_of(binary, inner.map(lambda text: f"({text})"))

    return st.recursive(leaf, combine, max_leaves=25)


class _LengthOfName(dict[str, int]):
    """Every name stands for its length."""

    def __missing__(self, name: str) -> int:
        return len(name)


def assert_agrees_with_python(formula: str) -> None:
    without_leading_zeros = re.sub(r"\b0+(?=[0-9])", "", formula)
    expected = eval(without_leading_zeros, {"__builtins__": {}}, _LengthOfName())  # noqa: S307 (text made here)
    if 0 <= expected < 2**63:
        assert evaluate(parse_formula(f"={formula}"), len) == expected
    else:
        with pytest.raises(ValueError, match="is negative" if expected < 0 else "is above"):
            evaluate(parse_formula(f"={formula}"), len)


@given(formula=formulas())
@settings(max_examples=400, deadline=None)
def test_agrees_with_python(formula: str) -> None:
    assert_agrees_with_python(formula)


@given(written=st.text("0123456789Hx+-*() ", max_size=30))
@settings(max_examples=500, deadline=None)
def test_whatever_is_accepted_means_what_it_does_in_python(written: str) -> None:
    try:
        parse_formula(f"={written}")
    except ValueError:
        return
    assert_agrees_with_python(written.strip())
