"""Faulty entries of framing 3: what breaks components or open content. Each has the whole message
that it must be refused with; `FILE` stands for the path.
"""

from __future__ import annotations

from tests.container.faults import POSITIVE, Fault
from tests.container.model_changes import (
    NO_NUL,
    NOT_EMPTY,
    changed,
    component,
    root,
)

COMPONENT_FAULTS: tuple[Fault, ...] = (
    Fault("components an array", root("components", []), "FILE, components", "an object", "an array of 0"),
    Fault("no text", root("components", {"mtp": {"config": {}}}), "FILE, components", "a component 'text'", "none"),
    Fault(
        "component id empty",
        changed(lambda d: d["components"].update({"": {"config": {}}})),
        "FILE, components",
        NOT_EMPTY,
        "an empty one",
    ),
    Fault(
        "component id with NUL",
        changed(lambda d: d["components"].update({"a\0": {"config": {}}})),
        "FILE, components",
        NO_NUL,
        "'a\\x00'",
    ),
    Fault(
        "component null",
        changed(lambda d: d["components"].update(vision=None)),
        "FILE, components, 'vision'",
        "an object",
        "null",
    ),
    Fault(
        "component without config", component("mtp", config=...), "FILE, components, 'mtp'", "a member 'config'", "none"
    ),
    Fault(
        "component member too many",
        component("mtp", role="draft"),
        "FILE, components, 'mtp'",
        "only the members config, target, resources, proposal",
        "'role'",
    ),
    Fault(
        "config an array", component("mtp", config=[]), "FILE, components, 'mtp', config", "an object", "an array of 0"
    ),
    Fault(
        "target missing",
        component("mtp", target="draft"),
        "FILE, components, 'mtp', member 'target'",
        "the id of a component",
        "'draft'",
    ),
    Fault("target null", component("mtp", target=None), "FILE, components, 'mtp', member 'target'", "a string", "null"),
    Fault(
        "resources an array",
        component("text", resources=["frontend/é.json"]),
        "FILE, components, 'text', resources",
        "an object",
        "an array of 1",
    ),
    Fault(
        "resource role empty",
        component("text", resources={"": "frontend/é.json"}),
        "FILE, components, 'text', resources",
        NOT_EMPTY,
        "an empty one",
    ),
    Fault(
        "resource that is missing",
        component("text", resources={"a": "b"}),
        "FILE, components, 'text', resources, 'a'",
        "the id of a resource object",
        "'b'",
    ),
    Fault(
        "resource that is a tensor",
        component("text", resources={"a": "matrix"}),
        "FILE, components, 'text', resources, 'a'",
        "the id of a resource object",
        "the tensor 'matrix'",
    ),
    Fault(
        "resource a number",
        component("text", resources={"a": 0}),
        "FILE, components, 'text', resources, 'a'",
        "a string",
        "0",
    ),
    Fault(
        "proposal outside text",
        component("mtp", proposal={"domain": "full"}),
        "FILE, components, 'mtp', member 'proposal'",
        "none outside 'text'",
        "one",
    ),
    Fault("proposal null", component("text", proposal=None), "FILE, components, 'text', proposal", "an object", "null"),
    Fault(
        "proposal without domain",
        component("text", proposal={"rows": 3}),
        "FILE, components, 'text', proposal",
        "a member 'domain'",
        "none",
    ),
    Fault(
        "proposal of another domain",
        component("text", proposal={"domain": "all"}),
        "FILE, components, 'text', proposal, member 'domain'",
        "'full' or 'indexed'",
        "'all'",
    ),
    Fault(
        "proposal domain null",
        component("text", proposal={"domain": None}),
        "FILE, components, 'text', proposal, member 'domain'",
        "'full' or 'indexed'",
        "null",
    ),
    Fault(
        "full proposal with rows",
        component("text", proposal={"domain": "full", "rows": 3}),
        "FILE, components, 'text', proposal",
        "only the members domain",
        "'rows'",
    ),
    Fault(
        "indexed proposal without rows",
        component("text", proposal={"domain": "indexed"}),
        "FILE, components, 'text', proposal",
        "a member 'rows'",
        "none",
    ),
    Fault(
        "indexed proposal of no rows",
        component("text", proposal={"domain": "indexed", "rows": 0}),
        "FILE, components, 'text', proposal, member 'rows'",
        POSITIVE,
        "0",
    ),
    Fault(
        "indexed proposal of true rows",
        component("text", proposal={"domain": "indexed", "rows": True}),
        "FILE, components, 'text', proposal, member 'rows'",
        POSITIVE,
        "true",
    ),
    Fault(
        "indexed proposal of more",
        component("text", proposal={"domain": "indexed", "rows": 3, "top_k": 1}),
        "FILE, components, 'text', proposal",
        "only the members domain, rows",
        "'top_k'",
    ),
    Fault("metadata null", root("metadata", None), "FILE, metadata", "an object", "null"),
    Fault(
        "metadata name empty",
        root("metadata", {"name": ""}),
        "FILE, metadata, member 'name'",
        NOT_EMPTY,
        "an empty one",
    ),
    Fault("metadata name a number", root("metadata", {"name": 1}), "FILE, metadata, member 'name'", "a string", "1"),
    Fault(
        "metadata name with NUL", root("metadata", {"name": "\0"}), "FILE, metadata, member 'name'", NO_NUL, "'\\x00'"
    ),
    Fault("provenance an array", root("provenance", []), "FILE, provenance", "an object", "an array of 0"),
)
