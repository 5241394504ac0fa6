"""`ninforge upgrade`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from schemas.errors import OutputError
from schemas.upgrade_report import UpgradeReport
from service.cli.consoles import say, say_document, sized
from service.cli.inspection import FileArgument
from service.cli.options import ArtifactIdOption, JsonOption, PartBytesOption, ThreadsOption, thread_count, usage_error
from service.cli.output_places import (
    ForceOption,
    ReportOption,
    check_output,
    parse_output,
    pending_file,
    publish_report,
    same_place,
    say_stale,
)
from service.cli.progress import Phase, watched
from service.cli.verdict import say_verdict
from workers.engine.architectures.architecture import MAX_RESOURCE_BYTES
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.slices import DEFAULT_PART_BYTES
from workers.engine.container.writer import artifact_paths
from workers.engine.sources.hashed_file import hash_file
from workers.engine.sources.roots import ANYWHERE


def add_commands(application: typer.Typer) -> None:
    application.command()(upgrade)


def upgrade(
    file: FileArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", parser=parse_output, help="The new file to make.")],
    chat_template: Annotated[
        Path | None,
        typer.Option("--chat-template", metavar="FILE", help="Another chat template than the one in FILE."),
    ] = None,
    part_bytes: PartBytesOption = None,
    artifact_id: ArtifactIdOption = None,
    report: ReportOption = None,
    threads: ThreadsOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a file of framing 3 of one of framing 1 or 2 of a registered target, its payload words unchanged."""
    # Kernels load only where they are needed: help does without.
    from workers.engine.upgrade.expected import registered_model
    from workers.engine.upgrade.plan import UpgradeOptions, plan_upgrade
    from workers.engine.upgrade.upgrading import UpgradeObservers
    from workers.engine.upgrade.upgrading import upgrade as upgrade_file

    if report is not None and same_place(report, out):
        usage_error(f"--report: expected another file than that of --out, found {str(report)!r}")
    for output in (out, *([] if report is None else [report])):
        check_output(output, force=force)
    options = UpgradeOptions(
        chat_template=None if chat_template is None else _template(chat_template),
        part_bytes=DEFAULT_PART_BYTES if part_bytes is None else part_bytes,
        artifact_id=artifact_id,
    )
    with ArtifactReader(file) as old:
        plan = plan_upgrade(old, registered_model(old.artifact, where=str(file)), options)
        outputs = artifact_paths(out, plan.arrangement)
        for output in outputs[1:]:
            check_output(output, force=force)
        for output in outputs if report is None else (*outputs, report):
            _refuse_inputs(output, file, chat_template)
        phases = (
            Phase("copying", plan.old.payload_bytes),
            Phase("verifying", sum(one.bytes for one in plan.arrangement.objects)),
        )
        with ExitStack() as stack:
            publish = None if report is None else stack.enter_context(pending_file(report, force=force))
            copying, verifying = stack.enter_context(watched(*phases))
            made = upgrade_file(
                plan,
                old,
                out,
                threads=thread_count(threads),
                observers=UpgradeObservers(copying, verifying),
                overwrite=force,
            )
            if publish is not None:
                publish_report(made, publish, out)
    if as_json:
        say_document(made.model_dump(mode="json"))
    else:
        _show_result(made, file, outputs)


def _template(path: Path) -> bytes:
    return hash_file("chat template", path, ANYWHERE).content(ANYWHERE, limit=MAX_RESOURCE_BYTES)


def _refuse_inputs(output: Path, file: Path, chat_template: Path | None) -> None:
    """Raises OutputError where writing an output would destroy what the upgrade is made of."""
    for what, place in (("the file to upgrade", file), ("the chat template", chat_template)):
        if place is not None and same_place(output, place):
            raise OutputError(str(output), expected="another file than the upgrade reads", found=what)


def _show_result(made: UpgradeReport, file: Path, outputs: tuple[Path, ...]) -> None:
    old = made.upgraded_from
    say(f"{old.model_id} / {old.weights_id}, framing {old.framing} upgraded to {made.framing}")
    say(f"{file}: {sized(old.bytes)}, SHA-256 {old.sha256}, left as it was")
    for path, part in zip(outputs, made.artifact.parts, strict=True):
        say(f"{path}: {sized(part.bytes)}, SHA-256 {part.sha256}")
    say_stale(outputs, made.artifact.parts[0].name)
    if made.chat_template is None:
        say("chat template: kept")
    else:
        say(f"chat template: replaced, SHA-256 {made.chat_template.sha256}")
    say(f"opens in {made.minimum_reader}")
    say_verdict(made.execution.verdict, made.execution.reasons)
    say("verified: every byte of the old payload is the same in the new files")
