"""The grouped encoders as one would write them with torch: what the kernels are compared with."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from schemas.registry import GroupedGeometry


@dataclass(frozen=True, slots=True)
class GroupedPlanes:
    """Planes of row-split-k128-v1 as flat uint8 tensors; `high` is empty at 4 and 8 bits."""

    codes: torch.Tensor
    high: torch.Tensor
    scales: torch.Tensor


def encode_grouped(words: torch.Tensor, geometry: GroupedGeometry) -> GroupedPlanes:
    """MAXABS_F16_RECIP_RNE_V1 (numeric-formats.md, section 7) of a floating-point tensor [rows, k], k a multiple
    of 128. Takes finite values for which every group has a scale."""
    bits, group = geometry.code_bits, geometry.group
    x = words.to(torch.float32).reshape(-1, group)
    amax = x.abs().amax(dim=1)
    scale = (amax / geometry.qmax).to(torch.float16)
    scale = torch.where((scale == 0) & (amax > 0), 2.0**-24, scale.to(torch.float32))
    inverse = torch.where(amax > 0, 1.0 / scale, 0.0)
    codes = torch.round(x * inverse[:, None]).clamp(geometry.qmin, geometry.qmax).to(torch.int32)
    stored = scale.to(torch.float16).view(torch.uint8).reshape(-1)
    empty = torch.empty(0, dtype=torch.uint8)
    if bits == 8:
        return GroupedPlanes(codes.to(torch.int8).view(torch.uint8).reshape(-1), empty, stored)
    high = _packed(codes >> 4, bits - 4) if bits > 4 else empty
    return GroupedPlanes(_packed(codes, 4), high, stored)


def _packed(values: torch.Tensor, width: int) -> torch.Tensor:
    """The lowest `width` bits of each value, value after value from bit 0 of each byte."""
    shifts = torch.arange(0, 8, width, dtype=values.dtype)
    lanes = (values & (1 << width) - 1).reshape(-1, 8 // width)
    return (lanes << shifts).sum(dim=1).to(torch.uint8)
