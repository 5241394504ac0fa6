"""The one exception hierarchy. Every message says where, what was expected, and what was found.

NinforgeError
├── RegistryError        a name outside the closed registry, or a pairing or shape that it does not allow
├── RecipeError          a recipe document with faults; carries all of them, each with its JSON pointer
├── SourceError          a checkpoint, shard, tensor header or file that is not what it should be
├── FetchError           a host that does not give a remote source, and may do so later
├── PlanError            recipe and sources do not fit together; carries all faults
├── WordError            a source word that the format cannot hold, with object, tensor and coordinate
├── ArchitectureError    configs or objects that are not a model of a registered architecture; carries all faults
├── UpgradeError         a `.ninfer` file that is not one to upgrade; carries all faults
├── ArtifactError        a `.ninfer` file that breaks a rule of its container
├── VerificationError    an artifact whose words are not what the recipe and sources say
├── SettingsError        environment variables that the service does not take; carries all faults
├── DeviceError          a device that was asked for and is not there, or does not do what it should
├── ServiceError         a service that does not answer, or not as the interface says
├── OutputError          a place that cannot be written: taken, full, or not allowed
├── JobStateError        a job that is not in a state in which it can be done what was asked for
├── TooManyJobsError     a job more than may be active at once
├── KeyReusedError       an Idempotency-Key that was sent with another body before
├── RecipeTakenError     id and revision of a recipe under which another one is stored
├── RegisteredRecipeError  the id of a registered recipe, which can be neither stored nor removed
└── CancelledError       the work was asked to stop
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from schemas.recipe.limits import FAULTS

MAX_TOLD_FAULTS = 200
"""Faults that the words of one error list."""


class NinforgeError(Exception):
    """Base of all errors that a user can act on.

    `where` names the place (object, source tensor, file, member), `expected` and `found` the two sides.
    `slug` is the stable last part of the problem type that HTTP answers and job records carry.
    """

    slug: ClassVar[str] = "error"
    title: ClassVar[str] = "Error"

    def __init__(self, where: str, *, expected: str, found: str) -> None:
        super().__init__(f"{where}: expected {expected}, found {found}")
        self.where = where
        self.expected = expected
        self.found = found


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a document: a JSON pointer (RFC 6901) into it and a message."""

    at: str
    message: str

    def __str__(self) -> str:
        return f"{self.at or '/'}: {self.message}"


@dataclass(frozen=True, slots=True)
class ConfigFault(Fault):
    """A member of the config.json of a source that is not as the recipe expects it: the source's name, the member's
    JSON pointer into the file, and the difference in words."""

    source: str
    member: str
    difference: str

    @classmethod
    def of(cls, source: str, source_at: str, found: Fault) -> ConfigFault:
        """The fault of a recipe, whose source is at `source_at`, for one in that source's config.json."""
        message = f"config.json of {source}: {found.message}"
        return cls(f"{source_at}/config{found.at}", message, source, found.at, found.message)


class FaultyDocumentError(NinforgeError):
    """Base of errors that report the faults of a document all at once: in `faults` as many as a program takes, then how
    many more there are; in words as many as a person reads."""

    def __init__(self, where: str, faults: Sequence[Fault], *, expected: str) -> None:
        lines = "\n".join(f"  {fault}" for fault in faults[:MAX_TOLD_FAULTS])
        if len(faults) > MAX_TOLD_FAULTS:
            lines += f"\n  and {len(faults) - MAX_TOLD_FAULTS} more"
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__(where, expected=expected, found=f"{count}:\n{lines}")
        self.faults = tuple(faults)
        if len(faults) > FAULTS + 1:  # that there is one more takes as much room as it
            self.faults = (*faults[:FAULTS], Fault("", f"and {len(faults) - FAULTS:,} more faults"))


class RegistryError(NinforgeError):
    slug = "registry"
    title = "Not in the registry"


class RecipeError(FaultyDocumentError):
    slug = "recipe"
    title = "The recipe has faults"


class SourceError(NinforgeError):
    slug = "source"
    title = "A source cannot be used"


class FetchError(NinforgeError):
    slug = "fetch"
    title = "A source could not be fetched"


class PlanError(FaultyDocumentError):
    slug = "plan"
    title = "Recipe and sources do not fit together"


class WordError(NinforgeError):
    slug = "word"
    title = "A source word cannot be stored"


class ArchitectureError(FaultyDocumentError):
    slug = "architecture"
    title = "Not a model of the architecture"


class UpgradeError(FaultyDocumentError):
    slug = "upgrade"
    title = "The file cannot be upgraded"


class ArtifactError(NinforgeError):
    slug = "artifact"
    title = "The artifact breaks a rule of its container"


class VerificationError(NinforgeError):
    slug = "verification"
    title = "The artifact is not what the recipe and sources say"


class SettingsError(FaultyDocumentError):
    slug = "settings"
    title = "The settings have faults"


class DeviceError(NinforgeError):
    slug = "device"
    title = "The device cannot be used"


class ServiceError(NinforgeError):
    slug = "service"
    title = "The service does not answer as it should"


class OutputError(NinforgeError):
    slug = "output"
    title = "The output cannot be written"


class JobStateError(NinforgeError):
    slug = "wrong-state"
    title = "Not in this state of the job"


class TooManyJobsError(NinforgeError):
    slug = "too-many-jobs"
    title = "Too many active jobs"


class KeyReusedError(NinforgeError):
    slug = "key-reused"
    title = "Key used for another body"


class RecipeTakenError(NinforgeError):
    slug = "recipe-taken"
    title = "Another recipe has this id and revision"


class RegisteredRecipeError(NinforgeError):
    slug = "registered-recipe"
    title = "The id is that of a registered recipe"


class CancelledError(NinforgeError):
    slug = "cancelled"
    title = "Cancelled"
