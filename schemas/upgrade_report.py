"""What is recorded of an upgrade: the report beside the new files. The JSON names are those of interface.md."""

from __future__ import annotations

from schemas.report import ArtifactRecord, ExecutionRecord, Record, VerificationRecord


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


class UpgradedObject(Record):
    """One object of the new files. `kept` is False for a new chat template."""

    index: int
    name: str
    kind: str
    shape: tuple[int, ...] | None
    format: str | None
    layout: str
    offset: int
    bytes: int
    kept: bool
    payload_blake3: str


class UpgradeReport(Record):
    """The report beside upgraded files: of what they were made, and what they are. Verification has full coverage of
    every byte of the old payload."""

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
    objects: tuple[UpgradedObject, ...]
