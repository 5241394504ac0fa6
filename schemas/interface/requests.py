"""What callers send."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

PRINTABLE = r"^[^\x00-\x1f\x7f]*$"

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PRINTABLE)]
Where = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=PRINTABLE)]

MAX_MEMBERS = 1000
"""Most members of a request's body, and of each of its maps: recipes have at most 64 sources."""


class Body(BaseModel):
    """Base of what callers send: nothing unknown, and no text taken for a number or the other way round."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class JobRequest(Body):
    """Body of POST /v1/jobs and of POST /v1/plans.

    `recipe` is the id of a registered one or a whole document; `sources` says where each of its sources is; `let`
    replaces named integers of the recipe; `resources` gives single resources another place than the recipe's. In
    framing 3 no file is larger than `part_bytes`. `allow_unexecutable` lets pass what engines load and fail to run.
    """

    @model_validator(mode="before")
    @classmethod
    def _bounded(cls, body: object) -> object:
        """Refuses what is too much to tell every fault of."""
        for name, found in [("the body", body), *(body.items() if isinstance(body, dict) else ())]:
            if name != "recipe" and isinstance(found, dict) and len(found) > MAX_MEMBERS:
                raise ValueError(f"expected at most {MAX_MEMBERS} members in {name[:100]}, found {len(found)}")
        return body

    recipe: Name | dict[str, Any]
    sources: dict[Name, Where]
    let: dict[Name, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    resources: dict[str, Where] = Field(default_factory=dict)
    framing: Literal["auto"] | Annotated[int, Field(ge=1, le=3)] = "auto"
    part_bytes: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
    allow_unexecutable: bool = False
    verify: Literal["full", "sample"] = "full"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    name: Name | None = None


class UpgradeRequest(Body):
    """Body of POST /v1/upgrades. `artifact` is a place below the source roots or the id of a job that is ready, of a
    file of framing 1 or 2; `chat_template` the place of a template that is to replace the file's own."""

    artifact: Where
    chat_template: Where | None = None


class InspectionRequest(Body):
    """Body of POST /v1/inspections: a place below the source roots, or the id of a job that is ready."""

    artifact: Where
