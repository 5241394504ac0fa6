"""The ranking file: six rows of how often each id occurs, of which the first counts (targets.md, draft head)."""

from __future__ import annotations

import numpy as np

from workers.engine.miniature.sizes import Sizes

ROWS = 6


def ranking_bytes(s: Sizes, seed: int) -> bytes:
    """Little-endian I64. Many ids have equal counts, some none, some more than 32 bits hold; each row is another."""
    generator = np.random.default_rng([seed, ROWS])
    counts = generator.integers(0, 9, (ROWS, s["vocab"]), np.int64)
    counts[:, 1 : s["domain"] : 7] += generator.integers(0, 3, counts[:, 1 : s["domain"] : 7].shape) << 40
    counts[:, s["domain"] :] = 0
    return counts.astype("<i8").tobytes()
