"""The canonical form of a recipe and its SHA-256: recipe.md (Identity).

RFC 8785 JSON of one object with the members recipe, id, revision, model_id, weights_id, architecture, sources,
resources and objects; `architecture` is left out where there is none. Within it:

    sources     an object from name to {kind, origin?, quantization (checkpoints), config?, sha256?}
    resources   a list of {name, source, file?, sha256?, repair? (where not empty)}
    objects     a list of {name, shape, format, layout, encode, nonfinite (BF16 and FP32), require?, value,
                equals? (where not empty)}

Expressions are spelled as documents spell them, with every default filled in and every name, loop and formula resolved:

    {"tensor": T, "source": S}                {"slice": E, "axis": a, "from": i, "to": j}
    {"reshape": E, "to": [...]}               {"transpose": E, "axes": [...]}
    {"concat": [E, ...], "axis": a}           {"gather": E, "rows": O}
    {"same": [E, ...]}                        {"cast": E, "to": F, "by": R}
    {"reciprocal": E, "by": R}                {"fp8_row": {"codes": E, "scales": E}}
    {"draft_ids": {"counts": S, "width": w, "domain": d, "take": t, "special": N}}
    {"nvfp4": {"codes": E, "scales": E, "divisors": [E, ...]}}
    {"nvfp4": {"codes": E, "scales": E, "multipliers": [E, ...], "reciprocal": R}}
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any, assert_never

import rfc8785

from schemas.recipe.document import LANGUAGE_VERSION
from schemas.recipe.expanded import (
    Cast,
    Concat,
    DivisorConvention,
    DraftIds,
    ExpandedObject,
    ExpandedRecipe,
    ExpandedResource,
    ExpandedSource,
    Expression,
    Fp8Row,
    Gather,
    Nvfp4,
    Reciprocal,
    Reshape,
    Same,
    Slice,
    SourceKind,
    Tensor,
    Transpose,
)
from workers.engine.recipe.object_expansion import FLOATING_FORMATS

Members = dict[str, Any]


def with_identity(recipe: ExpandedRecipe) -> ExpandedRecipe:
    """The recipe with its canonical form and the SHA-256 of that."""
    canonical = canonical_form(recipe)
    return replace(recipe, canonical=canonical, sha256=hashlib.sha256(canonical).hexdigest())


def canonical_form(recipe: ExpandedRecipe) -> bytes:
    """RFC 8785 bytes of what identifies a recipe.

    Objects and resources hold nothing but texts, integers, lists and members with ASCII names in order; for such data
    the standard library's encoder writes what RFC 8785 does, in C. The rest, which has floating-point numbers and free
    member names in `config`, takes the package.
    """
    members: Members = {
        "recipe": LANGUAGE_VERSION,
        "id": recipe.id,
        "revision": recipe.revision,
        "model_id": recipe.model_id,
        "weights_id": recipe.weights_id,
        "sources": {source.name: _source(source) for source in recipe.sources.values()},
    }
    if recipe.architecture is not None:
        members["architecture"] = recipe.architecture
    encoded = {name: rfc8785.dumps(member) for name, member in members.items()}
    encoded["resources"] = _plain_json([_resource(resource) for resource in recipe.resources])
    encoded["objects"] = _plain_json([_object(spec) for spec in recipe.objects])
    return b"{" + b",".join(b'"%b":%b' % (name.encode(), encoded[name]) for name in sorted(encoded)) + b"}"


def _plain_json(value: list[Members]) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _source(source: ExpandedSource) -> Members:
    members: Members = {"kind": source.kind, "origin": source.origin, "config": source.config, "sha256": source.sha256}
    if source.kind is SourceKind.CHECKPOINT:
        members["quantization"] = source.quantization
    return _present(members)


def _resource(resource: ExpandedResource) -> Members:
    members: Members = {
        "name": resource.name,
        "source": resource.source,
        "file": resource.file,
        "sha256": resource.sha256,
        "repair": list(resource.repair) or None,
    }
    return _present(members)


def _object(spec: ExpandedObject) -> Members:
    members: Members = {
        "name": spec.name,
        "shape": spec.shape,
        "format": spec.format,
        "layout": spec.layout,
        "encode": spec.encode,
        "nonfinite": spec.nonfinite if spec.format in FLOATING_FORMATS else None,
        "require": spec.require,
        "value": _expression(spec.value),
        "equals": [_expression(other) for other in spec.equals] or None,
    }
    return _present(members)


def _present(members: Members) -> Members:
    return {name: member for name, member in members.items() if member is not None}


def _expression(op: Expression) -> Members:
    """One expression in its canonical spelling, given in the docstring of this module."""
    match op:
        case Tensor(tensor, source):
            return {"tensor": tensor, "source": source}
        case Concat(of, axis):
            return {"concat": [_expression(part) for part in of], "axis": axis}
        case Same(of):
            return {"same": [_expression(part) for part in of]}
        case DraftIds() | Nvfp4() | Fp8Row():
            return _top_expression(op)
        case _:
            return _unary_expression(op)


def _unary_expression(op: Slice | Reshape | Transpose | Gather | Cast | Reciprocal) -> Members:
    of = _expression(op.of)
    match op:
        case Slice(_, axis, start, stop):
            return {"slice": of, "axis": axis, "from": start, "to": stop}
        case Reshape(_, to):
            return {"reshape": of, "to": to}
        case Transpose(_, axes):
            return {"transpose": of, "axes": axes}
        case Gather(_, rows):
            return {"gather": of, "rows": rows}
        case Cast(_, to, by):
            return {"cast": of, "to": to, "by": by}
        case Reciprocal(_, by):
            return {"reciprocal": of, "by": by}


def _top_expression(op: DraftIds | Nvfp4 | Fp8Row) -> Members:
    match op:
        case DraftIds(counts, width, domain, take, special):
            return {"draft_ids": {"counts": counts, "width": width, "domain": domain, "take": take, "special": special}}
        case Nvfp4(codes, scales, divisors, convention, reciprocal):
            members: Members = {"codes": _expression(codes), "scales": _expression(scales)}
            members[convention] = [_expression(divisor) for divisor in divisors]
            if convention is DivisorConvention.MULTIPLIERS:
                members["reciprocal"] = reciprocal
            return {"nvfp4": members}
        case Fp8Row(codes, scales):
            return {"fp8_row": {"codes": _expression(codes), "scales": _expression(scales)}}
        case _:
            assert_never(op)
