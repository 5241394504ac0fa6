"""How pages are rendered: one environment of templates, and what every page knows."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from schemas.states import ACTIVE_STATES, JobState, WorkerState
from service.dashboard import quantities
from service.dashboard.highlighted import MOST_SHOWN_LINES
from service.dependencies import Service
from workers.tokens import Scope

STATIC = Path(__file__).parent / "static"

_NAVIGATION = (
    ("/jobs", "Jobs"),
    ("/jobs/new", "New job"),
    ("/recipes", "Recipes"),
    ("/inspect", "Inspect"),
    ("/system", "System"),
)

_STATE_SIGNS: Mapping[str, str] = {
    JobState.QUEUED: "○",
    JobState.PLANNING: "◔",
    JobState.CONVERTING: "◑",
    JobState.VERIFYING: "◕",
    JobState.READY: "✓",
    JobState.FAILED: "✕",
    JobState.CANCELLED: "⊘",
    WorkerState.BUSY: "◑",
    WorkerState.IDLE: "○",
    WorkerState.LOST: "✕",
    WorkerState.ENDED: "⊘",
}
"""A sign beside each state's word, so that colour is never all there is."""


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("service.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for filter in (
        quantities.size,
        quantities.rate,
        quantities.duration,
        quantities.grouped,
        quantities.moment,
        quantities.shape,
        quantities.percent,
    ):
        environment.filters[filter.__name__] = filter
    environment.globals.update(
        navigation=_NAVIGATION,
        state_signs=_STATE_SIGNS,
        active_states=ACTIVE_STATES,
        between=quantities.between,
        most_text_lines=MOST_SHOWN_LINES,
    )
    return environment


_templates = Jinja2Templates(env=_environment())


def render(request: Request, template: str, status: HTTPStatus = HTTPStatus.OK, /, **context: Any) -> HTMLResponse:
    """The page of a template. Beside what is given, a template knows `path`, `signed_in`, the name of the token that
    the browser signed in with or None, and `may_submit`, whether that one may change something."""
    return _templates.TemplateResponse(
        request,
        template,
        {**_of_request(request), **context},
        status_code=status,
        headers={"Cache-Control": "no-store"},
    )


def part(template: str, /, **context: Any) -> Markup:
    """Part of a page, which needs nothing of the request."""
    return Markup(_templates.get_template(template).render(context))  # noqa: S704 - templates escape what they show


def _of_request(request: Request) -> dict[str, Any]:
    service: Service = request.app.state.service
    user = request.scope.get("user")
    has_tokens = bool(service.settings.tokens)
    scopes = request.auth.scopes if "auth" in request.scope else ()
    return {
        "path": request.url.path,
        "signed_in": getattr(user, "display_name", "") if has_tokens else None,
        "may_submit": not has_tokens or Scope.SUBMIT in scopes,
    }
