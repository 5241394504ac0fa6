"""The six resource files of a checkpoint, which hold together as an engine wants it (container-v3.md, section 10)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from workers.engine.miniature.sizes import Sizes

ADDED_TOKENS: Mapping[str, bool] = {
    "<|endoftext|>": True,
    "<|im_start|>": True,
    "<|im_end|>": True,
    "<tool_call>": False,
    "</tool_call>": False,
    "<|image_pad|>": True,
}
"""The last tokens of the domain, and whether each is special."""

_TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def resource_files(s: Sizes) -> dict[str, str]:
    """The text of each resource file by its name."""
    added = {token: s["domain"] - len(ADDED_TOKENS) + place for place, token in enumerate(ADDED_TOKENS)}
    end, stop = added["<|endoftext|>"], added["<|im_end|>"]
    documents = {
        "tokenizer.json": _tokenizer(s, added),
        "tokenizer_config.json": _tokenizer_config(added),
        "generation_config.json": {
            "bos_token_id": end,
            "do_sample": True,
            "eos_token_id": [stop, end],
            "pad_token_id": end,
            "temperature": 0.6,
            "top_k": 20,
            "top_p": 0.95,
        },
        "preprocessor_config.json": {**_pixels(s), "image_processor_type": "Qwen2VLImageProcessorFast"},
        "video_preprocessor_config.json": {**_pixels(s), "video_processor_type": "Qwen3VLVideoProcessor"},
    }
    texts = {name: json.dumps(document, indent=2) + "\n" for name, document in documents.items()}
    return {**texts, "chat_template.jinja": _TEMPLATE}


def _tokenizer(s: Sizes, added: Mapping[str, int]) -> object:
    """A byte-level BPE of single characters."""
    letters = {chr(ord("!") + id): id for id in range(s["domain"] - len(added))}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": id, **_added(token)} for token, id in added.items()],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": byte_level,
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": letters, "merges": [], "byte_fallback": False, "ignore_merges": False},
    }


def _tokenizer_config(added: Mapping[str, int]) -> object:
    return {
        "add_prefix_space": False,
        "added_tokens_decoder": {str(id): _added(token) for token, id in added.items()},
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
    }


def _added(token: str) -> dict[str, object]:
    shape = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    return {"content": token, **shape, "special": ADDED_TOKENS[token]}


def _pixels(s: Sizes) -> dict[str, object]:
    side = s["patch"] * s["merge"]
    return {
        "size": {"shortest_edge": side * side, "longest_edge": 64 * side * side},
        "patch_size": s["patch"],
        "temporal_patch_size": s["frames"],
        "merge_size": s["merge"],
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "processor_class": "Qwen3VLProcessor",
    }
