"""What an engine asks of the resource files when it loads (container-v3.md, section 10)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from schemas.errors import Fault
from workers.engine.architectures.architecture import ResourceFindings
from workers.engine.architectures.qwen3_5.components import TARGET
from workers.engine.architectures.qwen3_5.config_members import shown
from workers.engine.container.model_description import ModelDescription

_TEXT_FILES = ("tokenizer.json", "tokenizer_config.json", "generation_config.json")
_VISION_FILES = ("preprocessor_config.json", "video_preprocessor_config.json")
_SIDES = {"patch_size": "patch_size", "temporal_patch_size": "temporal_patch_size", "merge_size": "spatial_merge_size"}
"""Members of a preprocessor's file by the members of the vision config that they must equal."""
_ID = re.compile(r"[0-9]{1,20}")
"""A token's id as JSON names a member: no longer than 64 bits can be."""

ReadResource = Callable[[str], bytes]
"""The content of a resource object by its id."""

Document = Mapping[str, object]


def resource_findings(description: ModelDescription, read: ReadResource) -> ResourceFindings:
    """Every resource that an engine refuses, each at its role: no JSON object in UTF-8, tokens that are not numbered
    without gaps or are more than the vocabulary has rows, stop tokens past them, pixels cut as vision does not. And how
    many tokens there are, where the files are all there and number them."""
    faults: list[Fault] = []
    tokens: int | None = None
    text = _documents(description, TARGET, _TEXT_FILES, read, faults)
    if len(text) == len(_TEXT_FILES):
        tokenizer, tokenizer_config, generation = (text[role] for role in _TEXT_FILES)
        ids = _token_ids(tokenizer, tokenizer_config)
        if isinstance(ids, str):
            faults.append(Fault(_at(TARGET, "tokenizer.json"), ids))
        else:
            tokens = len(ids)
            faults += _token_faults(description, ids, generation)
    for role, document in _documents(description, "vision", _VISION_FILES, read, faults).items():
        config = description.components["vision"].config
        for member, of_vision in _SIDES.items():
            expected, found = config.get(of_vision), document.get(member)
            if found != expected or isinstance(found, bool):
                message = f"expected {expected}, the {of_vision} of the vision config, found {shown(found)}"
                faults.append(Fault(f"{_at('vision', role)}/{member}", message))
    return ResourceFindings(tuple(faults), tokens)


def _documents(
    description: ModelDescription, component: str, roles: tuple[str, ...], read: ReadResource, faults: list[Fault]
) -> dict[str, Document]:
    """The JSON objects of a component's resources; a fault for each that is none."""
    found: dict[str, Document] = {}
    resources = description.components[component].resources if component in description.components else {}
    for role in roles:
        if role in resources:
            document = _json_object(read(resources[role]))
            if isinstance(document, str):
                faults.append(Fault(_at(component, role), f"expected a JSON object in UTF-8, found {document}"))
            else:
                found[role] = document
    return found


def _json_object(content: bytes) -> Document | str:
    """The members of a JSON object, or what the content is instead."""
    try:
        document = json.loads(content.decode())
    except UnicodeDecodeError as error:
        return f"0x{content[error.start]:02x} at byte {error.start}"
    except json.JSONDecodeError as error:
        return f"a fault: {error}"
    except ValueError:
        return "an integer of more digits than can be read"
    except RecursionError:
        return "too many levels of nesting"
    return document if isinstance(document, dict) else f"{type(document).__name__}"


def _token_faults(description: ModelDescription, ids: set[Any], generation: Document) -> Iterator[Fault]:
    at = _at(TARGET, "tokenizer.json")
    count, rows = len(ids), description.components[TARGET].config.get("vocab_size")
    if ids != set(range(count)):
        gap = next(number for number in range(count) if number not in ids)
        message = (
            f"expected ids of tokens from 0 to {count - 1} without gaps, as {count} tokens have, found none of {gap}"
        )
        yield Fault(at, message)
        return
    if isinstance(rows, int) and count > rows:
        yield Fault(at, f"expected at most {rows} tokens, the rows of the vocabulary, found {count}")
    proposal = description.components[TARGET].proposal
    if proposal is not None and proposal.rows is not None and proposal.rows > count:
        yield Fault(at, f"expected at least {proposal.rows} tokens, as many as are proposed, found {count}")
    stops = generation.get("eos_token_id", [])
    for stop in stops if isinstance(stops, list) else [stops]:
        if type(stop) is not int or not 0 <= stop < count:
            place = f"{_at(TARGET, 'generation_config.json')}/eos_token_id"
            yield Fault(place, f"expected ids of tokens, from 0 to {count - 1}, found {shown(stop)}")


def _token_ids(tokenizer: Document, tokenizer_config: Document) -> set[Any] | str:
    """Ids of all tokens, or what is wrong with the files that number them."""
    model, added = tokenizer.get("model"), tokenizer.get("added_tokens", [])
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    decoder = tokenizer_config.get("added_tokens_decoder", {})
    if isinstance(vocabulary, list):
        numbered: list[object] = list(range(len(vocabulary)))
    elif isinstance(vocabulary, dict):
        numbered = list(vocabulary.values())
    else:
        return "expected a vocabulary under model, vocab, found none"
    if not isinstance(added, list) or not all(isinstance(token, dict) for token in added):
        return "expected a list of tokens under added_tokens, found another thing"
    if not isinstance(decoder, dict) or not all(_ID.fullmatch(key) for key in decoder):
        return "expected ids under added_tokens_decoder of tokenizer_config.json, found another thing"
    numbered += [token.get("id") for token in added]
    if set(map(type, numbered)) - {int}:
        wrong = next(one for one in numbered if type(one) is not int)
        return f"expected every token numbered by an integer, found {shown(wrong)}"
    return set(numbered) | set(map(int, decoder))


def _at(component: str, role: str) -> str:
    return f"/components/{component}/resources/{role}"
