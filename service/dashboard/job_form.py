"""The form of a new job: what somebody has filled in, and the request that it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal
from uuid import uuid4

from fastapi import HTTPException
from pydantic import ValidationError
from starlette.datastructures import FormData

from schemas.errors import Fault
from schemas.interface import JobRequest
from schemas.recipe.pointer import escape

Action = Literal["use", "preview", "submit"]

MAX_FIELDS = 5000
"""Fields of a form: a recipe with as many integers, sources and resources has to be submitted otherwise."""

_MAPS = ("source", "let", "resource")
_TEXTS = ("recipe", "text", "framing", "verify", "device", "name", "part_size", "key")
_ACTIONS: tuple[Action, ...] = ("use", "preview", "submit")
_KEY = re.compile(r"[0-9a-f]{32}")
_SIZE = re.compile(r"([0-9]+)(?:\.([0-9]+))? ?(B|kB|MB|GB|TB)?")
_UNITS = {None: 0, "B": 0, "kB": 3, "MB": 6, "GB": 9, "TB": 12}


def new_key() -> str:
    """What one filled-in form is told from another by, so that two clicks make one job."""
    return uuid4().hex


@dataclass(frozen=True, slots=True)
class JobForm:
    """What is filled in, as it was written. The recipe is named by its id, or given as a text."""

    recipe: str = ""
    text: str = ""
    source: Mapping[str, str] = field(default_factory=dict)
    let: Mapping[str, str] = field(default_factory=dict)
    resource: Mapping[str, str] = field(default_factory=dict)
    framing: str = "auto"
    verify: str = "full"
    device: str = "auto"
    name: str = ""
    part_size: str = ""
    allow_unexecutable: bool = False
    key: str = field(default_factory=new_key)
    action: Action = "use"


class FormFaultsError(Exception):
    """A form that is not a request; `faults` lead into the request that it would be."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(*map(str, faults))
        self.faults = faults


def read_form(data: FormData) -> JobForm:
    """The form that a browser sent. Raises HTTPException 422 for what no page of ours sends: fields that are unknown,
    stand twice or hold a file, and a key that is none."""
    found: dict[str, Any] = {name: {} for name in _MAPS}
    for name, value in data.multi_items():
        kind, dot, member = name.partition(".")
        into, at = (found[kind], member) if dot and kind in _MAPS else (found, name)
        is_known = into is not found or name in {*_TEXTS, "action", "allow_unexecutable"}
        if not is_known or at in into or not isinstance(value, str):
            raise _refusal(f"expected each field of the form once and as a text, found {name[:100]!r}")
        into[at] = value.replace("\r\n", "\n") if name == "text" else value.strip()
    if found.get("action") not in _ACTIONS or _KEY.fullmatch(found.get("key", "")) is None:
        raise _refusal("expected an action of the form and its key")
    if found.setdefault("allow_unexecutable", "") not in {"", "yes"}:
        raise _refusal("expected yes or nothing in allow_unexecutable")
    return JobForm(**{**found, "allow_unexecutable": found["allow_unexecutable"] == "yes"})


def _refusal(detail: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, detail)


def request_of(form: JobForm, document: Mapping[str, Any], sources: Iterable[str]) -> JobRequest:
    """The request for a job of the recipe that the form names, or of this document of the text in it, whose `sources`
    need places; other fields that are empty ask for nothing. Raises FormFaultsError with all faults."""
    missing = [name for name in sources if not form.source.get(name)]
    faults = [Fault(f"/sources/{escape(name)}", "expected a place, found none") for name in missing]
    body: dict[str, Any] = {
        "recipe": document if form.text else form.recipe,
        "sources": _filled(form.source),
        "resources": _filled(form.resource),
        "let": {name: _integer(f"/let/{escape(name)}", text, faults) for name, text in _filled(form.let).items()},
        "framing": int(form.framing) if form.framing in {"1", "2", "3"} else form.framing,
        "verify": form.verify,
        "device": form.device,
        "allow_unexecutable": form.allow_unexecutable,
        "name": form.name or None,
        "part_bytes": _size("/part_bytes", form.part_size, faults) if form.part_size else None,
    }
    if faults:
        raise FormFaultsError(faults)
    try:
        return JobRequest.model_validate(body)
    except ValidationError as error:
        told = {_pointer(one["loc"]): f"{one['msg']}, found {one['input']!r:.80}" for one in error.errors()}
        raise FormFaultsError([Fault(at, message) for at, message in told.items()]) from error


def field_of(at: str) -> str | None:
    """The form's field that a pointer into the request leads to, None for one that leads elsewhere."""
    member, _, rest = at.removeprefix("/").partition("/")
    kind = {"sources": "source", "resources": "resource", "let": "let"}.get(member)
    if kind is not None:
        name = rest.replace("~1", "/").replace("~0", "~")
        return f"{kind}.{name}" if rest and "/" not in rest else None
    return {"part_bytes": "part_size"}.get(member, member if not rest and member in _TEXTS else None)


def _pointer(place: tuple[int | str, ...]) -> str:
    """Of what pydantic says where a fault is, as far as it leads into the request."""
    depth = 2 if place[0] in {"sources", "resources", "let"} else 1
    return "".join(f"/{escape(token)}" for token in place[:depth])


def _filled(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in fields.items() if text}


def _integer(at: str, text: str, faults: list[Fault]) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        faults.append(Fault(at, f"expected an integer from 0 to 2^63-1, found {text[:40]!r}"))
        return 0
    return int(text)


def _size(at: str, text: str, faults: list[Fault]) -> int:
    """Bytes, as in `4 GB`, `1.5 GB` or `4000000000`."""
    found = _SIZE.fullmatch(text[:40])
    digits, fraction, unit = found.groups("") if found else ("", "", "")
    zeros = _UNITS[unit or None] - len(fraction)
    if found is None or zeros < 0:
        faults.append(Fault(at, f"expected whole bytes, as in 4 GB or 500000000, found {text[:40]!r}"))
        return 1
    return int(digits + fraction + "0" * zeros)
