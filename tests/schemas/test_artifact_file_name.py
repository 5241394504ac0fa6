"""Names of downloaded artifacts."""

from __future__ import annotations

import pytest

from schemas.artifact_file_name import artifact_file_name


@pytest.mark.parametrize(
    ("model_id", "weights_id", "recipe_id", "name"),
    [
        ("qwen3.8-27b", "nvfp4", "qwen3.8-27b.nvfp4", "qwen3.8-27b.nvfp4.v3.ninfer"),
        ("qwen3.8-27b", "nvfp4", "qwen3.8-27b.nvfp4.mine", "qwen3.8-27b.nvfp4.mine.v3.ninfer"),
        ("qwen3.8-27b", "nvfp4", "qwen3.8-27b.nvfp4-mine", "qwen3.8-27b.nvfp4.qwen3.8-27b.nvfp4-mine.v3.ninfer"),
        ("qwen3.8-27b", "nvfp4", "mine", "qwen3.8-27b.nvfp4.mine.v3.ninfer"),
        ("qwen3.6-27b", "nvfp4", "", "qwen3.6-27b.nvfp4.v3.ninfer"),
        ("org/model: 1", 'w\n"x"', "", "org-model-1.w-x-.v3.ninfer"),
        ("../..", "", "", "v3.ninfer"),
        ("\N{GREEK SMALL LETTER ALPHA}", "w", "", "w.v3.ninfer"),
        ("m" * 100, "w" * 100, "r" * 100, f"{'m' * 70}.{'w' * 70}.{'r' * 70}.v3.ninfer"),
    ],
)
def test_a_name_tells_model_weights_recipe_and_framing(
    model_id: str, weights_id: str, recipe_id: str, name: str
) -> None:
    assert artifact_file_name(model_id, weights_id, 3, recipe_id=recipe_id) == name
