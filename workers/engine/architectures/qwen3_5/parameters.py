"""The logical parameters of a model, in the order of container-v3.md, section 7.

A parameter with inputs may have any matrix format. The others are BF16 unless their row says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.registry import Format
from workers.engine.architectures.architecture import Configs, Parameter
from workers.engine.architectures.qwen3_5.components import BACKENDS
from workers.engine.architectures.qwen3_5.geometry import (
    FULL_ATTENTION,
    Attention,
    DenseMlp,
    Draft,
    Experts,
    Geometry,
    Linear,
    Selector,
    Text,
    Vision,
    geometry,
)
from workers.engine.container.model_description import Proposal

CONVOLUTION_SIDES = 2


def parameters(configs: Configs, proposal: Proposal | None) -> tuple[Parameter, ...]:
    """Every parameter of the components that have a config, and of the proposal head where there is one."""
    return tuple(_parameters(geometry(configs), proposal))


def _parameters(sizes: Geometry, proposal: Proposal | None) -> Iterator[Parameter]:
    backends = (("mtp",) if sizes.mtp else ()) + tuple(name for name in BACKENDS if name in sizes.drafts)
    backend_hidden = tuple(f"{backend}/final_hidden" for backend in backends)
    yield from _text(sizes.text, backend_hidden)
    if sizes.mtp:
        yield from _mtp(sizes.text)
    if sizes.vision is not None:
        yield from _vision(sizes.vision, sizes.text.hidden)
    for component, draft in sizes.drafts.items():
        yield from _draft(component, draft, sizes.text)
    if proposal is not None:
        rows = sizes.text.vocabulary if proposal.rows is None else proposal.rows
        yield _matrix("proposal/head", rows, sizes.text.hidden, *backend_hidden)
        if proposal.rows is not None:
            yield Parameter("proposal/token_ids", (rows,), Format.I32, ())


def _matrix(name: str, rows: int, columns: int, *inputs: str) -> Parameter:
    return Parameter(name, (rows, columns), None, inputs)


def _direct(name: str, *shape: int) -> Parameter:
    return Parameter(name, shape, Format.BF16, ())


def _text(text: Text, backend_hidden: tuple[str, ...]) -> Iterator[Parameter]:
    hidden = text.hidden
    yield _matrix("text/token_embedding", text.vocabulary, hidden)
    yield _matrix("text/output_head", text.vocabulary, hidden, "text/final_hidden", *backend_hidden)
    yield _direct("text/final_norm", hidden)
    for index, kind in enumerate(text.layer_types):
        yield from _block(f"text/layers/{index}/", text, text.attention if kind == FULL_ATTENTION else text.linear)


def _block(p: str, text: Text, mixer: Attention | Linear | None) -> Iterator[Parameter]:
    """One layer of the text model or of MTP. A layer without the sizes of its mixer has no rule here."""
    yield _direct(f"{p}input_norm", text.hidden)
    yield _direct(f"{p}post_attention_norm", text.hidden)
    match mixer:
        case Attention():
            yield from _attention(p, text.hidden, mixer)
        case Linear():
            yield from _linear(p, text.hidden, mixer)
    match text.mlp:
        case DenseMlp(intermediate):
            yield from _gated(f"{p}mlp/", text.hidden, intermediate, f"{p}ffn_input", f"{p}mlp/product")
        case Experts():
            yield from _experts(p, text.hidden, text.mlp)


def _attention(p: str, hidden: int, sizes: Attention) -> Iterator[Parameter]:
    mixer_input = f"{p}mixer_input"
    yield _matrix(f"{p}attention/query", sizes.query, hidden, mixer_input)
    yield _matrix(f"{p}attention/gate", sizes.query, hidden, mixer_input)
    yield _matrix(f"{p}attention/key", sizes.key, hidden, mixer_input)
    yield _matrix(f"{p}attention/value", sizes.key, hidden, mixer_input)
    yield _direct(f"{p}attention/query_norm", sizes.head)
    yield _direct(f"{p}attention/key_norm", sizes.head)
    yield _matrix(f"{p}attention/output", hidden, sizes.query, f"{p}attention/gated_output")


def _linear(p: str, hidden: int, sizes: Linear) -> Iterator[Parameter]:
    mixer_input = f"{p}mixer_input"
    yield _matrix(f"{p}gdn/query", sizes.key, hidden, mixer_input)
    yield _matrix(f"{p}gdn/key", sizes.key, hidden, mixer_input)
    yield _matrix(f"{p}gdn/value", sizes.value, hidden, mixer_input)
    yield _matrix(f"{p}gdn/z", sizes.value, hidden, mixer_input)
    yield _matrix(f"{p}gdn/a_projection", sizes.heads, hidden, mixer_input)
    yield _matrix(f"{p}gdn/b_projection", sizes.heads, hidden, mixer_input)
    yield Parameter(f"{p}gdn/a_log", (sizes.heads,), Format.FP32, ())
    yield Parameter(f"{p}gdn/dt_bias", (sizes.heads,), Format.FP32, ())
    yield _direct(f"{p}gdn/convolution", sizes.taps, 2 * sizes.key + sizes.value)
    yield _direct(f"{p}gdn/norm", sizes.head)
    yield _matrix(f"{p}gdn/output", hidden, sizes.value, f"{p}gdn/gated_output")


def _gated(p: str, hidden: int, intermediate: int, input: str, product: str) -> Iterator[Parameter]:
    yield _matrix(f"{p}gate", intermediate, hidden, input)
    yield _matrix(f"{p}up", intermediate, hidden, input)
    yield _matrix(f"{p}down", hidden, intermediate, product)


def _experts(p: str, hidden: int, sizes: Experts) -> Iterator[Parameter]:
    ffn_input = f"{p}ffn_input"
    yield _matrix(f"{p}moe/router", sizes.count, hidden, ffn_input)
    yield _matrix(f"{p}moe/shared_score", 1, hidden, ffn_input)
    # Nearly all parameters of a model are these, so what they have in common is made once.
    wide, tall, inputs = (sizes.routed, hidden), (hidden, sizes.routed), (ffn_input,)
    for index in range(sizes.count):
        expert = f"{p}moe/experts/{index}/"
        yield Parameter(f"{expert}gate", wide, None, inputs)
        yield Parameter(f"{expert}up", wide, None, inputs)
        yield Parameter(f"{expert}down", tall, None, (f"{expert}product",))
    yield from _gated(f"{p}moe/shared/", hidden, sizes.shared, ffn_input, f"{p}moe/shared/product")


def _mtp(text: Text) -> Iterator[Parameter]:
    yield _matrix("mtp/input_projection", text.hidden, 2 * text.hidden, "mtp/stem_input")
    for norm in ("embedding_norm", "hidden_norm", "final_norm"):
        yield _direct(f"mtp/{norm}", text.hidden)
    yield from _block("mtp/layers/0/", text, text.attention)


def _vision(sizes: Vision, text_hidden: int) -> Iterator[Parameter]:
    hidden = sizes.hidden
    yield _matrix("vision/patch_embedding", hidden, sizes.patch, "vision/patch_input")
    yield _direct("vision/patch_embedding_bias", hidden)
    yield _direct("vision/position_embedding", sizes.positions, hidden)
    for index in range(sizes.depth):
        yield from _vision_layer(f"vision/layers/{index}/", hidden, sizes.intermediate)
    yield _direct("vision/merger/norm_weight", hidden)
    yield _direct("vision/merger/norm_bias", hidden)
    yield _matrix("vision/merger/fc1", sizes.merged, sizes.merged, "vision/merger/input")
    yield _direct("vision/merger/fc1_bias", sizes.merged)
    yield _matrix("vision/merger/fc2", text_hidden, sizes.merged, "vision/merger/activation")
    yield _direct("vision/merger/fc2_bias", text_hidden)


def _vision_layer(v: str, hidden: int, intermediate: int) -> Iterator[Parameter]:
    for name in ("query", "key", "value"):
        yield _matrix(f"{v}attention/{name}", hidden, hidden, f"{v}attention_input")
    for name in ("query_bias", "key_bias", "value_bias", "output_bias"):
        yield _direct(f"{v}attention/{name}", hidden)
    yield _matrix(f"{v}attention/output", hidden, hidden, f"{v}attention_output")
    yield _matrix(f"{v}mlp/fc1", intermediate, hidden, f"{v}mlp_input")
    yield _direct(f"{v}mlp/fc1_bias", intermediate)
    yield _matrix(f"{v}mlp/fc2", hidden, intermediate, f"{v}mlp_activation")
    yield _direct(f"{v}mlp/fc2_bias", hidden)
    for name in ("norm1_weight", "norm1_bias", "norm2_weight", "norm2_bias"):
        yield _direct(f"{v}{name}", hidden)


def _draft(b: str, draft: Draft, text: Text) -> Iterator[Parameter]:
    yield _matrix(f"{b}/feature_projection", text.hidden, draft.features * text.hidden, f"{b}/target_features")
    yield _direct(f"{b}/context_norm", text.hidden)
    yield _direct(f"{b}/final_norm", text.hidden)
    for index in range(draft.layers):
        yield from _draft_layer(f"{b}/layers/{index}/", f"{b}/context_input", text.hidden, draft)
        if draft.selector is not None:
            yield from _draft_convolutions(f"{b}/layers/{index}/", text.hidden, draft.selector)
    if draft.selector is not None:
        rank = draft.selector.rank
        yield _matrix(f"{b}/candidate_selector/hidden_projection", rank, text.hidden, f"{b}/final_hidden")
        yield _direct(f"{b}/candidate_selector/predecessor_codebook", text.vocabulary, rank)
        yield _direct(f"{b}/candidate_selector/successor_codebook", text.vocabulary, rank)


def _draft_layer(q: str, context_input: str, hidden: int, draft: Draft) -> Iterator[Parameter]:
    sizes, projection_input = draft.attention, f"{q}query_projection_input"
    yield _direct(f"{q}input_norm", hidden)
    yield _direct(f"{q}post_attention_norm", hidden)
    yield _matrix(f"{q}attention/query", sizes.query, hidden, projection_input)
    yield _matrix(f"{q}attention/key", sizes.key, hidden, projection_input)
    yield _matrix(f"{q}attention/value", sizes.key, hidden, projection_input)
    yield _matrix(f"{q}attention/context_key", sizes.key, hidden, context_input)
    yield _matrix(f"{q}attention/context_value", sizes.key, hidden, context_input)
    yield _direct(f"{q}attention/query_norm", sizes.head)
    yield _direct(f"{q}attention/key_norm", sizes.head)
    yield _matrix(f"{q}attention/output", hidden, sizes.query, f"{q}attention_output")
    yield from _gated(f"{q}mlp/", hidden, draft.intermediate, f"{q}mlp_input", f"{q}mlp_product")


def _draft_convolutions(q: str, hidden: int, sizes: Selector) -> Iterator[Parameter]:
    """One kernel row for each side, tap and group of channels, side first."""
    rows = CONVOLUTION_SIDES * sizes.taps * (hidden // sizes.group)
    for name in ("attention_conv", "mlp_conv"):
        yield _direct(f"{q}{name}/base_kernel", CONVOLUTION_SIDES, sizes.taps, hidden)
        yield _matrix(f"{q}{name}/kernel_projection", rows, hidden, f"{q}{name}_input")
