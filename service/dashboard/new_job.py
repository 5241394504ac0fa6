"""The page on which a job is made: a recipe is chosen or pasted, its sources are bound, its plan is looked at, and it
is submitted. All of it works without scripting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Annotated, Any

from anyio import from_thread
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response

from schemas.errors import (
    ConfigFault,
    DeviceError,
    Fault,
    FaultyDocumentError,
    KeyReusedError,
    NinforgeError,
    RecipeError,
)
from schemas.interface import Job, JobRequest, SourceEntry
from schemas.problems import Problem
from service.dashboard.chosen_recipe import ChosenRecipe, chosen_recipe, registered_options, stored_options
from service.dashboard.job_form import MAX_FIELDS, FormFaultsError, JobForm, field_of, new_key, read_form, request_of
from service.dashboard.page import render
from service.dashboard.plan_preview import PlanPreview, plan_preview
from service.dependencies import CurrentService, Service, TokenName
from service.located_faults import LocatedFault, located_faults
from service.new_jobs import SubmissionKey
from service.routes import jobs
from service.source_names import source_entries
from service.submissions import require_device, submission_of
from workers.public_problems import public_problem, without_places
from workers.remote.fetching import fetchable_origins
from workers.remote.hosts import SourceHosts
from workers.settings import Settings
from workers.submission import plan_submission

_PATH = "/jobs/new"

_NEXT_STEPS: Mapping[str, str] = {
    "recipe": "Mend the recipe where it says so here, and press the button again.",
    "plan": "Bind other sources, or take a recipe that fits them: “ninforge recipe adapt” fits one to a finetune.",
    "key-reused": "Look for its job in the list of jobs, or press the button again to make another one.",
    "too-many-jobs": "Wait until some have ended, or cancel some, and press the button again.",
    "fetch": "Wait a moment, and press the button again.",
}
_OTHERWISE = "Mend what is named here, and press the button again."

router = APIRouter(include_in_schema=False, prefix=_PATH)


@dataclass(frozen=True, slots=True)
class FormFaults:
    """What is wrong with a form, where a page shows it: at fields by their names, in config members, and elsewhere, in
    the pasted text at its lines."""

    problem: Problem | None = None
    next_step: str = _OTHERWISE
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    configs: tuple[ConfigFault, ...] = ()
    others: tuple[LocatedFault, ...] = ()

    @property
    def lines(self) -> frozenset[int]:
        """Lines of the pasted text that have a fault."""
        return frozenset(fault.line for fault in self.others if fault.line is not None)


async def _sent_form(request: Request, service: CurrentService) -> JobForm:
    limit = service.settings.max_body_bytes
    async with request.form(max_files=0, max_fields=MAX_FIELDS, max_part_size=limit) as data:
        return read_form(data)


SentForm = Annotated[JobForm, Depends(_sent_form)]


@router.get("")
def begin(
    request: Request, service: CurrentService, recipe: Annotated[str | None, Query(max_length=200)] = None
) -> Response:
    """The choice of a recipe, or the form for the one that was chosen."""
    form = JobForm(recipe=recipe or "")
    if not form.recipe:
        return _page(request, service, form, None)
    try:
        return _page(request, service, form, chosen_recipe(form, service.database))
    except RecipeError as error:
        return _page(request, service, form, None, _faults(error, form, None, service), status=HTTPStatus.NOT_FOUND)


@router.post("")
def answer(form: SentForm, request: Request, service: CurrentService, token: TokenName) -> Response:
    """Does what the button says: takes up a pasted recipe, shows the plan, or submits the job and goes to it."""
    chosen: ChosenRecipe | None = None
    try:
        chosen = chosen_recipe(form, service.database)
        match form.action:
            case "use":
                return _page(request, service, form, chosen)
            case "preview":
                return _page(request, service, form, chosen, preview=_preview(form, chosen, service))
            case "submit":
                return RedirectResponse(f"/jobs/{_submit(form, chosen, service, token).id}", HTTPStatus.SEE_OTHER)
    except KeyReusedError as error:
        form = replace(form, key=new_key())
        return _page(request, service, form, chosen, _faults(error, form, chosen, service))
    except (NinforgeError, FormFaultsError) as error:
        return _page(request, service, form, chosen, _faults(error, form, chosen, service))


def _preview(form: JobForm, chosen: ChosenRecipe, service: Service) -> PlanPreview:
    body = _request(form, chosen, service)
    require_device(body, service.settings)
    return plan_preview(plan_submission(submission_of(body, service.database), service.settings))


def _request(form: JobForm, chosen: ChosenRecipe, service: Service) -> JobRequest:
    fetched = _fetched(chosen, service)
    return request_of(form, chosen.document.data, [name for name in chosen.recipe.sources if name not in fetched])


def _fetched(chosen: ChosenRecipe, service: Service) -> Mapping[str, str]:
    """From where sources come whose fields are left empty."""
    return fetchable_origins(chosen.recipe, (), SourceHosts.of(service.settings))


def _submit(form: JobForm, chosen: ChosenRecipe, service: Service, token: str) -> Job:
    body = _request(form, chosen, service)
    key = SubmissionKey(token, form.key, _PATH)
    return from_thread.run(jobs.submit, body, service, token, key, Response())


def _faults(
    error: NinforgeError | FormFaultsError, form: JobForm, chosen: ChosenRecipe | None, service: Service
) -> FormFaults:
    """What an error says, each fault where it belongs. Before a pasted text has become a recipe, all lead into it."""
    found = None if isinstance(error, FormFaultsError) else public_problem(error, service.settings)
    fields: dict[str, list[str]] = defaultdict(list)
    configs: list[ConfigFault] = []
    others: list[Fault] = []
    for fault in _all_faults(error, service.settings):
        name = field_of(fault.at) if chosen is not None or not form.text else None
        if isinstance(fault, ConfigFault):
            configs.append(replace(fault, difference=without_places(fault.difference, service.settings)))
        elif name is not None:
            fields[name].append(fault.message)
        else:
            others.append(fault)
    located = (
        located_faults(form.text, others, where="recipe")
        if form.text
        else [LocatedFault(one.at, one.message, None, None) for one in others]
    )
    next_step = _OTHERWISE if isinstance(error, FormFaultsError) else _NEXT_STEPS.get(error.slug, _OTHERWISE)
    return FormFaults(found, next_step, fields, tuple(configs), tuple(located))


def _all_faults(error: NinforgeError | FormFaultsError, settings: Settings) -> Sequence[Fault]:
    if isinstance(error, FormFaultsError):
        return error.faults
    if isinstance(error, DeviceError):
        return [Fault(error.where, f"expected {error.expected}, found {error.found}")]
    found = error.faults if isinstance(error, FaultyDocumentError) else ()
    return [replace(one, message=without_places(one.message, settings)) for one in found]


def _page(
    request: Request,
    service: Service,
    form: JobForm,
    chosen: ChosenRecipe | None,
    faults: FormFaults | None = None,
    *,
    preview: PlanPreview | None = None,
    status: HTTPStatus | None = None,
) -> Response:
    context: dict[str, Any] = {"form": form, "chosen": chosen, "faults": faults or FormFaults(), "preview": preview}
    if chosen is None:
        with service.database.reading() as session:
            context |= {"registered": registered_options(), "stored": stored_options(session)}
    else:
        context |= {"places": _top_places(service), "fetched": _fetched(chosen, service)}
        context["hosts"] = (*service.settings.source_hosts, *service.settings.private_source_hosts)
    return render(request, "new_job.html", status or _status(faults), **context)


def _status(faults: FormFaults | None) -> HTTPStatus:
    if faults is None:
        return HTTPStatus.OK
    return HTTPStatus.UNPROCESSABLE_ENTITY if faults.problem is None else HTTPStatus(faults.problem.status)


def _top_places(service: Service) -> list[SourceEntry]:
    """What lies in the source roots: a start for whoever has no scripts that look further."""
    return list(source_entries("", service.settings))
