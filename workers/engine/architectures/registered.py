"""The architectures that framing 3 can be written for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from workers.engine.architectures.architecture import Architecture
from workers.engine.architectures.qwen3_5.checkpoint_configs import component_configs
from workers.engine.architectures.qwen3_5.components import COMPONENTS, family_of, offered_components
from workers.engine.architectures.qwen3_5.describe import describe
from workers.engine.architectures.qwen3_5.execution import execution_faults
from workers.engine.architectures.qwen3_5.frontend_files import resource_findings
from workers.engine.architectures.qwen3_5.published import published_configs
from workers.engine.architectures.qwen3_5.stored_values import value_checks
from workers.engine.architectures.qwen3_5.validation import architecture_faults, passed_over
from workers.engine.container.model_description import ModelDescription

_QWEN3_5 = Architecture(
    name="qwen3_5",
    components=COMPONENTS,
    recognizes=lambda text: family_of(text.get("architectures")) is not None,
    component_configs=component_configs,
    published_configs=published_configs,
    offered_components=offered_components,
    describe=describe,
    architecture_faults=architecture_faults,
    passed_over=passed_over,
    resource_findings=resource_findings,
    value_checks=value_checks,
    execution_faults=execution_faults,
)

ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType({one.name: one for one in (_QWEN3_5,)})
"""By the name that a recipe gives as its `architecture`."""


def architecture_of(description: ModelDescription) -> Architecture | None:
    """The architecture whose class name the text config gives; None for one that is not registered."""
    text = description.components["text"].config
    return next((one for one in ARCHITECTURES.values() if one.recognizes(text)), None)
