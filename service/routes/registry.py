"""The closed registry: formats, layouts, encodings, encoder profiles, architectures."""

from __future__ import annotations

from fastapi import APIRouter

from schemas.interface import FormatEntry, LayoutEntry, RegistryDocument
from schemas.registry import FORMATS, EncoderProfile, Layout, ResourceEncoding
from schemas.storage_layouts import ALIGNMENT
from workers.engine.architectures.registered import ARCHITECTURES

router = APIRouter(prefix="/v1/registry", tags=["registry"])


@router.get("")
def show_registry() -> RegistryDocument:
    """Everything that a recipe may name."""
    return RegistryDocument(
        formats=tuple(
            FormatEntry(name=format, layout=row.layout, encodes=tuple(row.encodes)) for format, row in FORMATS.items()
        ),
        layouts=tuple(LayoutEntry(name=layout, alignment=ALIGNMENT[layout]) for layout in Layout),
        encodings=tuple(LayoutEntry(name=encoding, alignment=ALIGNMENT[encoding]) for encoding in ResourceEncoding),
        encoder_profiles=tuple(EncoderProfile),
        architectures=tuple(ARCHITECTURES),
    )
