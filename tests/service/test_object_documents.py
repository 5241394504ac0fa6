"""One object of a job over HTTP, with the histograms that verification gathered."""

from __future__ import annotations

from itertools import pairwise
from math import isclose
from typing import Any

import numpy as np

from tests.running_service import RunningService
from tests.small_job import job_body

FORMATS = ("Q4G64_F16S", "W8G32_F16S", "FP8_E4M3FN_ROW_BF16S", "BF16")


def document(service: RunningService, job_id: str, index: int) -> dict[str, Any]:
    answer = service.client.get(f"/v1/jobs/{job_id}/objects/{index}")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def test_histograms_of_each_format(either: RunningService) -> None:
    job = either.work(either.submit())
    listed = either.client.get(f"/v1/jobs/{job['id']}/objects").json()["items"]
    by_format = {one["format"]: one for one in listed}
    for format in FORMATS:
        found = document(either, job["id"], by_format[format]["index"])
        histograms, source_rms = found.pop("histograms"), found.pop("source_rms")
        assert found == by_format[format]
        assert (source_rms is None) == (found["error"] is None) == (histograms is None) == (format == "BF16")
        if histograms is not None:
            check_histograms(found, histograms)
            assert isclose(20 * np.log10(source_rms / found["error"]["rms"]), found["error"]["snr_db"])


def check_histograms(found: dict[str, Any], histograms: dict[str, Any]) -> None:
    rows, columns = found["shape"]
    codes, scales = histograms["codes"], histograms["scales"]
    assert histograms["rows"] == rows
    assert sum(one["count"] for one in codes) == rows * columns
    groups = {"Q4G64_F16S": columns // 64, "W8G32_F16S": columns // 32}.get(found["format"], 1)
    assert histograms["zero_scales"] + sum(one["count"] for one in scales) == rows * groups
    assert len({one["value"] for one in codes if one["count"]}) >= 8
    assert all(former["last"] < latter["first"] for former, latter in pairwise(scales))
    assert len(codes) == {"Q4G64_F16S": 16, "W8G32_F16S": 255, "FP8_E4M3FN_ROW_BF16S": 254}[found["format"]]


def test_a_sample_says_how_many_rows_it_counted(service: RunningService) -> None:
    body = job_body(verify="sample")
    job = service.work(service.client.post("/v1/jobs", json=body).json()["id"])
    found = document(service, job["id"], 1)
    assert found["checks"][0]["rows"] == found["histograms"]["rows"] < found["shape"][0]


def test_what_is_not_there(service: RunningService) -> None:
    job_id = service.submit()
    assert service.client.get(f"/v1/jobs/{job_id}/objects/0").status_code == 404
    job = service.work(job_id)
    answer = service.client.get(f"/v1/jobs/{job['id']}/objects/999")
    assert (answer.status_code, answer.json()["detail"]) == (404, f"Job {job['id']} has no object 999.")
    assert service.client.get(f"/v1/jobs/{job['id']}/objects/-1").status_code == 422
    assert service.client.get("/v1/jobs/unknown/objects/0").status_code == 404
