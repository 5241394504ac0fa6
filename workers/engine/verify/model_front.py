"""The bytes before the payloads of framing 3 as they must be, from recipe, registry and what is to be inscribed
(container-v3.md, 2 to 5)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from schemas.recipe.expanded import ExpandedRecipe
from schemas.storage_layouts import ALIGNMENT, payload
from workers.engine.container.model_arrangement import Inscription
from workers.engine.container.model_description import Binding, ModelDescription, WholeTensor
from workers.engine.container.spellings import FORMAT_SPELLINGS, LAYOUT_SPELLINGS

_BLOCK = 4096
_HEADER = 32


def expected_model_fronts(
    recipe: ExpandedRecipe, inscription: Inscription, resource_bytes: Mapping[str, int], artifact_id: bytes
) -> tuple[bytes, ...]:
    """For each file of the artifact that this recipe describes, the entry first: its bytes up to the payload.

    `resource_bytes` gives each resource's length by name.
    """
    objects, total = _objects(recipe, resource_bytes)
    description = inscription.description
    without_files = _json(
        {
            "components": _components(description),
            "objects": objects,
            "bindings": {name: _binding(bound) for name, bound in description.bindings.items()},
            "uses": _uses(description),
            "metadata": inscription.metadata,
            "provenance": inscription.provenance,
        }
    )
    length = _BLOCK - _HEADER
    while True:
        sizes = _slice_bytes(_HEADER + length, total, inscription.part_bytes)
        names = [None, *(f"{inscription.entry_name}.part-{number:04d}" for number in range(1, len(sizes)))]
        files = [{"path": name, "payload_bytes": size} for name, size in zip(names, sizes, strict=True)]
        text = without_files[:-1] + b',"files":' + _json(files) + b"}"
        if len(text) <= length:
            break
        length = -(-(_HEADER + len(text)) // _BLOCK) * _BLOCK - _HEADER
    entry = b"NINFER\x00\x03" + length.to_bytes(8, "little") + artifact_id + text + b" " * (length - len(text))
    continuations = (
        b"NINPRT\x00\x03" + number.to_bytes(8, "little") + artifact_id + bytes(_BLOCK - _HEADER)
        for number in range(1, len(sizes))
    )
    return entry, *continuations


def _objects(recipe: ExpandedRecipe, resource_bytes: Mapping[str, int]) -> tuple[list[dict[str, object]], int]:
    """The records of all objects, and where in the payload the last one ends."""
    records: list[dict[str, object]] = []
    end = 0
    for resource in recipe.resources:
        size = resource_bytes[resource.name]
        what: dict[str, object] = {"id": resource.name, "kind": "resource", "encoding": "raw_bytes_v1"}
        records.append({**what, "offset": end, "bytes": size})
        end += size
    for tensor in recipe.objects:
        offset = -(-end // ALIGNMENT[tensor.layout]) * ALIGNMENT[tensor.layout]
        size = payload(tensor.format, tensor.shape, where=f"object {tensor.name}").bytes
        format, layout = FORMAT_SPELLINGS[tensor.format], LAYOUT_SPELLINGS[tensor.layout]
        what = {"id": tensor.name, "kind": "tensor", "shape": list(tensor.shape), "format": format, "layout": layout}
        records.append({**what, "offset": offset, "bytes": size})
        end = offset + size
    return records, end


def _components(description: ModelDescription) -> dict[str, dict[str, object]]:
    components: dict[str, dict[str, object]] = {}
    for name, component in description.components.items():
        components[name] = {"config": dict(component.config)}
        if component.target:
            components[name]["target"] = component.target
        if component.resources:
            components[name]["resources"] = dict(component.resources)
        if component.proposal:
            rows = component.proposal.rows
            components[name]["proposal"] = {"domain": "full"} if rows is None else {"domain": "indexed", "rows": rows}
    return components


def _uses(description: ModelDescription) -> list[dict[str, object]]:
    uses: list[dict[str, object]] = []
    for use in description.uses:
        one: dict[str, object] = {"parameter": use.parameter, "input": use.input}
        if use.policy:
            one["activation_policy"] = use.policy.value
        if use.auxiliaries:
            one["auxiliaries"] = {role: _binding(bound) for role, bound in use.auxiliaries.items()}
        uses.append(one)
    return uses


def _binding(bound: Binding) -> dict[str, object]:
    if isinstance(bound, WholeTensor):
        return {"object": bound.object}
    return {"parts": [{"object": one.object, "range": [one.start, one.stop]} for one in bound.ranges]}


def _slice_bytes(start: int, total: int, limit: int) -> list[int]:
    """Payload bytes of each file."""
    if start + total <= limit:
        return [total]
    sizes = [(limit - start) // _BLOCK * _BLOCK]
    room = (limit - _BLOCK) // _BLOCK * _BLOCK
    left = total - sizes[0]
    while left:
        sizes.append(min(room, left))
        left -= sizes[-1]
    return sizes


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
