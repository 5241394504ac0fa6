"""Checkpoints that the compressed-tensors library quantizes, packs and describes itself, with its own formulas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from compressed_tensors.compressors import BaseCompressor, ModelCompressor
from compressed_tensors.compressors.format import infer_module_format
from compressed_tensors.quantization import (
    QuantizationArgs,
    QuantizationConfig,
    QuantizationScheme,
    QuantizationStrategy,
    apply_quantization_config,
)
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from safetensors.torch import load_file, save_file

from tests.targets.values import Words

torch.set_num_threads(1)  # thousands of small operations: threads that wait for each other cost most of the time

Tensors = Mapping[str, torch.Tensor]
Site = Callable[[str], str]
"""Names what a linear shares its global scales with."""


def scheme(preset: str, targets: Iterable[str]) -> QuantizationScheme:
    """One of the library's presets (NVFP4, FP8_DYNAMIC, …) for these targets."""
    return preset_name_to_scheme(preset, list(targets))


def bf16(words: Words) -> torch.Tensor:
    """BF16 words as a tensor of them."""
    return torch.from_numpy(words.view("<i2").copy()).view(torch.bfloat16)


def words(tensor: torch.Tensor) -> Words:
    """A tensor as unsigned words of its bits."""
    width = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32}[tensor.element_size()]
    found: Words = tensor.contiguous().view(width).numpy()
    return found


def config(*schemes: QuantizationScheme, ignore: Iterable[str] = ()) -> QuantizationConfig:
    groups = {f"group_{index}": one for index, one in enumerate(schemes)}
    return QuantizationConfig(config_groups=groups, ignore=list(ignore))


def module_tree(weights: Tensors) -> torch.nn.Module:
    """Modules in which every tensor is the parameter of its name, matrices those of linears and embeddings."""
    root = torch.nn.Module()
    parameters = defaultdict(list)
    for name in weights:
        path, _, parameter = name.rpartition(".")
        parameters[path].append(parameter)
    for path in sorted(parameters):
        *outer, last = path.split(".")
        parent = root
        for part in outer:
            if part not in parent._modules:
                parent.add_module(part, torch.nn.Module())
            parent = parent.get_submodule(part)
        if last not in parent._modules:
            parent.add_module(last, _module(last, weights.get(f"{path}.weight"), biased="bias" in parameters[path]))
        for parameter in parameters[path]:
            tensor = weights[f"{path}.{parameter}"]
            parent.get_submodule(last).register_parameter(parameter, torch.nn.Parameter(tensor, requires_grad=False))
    return root


def _module(name: str, weight: torch.Tensor | None, *, biased: bool) -> torch.nn.Module:
    if weight is None or weight.ndim != 2:
        return torch.nn.Module()
    rows, columns = weight.shape
    if "embed" in name:
        return torch.nn.Embedding(rows, columns, device="meta")
    return torch.nn.Linear(columns, rows, bias=biased, device="meta")


def write_quantized(folder: Path, weights: Tensors, wanted: QuantizationConfig, site: Site = str) -> None:
    """Quantizes `weights` as `wanted` says and saves model.safetensors and config.json, all by the library."""
    model = module_tree(weights)
    apply_quantization_config(model, wanted, show_progress=False)
    quantized = {name: one for name, one in model.named_modules() if hasattr(one, "quantization_scheme")}
    sites = defaultdict(list)
    for name, module in quantized.items():
        sites[site(name)].append(module)
    for name, members in sites.items():
        for module in members:
            _calibrate(module, [one.weight for one in members], name)
    compressor = ModelCompressor.from_pretrained_model(model)
    compressor.compress_model(model)
    folder.mkdir(exist_ok=True)
    save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, folder / "model.safetensors")
    compressor.update_config(folder)


def _calibrate(module: Any, site_weights: list[torch.Tensor], site: str) -> None:
    """Scales from the weights' extremes; those of a site's activations follow from its name."""
    args, global_scale = module.quantization_scheme.weights, None
    if hasattr(module, "weight_global_scale"):
        global_scale = generate_gparam(*torch.cat([one.flatten() for one in site_weights]).aminmax())
        module.weight_global_scale.data = global_scale
    if hasattr(module, "input_global_scale"):
        reach = torch.tensor(1 + crc32(site.encode()) % 1000 / 7)
        module.input_global_scale.data = generate_gparam(-reach, reach)
    scales, _ = calculate_qparams(*_extremes(module.weight, args), args, global_scale=global_scale)
    module.weight_scale.data = scales


def _extremes(weight: torch.Tensor, args: QuantizationArgs) -> tuple[torch.Tensor, torch.Tensor]:
    """Least and greatest value of what shares a scale, in the shape of the scales."""
    match args.strategy:
        case QuantizationStrategy.TENSOR:
            least, most = weight.reshape(1, -1).aminmax(dim=1)
        case QuantizationStrategy.CHANNEL:
            least, most = weight.aminmax(dim=1, keepdim=True)
        case _:
            least, most = weight.reshape(len(weight), -1, args.group_size).aminmax(dim=2)
    return least, most


def read(folder: Path) -> Tensors:
    """The tensors of a checkpoint."""
    tensors: dict[str, torch.Tensor] = {}
    for shard in folder.glob("*.safetensors"):
        tensors |= load_file(shard)
    return tensors


def decompressed(tensors: Tensors, linear: str, one: QuantizationScheme) -> torch.Tensor:
    """The weight that the library makes of a linear's tensors, by the compressor of the scheme's own format."""
    state = {name.removeprefix(f"{linear}."): t for name, t in tensors.items() if name.startswith(f"{linear}.")}
    compressor = BaseCompressor.get_value_from_registry(infer_module_format(torch.nn.Linear, one).value)
    weight: torch.Tensor = compressor.decompress(state, one)["weight"]
    return weight
