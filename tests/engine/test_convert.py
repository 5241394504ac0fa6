"""Conversions as a whole: where the file appears, and what is left when it does not."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas.errors import CancelledError, OutputError, SourceError, VerificationError
from tests.engine.conversions import SILENT, converted, one_object, recipe, write_checkpoint
from workers import _native
from workers.engine.convert import Observers, convert
from workers.engine.plan import Plan, plan_conversion
from workers.engine.sources.roots import ANYWHERE
from workers.engine.steps import SilentObserver
from workers.engine.verify import Coverage

OBJECT = one_object("Q4G64_F16S", (64, 128), "MAXABS_F16_RECIP_RNE_V1", {"tensor": "source"})


def weights(seed: int = 1) -> bytes:
    return np.random.default_rng(seed).integers(0x3C00, 0x3F00, (64, 128)).astype("<u2").tobytes()


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    place = write_checkpoint(tmp_path / "model.safetensors", {"source": ("BF16", (64, 128), weights())})
    return plan_conversion(recipe([OBJECT]), {"base": place}, roots=ANYWHERE)


def run(plan: Plan, out: Path, **options: Any) -> None:
    arguments = {"coverage": Coverage.FULL, "threads": 2, "observers": SILENT, **options}
    convert(plan, out, **arguments)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_existing_file_is_kept_unless_it_may_be_replaced(plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "out.ninfer"
    out.write_text("precious")
    with pytest.raises(OutputError, match="not taken"):
        run(plan, out)
    assert out.read_text() == "precious"
    run(plan, out, overwrite=True)
    assert out.stat().st_size == plan.file_bytes
    assert left(tmp_path) == ["model.safetensors", "out.ninfer"]


def test_a_file_that_takes_the_name_meanwhile_is_kept(plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "out.ninfer"

    class Intruder(SilentObserver):
        def advanced(self, index: int, payload_bytes: int) -> None:
            out.write_text(f"precious {index} {payload_bytes >= 0}")

    with pytest.raises(OutputError, match="not taken"):
        run(plan, out, observers=Observers(SilentObserver(), Intruder()))
    assert out.read_text() == "precious 0 True"
    assert left(tmp_path) == ["model.safetensors", "out.ninfer"]


def test_a_file_system_without_hard_links_serves_too(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    run(plan, tmp_path / "out.ninfer")
    assert left(tmp_path) == ["model.safetensors", "out.ninfer"]


@pytest.mark.parametrize("place", ["absent/out.ninfer", "."])
def test_a_place_that_cannot_be_is_refused_before_work(place: str, plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        run(plan, tmp_path / place)
    assert left(tmp_path) == ["model.safetensors"]


@pytest.mark.parametrize("length", [200, 255])
def test_the_longest_names_can_be_written(length: int, plan: Plan, tmp_path: Path) -> None:
    name = "n" * (length - len(".ninfer")) + ".ninfer"
    run(plan, tmp_path / name)
    assert left(tmp_path) == ["model.safetensors", name]


@pytest.mark.parametrize("phase", ["encoding", "verifying"])
def test_a_cancelled_conversion_leaves_nothing(phase: str, plan: Plan, tmp_path: Path) -> None:
    class Cancelling(SilentObserver):
        def advanced(self, index: int, payload_bytes: int) -> None:
            raise CancelledError(f"object {index}", expected="to go on", found=f"a request to stop at {payload_bytes}")

    both = {"encoding": SilentObserver(), "verifying": SilentObserver(), phase: Cancelling()}
    with pytest.raises(CancelledError):
        run(plan, tmp_path / "out.ninfer", observers=Observers(both["encoding"], both["verifying"]))
    assert left(tmp_path) == ["model.safetensors"]


def test_a_failed_verification_leaves_nothing(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object) -> None:
        """An encoder that writes zeros."""

    monkeypatch.setattr(_native, "encode_grouped", nothing)
    with pytest.raises(VerificationError, match="object weight"):
        run(plan, tmp_path / "out.ninfer")
    assert left(tmp_path) == ["model.safetensors"]


def test_a_source_that_changes_after_planning_is_noticed(plan: Plan, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model.safetensors", {"source": ("BF16", (64, 128), weights(seed=2))})
    with pytest.raises(SourceError, match=r"model\.safetensors"):
        run(plan, tmp_path / "out.ninfer")
    assert left(tmp_path) == ["model.safetensors"]


def test_what_was_not_verified_says_so(tmp_path: Path) -> None:
    tensors = {"source": ("BF16", (64, 128), weights())}
    made = converted(tmp_path, tensors, [OBJECT], coverage=None)
    assert made.report.verification.coverage == "none"
    assert made.report.objects[0].state == "encoded"
    assert made.report.objects[0].checks == ()
    again = converted(tmp_path, tensors, [OBJECT])
    assert again.report.artifact == made.report.artifact
    assert again.report.objects[0].state == "verified"


def test_an_artifact_of_resources_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"notes" * 1000)
    made = converted(
        tmp_path,
        {"source": ("BF16", (1,), b"\0\0")},
        [],
        sources={"base": {"kind": "checkpoint", "unused": ["*"]}},
        resources=[{"name": "notes", "source": "base", "file": "notes.txt"}],
        block_bytes=7,
    )
    assert made.payload() == b"notes" * 1000
    assert made.plan.bits_per_weight == 0.0
