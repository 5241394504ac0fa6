"""Texts with variables."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.recipe.text import parse_text, render


def rendered(written: str, **names: str) -> str:
    return render(parse_text(written), names.__getitem__, limit=100)


@pytest.mark.parametrize(
    ("written", "result"),
    [
        ("", ""),
        ("plain", "plain"),
        ("text/layers/{l}/", "text/layers/7/"),
        ("{l}{l}{o}", "77x"),
        ("{{l}}", "{l}"),
        ("{{{l}}}", "{7}"),
        ("}}{{", "}{"),
        ("{{}}", "{}"),
        ("é{o}é", "éxé"),
    ],
)
def test_variables_are_replaced(written: str, result: str) -> None:
    assert rendered(written, l="7", o="x") == result


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("a{", "a lone '{' at character 2; a brace is written '{{'"),
        ("}", "a lone '}' at character 1; a brace is written '}}'"),
        ("{a", "a lone '{' at character 1"),
        ("{{{", "a lone '{' at character 3"),
        ("{}", "'{}' is not a variable"),
        ("{ l }", "'{ l }' is not a variable"),
        ("{1}", "'{1}' is not a variable"),
        ("{a.b}", "'{a.b}' is not a variable"),
        ("{l!r}", "'{l!r}' is not a variable"),
        ("{a}" * 257, "a text with 257 variables; the limit is 256"),
    ],
)
def test_faults(written: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_text(written)


@pytest.mark.parametrize(("written", "fits"), [("{a}x", True), ("{a}xx", False), ("é" * 50, True), ("é" * 51, False)])
def test_the_limit_is_in_bytes(written: str, fits: bool) -> None:
    if fits:
        assert len(rendered(written, a="a" * 99).encode()) == 100
    else:
        with pytest.raises(ValueError, match="longer than the limit of 100 bytes"):
            rendered(written, a="a" * 99)


@given(text=st.text(st.characters(codec="utf-8"), max_size=40))
def test_doubled_braces_give_any_text(text: str) -> None:
    written = text.replace("{", "{{").replace("}", "}}")
    assert render(parse_text(written), dict[str, str]().__getitem__, limit=1000) == text
