"""Texts: JSON and YAML 1.2 core schema, and everything that is refused before a document exists."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import RecipeError
from workers.engine.recipe.document_text import read_text_document
from workers.engine.recipe.text_events import Place


def data_of(text: str | bytes) -> object:
    return read_text_document(text, where="test").data


def message_of(text: str | bytes) -> str:
    with pytest.raises(RecipeError) as caught:
        read_text_document(text, where="test")
    [fault] = caught.value.faults
    return str(fault)


CORE_SCHEMA: list[tuple[str, object]] = [
    ("1e-6", 1e-6),
    ("1E+3", 1000.0),
    (".5", 0.5),
    ("5.", 5.0),
    ("-0.0", -0.0),
    ("6.8523015e+5", 685230.15),
    ("010", 10),
    ("+12", 12),
    ("-19", -19),
    ("0o17", 15),
    ("0xFf", 255),
    ("123456789012345678901234567890", 123456789012345678901234567890),
    ("on", "on"),
    ("off", "off"),
    ("yes", "yes"),
    ("No", "No"),
    ("y", "y"),
    ("0b11", "0b11"),
    ("0O17", "0O17"),
    ("0xg", "0xg"),
    ("-0x1", "-0x1"),
    ("1_000", "1_000"),
    ("1:30", "1:30"),
    ("2001-12-14", "2001-12-14"),
    ("1e", "1e"),
    (".", "."),
    ("nan", "nan"),
    ("inf", "inf"),
    ("=", "="),
    ("=2*H", "=2*H"),
    ("<<", "<<"),
    ("true", True),
    ("True", True),
    ("TRUE", True),
    ("tRUE", "tRUE"),
    ("false", False),
    ("False", False),
    ("FALSE", False),
    ("null", None),
    ("Null", None),
    ("NULL", None),
    ("nULL", "nULL"),
    ("~", None),
    ("", None),
    ("'1'", "1"),
    ('"true"', "true"),
    ("'null'", "null"),
    ("''", ""),
    ("|\n  1\n", "1\n"),
    (">-\n  a\n  b\n", "a b"),
]


@pytest.mark.parametrize(("written", "value"), CORE_SCHEMA, ids=[repr(written) for written, _ in CORE_SCHEMA])
def test_scalars_are_those_of_the_core_schema(written: str, value: object) -> None:
    found = data_of(f"a: {written}")
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


def test_yaml_flow_and_block_collections_read_alike() -> None:
    block = "a:\n  - 1\n  - b: c\n    d: [e, {f: g}]\nh: {}\ni: []\n"
    expected = {"a": [1, {"b": "c", "d": ["e", {"f": "g"}]}], "h": {}, "i": []}
    assert data_of(block) == expected
    assert data_of("{a: [1, {b: c, d: [e, {f: g}]}], h: {}, i: []}") == expected
    assert data_of(json.dumps(expected)) == expected
    assert data_of(json.dumps(expected, indent="\t")) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("---\na: 1\n...\n", {"a": 1}),
        ("%YAML 1.2\n---\na: 1\n", {"a": 1}),
        ("# only a comment before\na: 1 # and behind\n", {"a": 1}),
        ("\ufeffa: 1\n", {"a": 1}),
        (b"\xef\xbb\xbf" + b'{"a": 1}', {"a": 1}),
        ("? a\n: 1\n", {"a": 1}),
        ("'<<': 1\n'1': 2\n", {"<<": 1, "1": 2}),
        ('{"a": 1,}', {"a": 1}),
        ("{a: NaN}", {"a": "NaN"}),
        ('{"\\ud83d\\ude00": "\\/\\u00e9"}', {"\U0001f600": "/é"}),
        ('{"' + "k" * 2000 + '": 1}', {"k" * 2000: 1}),
        ('\n\t {"a": [-0, 1.0, 1E2, true, null]}\n', {"a": [0, 1.0, 100.0, True, None]}),
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
    ],
)
def test_texts_that_are_read(text: str | bytes, value: object) -> None:
    assert data_of(text) == value


REFUSED: list[tuple[str, str | bytes, str]] = [
    ("anchor", "a: 1\nb: &x 2\n", "/: line 2, column 4: the anchor &x; a recipe has none"),
    ("anchor on a list", "a: &x [1]\n", "/: line 1, column 4: the anchor &x"),
    ("anchor on a name", "&x a: 1\n", "/: line 1, column 1: the anchor &x"),
    ("alias", "a: *x\n", "/: line 1, column 4: the alias *x; a recipe has none"),
    ("merge key", "a:\n  <<: {b: 1}\n", "/: line 2, column 3: the merge key <<"),
    ("tag", "a: !!str 5\n", "/: line 1, column 4: the tag 'tag:yaml.org,2002:str'"),
    ("own tag", "a: !thing {b: 1}\n", "/: line 1, column 4: the tag '!thing'"),
    ("unspecific tag", "a: ! 5\n", "/: line 1, column 4: the tag '!'"),
    ("member twice", "b:\n  a: 1\n  c: 2\n  a: 3\n", "/b/a: line 4, column 3: the member 'a' stands twice"),
    ("member twice, other spelling", 'a: 1\n"a": 2\n', "/a: line 2, column 1: the member 'a' stands twice"),
    ("member twice in JSON", '{"a": 1,\n "\\u0061": 2}', "/a: line 2, column 2: the member 'a' stands twice"),
    ("integer as name", "1: 2\n", "/: line 1, column 1: the name of a member is a text, found '1'"),
    ("boolean as name", "a: {true: 2}\n", "/: line 1, column 5: the name of a member is a text, found 'true'"),
    ("null as name", "~: 2\n", "/: line 1, column 1: the name of a member is a text, found '~'"),
    ("list as name", "? [1]\n: 2\n", "/: line 1, column 3: a list or an object as the name of a member"),
    ("two documents", "a: 1\n---\nb: 2\n", "/: line 2, column 1: a second document; a recipe is one"),
    ("other version of YAML", "%YAML 1.1\n---\na: 1\n", "/: line 1, column 1: a %YAML directive for another version"),
    ("infinity", "a: -.inf\n", "/: line 1, column 4: -.inf is no number that a recipe can hold"),
    ("not a number", "a: .NaN\n", "/: line 1, column 4: .NaN is no number that a recipe can hold"),
    ("NaN in JSON", '{"a": NaN}', "/: line 1, column 7: NaN is no number of JSON"),
    ("infinity in JSON", '{"a":\n-Infinity}', "/: line 2, column 1: -Infinity is no number of JSON"),
    ("too large", "a: 1e999\n", "/: line 1, column 4: the number 1e999 is too large"),
    ("too large in JSON", '{"a": -1e999}', "/: line 1, column 7: the number -1e999 is too large"),
    ("too many digits", "a: " + "9" * 5000, "/: line 1, column 4: a number of 5000 characters; the limit is 1000"),
    ("too many digits in JSON", '{"a": ' + "9" * 1001 + "}", "/: line 1, column 7: a number of 1001 characters"),
    ("NUL", "a: 'x\0'\n", "/: line 1, column 6: the character NUL"),
    ("control character", "a: \x01\n", "/: line 1, column 4: control characters are not allowed"),
    ("no UTF-8", b"a: 1\nb: \xff\n", "/: line 2: 0xff at byte 8 is no UTF-8"),
    ("UTF-16", "a: 1".encode("utf-16"), "/: UTF-16 or UTF-32; a recipe is UTF-8"),
    ("surrogates of Python", "a: \ud800", "/: line 1: 0xed at byte 3 is no UTF-8"),
    ("empty", "", "/: line 1, column 1: no document: the text is empty"),
    ("comment only", "# nothing\n", "/: line 1, column 1: no document: the text is empty"),
    ("too long", " " * (4 * 2**20 + 1), "/: 4194305 bytes of text; the limit is 4 MiB"),
    ("broken YAML", "a: [1\nb: 2\n", "/: line 2, column 2: did not find expected ',' or ']'"),
    ("tab for indentation", "a:\n\tb: 1\n", "/: line 2, column 1: found character that cannot start any token"),
    ("broken JSON", '{"a": 1 "b": 2}', "neither JSON (line 1, column 9: Expecting ',' delimiter) nor YAML"),
    (
        "deep JSON",
        '{"a":' * 101 + "1" + "}" * 101,
        "/: line 1, column 501: the limit of 100 levels of nesting is passed",
    ),
    ("deep YAML", "- " * 101 + "1", "/: line 1, column 201: the limit of 100 levels of nesting is passed"),
]


@pytest.mark.parametrize(("text", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_texts_that_are_refused(text: str | bytes, message: str) -> None:
    assert message in message_of(text)


@pytest.mark.parametrize("opening", ["[", '{"a":', "[[{", "- ", "? ", "a: {b: [", "[\n", " " * 3 + "["])
def test_deep_nesting_is_refused_at_once(opening: str) -> None:
    started = time.process_time()
    message_of(opening * 100_000)
    assert time.process_time() - started < 5


def test_a_text_of_four_mebibytes_is_read() -> None:
    text = '{"a": "' + "x" * (4 * 2**20 - 9) + '"}'
    assert len(text) == 4 * 2**20
    assert data_of(text) == {"a": "x" * (4 * 2**20 - 9)}


BLOCK = """\
a: 1
b:
  - x
  - c: [1, {d: 2}]
    "e/~": 3
"""


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("", (1, 1)),
        ("/a", (1, 1)),
        ("/b", (2, 1)),
        ("/b/0", (3, 5)),
        ("/b/1", (4, 5)),
        ("/b/1/c", (4, 5)),
        ("/b/1/c/1", (4, 12)),
        ("/b/1/c/1/d", (4, 13)),
        ("/b/1/e~1~0", (5, 5)),
        ("/b/1/missing", (4, 5)),
        ("/zzz/0", (1, 1)),
    ],
)
def test_places_of_nodes(pointer: str, place: tuple[int, int]) -> None:
    assert read_text_document(BLOCK, where="test").places([pointer]) == {pointer: Place(*place)}


def test_places_in_json() -> None:
    document = read_text_document('{\n "a": [1,\n  {"b": true}],\n "c": ":"}', where="test")
    places = document.places(["", "/a", "/a/0", "/a/1", "/a/1/b", "/c", "/a/2"])
    found = {at: (place.line, place.column) for at, place in places.items()}
    assert found == {
        "": (1, 1),
        "/a": (2, 2),
        "/a/0": (2, 8),
        "/a/1": (3, 3),
        "/a/1/b": (3, 4),
        "/c": (4, 2),
        "/a/2": (2, 2),
    }


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**80), 2**80),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=20
)


def yaml_of(value: object) -> str:
    """A YAML flow spelling that uses plain scalars where the core schema gives the value back."""
    match value:
        case dict():
            return "{" + ", ".join(f"? {yaml_of(name)} : {yaml_of(item)}" for name, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(yaml_of, value)) + "]"
        case str():
            return '"' + "".join(f"\\U{ord(character):08x}" for character in value) + '"'
        case _:
            return json.dumps(value)


@given(value=st.dictionaries(TEXTS, VALUES, max_size=4), spaced=st.booleans(), ascii_only=st.booleans())
@settings(max_examples=300, deadline=None)
def test_json_and_yaml_of_the_same_content_are_the_same(
    value: dict[str, object], spaced: bool, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=1 if spaced else None, ensure_ascii=ascii_only)
    assert data_of(text) == value
    assert data_of("---\n" + yaml_of(value)) == value


@given(text=st.text(max_size=60) | st.binary(max_size=60))
@settings(max_examples=500, deadline=None)
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    try:
        document = read_text_document(text, where="test")
    except RecipeError as error:
        assert error.faults
    else:
        assert document.places([""])[""].line >= 1
