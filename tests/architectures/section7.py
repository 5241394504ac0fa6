"""Section 7 of container-v3.md, row by row: names, shapes, fixed formats and inputs of the official models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemas.registry import Format

BF16, FP32, I32 = Format.BF16, Format.FP32, Format.I32

Row = tuple[str, tuple[int, ...], Format | None, tuple[str, ...]]

R = 248320
D = 256
KG = 2048


@dataclass(frozen=True, slots=True)
class Official:
    """The letters of section 7. The FFN is `intermediate` or, where that is None, experts of 512."""

    hidden: int
    layers: int
    query: int
    key: int
    value: int
    heads: int
    intermediate: int | None


OFFICIAL_27B = Official(5120, 64, 6144, 1024, 6144, 48, 17408)
OFFICIAL_35B = Official(2048, 40, 4096, 512, 4096, 32, None)


def rows(o: Official, backends: Sequence[str]) -> Iterator[Row]:
    """Every row of text, vision, the given backends and an indexed proposal of 131072 rows."""
    hidden = o.hidden
    heard = tuple(f"{b}/final_hidden" for b in backends)
    yield "text/token_embedding", (R, hidden), None, ()
    yield "text/output_head", (R, hidden), None, ("text/final_hidden", *heard)
    yield "text/final_norm", (hidden,), BF16, ()
    for layer in range(o.layers):
        p = f"text/layers/{layer}/"
        yield from norms(p, hidden)
        yield from full(p, o) if layer % 4 == 3 else linear(p, o)
        yield from ffn(p, o)
    if "mtp" in backends:
        yield "mtp/input_projection", (hidden, 2 * hidden), None, ("mtp/stem_input",)
        for name in ("embedding_norm", "hidden_norm", "final_norm"):
            yield f"mtp/{name}", (hidden,), BF16, ()
        yield from norms("mtp/layers/0/", hidden)
        yield from full("mtp/layers/0/", o)
        yield from ffn("mtp/layers/0/", o)
    yield from vision(hidden)
    if "dflash" in backends:
        yield from draft("dflash", hidden, taps=8, layers=6, intermediate=6144)
    if "dflash2" in backends:
        yield from draft("dflash2", hidden, taps=5, layers=5, intermediate=17408)
        yield "dflash2/candidate_selector/hidden_projection", (256, hidden), None, ("dflash2/final_hidden",)
        yield "dflash2/candidate_selector/predecessor_codebook", (R, 256), BF16, ()
        yield "dflash2/candidate_selector/successor_codebook", (R, 256), BF16, ()
    yield "proposal/head", (131072, hidden), None, heard
    yield "proposal/token_ids", (131072,), I32, ()


def norms(p: str, hidden: int) -> Iterator[Row]:
    yield f"{p}input_norm", (hidden,), BF16, ()
    yield f"{p}post_attention_norm", (hidden,), BF16, ()


def full(p: str, o: Official) -> Iterator[Row]:
    mixer = (f"{p}mixer_input",)
    for name, width in (("query", o.query), ("gate", o.query), ("key", o.key), ("value", o.key)):
        yield f"{p}attention/{name}", (width, o.hidden), None, mixer
    yield f"{p}attention/query_norm", (D,), BF16, ()
    yield f"{p}attention/key_norm", (D,), BF16, ()
    yield f"{p}attention/output", (o.hidden, o.query), None, (f"{p}attention/gated_output",)


def linear(p: str, o: Official) -> Iterator[Row]:
    mixer = (f"{p}mixer_input",)
    widths = {"query": KG, "key": KG, "value": o.value, "z": o.value, "a_projection": o.heads, "b_projection": o.heads}
    for name, width in widths.items():
        yield f"{p}gdn/{name}", (width, o.hidden), None, mixer
    yield f"{p}gdn/a_log", (o.heads,), FP32, ()
    yield f"{p}gdn/dt_bias", (o.heads,), FP32, ()
    yield f"{p}gdn/convolution", (4, 2 * KG + o.value), BF16, ()
    yield f"{p}gdn/norm", (128,), BF16, ()
    yield f"{p}gdn/output", (o.hidden, o.value), None, (f"{p}gdn/gated_output",)


def ffn(p: str, o: Official) -> Iterator[Row]:
    heard = (f"{p}ffn_input",)
    if o.intermediate is not None:
        yield f"{p}mlp/gate", (o.intermediate, o.hidden), None, heard
        yield f"{p}mlp/up", (o.intermediate, o.hidden), None, heard
        yield f"{p}mlp/down", (o.hidden, o.intermediate), None, (f"{p}mlp/product",)
        return
    yield f"{p}moe/router", (256, o.hidden), None, heard
    yield f"{p}moe/shared_score", (1, o.hidden), None, heard
    for expert in (*(f"{p}moe/experts/{e}" for e in range(256)), f"{p}moe/shared"):
        yield f"{expert}/gate", (512, o.hidden), None, heard
        yield f"{expert}/up", (512, o.hidden), None, heard
        yield f"{expert}/down", (o.hidden, 512), None, (f"{expert}/product",)


def vision(hidden: int) -> Iterator[Row]:
    yield "vision/patch_embedding", (1152, 1536), None, ("vision/patch_input",)
    yield "vision/patch_embedding_bias", (1152,), BF16, ()
    yield "vision/position_embedding", (2304, 1152), BF16, ()
    for layer in range(27):
        v = f"vision/layers/{layer}/"
        for name in ("query", "key", "value"):
            yield f"{v}attention/{name}", (1152, 1152), None, (f"{v}attention_input",)
        for name in ("query_bias", "key_bias", "value_bias", "output_bias"):
            yield f"{v}attention/{name}", (1152,), BF16, ()
        yield f"{v}attention/output", (1152, 1152), None, (f"{v}attention_output",)
        yield f"{v}mlp/fc1", (4304, 1152), None, (f"{v}mlp_input",)
        yield f"{v}mlp/fc1_bias", (4304,), BF16, ()
        yield f"{v}mlp/fc2", (1152, 4304), None, (f"{v}mlp_activation",)
        yield f"{v}mlp/fc2_bias", (1152,), BF16, ()
        for name in ("norm1_weight", "norm1_bias", "norm2_weight", "norm2_bias"):
            yield f"{v}{name}", (1152,), BF16, ()
    yield "vision/merger/norm_weight", (1152,), BF16, ()
    yield "vision/merger/norm_bias", (1152,), BF16, ()
    yield "vision/merger/fc1", (4608, 4608), None, ("vision/merger/input",)
    yield "vision/merger/fc1_bias", (4608,), BF16, ()
    yield "vision/merger/fc2", (hidden, 4608), None, ("vision/merger/activation",)
    yield "vision/merger/fc2_bias", (hidden,), BF16, ()


def draft(b: str, hidden: int, *, taps: int, layers: int, intermediate: int) -> Iterator[Row]:
    yield f"{b}/feature_projection", (hidden, taps * hidden), None, (f"{b}/target_features",)
    yield f"{b}/context_norm", (hidden,), BF16, ()
    yield f"{b}/final_norm", (hidden,), BF16, ()
    for layer in range(layers):
        q = f"{b}/layers/{layer}/"
        yield from norms(q, hidden)
        for name, width in (("query", 4096), ("key", 1024), ("value", 1024)):
            yield f"{q}attention/{name}", (width, hidden), None, (f"{q}query_projection_input",)
        for name in ("context_key", "context_value"):
            yield f"{q}attention/{name}", (1024, hidden), None, (f"{b}/context_input",)
        yield f"{q}attention/query_norm", (128,), BF16, ()
        yield f"{q}attention/key_norm", (128,), BF16, ()
        yield f"{q}attention/output", (hidden, 4096), None, (f"{q}attention_output",)
        yield f"{q}mlp/gate", (intermediate, hidden), None, (f"{q}mlp_input",)
        yield f"{q}mlp/up", (intermediate, hidden), None, (f"{q}mlp_input",)
        yield f"{q}mlp/down", (hidden, intermediate), None, (f"{q}mlp_product",)
        if b == "dflash2":
            for name in ("attention_conv", "mlp_conv"):
                yield f"{q}{name}/base_kernel", (2, 2, hidden), BF16, ()
                yield f"{q}{name}/kernel_projection", (hidden // 4, hidden), None, (f"{q}{name}_input",)
