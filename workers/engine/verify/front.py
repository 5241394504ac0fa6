"""The bytes before the payload as they must be, from the recipe and the registry alone (container.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from schemas.recipe.expanded import ExpandedRecipe
from schemas.registry import ResourceEncoding
from schemas.storage_layouts import ALIGNMENT, payload

_BLOCK = 4096


def expected_front(recipe: ExpandedRecipe, framing: int, resource_bytes: Mapping[str, int]) -> bytes:
    """Prefix, directory and the zeros up to the payload of the artifact that this recipe describes.

    `resource_bytes` gives each resource's length by name.
    """
    objects: list[dict[str, object]] = []
    end = 0
    for resource in recipe.resources:
        size = resource_bytes[resource.name]
        objects.append(
            {
                "name": resource.name,
                "kind": "resource",
                "encoding": ResourceEncoding.RAW_BYTES.value,
                "offset": end,
                "bytes": size,
            }
        )
        end += size
    for tensor in recipe.objects:
        alignment = ALIGNMENT[tensor.layout]
        offset = (end + alignment - 1) // alignment * alignment
        size = payload(tensor.format, tensor.shape, where=f"object {tensor.name}").bytes
        objects.append(
            {
                "name": tensor.name,
                "kind": "tensor",
                "shape": list(tensor.shape),
                "format": tensor.format.value,
                "layout": tensor.layout.value,
                "offset": offset,
                "bytes": size,
            }
        )
        end = offset + size
    identity: dict[str, object] = {"model_id": recipe.model_id}
    if framing == 2:
        identity = {"identity": {"model_id": recipe.model_id, "weights_id": recipe.weights_id}}
    directory = json.dumps(identity | {"objects": objects}, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    front = b"NINFER\x00" + framing.to_bytes(1, "little") + len(directory).to_bytes(8, "little") + directory
    return front + bytes(-len(front) % _BLOCK)
