"""Miniatures of the checkpoints that the registered targets are made from: every tensor, config and resource, at sizes
at which each word of an artifact can be checked by hand (targets.md)."""

from workers.engine.miniature.target_checkpoints import TARGET_IDS
from workers.engine.miniature.writing import SEED, Miniature, write_miniature

__all__ = ["SEED", "TARGET_IDS", "Miniature", "write_miniature"]
