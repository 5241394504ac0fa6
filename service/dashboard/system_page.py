"""The page of what the service runs on: its workers, queues, disk, checks and versions."""

from __future__ import annotations

import logging
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from sqlalchemy.orm import Session

from service.dashboard.page import render
from service.dependencies import CurrentService, Service
from service.readiness import CHECKS, WARNING_CHECKS, failed_checks
from service.worker_documents import worker_page
from workers.application import waiting_messages
from workers.database import database_time

logger = logging.getLogger(__name__)

router = APIRouter(include_in_schema=False)

_MAX_WORKERS = 200
_DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


@dataclass(frozen=True, slots=True)
class _Disk:
    """Bytes of the file system that has the data folder."""

    free: int
    total: int


@router.get("/system")
async def show(request: Request, service: CurrentService) -> Response:
    """Everything as it is now."""
    failed = await failed_checks(service)
    facts = await run_in_threadpool(_facts, service)
    return render(request, "system.html", checks=(*CHECKS, *WARNING_CHECKS), failed=failed, **facts)


def _facts(service: Service) -> dict[str, object]:
    with service.database.reading() as session:
        now = database_time(session)
        workers = worker_page(session, limit=_MAX_WORKERS, cursor=None)
        versions = {
            "ninforge": version("ninforge"),
            "Python": platform.python_version(),
            "Database": _database(session),
            "Queue": "files in the data folder" if service.settings.broker_url is None else "Redis",
        }
    usage = shutil.disk_usage(service.settings.data)
    return {
        "now": now,
        "workers": workers.items,
        "more_workers": workers.next is not None,
        "queues": _waiting(service),
        "disk": _Disk(usage.free, usage.total),
        "versions": versions,
        "roots": len(service.settings.source_roots),
    }


def _waiting(service: Service) -> Mapping[str, int] | None:
    """Messages by queue; None where they cannot be counted, which is one of the checks."""
    try:
        return waiting_messages(service.queue)
    except Exception:
        logger.warning("the queue cannot be reached", exc_info=True)
        return None


def _database(session: Session) -> str:
    dialect = session.connection().dialect
    number = ".".join(map(str, dialect.server_version_info or ()))
    return f"{_DATABASES.get(dialect.name, dialect.name)} {number}"
