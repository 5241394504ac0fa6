"""Every kind of fault has a message of its own, at the JSON pointer where it is; all are given at once."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import pytest

from schemas.errors import Fault, RecipeError
from tests.recipe.documents import (
    EVIDENCE,
    MINIMAL,
    SHA256,
    TENSOR,
    Document,
    expand,
    faults_of,
    of_value,
    plain,
    quantized,
    recipe,
)
from workers.engine.recipe.load import expand_document, load_recipe

BASE: Document = {"kind": "checkpoint"}
FILE: Document = {"kind": "file"}
NVFP4: Document = {"nvfp4": {"codes": TENSOR, "scales": TENSOR, "divisors": [TENSOR]}}
FP8_ROW: Document = {"fp8_row": {"codes": TENSOR, "scales": TENSOR}}


def loop(**members: object) -> Document:
    return recipe(objects=[{"for": "l", "in": [1, 2], "objects": [plain(name="{l}")], **members}])


def draft(**members: object) -> Document:
    """A recipe of selected ids, right but for what is replaced."""
    ids = {"counts": "ranking", "width": 10, "domain": 9, "take": 4, "special": "frontend/config"}
    return recipe(
        sources={"base": BASE, "ranking": FILE},
        resources=[{"name": "frontend/config", "source": "base", "file": "tokenizer_config.json"}],
        objects=[plain(format="I32", value={"draft_ids": {**ids, **members}})],
    )


def without(document: Document, member: str) -> Document:
    return {name: value for name, value in document.items() if name != member}


class Case(NamedTuple):
    """A document with one fault."""

    kind: str
    document: object
    at: str
    message: str


CASES = [
    # the document
    Case("not an object", [1], "", "a recipe is an object, found a list of 1"),
    Case("missing member", without(MINIMAL, "revision"), "", "a recipe needs the member 'revision'"),
    Case("unknown member", recipe(object=[]), "/object", "unknown member 'object' of a recipe; known: recipe, id"),
    Case("pointer escapes", {**MINIMAL, "a/b~c": 1}, "/a~1b~0c", "unknown member 'a/b~c' of a recipe"),
    Case("other version", recipe(recipe=2), "/recipe", "language version 2 is not known"),
    Case("version as text", recipe(recipe="1"), "/recipe", "expected the language version 1, found the text '1'"),
    Case("id", recipe(id="Acme"), "/id", "an id is up to 100 of a-z, 0-9"),
    Case("id too long", recipe(id="a" * 101), "/id", "an id is up to 100 of a-z, 0-9"),
    Case("id with a line end", recipe(id="a\n"), "/id", "an id is up to 100 of a-z, 0-9"),
    Case("id of a wrong type", recipe(id=5), "/id", "expected a text, found 5"),
    Case("revision 0", recipe(revision=0), "/revision", "a revision is at least 1, found 0"),
    Case("revision -1", recipe(revision=-1), "/revision", "expected an integer from 0 to 2^63-1, found -1"),
    Case("revision true", recipe(revision=True), "/revision", 'expected an integer or "=expression", found true'),
    Case("revision 1.0", recipe(revision=1.0), "/revision", 'expected an integer or "=expression", found 1.0'),
    Case("empty name", recipe(model_id=""), "/model_id", "a name is empty"),
    Case("empty origin", recipe(sources={"base": {**BASE, "origin": ""}}), "/sources/base/origin",
         "expected a text, found an empty one"),
    Case("name too long", recipe(weights_id="é" * 257), "/weights_id", "longer than the limit of 512 bytes"),
    Case("null text", recipe(title=None), "/title", "expected a text, found null"),
    Case("unknown target", recipe(target="tiny/plain"), "/target", "unknown target 'tiny/plain'; known: qwen3.6-27b/"),
    Case("unknown architecture", recipe(architecture="q9"), "/architecture", "'q9'; known: qwen3_5"),
    Case("NUL", recipe(title="a\0b"), "/title", "a text holds the character NUL"),
    Case("surrogate", recipe(title="\ud800"), "/title", "a text holds half of a surrogate pair"),
    Case("no JSON value", recipe(title={1, 2}), "/title", "a set is no JSON value"),
    Case("member name", dict([*MINIMAL.items(), (5, 6)]), "", "a member name is a text, found 5"),
    Case("number of no use", recipe(revision=float("nan")), "/revision", "nan is no number that a recipe can hold"),
    Case("integer too long", recipe(revision=10**1000), "/revision", "an integer of more than 1000 digits"),
    # sources and evidence
    Case("no source", recipe(sources={}), "/sources", "a recipe has at least one source"),
    Case("65 sources", recipe(sources={f"s{i}": BASE for i in range(65)}), "/sources", "65 sources; the limit is 64"),
    Case("source without kind", recipe(sources={"base": {}}), "/sources/base", "a source needs the member 'kind'"),
    Case("kind", recipe(sources={"base": {"kind": "disk"}}), "/sources/base/kind", "unknown kind of source"),
    Case("source name", recipe(sources={"base": BASE, "": FILE}), "/sources/", "a name is empty"),
    Case("file with config", recipe(sources={"base": BASE, "f": {**FILE, "config": {}}}), "/sources/f/config",
         "unknown member 'config' of a file source; known: kind, origin, sha256"),
    Case("checkpoint with hash", recipe(sources={"base": {**BASE, "sha256": SHA256}}), "/sources/base/sha256",
         "unknown member 'sha256' of a checkpoint"),
    Case("hash", recipe(sources={"base": BASE, "f": {**FILE, "sha256": SHA256.upper()}}), "/sources/f/sha256",
         "a SHA-256 is 64 digits of 0-9 and a-f"),
    Case("quantization", recipe(sources={"base": {**BASE, "quantization": "awq"}}), "/sources/base/quantization",
         "unknown quantization 'awq'; known: none, compressed-tensors, modelopt"),
    Case("config", recipe(sources={"base": {**BASE, "config": [1]}}), "/sources/base/config",
         "expected members of config.json, found a list of 1"),
    Case("config integer", recipe(sources={"base": {**BASE, "config": {"a": [{"b": -(2**53)}]}}}),
         "/sources/base/config/a/0/b", "-9007199254740992 is beyond 2^53-1"),
    Case("config formula", recipe(sources={"base": {**BASE, "config": {"a": "=H"}}}), "/sources/base/config/a",
         "the name 'H' is not defined here"),
    Case("config brace", recipe(sources={"base": {**BASE, "config": {"a": ["{"]}}}), "/sources/base/config/a/0",
         "a lone '{' at character 1"),
    Case("pattern", recipe(sources={"base": {**BASE, "unused": ["a.*", 5]}}), "/sources/base/unused/1",
         "expected a text, found 5"),
    Case("evidence needed", recipe(objects=[quantized()]), "/evidence", "the object 'q' is lossy"),
    Case("evidence for rne", of_value({"cast": TENSOR, "to": "BF16", "by": "rne"}), "/evidence", "'a' is lossy"),
    Case("evidence address", recipe(evidence=[{"claim": "c", "url": "http://example.org"}]), "/evidence/0/url",
         "evidence is cited by an https:// address, found 'http://example.org'"),
    Case("evidence without host", recipe(evidence=[{"claim": "c", "url": "https://"}]), "/evidence/0/url",
         "evidence is cited by an https:// address"),
    Case("evidence without claim", recipe(evidence=[without(EVIDENCE[0], "claim")]), "/evidence/0",
         "evidence needs the member 'claim'"),
    # let, values, text
    Case("let of a text", recipe(let={"a": "b"}), "/let/a", 'expected an integer or "=expression", found the text'),
    Case("let name", recipe(let={"a-b": 1}), "/let/a-b", "'a-b' cannot name a variable"),
    Case("later let", recipe(let={"a": "=b", "b": 1}), "/let/a", "the name 'b' is not defined here"),
    Case("formula", recipe(let={"a": "=1+"}), "/let/a", "'=1+': expected a number, a name or '(' at its end"),
    Case("negative", recipe(let={"a": "=1-2"}), "/let/a", "'=1-2' is negative; integers lie in 0 to 2^63-1"),
    Case("past 2^63", recipe(let={"a": "=9223372036854775807+1"}), "/let/a", "is above 2^63-1"),
    Case("set as integer", recipe(let={"a": [1], "b": "=a"}), "/let/b", "'a' is a set, not an integer"),
    Case("member twice in a set", recipe(let={"a": [1, 2, 1]}), "/let/a/2", "1 stands twice in one set"),
    Case("step", recipe(let={"a": {"from": 0, "to": 4, "step": 0}}), "/let/a/step", "a range's step is at least 1"),
    Case("range", recipe(let={"a": {"from": 0}}), "/let/a", "a range needs the member 'to'"),
    Case("long range", recipe(let={"a": {"from": 0, "to": 100_001}}), "/let/a",
         "a range of 100001 integers; the limit of a set is 100,000"),
    Case("long list", recipe(let={"a": list(range(100_001))}), "/let/a",
         "a set of 100001 integers; the limit is 100000"),
    Case("unknown value", of_value({"value": "x"}), "/objects/0/value/value", "unknown value 'x'; known: none"),
    Case("value that contains itself", recipe(values={"a": {"reshape": {"value": "b"}, "to": []}, "b": {"value": "a"}}),
         "/values/a", "the value 'a' contains itself: a -> b -> a"),
    Case("undefined name in a text", recipe(objects=[plain(name="{x}")]), "/objects/0/name",
         "the name 'x' is not defined here"),
    Case("set in a text", recipe(let={"s": [1]}, objects=[plain(name="{s}")]), "/objects/0/name",
         "'s' is a set, which cannot stand in a text"),
    Case("lone brace", recipe(title="a } b"), "/title", "a lone '}' at character 3; a brace is written '}}'"),
    Case("no variable", recipe(title="{a b}"), "/title", "'{a b}' is not a variable"),
    # templates, loops, conditions
    Case("unknown template", recipe(objects=[plain(), {"use": "x"}]), "/objects/1/use", "unknown template 'x'"),
    Case("template that contains itself", recipe(templates={"t": [{"use": "t"}]}), "/templates/t",
         "the template 't' contains itself: t -> t"),
    Case("template by variable", recipe(templates={"t": [{"use": "{n}"}]},
                                        objects=[plain(), {"use": "t", "with": {"n": "t"}}]),
         "/templates/t/0/use", "the template 't' contains itself"),
    Case("no entry", recipe(objects=[plain(), 5]), "/objects/1", "expected an entry with 'name', 'for' or 'use'"),
    Case("two kinds of entry", recipe(objects=[plain(**{"for": "l"})]), "/objects/0",
         "an entry has one of 'name' (an object), 'for' (a loop) or 'use' (a template), found 'name' and 'for'"),
    Case("no kind of entry", recipe(objects=[plain(), {}]), "/objects/1", "or 'use' (a template), found nothing"),
    Case("empty set", loop(**{"in": []}), "/objects/0/in", "a loop over an empty set"),
    Case("empty range", loop(**{"in": {"from": 3, "to": 3}}), "/objects/0/in", "a loop over an empty set"),
    Case("unknown set", loop(**{"in": "full"}), "/objects/0/in", "the name 'full' is not defined here"),
    Case("integer as set", {**loop(**{"in": "H"}), "let": {"H": 4}}, "/objects/0/in", "'H' is an integer, not a set"),
    Case("no set", loop(**{"in": True}), "/objects/0/in", "expected the name of a set, a range or a list of integers"),
    Case("loop variable", loop(**{"for": "1"}), "/objects/0/for", "'1' cannot name a variable"),
    Case("with of an integer", loop(**{"with": {"a": 5}}), "/objects/0/with/a", "expected a text, found 5"),
    Case("name of with", loop(**{"with": {"a.b": "5"}}), "/objects/0/with/a.b", "'a.b' cannot name a variable"),
    Case("text as integer", {**loop(), "objects": [{"for": "l", "in": [1], "with": {"a": "1"},
                                                    "objects": [plain(shape=["=a"])]}]},
         "/objects/0/objects/0/shape/0", "'a' is a text, not an integer"),
    Case("condition", recipe(objects=[plain(), plain(name="b", when={"l": [1]})]), "/objects/1/when/l",
         "the name 'l' is not defined here"),
    Case("conditions", recipe(objects=[plain(unless=[1])]), "/objects/0/unless",
         "expected an object of sets by variable, found a list of 1"),
    Case("nothing made", recipe(objects=[]), "/objects", "a recipe makes at least one object"),
    # resources
    Case("unknown source", recipe(resources=[{"name": "r", "source": "x", "file": "f"}]), "/resources/0/source",
         "unknown source 'x'; known: base"),
    Case("resource without file", recipe(resources=[{"name": "r", "source": "base"}]), "/resources/0",
         "a resource of the checkpoint 'base' needs the member 'file'"),
    Case("file in a file", recipe(sources={"base": BASE, "f": FILE},
                                  resources=[{"name": "r", "source": "f", "file": "x"}]),
         "/resources/0/file", "'f' is itself a file, so 'file' does not belong here"),
    Case("way out", recipe(resources=[{"name": "r", "source": "base", "file": "a/../../b"}]), "/resources/0/file",
         "a file is a relative name without '..', found 'a/../../b'"),
    Case("absolute file", recipe(resources=[{"name": "r", "source": "base", "file": "/etc/x"}]), "/resources/0/file",
         "a file is a relative name without '..', found '/etc/x'"),
    Case("repair", recipe(resources=[{"name": "r", "source": "base", "file": "f", "repair": ["z"]}]),
         "/resources/0/repair/0", "unknown repair 'z'; known: none"),
    Case("resource twice", recipe(resources=[{"name": "r", "source": "base", "file": "f"}] * 2), "/resources/1/name",
         "the name 'r' is that of another resource already"),
    # objects
    Case("object twice", recipe(objects=[plain(), plain()]), "/objects/1/name",
         "the name 'a' is that of another object already"),
    Case("object named as a resource", recipe(resources=[{"name": "a", "source": "base", "file": "f"}]),
         "/objects/0/name", "the name 'a' is that of a resource already"),
    Case("missing member of an object", recipe(objects=[without(plain(), "value")]), "/objects/0",
         "an object needs the member 'value'"),
    Case("unknown member of an object", recipe(objects=[plain(encoding="x")]), "/objects/0/encoding",
         "unknown member 'encoding' of an object; known: when, unless, name, shape"),
    Case("format", recipe(objects=[plain(format="FP16")]), "/objects/0/format", "unknown format 'FP16'; known: BF16"),
    Case("layout", recipe(objects=[plain(layout="row-major")]), "/objects/0/layout", "unknown layout 'row-major'"),
    Case("layout of another format", recipe(objects=[plain(layout="row-scale-v1")]), "/objects/0/layout",
         "BF16 is stored as contiguous-le-v1, found row-scale-v1"),
    Case("encode", recipe(objects=[plain(encode="round")]), "/objects/0/encode", "unknown encode 'round'; known: pres"),
    Case("encode of another format", recipe(objects=[quantized(encode="preserve")]), "/objects/0/encode",
         "encode preserve is not for Q4G64_F16S, which takes MAXABS_F16_RECIP_RNE_V1"),
    Case("encode needed", recipe(objects=[without(quantized(), "encode")]), "/objects/0",
         "an object of Q4G64_F16S needs the member 'encode': MAXABS_F16_RECIP_RNE_V1"),
    Case("nonfinite", recipe(objects=[plain(nonfinite="maybe")]), "/objects/0/nonfinite", "unknown nonfinite 'maybe'"),
    Case("nonfinite of an integer", recipe(objects=[plain(format="I32", nonfinite="allow")]), "/objects/0/nonfinite",
         "'nonfinite' is for BF16 and FP32, not for I32"),
    Case("require", recipe(objects=[plain(format="FP32", require="negative")]), "/objects/0/require",
         "unknown require 'negative'; known: positive"),
    Case("require of BF16", recipe(objects=[plain(require="positive")]), "/objects/0/require",
         "'require' is for FP32 and I32, not for BF16"),
    Case("extent 0", recipe(objects=[plain(shape=[4, 0])]), "/objects/0/shape",
         "object 'a': expected positive extents, found shape [4, 0]"),
    Case("rank 17", recipe(objects=[plain(shape=[1] * 17)]), "/objects/0/shape", "expected rank 0 to 16"),
    Case("rank of a quantized object", recipe(objects=[quantized(shape=[64])], evidence=EVIDENCE), "/objects/0/shape",
         "object 'q': expected rank 2 for Q4G64_F16S, found shape [64]"),
    Case("too many bytes", recipe(objects=[plain(shape=[2**40, 2**40])]), "/objects/0/shape",
         "expected at most 18446744073709551615 bytes"),
    Case("shape of NVFP4", recipe(objects=[plain(format="NVFP4", encode="copy", shape=[64, 64], value=NVFP4)]),
         "/objects/0/shape", "expected NVFP4 [N,K] with N a multiple of 128 and K of 64, found shape [64, 64]"),
    Case("beyond RFC 8785", recipe(objects=[plain(shape=[2**53])]), "/objects/0/shape/0",
         "9007199254740992 is beyond 2^53-1, the largest integer of the canonical form (RFC 8785)"),
    # expressions
    Case("no expression", of_value(5), "/objects/0/value", "expected an expression, found 5"),
    Case("unknown operator", of_value({"slise": TENSOR}), "/objects/0/value", "unknown operator: found 'slise'"),
    Case("two operators", of_value({"slice": TENSOR, "concat": [TENSOR]}), "/objects/0/value",
         "an expression has one operator, found 'slice' and 'concat'"),
    Case("member of an operator", of_value({"slice": TENSOR, "axis": 0, "from": 0}), "/objects/0/value",
         "the operator 'slice' needs the member 'to'"),
    Case("17 levels", of_value(reduce(lambda of, _: {"reshape": of, "to": [4]}, range(16), TENSOR)),
         "/objects/0/value" + "/reshape" * 16, "an expression of more than 16 levels"),
    Case("source of a tensor", of_value({"tensor": "w", "source": "other"}), "/objects/0/value/source",
         "unknown source 'other'; known: base"),
    Case("tensor of a file", of_value({"tensor": "w", "source": "f"}, sources={"base": BASE, "f": FILE}),
         "/objects/0/value/source", "tensors are read from a source of kind checkpoint; 'f' is of kind file"),
    Case("which of two", of_value(TENSOR, sources={"base": BASE, "other": BASE}), "/objects/0/value",
         "'source' may be left out only where the recipe has one checkpoint; it has base, other"),
    Case("empty slice", of_value({"slice": TENSOR, "axis": 0, "from": 4, "to": 4}), "/objects/0/value/to",
         "a slice from 4 to 4 is empty"),
    Case("no permutation", of_value({"transpose": TENSOR, "axes": [0, 2]}), "/objects/0/value/axes",
         "[0, 2] is not a permutation of 0 to 1"),
    Case("empty concat", of_value({"concat": [], "axis": 0}), "/objects/0/value/concat",
         "expected at least one of expressions, found an empty list"),
    Case("concat over nothing", of_value({"concat": {"for": "e", "in": [], "each": [TENSOR]}, "axis": 0}),
         "/objects/0/value/concat/in", "a loop over an empty set"),
    Case("no such cast", of_value({"cast": TENSOR, "to": "FP32", "by": "rne"}), "/objects/0/value",
         "no cast to FP32 by rne exists; known: FP32 by exact"),
    Case("rule of cast", of_value({"cast": TENSOR, "to": "FP32", "by": "round"}), "/objects/0/value/by",
         "unknown rule of cast 'round'; known: exact, rne, checked"),
    Case("rule of reciprocal", of_value({"reciprocal": TENSOR, "by": "fast"}), "/objects/0/value/by",
         "unknown rule of reciprocal 'fast'; known: exact, nearest"),
    Case("rows of nothing", of_value({"gather": TENSOR, "rows": "ids"}), "/objects/0",
         "object 'a': gather by 'ids', which is no object of this recipe"),
    Case("rows of BF16", recipe(objects=[plain(value={"gather": TENSOR, "rows": "b"}), plain(name="b")]), "/objects/0",
         "object 'a': gather takes rows from an I32 object, 'b' is BF16"),
    Case("gather in a circle", recipe(objects=[plain(format="I32", value={"gather": TENSOR, "rows": "b"}),
                                               plain(name="b", format="I32", value={"gather": TENSOR, "rows": "a"})]),
         "/objects/0", "gather goes in a circle: a -> b -> a"),
    Case("nested nvfp4", of_value({"reshape": NVFP4, "to": [4]}), "/objects/0/value/reshape",
         "'nvfp4' stands only at the top of a value"),
    Case("nested in equals", recipe(objects=[plain(equals=[{"same": [FP8_ROW]}])]), "/objects/0/equals/0/same/0",
         "'fp8_row' stands only at the top of a value"),
    Case("nvfp4 as BF16", of_value(NVFP4), "/objects/0/value", "the value is of format NVFP4, the object of BF16"),
    Case("copy of plain words", recipe(objects=[plain(format="NVFP4", encode="copy", shape=[128, 64])]),
         "/objects/0/value", "encode copy takes a value by 'nvfp4'"),
    Case("encoded twice", recipe(evidence=EVIDENCE, objects=[
            plain(format="FP8_E4M3FN_ROW_BF16S", encode="FP8_ROW_MAXABS_RECIP_RNE_V1", shape=[4, 4], value=FP8_ROW)]),
         "/objects/0/encode", "words that are already FP8_E4M3FN_ROW_BF16S are copied, not encoded by"),
    Case("neither convention", of_value({"nvfp4": {"codes": TENSOR, "scales": TENSOR}}), "/objects/0/value/nvfp4",
         "'nvfp4' needs either 'divisors' or 'multipliers', found neither"),
    Case("reciprocal of divisors", of_value({"nvfp4": {**NVFP4["nvfp4"], "reciprocal": "exact"}}),
         "/objects/0/value/nvfp4/reciprocal", "unknown member 'reciprocal' of 'nvfp4' with 'divisors'"),
    Case("counts of a checkpoint", draft(counts="base"), "/objects/0/value/draft_ids/counts",
         "counts are read from a source of kind file; 'base' is of kind checkpoint"),
    Case("special of nothing", draft(special="x"), "/objects/0/value/draft_ids/special",
         "unknown resource 'x'; known: frontend/config"),
    Case("draft extents", draft(take=10), "/objects/0/value/draft_ids",
         "expected 0 < take <= domain <= width, domain at most 2^31, found 10, 9, 10"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.kind for case in CASES])
def test_one_fault(case: Case) -> None:
    [fault] = faults_of(case.document)
    assert fault.at == case.at
    assert case.message in fault.message


def test_the_documents_that_cases_vary_are_right() -> None:
    for document in (MINIMAL, loop(), draft(), recipe(objects=[quantized()], evidence=EVIDENCE)):
        assert expand(document).objects


def test_every_fault_is_given_at_once() -> None:
    document = recipe(
        foo=1,
        id="UPPER",
        let={"H": "=missing", "K": "=H+1"},
        sources={"base": {**BASE, "quantisation": "none"}, "f": FILE},
        evidence=[{"claim": "c", "url": "ftp://x"}],
        values={"v": {"slice": {"tensor": 1}, "axis": True}},
        templates={"t": [{"use": "u"}]},
        resources=[{"name": "r", "source": "f", "file": "x"}, {"name": "s", "source": "base", "file": ".."}],
        objects=[
            plain(name="{x}", format="Q4", shape=["=K", 4, "=y"], extra=1),
            plain(name="{x}", format="Q4", shape=["=K", 4, "=y"]),
            {"for": "l", "in": [1, 2, 3], "objects": [plain(name="{l}", layout="x"), {"name": 5}]},
            plain(name="b", value={"gather": TENSOR, "rows": "c"}),
            plain(name="b", value={"concat": [{"tensor": "{z}"}, {"cast": TENSOR, "to": "BF16"}], "axis": "0"}),
        ],
    )
    assert {fault.at for fault in faults_of(document)} == {
        "/foo",
        "/id",
        "/let/H",
        "/sources/base/quantisation",
        "/evidence/0/url",
        "/values/v",
        "/values/v/slice/tensor",
        "/values/v/axis",
        "/templates/t/0/use",
        "/resources/0/file",
        "/resources/1/file",
        "/objects/0/extra",
        "/objects/1/name",
        "/objects/1/format",
        "/objects/1/shape/2",
        "/objects/2/objects/0/layout",
        "/objects/2/objects/1",
        "/objects/2/objects/1/name",
        "/objects/4/name",
        "/objects/4/value/concat/0/tensor",
        "/objects/4/value/concat/1",
        "/objects/4/value/axis",
    }


@pytest.mark.parametrize(
    "document",
    [
        recipe(sources={"base": {"kind": "disk"}}, resources=[{"name": "r", "source": "base", "file": "f"}]),
        recipe(let={"H": "=1-2"}, objects=[plain(shape=["=H"]), plain(name="b", shape=["=2*H"])]),
        recipe(values={"v": {"foo": 1}}, objects=[plain(value={"value": "v"})]),
        recipe(templates={"t": 5}, objects=[plain(), {"use": "t"}]),
        recipe(objects=[plain(value={"gather": TENSOR, "rows": "ids"}), plain(name="ids", format="I31")]),
        recipe(objects=[plain(value={"gather": TENSOR, "rows": "ids"}), plain(name="{ids}")]),
        recipe(objects=[{"for": "l", "in": [1], "with": {"a": "{x}"}, "objects": [plain(name="{a}")]}]),
        recipe(evidence=[{"claim": "c", "url": "x"}], objects=[quantized()]),
    ],
)
def test_what_follows_from_a_fault_is_no_fault_of_its_own(document: Document) -> None:
    assert len(faults_of(document)) == 1


def test_a_fault_in_the_body_of_a_loop_is_given_once() -> None:
    document = recipe(objects=[{"for": "l", "in": {"from": 0, "to": 64}, "objects": [plain(name="{l}", format="Q")]}])
    assert len(faults_of(document)) == 1


def test_faults_are_listed_up_to_a_limit() -> None:
    faults = faults_of(recipe(objects=[plain(name=f"{i}", format="Q") for i in range(3000)]))
    assert len(faults) == 1001
    assert "the limit of 1,000 faults is reached" in faults[-1].message


def test_the_error_names_the_recipe_and_lists_the_faults() -> None:
    with pytest.raises(RecipeError) as caught:
        expand_document(recipe(foo=1, revision=0), where="my recipe")
    message = str(caught.value)
    assert message.startswith("my recipe: expected a recipe in the recipe language, version 1, found 2 faults:\n")
    assert "  /foo: unknown member 'foo'" in message
    assert "  /revision: a revision is at least 1, found 0" in message


@pytest.mark.parametrize(
    ("let", "fault"),
    [
        ({"X": 1}, Fault("/let", "unknown override of 'let' 'X'; known: H, full")),
        ({"full": 1}, Fault("/let/full", "'full' is a set; an override can only replace an integer")),
        ({"H": -1}, Fault("/let/H", "an override is an integer from 0 to 2^63-1, found -1")),
        ({"H": 2**63}, Fault("/let/H", "an override is an integer from 0 to 2^63-1, found 9223372036854775808")),
        ({"H": True}, Fault("/let/H", "an override is an integer from 0 to 2^63-1, found true")),
    ],
)
def test_faults_of_overrides(let: dict[str, int], fault: Fault) -> None:
    assert faults_of(recipe(let={"H": 1, "full": [1]}), let) == (fault,)


def test_faults_of_a_text_have_no_document_to_point_into() -> None:
    with pytest.raises(RecipeError, match=r"anchor &x; a recipe has none"):
        load_recipe("recipe: &x 1", where="test")
