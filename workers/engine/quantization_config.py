"""What a checkpoint's own quantization config says of its linears, and whether its tensors agree (targets.md).

A config that says otherwise than the tensors is a fault that shows both claims: one of the two is wrong, and which one
cannot be known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import regex

from schemas.errors import Fault, SourceError
from schemas.recipe.expanded import ExpandedSource, Quantization
from workers.engine.linear_storage import Claim, LinearStorage, is_embedding, stored_linear
from workers.engine.sources.checkpoint import CONFIG_NAME, Checkpoint

MATCH_SECONDS = 10.0
"""For all matches of one config: a checkpoint's regular expressions are not ours, and may take for ever."""

MODELOPT_NAME = "hf_quant_config.json"
"""Where ModelOpt says it in checkpoints whose config.json says nothing."""

CLASSES = ("Linear", "Embedding")
"""The classes of modules that compressed-tensors quantizes, by which a target may name them all."""

FORMATS = {
    LinearStorage.NVFP4: ("nvfp4-pack-quantized",),
    LinearStorage.FP8_ROW: ("float-quantized", "naive-quantized"),
}
"""The names that compressed-tensors has for what it writes."""

ALGORITHMS = {
    "NVFP4": LinearStorage.NVFP4,
    "W4A16_NVFP4": LinearStorage.NVFP4,
    "FP8_PER_CHANNEL_PER_TOKEN": LinearStorage.FP8_ROW,
}
"""ModelOpt's names of what has a registered format."""

Matches = Callable[[str, str], bool]
"""Whether a target (first) names a linear (second)."""


@dataclass(frozen=True, slots=True)
class QuantizationConfig:
    """A parsed config: its file, the linears left alone, what each target says, and how targets are read.

    Of several targets that name a linear the first one counts.
    """

    file: str
    ignore: tuple[str, ...]
    targets: tuple[tuple[str, Claim], ...]
    matches: Matches

    def claim(self, linear: str) -> Claim:
        """What the config says of the linear of this name (without `.weight`)."""
        for pattern in self.ignore:
            if self.matches(pattern, linear):
                return Claim(LinearStorage.PLAIN, f"ignored by {pattern!r}")
        for target, claim in self.targets:
            if self.matches(target, linear):
                return claim
        return Claim(LinearStorage.PLAIN, "in no group")


def quantization_faults(source: ExpandedSource, checkpoint: Checkpoint, used: Iterable[str]) -> Iterator[Fault]:
    """A fault for each linear, of those whose tensors are `used`, that is stored otherwise than its config says, or in
    a way that has no registered format.

    Raises SourceError for a config that is absent or not of the kind that the recipe names.
    """
    if source.quantization is Quantization.NONE:
        return
    config = read_config(source, checkpoint)
    for linear in sorted(_linears(used)):
        stored = stored_linear(linear, checkpoint.tensors)
        if stored is None:
            continue
        claim = config.claim(linear)
        if stored.storage is None or claim.storage is not stored.storage:
            message = f"{linear}: its tensors say {stored.words}, {config.file} of {source.name} says {claim.words}"
            yield Fault(f"{source.at}/quantization", message)


def read_config(source: ExpandedSource, checkpoint: Checkpoint) -> QuantizationConfig:
    """The quantization config in a checkpoint's config.json, of ModelOpt else in a file of its own."""
    where = f"source {source.name}, {CONFIG_NAME}, quantization_config"
    found = checkpoint.config().get("quantization_config")
    if found is None and source.quantization is Quantization.MODELOPT:
        where = f"source {source.name}, {MODELOPT_NAME}, quantization"
        document = checkpoint.json_file(MODELOPT_NAME, expected=f"a quantization_config in {CONFIG_NAME}, or this file")
        return _modelopt(_object(document.get("quantization"), where), where, MODELOPT_NAME)
    if not isinstance(found, Mapping):
        raise SourceError(
            where, expected=f"an object, since the recipe says {source.quantization}", found=_shown(found)
        )
    method = found.get("quant_method")
    if method != source.quantization:
        raise SourceError(f"{where}, quant_method", expected=f"{source.quantization}", found=_shown(method))
    if source.quantization is Quantization.MODELOPT:
        return _modelopt(found, where, CONFIG_NAME)
    return _compressed_tensors(found, where)


def _compressed_tensors(found: Mapping[str, object], where: str) -> QuantizationConfig:
    transforms = _object(found.get("transform_config") or {}, f"{where}, transform_config").get("config_groups")
    if transforms:
        expected = "no transforms, since the words of turned weights do not say how to turn them back"
        raise SourceError(f"{where}, transform_config", expected=expected, found=_shown(transforms))
    groups = _object(found.get("config_groups"), f"{where}, config_groups")
    targets, claims = _Targets(), dict[str, Claim]()
    for name, group in groups.items():
        at = f"{where}, config_groups, {name}"
        members = _object(group, at)
        claim = _scheme(members, name, at)
        claims |= dict.fromkeys(targets.read(members.get("targets"), f"{at}, targets"), claim)
    ignore = targets.read(found.get("ignore") or [], f"{where}, ignore")
    ordered = sorted(claims.items(), key=lambda item: _specificity(item[0]))
    return QuantizationConfig(CONFIG_NAME, ignore, tuple(ordered), targets.matches)


def _specificity(target: str) -> tuple[bool, bool, str]:
    """The order in which compressed-tensors looks at targets: names, regular expressions, classes, each by its text."""
    return target in CLASSES, target.startswith("re:"), target


def _scheme(group: Mapping[str, object], name: str, where: str) -> Claim:
    """The storage that a group's `weights` describe; a group without them is of activations."""
    if group.get("weights", group) is None:
        return Claim(LinearStorage.PLAIN, f"weights left alone ({name})")
    weights = _object(group.get("weights"), f"{where}, weights")
    bits, kind, strategy = weights.get("num_bits"), weights.get("type"), weights.get("strategy")
    size, format = weights.get("group_size"), group.get("format")
    words = f"{bits}-bit {kind}, {strategy}{f' of {size}' if size else ''} ({name})"
    storage = None
    if (bits, kind, size) == (4, "float", 16) and strategy in ("tensor_group", "group"):
        storage = LinearStorage.NVFP4
    elif (bits, kind, strategy) == (8, "float", "channel"):
        storage = LinearStorage.FP8_ROW
    if weights.get("symmetric", True) is not True:
        return Claim(None, f"{words}, with zero points")
    if storage is not None and format is not None and format not in FORMATS[storage]:
        return Claim(None, f"{words}, in the format {_shown(format)}")
    return Claim(storage, words)


def _modelopt(found: Mapping[str, object], where: str, file: str) -> QuantizationConfig:
    ignore = _texts(found.get("ignore") or found.get("exclude_modules") or [], f"{where}, ignore")
    layers = found.get("quantized_layers")
    if layers is None:
        return QuantizationConfig(file, ignore, (("*", _algorithm(found)),), _names_in_modelopt)
    at = f"{where}, quantized_layers"
    claims = [(linear, _algorithm(_object(layer, f"{at}, {linear}"))) for linear, layer in _object(layers, at).items()]
    return QuantizationConfig(file, ignore, tuple(claims), _names_in_modelopt)


def _algorithm(found: Mapping[str, object]) -> Claim:
    name, size = found.get("quant_algo"), found.get("group_size")
    if name is None:
        return Claim(LinearStorage.PLAIN, "no quant_algo")
    storage = ALGORITHMS.get(name) if isinstance(name, str) else None
    if storage is LinearStorage.NVFP4 and size not in (None, 16):
        return Claim(None, f"{name} of {_shown(size)}")
    return Claim(storage, str(name))


def _object(found: object, where: str) -> Mapping[str, object]:
    if not isinstance(found, Mapping):
        raise SourceError(where, expected="an object", found=_shown(found))
    return found


def _texts(found: object, where: str) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise SourceError(where, expected="a list of texts", found=_shown(found))
    return tuple(found)


def _shown(found: object) -> str:
    return "none" if found is None else repr(found)[:100]


@dataclass(slots=True)
class _Targets:
    """How compressed-tensors reads targets: a regular expression after `re:`, matched from the start; the class of the
    module; or its name."""

    patterns: dict[str, regex.Pattern[str]] = field(default_factory=dict)
    seconds_left: float = field(default_factory=lambda: MATCH_SECONDS)

    def read(self, found: object, where: str) -> tuple[str, ...]:
        """A list of targets. Raises SourceError for a regular expression that cannot be read."""
        texts = _texts(found, where)
        for text in texts:
            if text.startswith("re:"):
                try:
                    self.patterns[text] = regex.compile(text[3:])
                except regex.error:
                    raise SourceError(where, expected="regular expressions", found=repr(text)) from None
        return texts

    def matches(self, target: str, linear: str) -> bool:
        """Whether a target that was read names a linear. Raises SourceError when all matches take too long."""
        if target not in self.patterns:
            return target in ("Embedding" if is_embedding(linear) else "Linear", linear)
        started = time.monotonic()
        try:
            found = self.patterns[target].match(linear, timeout=self.seconds_left)
            self.seconds_left -= time.monotonic() - started
        except TimeoutError:
            found, self.seconds_left = None, 0.0
        if self.seconds_left <= 0:
            expected = f"regular expressions that take less than {MATCH_SECONDS:g} s for all linears"
            raise SourceError("quantization_config", expected=expected, found=f"{target!r} on {linear!r}")
        return found is not None


def _names_in_modelopt(target: str, linear: str) -> bool:
    """A shell pattern, the name itself, or that of a module around it."""
    return fnmatchcase(linear, target) or linear.startswith(f"{target}.")


def _linears(tensors: Iterable[str]) -> set[str]:
    return {name.rpartition(".")[0] for name in tensors if name.rpartition(".")[2] in {"weight", "weight_packed"}}
