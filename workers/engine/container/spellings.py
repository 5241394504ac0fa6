"""How framing 3 spells the names of the registry (container-v3.md, 5.1)."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.registry import Format, Layout, ResourceEncoding

FORMAT_SPELLINGS: Mapping[Format, str] = {
    Format.BF16: "bf16",
    Format.FP32: "fp32",
    Format.I32: "int32",
    Format.Q4G64_F16S: "q4_g64_fp16",
    Format.Q5G64_F16S: "q5_g64_fp16",
    Format.Q6G64_F16S: "q6_g64_fp16",
    Format.W8G32_F16S: "q8_g32_fp16",
    Format.NVFP4: "nvfp4",
    Format.FP8_E4M3FN_ROW_BF16S: "fp8_e4m3fn_row_bf16",
}
LAYOUT_SPELLINGS: Mapping[Layout, str] = {
    Layout.CONTIGUOUS: "contiguous_le_v1",
    Layout.ROW_SPLIT: "row_split_k128_v1",
    Layout.BLOCK_SCALE: "block_scale_k16_m128x4_v1",
    Layout.ROW_SCALE: "row_scale_v1",
}
ENCODING_SPELLINGS: Mapping[ResourceEncoding, str] = {ResourceEncoding.RAW_BYTES: "raw_bytes_v1"}
