"""Rows of a job of 1307 objects in all their detail, as a large model has them, without any conversion behind them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import blake2s
from math import exp
from typing import Any
from uuid import UUID

from sqlalchemy import insert
from sqlalchemy.orm import Session

from schemas.states import JobState, ObjectState
from schemas.tables import (
    ArtifactPartRow,
    ObjectHistogramRow,
    ObjectRow,
    ObjectSourceRow,
    ProgressSampleRow,
    SourceTensorRow,
    VerificationCheckRow,
)
from tests.job_rows import job_row
from workers.database import Database

OBJECTS = 1307
LAYERS = 64
_ROLES = (
    *((f"attention/{role}", "Q5G64_F16S") for role in ("gate_value", "output", "query_key", "value_z")),
    *((f"mlp/{role}", "Q4G64_F16S") for role in ("gate_up", "down", "shared_gate", "shared_up", "shared_down")),
    *((f"attention/{role}", "BF16") for role in ("query_norm", "key_norm", "norm", "convolution")),
    *((f"attention/{role}", "FP32") for role in ("a_log", "dt_bias", "a_projection", "b_projection")),
    *((f"{role}_norm", "BF16") for role in ("input", "post", "pre")),
)
_BEGIN = datetime(2026, 11, 1, 12, tzinfo=UTC)


def object_names() -> Iterator[tuple[str, str]]:
    """Name and format of each object."""
    for layer in range(LAYERS):
        for role, format in _ROLES:
            yield f"text/layers/{layer}/{role}", format
    for number in range(OBJECTS - LAYERS * len(_ROLES)):
        yield f"vision/projector_{number}", "W8G32_F16S"


def add_large_job(database: Database, state: JobState, *, report_head: dict[str, Any] | None = None) -> UUID:
    """Adds the job in that state. While it is converting, a third of its objects are encoded; a `ready` one takes the
    head of another job's report."""
    with database.writing() as session:
        job = job_row(state)
        job.name = "large model"
        job.framing = 3
        job.started_at = job.stage_started_at = _BEGIN
        job.execution = {"verdict": "loads and runs", "reasons": []}
        job.objects_total = OBJECTS
        job.furthest = 0.2
        session.add(job)
        session.flush()
        objects = [_object(job.id, index, *one, state) for index, one in enumerate(object_names())]
        job.payload_bytes = sum(one["bytes"] for one in objects)
        job.file_bytes = job.payload_bytes + 4096
        session.execute(insert(ObjectRow), objects)
        _add_provenance(session, job.id, objects)
        _add_samples(session, job.id)
        _add_histograms(session, job.id, [one for one in objects if one["source_rms"] is not None])
        if state is JobState.READY:
            job.furthest = 1.0
            job.finished_at = _BEGIN + timedelta(minutes=20)
            job.report_head = report_head
            name = "acme.v3.ninfer"
            session.add(ArtifactPartRow(job_id=job.id, index=0, name=name, bytes=job.file_bytes, sha256="a" * 64))
        return job.id


def _object(job_id: UUID, index: int, name: str, format: str, state: JobState) -> dict[str, Any]:
    chance = random.Random(index)  # noqa: S311 - the same rows each time
    is_lossy = "G" in format
    done = state is JobState.READY or index < OBJECTS // 3
    verified = state is JobState.READY
    reached = ObjectState.VERIFIED if verified else ObjectState.ENCODED if done else ObjectState.PENDING
    rms = chance.uniform(1e-4, 1e-2)
    return {
        "job_id": job_id,
        "index": index,
        "name": name,
        "kind": "tensor",
        "shape": [chance.randrange(64, 20000), 5120],
        "format": format,
        "layout": "row-split-k128-v1" if is_lossy else "contiguous-le-v1",
        "offset": index * 2**24,
        "bytes": chance.randrange(1000, 2**24),
        "expression": f"base:model.{name.replace('/', '.')}.weight",
        "state": reached,
        "encoder": "MAXABS_F16_RECIP_RNE_V1" if is_lossy else "preserve",
        "backend": "cpu avx2" if done else None,
        "worker": "host:1:abc" if done else None,
        "blocks": 3 if done else None,
        "seconds": chance.uniform(0.01, 3) if done else None,
        "encoded_at": _BEGIN + timedelta(seconds=index) if done else None,
        "payload_blake3": _digest(name) if done else None,
        "reciprocals": [],
        "error": {"max_abs": 4 * rms, "rms": rms, "snr_db": chance.uniform(18, 45)} if verified and is_lossy else None,
        "source_rms": chance.uniform(0.01, 1) if verified and is_lossy else None,
    }


def _digest(text: str) -> str:
    return blake2s(text.encode()).hexdigest()


def _add_provenance(session: Session, job_id: UUID, objects: list[dict[str, Any]]) -> None:
    tensors = {one["index"]: one["expression"].removeprefix("base:") for one in objects}
    session.execute(
        insert(SourceTensorRow),
        [
            {
                "job_id": job_id,
                "source": "base",
                "tensor": tensors[one["index"]],
                "file": "model-00001-of-00014.safetensors",
                "dtype": "BF16",
                "shape": one["shape"],
                "blake3": _digest(one["expression"]),
            }
            for one in objects
        ],
    )
    session.execute(
        insert(ObjectSourceRow),
        [
            {"job_id": job_id, "object_index": index, "position": 0, "source": "base", "tensor": tensor}
            for index, tensor in tensors.items()
        ],
    )
    verified = [one for one in objects if one["state"] is ObjectState.VERIFIED]
    if verified:
        session.execute(
            insert(VerificationCheckRow),
            [
                {
                    "job_id": job_id,
                    "object_index": one["index"],
                    "position": position,
                    "name": name,
                    "rows": one["shape"][0],
                    "passed": True,
                }
                for one in verified
                for position, name in enumerate(("legal words", "equal to a second derivation"))
            ],
        )


def _add_histograms(session: Session, job_id: UUID, objects: list[dict[str, Any]]) -> None:
    """Bells of codes, and scales over nine binades."""
    if not objects:
        return
    bells = {
        format: [round(1e6 * exp(-((((code + half) % (2 * half) - half) / half * 3) ** 2))) for code in range(2 * half)]
        for format, half in (("Q4G64_F16S", 8), ("Q5G64_F16S", 16), ("W8G32_F16S", 128))
    }
    scales = [[number, round(1e5 * exp(-(((number - 90) / 12) ** 2)))] for number in range(58, 130)]
    bells["W8G32_F16S"][0x80] = 0
    session.execute(
        insert(ObjectHistogramRow),
        [
            {
                "job_id": job_id,
                "object_index": one["index"],
                "codes": bells[one["format"]],
                "scales": scales,
                "zero_scales": one["index"] % 3,
            }
            for one in objects
        ],
    )


def _add_samples(session: Session, job_id: UUID) -> None:
    chance = random.Random(1)  # noqa: S311 - the same rows each time
    done = 0
    for second in range(0, 600, 2):
        done += chance.randrange(10**8, 9 * 10**8)
        session.add(
            ProgressSampleRow(
                job_id=job_id, at=_BEGIN + timedelta(seconds=second), state=JobState.CONVERTING, bytes_done=done
            )
        )
