"""What a checkpoint's own quantization config says of its linears, and whether its tensors agree (targets.md).

How a linear is stored is read from the tensors that are there. A config that says otherwise is a fault that shows both
claims: one of the two is wrong, and which one cannot be known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

import regex

from schemas.errors import Fault, SourceError
from schemas.recipe.expanded import ExpandedSource, Quantization
from workers.engine.sources.checkpoint import Checkpoint

MATCH_SECONDS = 0.2
"""A checkpoint's regular expressions are not ours: one may take for ever."""


class LinearStorage(StrEnum):
    """How the weight of one linear is stored."""

    PLAIN = "not quantized"
    NVFP4 = "NVFP4"
    FP8_ROW = "FP8 with a scale a row"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a config says of a linear: a storage, or None for a scheme that has no registered format, and in which
    words."""

    storage: LinearStorage | None
    words: str


Matches = Callable[[str, str], bool]
"""Whether a target (first) names a linear (second)."""


@dataclass(frozen=True, slots=True)
class QuantizationConfig:
    """A parsed config: the linears left alone, groups of targets with one scheme each, and how targets are read."""

    ignore: tuple[str, ...]
    groups: tuple[tuple[tuple[str, ...], Claim], ...]
    matches: Matches

    def claim(self, linear: str) -> Claim:
        """What the config says of the linear of this name (without `.weight`); the first group that names it counts."""
        for pattern in self.ignore:
            if self.matches(pattern, linear):
                return Claim(LinearStorage.PLAIN, f"ignored by {pattern!r}")
        for targets, claim in self.groups:
            if any(self.matches(target, linear) for target in targets):
                return claim
        return Claim(LinearStorage.PLAIN, "in no group")


def quantization_faults(source: ExpandedSource, checkpoint: Checkpoint, used: Iterable[str]) -> Iterator[Fault]:
    """A fault for each linear, of those whose tensors are `used`, that is stored otherwise than its config says.

    Raises SourceError for a config that is absent or not of the kind that the recipe names.
    """
    if source.quantization is Quantization.NONE:
        return
    config = read_config(source, checkpoint)
    for linear in sorted(_linears(used)):
        storage = _storage(linear, checkpoint)
        if storage is None:
            continue
        claim = config.claim(linear)
        if claim.storage is not storage:
            message = f"{linear}: its tensors say {storage}, config.json of {source.name} says {claim.words}"
            yield Fault(f"{source.at}/quantization", message)


def read_config(source: ExpandedSource, checkpoint: Checkpoint) -> QuantizationConfig:
    """The quantization config in a checkpoint's config.json."""
    where = f"source {source.name}, config.json, quantization_config"
    found = checkpoint.config().get("quantization_config")
    if not isinstance(found, Mapping):
        raise SourceError(where, expected=f"an object, since the recipe says {source.quantization}", found="none")
    method = found.get("quant_method")
    if method != source.quantization:
        raise SourceError(f"{where}, quant_method", expected=f"{source.quantization}", found=repr(method))
    if source.quantization is Quantization.MODELOPT:
        return _modelopt(found, where)
    return _compressed_tensors(found, where)


def _compressed_tensors(found: Mapping[str, object], where: str) -> QuantizationConfig:
    groups = found.get("config_groups")
    if not isinstance(groups, Mapping):
        raise SourceError(f"{where}, config_groups", expected="an object of groups", found=repr(groups))
    parsed = []
    for name, group in groups.items():
        at = f"{where}, config_groups, {name}"
        if not isinstance(group, Mapping):
            raise SourceError(at, expected="an object", found=repr(group))
        weights = group.get("weights")
        if not isinstance(weights, Mapping):
            raise SourceError(f"{at}, weights", expected="an object", found=repr(weights))
        parsed.append((_targets(group.get("targets"), f"{at}, targets"), _scheme(weights, name)))
    ignore = _targets(found.get("ignore", []), f"{where}, ignore")
    return QuantizationConfig(ignore, tuple(parsed), _names_in_compressed_tensors)


def _scheme(weights: Mapping[str, object], group: str) -> Claim:
    """The storage that a group's `weights` describe."""
    bits, kind, strategy = weights.get("num_bits"), weights.get("type"), weights.get("strategy")
    size = weights.get("group_size")
    words = f"{bits}-bit {kind}, {strategy}{f' of {size}' if size else ''} ({group})"
    if (bits, kind) == (4, "float") and size == 16 and strategy in {"tensor_group", "group"}:
        return Claim(LinearStorage.NVFP4, words)
    if (bits, kind, strategy) == (8, "float", "channel"):
        return Claim(LinearStorage.FP8_ROW, words)
    return Claim(None, words)


def _modelopt(found: Mapping[str, object], where: str) -> QuantizationConfig:
    ignore = _texts(found.get("ignore", found.get("exclude_modules", [])), f"{where}, ignore")
    layers = found.get("quantized_layers")
    if layers is None:
        return QuantizationConfig(ignore, ((("*",), _algorithm(found.get("quant_algo"))),), _names_in_modelopt)
    if not isinstance(layers, Mapping):
        raise SourceError(f"{where}, quantized_layers", expected="an object", found=repr(layers))
    groups = []
    for linear, layer in layers.items():
        if not isinstance(layer, Mapping):
            raise SourceError(f"{where}, quantized_layers, {linear}", expected="an object", found=repr(layer))
        groups.append(((linear,), _algorithm(layer.get("quant_algo"))))
    return QuantizationConfig(ignore, tuple(groups), _names_in_modelopt)


def _algorithm(name: object) -> Claim:
    return Claim(LinearStorage.NVFP4 if name == "NVFP4" else None, str(name))


def _texts(found: object, where: str) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise SourceError(where, expected="a list of texts", found=repr(found)[:100])
    return tuple(found)


def _targets(found: object, where: str) -> tuple[str, ...]:
    """A list of targets whose regular expressions can be read."""
    texts = _texts(found, where)
    for text in texts:
        if text.startswith("re:"):
            try:
                regex.compile(text[3:])
            except regex.error:
                raise SourceError(where, expected="regular expressions", found=repr(text)) from None
    return texts


def _names_in_compressed_tensors(target: str, linear: str) -> bool:
    """A regular expression after `re:`, matched from the start; the class of all linears; or the name itself."""
    if target.startswith("re:"):
        try:
            return regex.match(target[3:], linear, timeout=MATCH_SECONDS) is not None
        except TimeoutError:
            found = f"{target!r} on {linear!r}"
            raise SourceError("quantization_config", expected="regular expressions that end", found=found) from None
    return target in {"Linear", linear}


def _names_in_modelopt(target: str, linear: str) -> bool:
    """A shell pattern, the name itself, or that of a module around it."""
    return fnmatchcase(linear, target) or linear.startswith(f"{target}.")


def _linears(tensors: Iterable[str]) -> set[str]:
    return {name.rpartition(".")[0] for name in tensors if name.rpartition(".")[2] in {"weight", "weight_packed"}}


def _storage(linear: str, checkpoint: Checkpoint) -> LinearStorage | None:
    """How a linear's tensors say that it is stored; None for what is no quantized linear and may be none at all."""
    names = checkpoint.tensors.keys()
    if f"{linear}.weight_packed" in names or f"{linear}.weight_scale_2" in names:
        return LinearStorage.NVFP4
    if f"{linear}.weight_scale" in names:
        return LinearStorage.FP8_ROW
    entry = checkpoint.tensors.get(f"{linear}.weight")
    # A plain matrix may be an embedding as well as a linear, and only a linear is in reach of a group.
    plain_linear = entry is not None and len(entry.shape) == 2 and "embed" not in linear.rpartition(".")[2]
    return LinearStorage.PLAIN if plain_linear else None
