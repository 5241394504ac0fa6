"""Which pairs of a head turn with time, height and width (container-v3.md, 6, MRoPE rule)."""

from __future__ import annotations

from collections.abc import Mapping

from workers.engine.architectures.qwen3_5.config_members import INDICES, Kind, shown

MROPE_SECTION = Kind(
    "three integers, for time, height and width",
    lambda value: INDICES.holds(value) and isinstance(value, list) and len(value) == 3,
)


def mrope_fault(head_dim: int, rope: Mapping[str, object]) -> tuple[str, str] | None:
    """The member of `rope`, whose kinds are as they must be, that does not fit heads of this width; and why."""
    factor, section = rope["partial_rotary_factor"], rope["mrope_section"]
    assert isinstance(factor, int | float)  # noqa: S101
    assert isinstance(section, list)  # noqa: S101
    turned = int(head_dim * factor)
    if turned <= 0 or turned % 2:
        return "partial_rotary_factor", f"expected an even number of turned dimensions, found {turned}"
    pairs = turned // 2
    if sum(section) != pairs:
        return (
            "mrope_section",
            f"expected three that sum to {pairs}, half the turned dimensions, found {shown(section)}",
        )
    counted = _counted(pairs, section[1], section[2])
    if section != counted:
        return "mrope_section", f"expected {counted}, as the interleaving counts its pairs, found {shown(section)}"
    return None


def _counted(pairs: int, height: int, width: int) -> list[int]:
    """Of `pairs`: every third from 1 on turns with height while below 3 * height, every third from 2 on with width."""
    tall = min(height, (pairs + 1) // 3)
    wide = min(width, pairs // 3)
    return [pairs - tall - wide, tall, wide]
