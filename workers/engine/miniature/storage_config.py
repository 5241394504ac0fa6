"""The `quantization_config` of the quantized checkpoints, as compressed-tensors writes it (targets.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workers.engine.miniature.headers import TEXT, Headers

Config = dict[str, object]

_REST = ["re:model[.]visual[.].*", "re:mtp[.].*", r"re:.*[.]linear_attn[.]in_proj_[ab]$"]
_LAYERS = TEXT.replace(".", "[.]") + "layers[.]"


def nvfp4_config(headers: Headers) -> Config:
    """Every linear in NVFP4, but for those that are named."""
    plain = [
        name.removesuffix(".weight")
        for name, header in headers.items()
        if name.startswith(f"{TEXT}layers.") and name.endswith("_proj.weight") and len(header.shape) == 2
    ]
    return _config("nvfp4-pack-quantized", [_nvfp4(["Linear"])], ["lm_head", *plain, *_REST])


def mixed_config(nvfp4_mlps: int) -> Config:
    """The first MLPs in NVFP4; the other MLPs, attention, gated delta nets and the head in row-scaled FP8."""
    first = "|".join(map(str, range(nvfp4_mlps)))
    fp8 = [
        "lm_head",
        rf"re:{_LAYERS}\d+[.]self_attn[.][qkvo]_proj$",
        rf"re:{_LAYERS}\d+[.]linear_attn[.](in_proj_qkv|in_proj_z|out_proj)$",
        rf"re:{_LAYERS}(?!({first})[.])\d+[.]mlp[.](gate|up|down)_proj$",
    ]
    nvfp4 = [rf"re:{_LAYERS}({first})[.]mlp[.](gate|up|down)_proj$"]
    return _config("mixed-precision", [_fp8(fp8), _nvfp4(nvfp4)], _REST)


def _config(format: str, groups: Iterable[Config], ignore: Sequence[str]) -> Config:
    return {
        "quant_method": "compressed-tensors",
        "quantization_status": "compressed",
        "format": format,
        "config_groups": {f"group_{number}": group for number, group in enumerate(groups)},
        "ignore": list(ignore),
        "kv_cache_scheme": None,
        "global_compression_ratio": None,
    }


def _nvfp4(targets: list[str]) -> Config:
    scheme = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16, "symmetric": True}
    return {
        "format": "nvfp4-pack-quantized",
        "targets": targets,
        "weights": {**scheme, "dynamic": False, "observer": "minmax"},
        "input_activations": {**scheme, "dynamic": "local", "observer": "minmax"},
        "output_activations": None,
    }


def _fp8(targets: list[str]) -> Config:
    scheme = {"num_bits": 8, "type": "float", "group_size": None, "symmetric": True}
    return {
        "format": "float-quantized",
        "targets": targets,
        "weights": {**scheme, "strategy": "channel", "dynamic": False, "observer": "minmax"},
        "input_activations": {**scheme, "strategy": "token", "dynamic": True, "observer": None},
        "output_activations": None,
    }
