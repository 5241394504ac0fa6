"""What is recorded of an upgrade: the report beside the new files. The JSON names are those of interface.md."""

from __future__ import annotations

from schemas.report import ArtifactRecord, ExecutionRecord, ObjectReport, Record, VerificationRecord


class UpgradedFile(Record):
    """The file that was upgraded. `weights_id` is the one that its framing implies where it has no place for it."""

    framing: int
    model_id: str
    weights_id: str
    bytes: int
    sha256: str


class NewTemplate(Record):
    """The chat template that took the place of the old file's."""

    bytes: int
    sha256: str


class UpgradeReportHead(Record):
    """A report without its objects: of what file the new ones were made, and what they are. `chat_template` is None
    where the old one was kept; the coverage of verification is every byte of the old payload."""

    report: int = 1
    converter: str
    upgraded_from: UpgradedFile
    chat_template: NewTemplate | None
    model_id: str
    weights_id: str
    framing: int
    minimum_reader: str
    execution: ExecutionRecord
    artifact: ArtifactRecord
    verification: VerificationRecord


class UpgradeReport(UpgradeReportHead):
    """The report beside upgraded files. Its objects have no sources: their bytes are the old file's."""

    objects: tuple[ObjectReport, ...]
