"""The components of the architecture: which there are, their class names, resources and backends (container-v3.md,
4.2, 6, 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

COMPONENTS = ("text", "vision", "mtp", "dflash", "dflash2")
TARGET = "text"
BACKENDS = ("mtp", "dflash", "dflash2")
"""Components that propose tokens: they meet the output head and the proposal head."""
DRAFTS = ("dflash", "dflash2")

RESOURCE_ROLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "text": ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"),
        "vision": ("preprocessor_config.json", "video_preprocessor_config.json"),
    }
)


@dataclass(frozen=True, slots=True)
class Family:
    """Names of the dense or of the mixture-of-experts kind: the text class as stored, the one that checkpoints with
    vision carry, and the model types and MTP class that go with them."""

    text_class: str
    conditional_class: str
    model_type: str
    mtp_class: str
    experts: bool

    @property
    def text_model_type(self) -> str:
        return f"{self.model_type}_text"

    @property
    def vision_model_type(self) -> str:
        return f"{self.model_type}_vision"


DENSE = Family("Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration", "qwen3_5", "Qwen3_5MTP", experts=False)
MOE = Family(
    "Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", "Qwen3_5MoeMTP", experts=True
)
FAMILIES = (DENSE, MOE)

DRAFT_CLASSES: Mapping[str, str] = MappingProxyType({"dflash": "DFlashDraftModel", "dflash2": "DFlash2DraftModel"})


def family_of(architectures: object) -> Family | None:
    """The family whose stored class name this is, alone in a list."""
    return next((family for family in FAMILIES if architectures == [family.text_class]), None)


def offered_components(names: Sequence[str]) -> tuple[str, ...]:
    """The components that objects of these names belong to: `text` always, another where a name starts with it."""
    begun = {name.partition("/")[0] for name in names if "/" in name}
    return tuple(component for component in COMPONENTS if component == TARGET or component in begun)
