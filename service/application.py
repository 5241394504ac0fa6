"""The HTTP application. It plans, and reads what is in SQL; it never loads torch or a kernel."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.staticfiles import StaticFiles

from service.authentication import DESCRIBED_SCHEMES, TokenBackend, refuse
from service.dashboard import (
    artifact_page,
    inspect_page,
    job_list,
    job_page,
    new_job,
    object_page,
    quality_page,
    recipe_pages,
    store_recipe,
    system_page,
)
from service.dashboard.compression import PageCompressionMiddleware
from service.dashboard.page import STATIC
from service.dashboard.problem_pages import ProblemPageMiddleware
from service.dependencies import Service
from service.description import DescribedApplication
from service.origins import OriginMiddleware
from service.problems import ProblemMiddleware, install_problem_handlers
from service.request_log import RequestLogMiddleware
from service.routes import (
    events,
    health,
    inspections,
    jobs,
    metrics,
    plans,
    recipes,
    registry,
    sign_in,
    sources,
    upgrades,
    workers,
)
from service.safe_headers import SafeHeadersMiddleware
from workers.application import celery_application
from workers.database import Database
from workers.settings import Settings
from workers.storage import Storage


def create_application(settings: Settings) -> FastAPI:
    """The application for these settings. Brings the database up to date and makes the data folder."""
    storage = Storage(settings.data)
    storage.prepare()
    database = Database.of(settings)
    database.upgrade()
    application = DescribedApplication(
        title="ninforge",
        summary="Turns model checkpoints into verified .ninfer artifacts",
        docs_url=None,
        redoc_url=None,
    )
    application.state.service = Service.of(settings, database, storage, celery_application(settings))
    install_problem_handlers(application, settings)
    # Each goes around those before it.
    application.add_middleware(RequestBodyLimitMiddleware, max_body_size=settings.max_body_bytes)
    application.add_middleware(AuthenticationMiddleware, backend=TokenBackend(settings.tokens), on_error=refuse)
    application.add_middleware(OriginMiddleware)
    application.add_middleware(TrustedHostMiddleware, allowed_hosts=list(settings.allowed_hosts), www_redirect=False)
    application.add_middleware(ProblemMiddleware)
    application.add_middleware(ProblemPageMiddleware)
    application.add_middleware(RequestLogMiddleware)
    application.add_middleware(SafeHeadersMiddleware)
    application.add_middleware(PageCompressionMiddleware)
    for module in (jobs, events, upgrades, plans, recipes, inspections, registry, sources, workers, metrics):
        application.include_router(module.router, dependencies=DESCRIBED_SCHEMES if settings.tokens else ())
    for module in (
        health,
        sign_in,
        job_list,
        new_job,
        job_page,
        object_page,
        artifact_page,
        quality_page,
        recipe_pages,
        store_recipe,
        inspect_page,
        system_page,
    ):
        application.include_router(module.router)
    application.mount("/static", StaticFiles(directory=STATIC))
    return application
