"""The closed registry, as it is answered."""

from __future__ import annotations

from schemas.interface.answers import Answer


class FormatEntry(Answer):
    """A numeric format: its one layout, and the encoder profiles and origins that its words may come from."""

    name: str
    layout: str
    encodes: tuple[str, ...]


class LayoutEntry(Answer):
    """A tensor layout; payloads stored in it begin at multiples of `alignment` bytes."""

    name: str
    alignment: int


class RegistryDocument(Answer):
    """The closed registry."""

    formats: tuple[FormatEntry, ...]
    layouts: tuple[LayoutEntry, ...]
    encodings: tuple[LayoutEntry, ...]
    encoder_profiles: tuple[str, ...]
    architectures: tuple[str, ...]
