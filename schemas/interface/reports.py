"""Reports together with their job."""

from __future__ import annotations

from schemas.interface.jobs import Job
from schemas.report import ConversionReport
from schemas.upgrade_report import UpgradeReport


class JobReport(ConversionReport):
    """The report beside a job's artifact: every object's provenance, and the job, in one document."""

    job: Job


class UpgradeJobReport(UpgradeReport):
    """The report beside an upgrade's artifact, and the job, in one document."""

    job: Job
