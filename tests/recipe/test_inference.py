"""Shapes and dtypes of values, and every way in which tensors do not fit a recipe."""

from __future__ import annotations

import time
from typing import Any

import pytest

from schemas.errors import Fault, PlanError
from schemas.recipe.expanded import Concat, Gather, Tensor
from schemas.registry import Format
from schemas.source_dtypes import SourceDtype
from tests.recipe.documents import EVIDENCE, Document, expand, plain, quantized, recipe
from workers.engine.recipe.inference import TensorType, Typed, TypedObject, infer_recipe
from workers.engine.recipe.operator_types import CASTS

Shapes = dict[str, tuple[str, list[int]]]

SHAPES: Shapes = {
    "w": ("BF16", [6, 4]),
    "v": ("BF16", [2, 4]),
    "f16": ("F16", [6, 4]),
    "f32": ("F32", [6, 4]),
    "f64": ("F64", [6, 4]),
    "bool": ("BOOL", [6, 4]),
    "scalar": ("F32", []),
    "one": ("F32", [1]),
    "two": ("F32", [2]),
    "ids": ("I32", [3]),
    "ids2": ("I32", [3, 1]),
    "conv": ("BF16", [6, 1, 4]),
    "codes": ("U8", [128, 32]),
    "scales": ("F8_E4M3", [128, 4]),
    "fp8": ("F8_E4M3", [128, 64]),
    "rows": ("BF16", [128]),
    "rows1": ("BF16", [128, 1]),
    "odd": ("F4", [6, 4]),
}


def tensor_type(source: str, tensor: str, shapes: Shapes = SHAPES) -> TensorType | None:
    if source != "base" or tensor not in shapes:
        return None
    dtype, shape = shapes[tensor]
    return TensorType(dtype, tuple(shape))


def infer(*objects: Document) -> tuple[TypedObject, ...]:
    return infer_recipe(expand(recipe(objects=list(objects), evidence=EVIDENCE)), tensor_type)


def typed(value: Document, format: str, shape: list[int], **members: Any) -> Typed:
    return infer(plain(format=format, shape=shape, value=value, **members))[0].value


def faults(*objects: Document) -> tuple[Fault, ...]:
    with pytest.raises(PlanError) as caught:
        infer(*objects)
    return caught.value.faults


def fault(value: Document, format: str = "BF16", shape: list[int] | None = None, **members: Any) -> str:
    """The message of the only fault of an object "a", without the object."""
    [found] = faults(plain(format=format, shape=shape or [6, 4], value=value, **members))
    assert found.at == "/objects/0"
    assert found.message.startswith("object 'a': ")
    return found.message.removeprefix("object 'a': ")


T = {name: {"tensor": name} for name in SHAPES}


@pytest.mark.parametrize(
    ("value", "format", "shape"),
    [
        (T["w"], "BF16", [6, 4]),
        (T["scalar"], "FP32", []),
        (T["ids"], "I32", [3]),
        ({"slice": T["w"], "axis": 0, "from": 2, "to": 6}, "BF16", [4, 4]),
        ({"slice": T["w"], "axis": 1, "from": 3, "to": 4}, "BF16", [6, 1]),
        ({"reshape": T["w"], "to": [2, 3, 4]}, "BF16", [2, 3, 4]),
        ({"reshape": T["one"], "to": []}, "FP32", []),
        ({"reshape": T["scalar"], "to": [1, 1]}, "FP32", [1, 1]),
        ({"transpose": {"reshape": T["conv"], "to": [6, 4]}, "axes": [1, 0]}, "BF16", [4, 6]),
        ({"transpose": T["conv"], "axes": [2, 0, 1]}, "BF16", [4, 6, 1]),
        ({"concat": [T["w"], T["v"], T["v"]], "axis": 0}, "BF16", [10, 4]),
        ({"concat": [T["w"], T["w"]], "axis": 1}, "BF16", [6, 8]),
        ({"same": [T["w"], T["w"]]}, "BF16", [6, 4]),
        ({"cast": T["w"], "to": "FP32", "by": "exact"}, "FP32", [6, 4]),
        ({"cast": T["f32"], "to": "BF16", "by": "rne"}, "BF16", [6, 4]),
        ({"cast": T["f64"], "to": "I32", "by": "checked"}, "I32", [6, 4]),
        ({"reciprocal": T["one"], "by": "exact"}, "FP32", [1]),
        ({"reciprocal": T["scalar"], "by": "nearest"}, "FP32", []),
    ],
)
def test_values(value: Document, format: str, shape: list[int]) -> None:
    found = typed(value, format, shape)
    assert found.shape == tuple(shape)
    assert found.dtype in (SourceDtype.F32, SourceDtype.BF16, SourceDtype.I32)


def test_typed_values_keep_their_operators_and_operands() -> None:
    found = typed({"concat": [T["w"], T["v"]], "axis": 0}, "BF16", [8, 4])
    assert isinstance(found.op, Concat)
    assert found.of == (
        Typed(Tensor("w", "base"), (6, 4), SourceDtype.BF16, ()),
        Typed(Tensor("v", "base"), (2, 4), SourceDtype.BF16, ()),
    )


def test_gather_takes_its_rows_from_an_object() -> None:
    rows = plain(name="r", format="I32", shape=[3], value=T["ids"])
    gathered, _ = infer(plain(shape=[3, 4], value={"gather": T["w"], "rows": "r"}), rows)
    assert gathered.value.shape == (3, 4)
    assert isinstance(gathered.value.op, Gather)


@pytest.mark.parametrize("convention", ["divisors", "multipliers"])
def test_nvfp4(convention: str) -> None:
    words = {"nvfp4": {"codes": T["codes"], "scales": T["scales"], convention: [T["one"], T["scalar"]]}}
    found = typed(words, "NVFP4", [128, 64], encode="copy")
    assert (found.shape, found.dtype) == ((128, 64), Format.NVFP4)
    assert [operand.shape for operand in found.of] == [(128, 32), (128, 4), (1,), ()]


@pytest.mark.parametrize("scales", ["rows", "rows1"])
def test_fp8_row(scales: str) -> None:
    words = {"fp8_row": {"codes": T["fp8"], "scales": T[scales]}}
    found = typed(words, "FP8_E4M3FN_ROW_BF16S", [128, 64], encode="copy", equals=[words])
    assert (found.shape, found.dtype) == ((128, 64), Format.FP8_E4M3FN_ROW_BF16S)


def test_draft_ids() -> None:
    ids = {"counts": "ranking", "width": 10, "domain": 9, "take": 4, "special": "r"}
    document = recipe(
        sources={"base": {"kind": "checkpoint"}, "ranking": {"kind": "file"}},
        resources=[{"name": "r", "source": "base", "file": "f"}],
        objects=[plain(format="I32", shape=[4], value={"draft_ids": ids})],
    )
    [found] = infer_recipe(expand(document), tensor_type)
    assert (found.value.shape, found.value.dtype, found.value.of) == ((4,), SourceDtype.I32, ())


@pytest.mark.parametrize("dtype", SourceDtype)
@pytest.mark.parametrize(("to", "by"), list(CASTS))
def test_casts_take_what_the_table_says(dtype: SourceDtype, to: Format, by: str) -> None:
    table = {
        ("FP32", "exact"): {"BF16", "F16"},
        ("I32", "exact"): {"I8", "I16"},
        ("BF16", "exact"): {"F32", "F16"},
        ("BF16", "rne"): {"F32", "F16"},
        ("I32", "checked"): {"I64", "U8", "U16", "U32", "U64", "F16", "BF16", "F32", "F64"},
    }
    value = {"cast": {"tensor": "t"}, "to": to, "by": by}
    expanded = expand(recipe(objects=[plain(format=to, shape=[2], value=value)], evidence=EVIDENCE))
    if dtype in table[to, by]:
        assert infer_recipe(expanded, lambda *_: TensorType(dtype, (2,)))
    else:
        with pytest.raises(PlanError, match=f"for a cast to {to} by {by}, found {dtype}"):
            infer_recipe(expanded, lambda *_: TensorType(dtype, (2,)))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"tensor": "x"}, "tensor: expected 'x' in source 'base', found no tensor of that name"),
        (T["odd"], "tensor: expected a dtype that an operator takes for 'odd' of 'base', found 'F4'"),
        (T["v"], "value: expected the object's shape [6, 4], found [2, 4]"),
        (T["f16"], "value: expected BF16 for BF16 by preserve, found F16"),
        ({"slice": T["w"], "axis": 2, "from": 0, "to": 1}, "slice: expected an axis below rank 2, found axis 2"),
        ({"slice": T["w"], "axis": 0, "from": 4, "to": 7}, "slice: expected rows within 0:6 of axis 0, found 4:7"),
        ({"slice": T["w"], "axis": 0, "from": 7, "to": 9}, "slice: expected rows within 0:6 of axis 0, found 7:9"),
        (
            {"reshape": T["w"], "to": [6, 5]},
            "reshape: expected 24 elements, as [6, 4] has, found 30 elements in [6, 5]",
        ),
        ({"reshape": T["w"], "to": []}, "reshape: expected 24 elements, as [6, 4] has, found 1 elements in []"),
        ({"reshape": T["w"], "to": [0, 4]}, "reshape: expected 24 elements, as [6, 4] has, found 0 elements"),
        ({"transpose": T["w"], "axes": [0, 2, 1]}, "transpose: expected a permutation of the 2 axes of [6, 4]"),
        ({"concat": [T["w"], T["f16"]], "axis": 0}, "concat: expected the dtype of the first part, BF16, found F16"),
        ({"concat": [T["w"], T["conv"]], "axis": 0}, "concat: expected the extents of the first part, [6, 4], but for"),
        ({"concat": [T["w"], T["v"]], "axis": 1}, "found [2, 4] in part 1"),
        ({"concat": [T["one"], T["scalar"]], "axis": 0}, "the first part, [1], but for axis 0, found [] in part 1"),
        ({"concat": [T["w"], T["v"]], "axis": 2}, "concat: expected an axis below rank 2, found axis 2 of [6, 4]"),
        ({"concat": [T["scalar"]], "axis": 0}, "concat: expected an axis below rank 0, found axis 0 of []"),
        ({"same": [T["w"], T["v"]]}, "same: expected BF16 [6, 4], as the first, found BF16 [2, 4] in place 1"),
        ({"same": [T["w"], T["f16"]]}, "same: expected BF16 [6, 4], as the first, found F16 [6, 4] in place 1"),
        (
            {"cast": T["w"], "to": "BF16", "by": "rne"},
            "cast: expected F32 or F16 for a cast to BF16 by rne, found BF16",
        ),
        ({"reciprocal": T["two"], "by": "exact"}, "reciprocal: expected one F32 element, found F32 [2]"),
        ({"reciprocal": T["w"], "by": "exact"}, "reciprocal: expected one F32 element, found BF16 [6, 4]"),
    ],
)
def test_faults(value: Document, message: str) -> None:
    assert message in fault(value)


@pytest.mark.parametrize(
    ("value", "tensors"),
    [
        (T["v"], "base:v BF16 [2, 4]"),
        ({"concat": [T["w"], T["v"], T["w"]], "axis": 1}, "base:w BF16 [6, 4], base:v BF16 [2, 4]"),
        ({"same": [T["w"], {"reshape": T["conv"], "to": [6, 4, 1]}]}, "base:w BF16 [6, 4], base:conv BF16 [6, 1, 4]"),
        (
            {"concat": [T["one"], T["two"], T["scalar"], T["ids"], T["v"], T["w"]], "axis": 0},
            "base:one F32 [1], base:two F32 [2], base:scalar F32 [], base:ids I32 [3] and 2 more",
        ),
    ],
)
def test_a_fault_names_the_tensors_that_the_value_is_made_of(value: Document, tensors: str) -> None:
    assert fault(value).endswith(f", made of {tensors}")


def test_a_missing_part_of_a_linear_is_named_with_the_parts_that_are_there() -> None:
    stored = {
        "m.down.weight_packed": TensorType("U8", (128, 32)),
        "m.down.weight_scale": TensorType("F8_E4M3", (128, 4)),
        "m.downs.weight": TensorType("BF16", (1,)),
    }
    expanded = expand(recipe(objects=[plain(value={"tensor": "m.down.weight"})]))
    with pytest.raises(PlanError) as raised:
        infer_recipe(expanded, lambda _, tensor: stored.get(tensor))
    there = "weight_packed U8 [128, 32], weight_scale F8_E4M3 [128, 4]"
    [found] = raised.value.faults
    assert found.message.endswith(f"found no tensor of that name, but of m.down {there}")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"codes": T["w"]}, "nvfp4: expected codes U8 [N,K/2], found codes BF16 [6, 4]"),
        (
            {"scales": T["fp8"]},
            "nvfp4: expected scales F8_E4M3 [N,K/16] for codes [128, 32], found scales F8_E4M3",
        ),
        ({"scales": T["rows1"]}, "nvfp4: expected scales F8_E4M3 [N,K/16] for codes [128, 32], found scales BF16"),
        (
            {"divisors": [T["one"], T["two"]]},
            "nvfp4: expected divisors F32 of shape [] or [1], found F32 [2] in place 1",
        ),
        ({"divisors": [T["ids"]]}, "nvfp4: expected divisors F32 of shape [] or [1], found I32 [3] in place 0"),
    ],
)
def test_faults_of_nvfp4(members: Document, message: str) -> None:
    words = {"nvfp4": {"codes": T["codes"], "scales": T["scales"], "divisors": [T["one"]], **members}}
    assert message in fault(words, "NVFP4", [128, 64], encode="copy")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"codes": T["codes"]}, "fp8_row: expected codes F8_E4M3 [N,K], found codes U8 [128, 32]"),
        ({"scales": T["one"]}, "fp8_row: expected scales BF16 [128] or [128, 1], found scales F32 [1]"),
        ({"scales": T["w"]}, "fp8_row: expected scales BF16 [128] or [128, 1], found scales BF16 [6, 4]"),
    ],
)
def test_faults_of_fp8_row(members: Document, message: str) -> None:
    words = {"fp8_row": {"codes": T["fp8"], "scales": T["rows"], **members}}
    assert message in fault(words, "FP8_E4M3FN_ROW_BF16S", [128, 64], encode="copy")


def test_faults_of_gather() -> None:
    square = plain(name="r", format="I32", shape=[3, 1], value=T["ids2"])
    [found] = faults(plain(value={"gather": T["w"], "rows": "r"}), square)
    message = "object 'a': gather: expected rows of rank 1 in 'r', found shape [3, 1], made of base:w BF16 [6, 4]"
    assert found.message == message
    rows = plain(name="r", format="I32", shape=[3], value=T["ids"])
    [found] = faults(plain(value={"gather": T["scalar"], "rows": "r"}), rows)
    message = "object 'a': gather: expected a value with an axis 0, found a scalar, made of base:scalar F32 []"
    assert found.message == message


def test_equals_has_the_type_of_the_value() -> None:
    assert len(infer(plain(shape=[6, 4], value=T["w"], equals=[T["w"]]))[0].equals) == 1
    found = "found F16 [6, 4], made of base:f16 F16 [6, 4]"
    message = fault(T["w"], equals=[T["w"], T["f16"]])
    assert message == f"equals, place 1: expected BF16 [6, 4], as the value, {found}"
    assert "equals, place 0: expected BF16 [6, 4], as the value, found BF16 [2, 4]" in fault(T["w"], equals=[T["v"]])


@pytest.mark.parametrize("dtype", ["bool", "f64", "ids"])
def test_encoders_take_three_dtypes(dtype: str) -> None:
    shape = SHAPES[dtype][1]
    value = {"reshape": T[dtype], "to": [1, shape[0] * (shape[1] if len(shape) > 1 else 1)]}
    [found] = faults(quantized(shape=value["to"], value=value))
    assert "value: expected BF16 or F16 or F32 for Q4G64_F16S by MAXABS_F16_RECIP_RNE_V1, found" in found.message
    for taken in ("w", "f16", "f32"):
        assert infer(quantized(shape=[6, 4], value=T[taken]))


def test_all_faults_are_given_at_once_in_order() -> None:
    found = faults(
        plain(name="a", shape=[6, 4], value={"concat": [{"tensor": "x"}, {"tensor": "y"}], "axis": 0}),
        plain(name="b", shape=[6, 4], value=T["w"]),
        plain(name="c", shape=[1], format="FP32", value=T["w"], equals=[{"tensor": "z"}]),
    )
    assert [(fault.at, fault.message.split(": expected")[0]) for fault in found] == [
        ("/objects/0", "object 'a': tensor"),
        ("/objects/0", "object 'a': tensor"),
        ("/objects/2", "object 'c': tensor"),
        ("/objects/2", "object 'c': value"),
        ("/objects/2", "object 'c': value"),
    ]


def test_a_dtype_that_no_operator_takes_is_a_fault_only_where_it_is_used() -> None:
    assert infer(plain(shape=[6, 4], value=T["w"]))
    assert "found 'F4'" in fault(T["odd"])


def test_a_large_recipe_is_typed_quickly() -> None:
    value = {"reshape": {"slice": {"reshape": {"tensor": "{l}"}, "to": [24, 512, 8]}, "axis": 1, "from": 0, "to": 256},
             "to": [6144, 8]}  # fmt: skip
    body = [quantized(name="{l}", shape=[6144, 8], value=value)]
    document = recipe(objects=[{"for": "l", "in": {"from": 0, "to": 1307}, "objects": body}], evidence=EVIDENCE)
    expanded = expand(document)
    started = time.process_time()
    assert len(infer_recipe(expanded, lambda *_: TensorType("BF16", (12288, 8)))) == 1307
    assert time.process_time() - started < 0.5
