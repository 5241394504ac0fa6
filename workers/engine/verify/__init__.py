"""Reads finished artifacts back and holds every word to recipe and sources (design.md, Verify).

Nothing here is shared with the encoder but the registry's tables and what planning found out.
"""

from workers.engine.verify.artifact import BLOCK_BYTES, Coverage, Verification, verify_artifact

__all__ = ["BLOCK_BYTES", "Coverage", "Verification", "verify_artifact"]
