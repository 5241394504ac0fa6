"""Component configs from the config.json of checkpoints (container-v3.md, 6, "When deriving from a checkpoint")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from schemas.errors import ArchitectureError, Fault
from schemas.recipe.pointer import escape
from workers.engine.architectures.architecture import Configs, Documents
from workers.engine.architectures.qwen3_5.checkpoint_members import Derived, Section, same
from workers.engine.architectures.qwen3_5.checkpoint_rope import derive_rope
from workers.engine.architectures.qwen3_5.components import COMPONENTS, DENSE, DRAFTS, FAMILIES, MOE, TARGET, Family
from workers.engine.architectures.qwen3_5.config_members import SIZE, shown
from workers.engine.architectures.qwen3_5.config_rules import (
    PARAMETERS,
    PARAMETERS_A_LAYER,
    ROPE,
    config_faults,
    text_members,
)
from workers.engine.architectures.qwen3_5.draft_rules import DRAFT_OWN, DRAFT_ROPE, DRAFT_SIZES
from workers.engine.architectures.qwen3_5.geometry import (
    FULL_ATTENTION,
    IMAGE_CHANNELS,
    LINEAR_ATTENTION,
    SLIDING_ATTENTION,
)
from workers.engine.architectures.qwen3_5.vision_rules import VISION_SIZES
from workers.engine.container.model_description import ConfigValue

_INTERVAL = 4
_LAYERS = PARAMETERS // PARAMETERS_A_LAYER
"""Layers that an interval is expanded to."""
_TEXT_HOLDS: Mapping[str, ConfigValue] = {
    "hidden_act": "silu",
    "attention_bias": False,
    "attn_output_gate": True,
    "mamba_ssm_dtype": "float32",
    "mtp_num_hidden_layers": 1,
    "mtp_use_dedicated_embeddings": False,
}
_TEXT_DEFAULTS: Mapping[str, float] = {"rms_norm_eps": 1e-6, "rope_theta": 1e7, "partial_rotary_factor": 0.25}
_VISION_HOLDS: Mapping[str, ConfigValue] = {
    "in_channels": IMAGE_CHANNELS,
    "hidden_act": "gelu_pytorch_tanh",
    "deepstack_visual_indexes": [],
}
_DRAFT_HOLDS: Mapping[str, ConfigValue] = {"hidden_act": "silu", "attention_bias": False, "is_causal": False}


def component_configs(offered: Sequence[str], documents: Documents) -> Configs:
    """The config of each offered component, from the decoded config.json of its checkpoint: that of the base for
    `text`, `vision` and `mtp`, its own for a draft.

    Raises ArchitectureError with every fault at once, each at a JSON pointer into the config.json that it is of.
    """
    faults = [
        Fault("", f"{name}: the architecture has no such component") for name in offered if name not in COMPONENTS
    ]
    wanted = [component for component in COMPONENTS if component == TARGET or component in offered]
    faults += [Fault("", f"{name}: no config.json is given for it") for name in wanted if name not in documents]
    if faults:
        raise _error(faults)
    derived = _derive(wanted, documents)
    for one in derived.values():
        faults.extend(one.faults)
    faults.extend(_rule_faults(derived))
    if faults:
        raise _error(faults)
    return {component: one.config for component, one in derived.items()}


def _error(faults: Sequence[Fault]) -> ArchitectureError:
    return ArchitectureError("config.json", faults, expected="the config of a model of architecture qwen3_5")


def _rule_faults(derived: Mapping[str, Derived]) -> Iterator[Fault]:
    """What the rules say of the derived configs, at the members that they came from; each place is told of once."""
    for fault in config_faults({component: one.config for component, one in derived.items()}):
        source = derived[fault.component]
        at = source.pointer(fault.path)
        if all(told.at != at for told in source.faults):
            yield Fault(at, f"{fault.component}: {fault.message}")


def _derive(wanted: Sequence[str], documents: Documents) -> Mapping[str, Derived]:
    base = documents[TARGET]
    family, text = _text(base, mtp="mtp" in wanted)
    derived = {TARGET: text}
    for component in wanted[1:]:
        if component == "vision":
            derived[component] = _vision(documents[component], family, text)
        elif component == "mtp":
            derived[component] = Derived("mtp", Section(documents[component], ""))
            derived[component].config["architectures"] = [family.mtp_class]
        elif component in DRAFTS:
            derived[component] = _draft(component, documents[component], text)
    return derived


def _text(base: Mapping[str, object], *, mtp: bool) -> tuple[Family, Derived]:
    root = Section(base, "")
    section = root.section("text_config") or root
    derived = Derived(TARGET, section)
    if "text_config" in base and section is root:
        derived.fault("/text_config", f"expected an object, found {shown(base['text_config'])}")
    family = _family(root, section, derived)
    derived.hold(_TEXT_HOLDS)
    derived.among("model_type", family.text_model_type, family.model_type)
    kinds = _layer_types(derived)
    given: dict[str, object] = {"architectures": [family.text_class], "model_type": family.text_model_type}
    for name in text_members(family, kinds, mtp=mtp):
        if name in given:
            derived.put(name, given[name])
        elif name == "layer_types":
            derived.put(name, kinds)
        elif name == "rope_parameters":
            derive_rope(derived, tuple(ROPE), _TEXT_DEFAULTS)
        elif name == "tie_word_embeddings":
            _tied(derived, root)
        else:
            derived.take(name, default=_TEXT_DEFAULTS.get(name))
    return family, derived


def _family(root: Section, section: Section, derived: Derived) -> Family:
    """The one family of all class names that are told; where they tell of none, the one that `num_experts` suggests."""
    told: dict[str, Family] = {}
    for place in {root.prefix: root, section.prefix: section}.values():
        classes = place.members.get("architectures")
        if classes is None:
            continue
        known = next((one for one in FAMILIES if classes in ([one.text_class], [one.conditional_class])), None)
        if known is not None:
            told[place.pointer("architectures")] = known
        else:
            names = ", ".join(f"[{one.conditional_class}], [{one.text_class}]" for one in FAMILIES)
            derived.fault(place.pointer("architectures"), f"expected one of {names}, found {shown(classes)}")
    if not told:
        if not derived.faults:
            derived.fault("/architectures", "expected the name of a class, found none")
        return MOE if "num_experts" in section.members else DENSE
    (first, family), *others = told.items()
    for at, other in others:
        if other is not family:
            derived.fault(at, f"expected a class of the same family as {first}, found one of another")
    return family


def _layer_types(derived: Derived) -> object:
    """The types as listed; else as the interval of full attention gives them. Both must say the same."""
    members = derived.section.members
    listed, interval = members.get("layer_types"), members.get("full_attention_interval", _INTERVAL)
    if not SIZE.holds(interval) or not isinstance(interval, int):
        derived.fault_in("full_attention_interval", f"expected {SIZE.expected}, found {shown(interval)}")
        return listed
    count = len(listed) if isinstance(listed, list) else members.get("num_hidden_layers")
    if not isinstance(count, int) or not SIZE.holds(count) or count > _LAYERS:
        if listed is None:
            derived.fault_in("layer_types", f"expected a list, or num_hidden_layers up to {_LAYERS}, found neither")
        return listed
    expanded = [LINEAR_ATTENTION if (index + 1) % interval else FULL_ATTENTION for index in range(count)]
    if listed is None:
        return expanded
    if "full_attention_interval" in members and listed != expanded:
        derived.fault_in("layer_types", f"expected full attention every {interval} layers, as its interval says")
    return listed


def _tied(derived: Derived, root: Section) -> None:
    """Said in the text section or at the root, where both say the same."""
    name = "tie_word_embeddings"
    inner, outer = derived.section.members, root.members
    if name in inner and name in outer and not same(inner[name], outer[name]):
        message = f"expected {shown(outer[name])}, as {root.pointer(name)} says, found {shown(inner[name])}"
        derived.fault_in(name, message)
    derived.take(name, default=outer.get(name))
    if name not in inner and name in outer:
        derived.origins[(name,)] = root.pointer(name)


def _vision(base: Mapping[str, object], family: Family, text: Derived) -> Derived:
    section = Section(base, "").section("vision_config")
    if section is None:
        derived = Derived("vision", Section({}, "/vision_config"))
        derived.fault("/vision_config", f"expected an object, found {shown(base.get('vision_config'))}")
        return derived
    derived = Derived("vision", section)
    derived.among("model_type", family.model_type, family.vision_model_type)
    derived.hold({**_VISION_HOLDS, "out_hidden_size": text.config.get("hidden_size")})
    derived.put("model_type", family.vision_model_type)
    for name in VISION_SIZES:
        derived.take(name)
    return derived


def _draft(component: str, document: Mapping[str, object], text: Derived) -> Derived:
    derived = Derived(component, Section(document, ""))
    target = {
        "hidden_size": text.config.get("hidden_size"),
        "vocab_size": text.config.get("vocab_size"),
        "num_target_layers": text.config.get("num_hidden_layers"),
    }
    derived.hold({**_DRAFT_HOLDS, **target})
    for name in ("architectures", "model_type", *DRAFT_SIZES):
        derived.take(name)
    derive_rope(derived, tuple(DRAFT_ROPE), {})
    derived.take("layer_types")
    kinds = document.get("layer_types")
    if isinstance(kinds, list) and SLIDING_ATTENTION in kinds:
        derived.take("sliding_window")
    own = document.get("dflash_config")
    if isinstance(own, dict):
        inner = Derived(component, Section(own, f"/{escape('dflash_config')}"))
        inner.hold({"is_causal": False})
        derived.faults.extend(inner.faults)
        derived.put("dflash_config", {name: own[name] for name in DRAFT_OWN[component] if name in own})
    else:
        derived.take("dflash_config")
    return derived
