"""What an upgrade will write, known before a payload byte is copied (container-v3.md, section 14)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from schemas.artifact_file_name import artifact_file_name
from schemas.errors import Fault, UpgradeError
from schemas.registry import ResourceEncoding
from schemas.storage_layouts import PLANE_ALIGNMENT, up
from workers.engine.architectures.architecture import NamedTensor
from workers.engine.artifact_identity import upgrade_id
from workers.engine.container.arrangement import Arrangement
from workers.engine.container.directory import Framing, Identity, ResourceObject, StoredObject, TensorObject
from workers.engine.container.front import Artifact
from workers.engine.container.model_arrangement import Inscription, arrange_placed
from workers.engine.container.model_description import ModelDescription
from workers.engine.container.placement import PlacedObject
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.slices import DEFAULT_PART_BYTES
from workers.engine.execution import Execution, judge_description
from workers.engine.file_stamp import FileStamp
from workers.engine.inscription import CONVERTER
from workers.engine.paused_collection import paused_collection
from workers.engine.upgrade.expected import UpgradableModel, require_objects
from workers.engine.upgrade.planned_copies import PlannedCopy, planned_copies
from workers.engine.verify.model_checks import check_described

TEMPLATE = "frontend/chat_template.jinja"


@dataclass(frozen=True, slots=True)
class UpgradeOptions:
    """What may be asked of an upgrade. `chat_template` is the whole new template, None to keep the old one; no file is
    larger than `part_bytes`; `artifact_id`, 16 bytes, follows from the old file and the other two where it is None."""

    chat_template: bytes | None = None
    part_bytes: int = DEFAULT_PART_BYTES
    artifact_id: bytes | None = None

    def lines(self) -> Iterator[str]:
        """What the id is made of beside the old file."""
        yield f"part_bytes {self.part_bytes}"
        if self.chat_template is not None:
            yield f"chat_template {sha256(self.chat_template).hexdigest()}"


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """An upgrade of the file that `old` was read of and `stamp` tells. Its payload goes on from the first byte to the
    last; a new chat template comes after it."""

    old: Artifact
    stamp: FileStamp
    identity: Identity
    options: UpgradeOptions
    arrangement: Arrangement
    execution: Execution
    objects: tuple[PlannedCopy, ...]

    @property
    def framing(self) -> Framing:
        return self.arrangement.framing

    @property
    def file_bytes(self) -> int:
        return self.arrangement.file_bytes

    @property
    def fingerprint(self) -> str:
        """SHA-256 over all that precedes the payload, the options, and which file in which state is upgraded."""
        lines = [self.arrangement.directory_sha256, *self.options.lines(), str(self.options.artifact_id)]
        return sha256("\n".join([*lines, str(self.stamp)]).encode()).hexdigest()

    def artifact_id(self, old_sha256: str) -> bytes:
        """The 16 bytes in the headers of the new files."""
        return self.options.artifact_id or upgrade_id(old_sha256, self.options.lines())

    @property
    def template(self) -> StoredObject | None:
        """The object of a new chat template."""
        return None if self.options.chat_template is None else self.arrangement.objects[-1]


def plan_upgrade(reader: ArtifactReader, model: UpgradableModel, options: UpgradeOptions) -> UpgradePlan:
    """Plans the upgrade of a file of framing 1 or 2, of which it reads the directory, resources and divisors.

    Raises UpgradeError with every object that is not the model's and for a chat template that cannot be one,
    ArchitectureError and VerificationError for resources and words that an engine refuses, ArtifactError for parts
    that could hold nothing.
    """
    old, where = reader.artifact, str(reader.path)
    require_objects(old.objects, model, where=where)
    if options.chat_template is not None:
        _check_template(options.chat_template)
    description = _description(old, model)
    check_described(reader, description)
    inscription = Inscription(
        description,
        metadata={"name": model.inventory.model_id},
        provenance=_provenance(old, model.identity, options),
        entry_name=artifact_file_name(model.inventory.model_id, model.inventory.weights_id, Framing.THREE),
        part_bytes=options.part_bytes,
        artifact_id=options.artifact_id,
    )
    placed, payload_bytes = _placed(old, options)
    with paused_collection():
        arrangement = arrange_placed(inscription, placed, payload_bytes)
        execution = judge_description(description, placed)
    copies = planned_copies(placed, old.payload_bytes, new_template=options.chat_template is not None)
    return UpgradePlan(old, reader.stamps()[0], model.identity, options, arrangement, execution, copies)


def _check_template(content: bytes) -> None:
    if not content:
        raise UpgradeError("chat template", [Fault("", "it is empty")], expected="a template in UTF-8")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        fault = Fault("", f"no UTF-8: found 0x{content[error.start]:02x} at byte {error.start}")
        raise UpgradeError("chat template", [fault], expected="a template in UTF-8") from None


def _description(old: Artifact, model: UpgradableModel) -> ModelDescription:
    tensors = [
        NamedTensor(stored.name, stored.shape, stored.format, f"/objects/{index}")
        for index, stored in enumerate(old.objects)
        if isinstance(stored, TensorObject)
    ]
    offered = model.architecture.offered_components([one.name for one in tensors])
    resources = [stored.name for stored in old.objects if isinstance(stored, ResourceObject)]
    return model.architecture.describe(tensors, resources, model.configs(offered))


def _provenance(old: Artifact, identity: Identity, options: UpgradeOptions) -> dict[str, object]:
    origin = {"version": int(old.framing), "model_id": identity.model_id, "weights_id": identity.weights_id}
    provenance: dict[str, object] = {"converter": CONVERTER, "upgraded_from": origin}
    if options.chat_template is not None:
        provenance["chat_template"] = {"sha256": sha256(options.chat_template).hexdigest()}
    return provenance


def _placed(old: Artifact, options: UpgradeOptions) -> tuple[list[PlacedObject], int]:
    """The objects where they are, but for a new template, which comes last; and the bytes of the whole payload."""
    kept = [one for one in old.objects if isinstance(one, TensorObject | ResourceObject)]
    if options.chat_template is None:
        return kept, old.payload_bytes
    offset, size = up(old.payload_bytes, PLANE_ALIGNMENT), len(options.chat_template)
    template = ResourceObject(TEMPLATE, ResourceEncoding.RAW_BYTES, offset, size)
    return [*(one for one in kept if one.name != TEMPLATE), template], template.end
