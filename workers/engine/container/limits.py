"""How large a directory may be.

container.md sets no limit, so these are this implementation's own. They bound what a hostile file can make a reader
allocate, at about ten times the largest directory known (8 MB); the arranger keeps them too, so that nothing is written
that could not be read again.
"""

from __future__ import annotations

from schemas.errors import ArtifactError

MAX_JSON_BYTES = 64 * 2**20
MAX_JSON_VALUES = 2 * 2**20
"""Strings, numbers, arrays and objects together: small ones take far more memory than text."""


def check_json_bytes(count: int, *, where: str) -> None:
    """Raises ArtifactError for JSON of more than MAX_JSON_BYTES bytes."""
    if count > MAX_JSON_BYTES:
        raise ArtifactError(where, expected=f"at most {MAX_JSON_BYTES} bytes of JSON", found=f"{count}")


def check_json_values(text: bytes, *, where: str) -> None:
    """Raises ArtifactError for JSON that could hold more than MAX_JSON_VALUES values.

    Every value but the root is the first of its array or object or follows a comma, so counting these three bytes
    bounds the values before any is built.
    """
    values = 1 + text.count(b"[") + text.count(b"{") + text.count(b",")
    if values > MAX_JSON_VALUES:
        raise ArtifactError(where, expected=f"at most {MAX_JSON_VALUES} values in the JSON", found=f"up to {values}")
