"""What the checkpoints of each registered target hold: tensors and config by source (targets.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.errors import RegistryError
from workers.engine.miniature import sizes
from workers.engine.miniature.headers import (
    ATTENTION_LINEARS,
    GDN_LINEARS,
    TEXT,
    Headers,
    dense_headers,
    dflash_headers,
    mixed_headers,
    moe_headers,
    nvfp4_headers,
)
from workers.engine.miniature.model_config import Config, dense_config, draft_config, experts_config
from workers.engine.miniature.sizes import Sizes
from workers.engine.miniature.storage_config import mixed_config, nvfp4_config

TARGET_IDS = (
    "qwen3.6-27b.groupwise-int",
    "qwen3.6-27b.nvfp4",
    "qwen3.6-35b-a3b.groupwise-int",
    "qwen3.8-27b.groupwise-int",
    "qwen3.8-27b.nvfp4",
)


@dataclass(frozen=True, slots=True)
class MiniatureCheckpoint:
    """One checkpoint: its tensors, its config.json, and the tensors that have the base checkpoint's own words."""

    headers: Headers
    config: Config
    of_base: frozenset[str] = frozenset()


def target_sizes(id: str) -> Sizes:
    """The sizes of a target's miniature. Raises RegistryError for an id that is no target with one."""
    match id:
        case "qwen3.6-27b.groupwise-int" | "qwen3.8-27b.groupwise-int":
            return sizes.GROUPWISE
        case "qwen3.6-27b.nvfp4":
            return sizes.NVFP4
        case "qwen3.8-27b.nvfp4":
            return sizes.MIXED
        case "qwen3.6-35b-a3b.groupwise-int":
            return sizes.EXPERTS
        case _:
            raise RegistryError("target", expected=f"one of {', '.join(TARGET_IDS)}", found=repr(id))


def target_checkpoints(id: str, s: Sizes) -> Mapping[str, MiniatureCheckpoint]:
    """The checkpoints of a target by the names of its sources."""
    if id == "qwen3.6-35b-a3b.groupwise-int":
        return {
            "base": MiniatureCheckpoint(moe_headers(s), experts_config(s)),
            "dflash": MiniatureCheckpoint(dflash_headers(s), draft_config(s)),
        }
    base = MiniatureCheckpoint(dense_headers(s), dense_config(s))
    match id:
        case "qwen3.6-27b.nvfp4":
            headers = nvfp4_headers(s)
            return {"base": base, "quantized": _quantized(base, headers, nvfp4_config(headers))}
        case "qwen3.8-27b.nvfp4":
            headers = mixed_headers(s, s["nvfp4_mlps"])
            return {"base": base, "quantized": _quantized(base, headers, mixed_config(s["nvfp4_mlps"]))}
        case _:
            return {"base": base}


def _quantized(base: MiniatureCheckpoint, headers: Headers, storage: Config) -> MiniatureCheckpoint:
    """Only the linears left in BF16 are as in the base; other words are its own, so that neither can stand in for the
    other."""
    linears = tuple(f"{linear}.weight" for linear in (*ATTENTION_LINEARS, *GDN_LINEARS))
    kept = {
        name
        for name, header in headers.items()
        if name.startswith(f"{TEXT}layers.") and name.endswith(linears) and header == base.headers.get(name)
    }
    return MiniatureCheckpoint(headers, {**base.config, "quantization_config": storage}, frozenset(kept))
