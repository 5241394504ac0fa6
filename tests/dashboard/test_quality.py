"""What the page of a job's quality says: errors by layer and role, the worst objects, and the words of one."""

from __future__ import annotations

import re
from itertools import pairwise
from math import isclose, log10, sqrt
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from schemas.registry import Format
from schemas.word_values import code_values
from service.dashboard.quality import LossyObject, by_layer, by_role, fidelity, worst
from service.dashboard.word_bars import MAX_BARS, code_bars, scale_bars
from tests.dashboard.seeded import SeededService, address
from tests.small_job import job_body

FP8, W8, NVFP4 = Format.FP8_E4M3FN_ROW_BF16S, Format.W8G32_F16S, Format.NVFP4


def lossy(index: int, name: str, source: np.ndarray[Any, Any], error: np.ndarray[Any, Any]) -> LossyObject:
    rms, source_rms = (float(np.sqrt(np.mean(values**2))) for values in (error, source))
    return LossyObject(index, name, W8, source.size, float(np.max(np.abs(error))), rms, source_rms)


def some_objects() -> tuple[list[LossyObject], list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]]:
    random = np.random.default_rng(1)
    names = ["text/layers/0/mlp/up", "text/layers/0/mlp/down", "text/layers/1/mlp/up", "head"]
    values = [
        (random.standard_normal(size) * (1 + size % 3), random.standard_normal(size) / size)
        for size in (1000, 70, 900, 40)
    ]
    return [lossy(index, name, *values[index]) for index, name in enumerate(names)], values


def test_pooled_errors_are_those_of_all_elements_together() -> None:
    objects, values = some_objects()
    source, error = (np.concatenate([one[part] for one in values]) for part in (0, 1))
    found = fidelity(objects)
    expected = sqrt(np.sum(error**2) / np.sum(source**2))
    assert (found.objects, found.elements) == (4, source.size)
    assert found.relative_rms is not None and isclose(found.relative_rms, expected)
    assert found.snr_db is not None and isclose(found.snr_db, -20 * log10(expected))


def test_objects_by_layer_by_role_and_the_worst() -> None:
    objects, _ = some_objects()
    assert [(one.stack, one.layer, one.fidelity) for one in by_layer(objects)] == [
        ("text/layers", 0, fidelity(objects[:2])),
        ("text/layers", 1, fidelity(objects[2:3])),
    ]
    roles = {one.role: one.fidelity for one in by_role(objects)}
    assert roles == {
        "text/layers/*/mlp/up": fidelity([objects[0], objects[2]]),
        "text/layers/*/mlp/down": fidelity(objects[1:2]),
        "head": fidelity(objects[3:]),
    }
    assert [one.badness for one in roles.values()] == sorted((one.badness for one in roles.values()), reverse=True)
    assert [one.name for one, _ in worst(objects, 2)] == ["head", "text/layers/0/mlp/down"]


def test_objects_without_error_are_told_from_those_that_cannot_be_compared() -> None:
    exact, zeros, wrong = (LossyObject(0, "a", W8, 4, rms, rms, source) for rms, source in ((0, 1), (0, 0), (1, 0)))
    assert (fidelity([exact]).snr_db, fidelity([exact]).relative_rms) == (None, 0)
    assert (fidelity([zeros]).snr_db, fidelity([zeros]).relative_rms) == (None, 0)
    assert (fidelity([wrong]).snr_db, fidelity([wrong]).relative_rms) == (None, None)
    assert [one for one, _ in worst([exact, wrong], 1)] == [wrong]


@pytest.mark.parametrize(("format", "bars"), [(Format.Q4G64_F16S, 16), (W8, 51), (NVFP4, 16), (FP8, 32)])
def test_bars_of_codes_hold_every_code_once_in_order(format: Format, bars: int) -> None:
    values = code_values(format)
    counts = [0 if value is None else 1 + bits for bits, value in enumerate(values)]
    found = code_bars(format, counts)
    assert len(found) == bars
    assert sum(bar.count for bar in found) == sum(counts)
    for bar in found:
        assert bar.first <= bar.last
    assert all(former.last <= latter.first for former, latter in pairwise(found))
    for value, count in ((1.0, counts[values.index(1.0)]), (-6.0, counts[values.index(-6.0)])):
        assert any(bar.first <= value <= bar.last and bar.count >= count for bar in found)


def test_a_zero_with_a_sign_comes_first() -> None:
    counts = [7 if bits == 8 else 0 for bits in range(16)]
    labels = [(bar.label, bar.count) for bar in code_bars(NVFP4, counts)]
    assert labels[7:9] == [("\N{MINUS SIGN}0", 7), ("0", 0)]


@pytest.mark.parametrize("numbers", [[5], [60, 61, 64], list(range(40, 200, 3)), [1, 2039]])
def test_bars_of_scales_are_few_and_hold_all(numbers: list[int]) -> None:
    scales = [[number, 10 + number] for number in numbers]
    found = scale_bars(FP8, scales)
    assert len(found) <= MAX_BARS
    assert sum(bar.count for bar in found) == sum(count for _, count in scales)
    assert found[0].count and found[-1].count
    assert all(former.last < latter.first for former, latter in pairwise(found))


def test_no_scales_no_bars() -> None:
    assert scale_bars(W8, []) == []


def page(seeded: SeededService, name: str) -> str:
    answer = seeded.service.client.get(address(seeded, name).removeprefix(seeded.url))
    assert answer.status_code == 200
    return answer.text


def tables(text: str) -> dict[str, list[list[str]]]:
    """Cells of the tables by the label of the region that they are in."""
    found = {}
    for label, body in re.findall(r'aria-label(?:ledby)?="([^"]+)">\s*<table>.*?<tbody>(.*?)</tbody>', text, re.S):
        rows = re.findall(r"<tr>(.*?)</tr>", body, re.S)
        found[label] = [[re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in rows]
    return found


@pytest.mark.parametrize("name", ["quality", "quality-of-fp8", "large-quality"])
def test_charts_are_labelled_and_bring_nothing_that_the_policy_refuses(seeded: SeededService, name: str) -> None:
    text = page(seeded, name)
    charts = re.findall(r'<div class="chart"[^>]*>(<svg.*?</svg>)</div>', text, re.S)
    assert len(charts) == {"quality": 5, "quality-of-fp8": 5, "large-quality": 7}[name]
    for chart in charts:
        root = ET.fromstring(chart)  # noqa: S314 - made by this process
        assert root.get("role") == "img"
        assert root.get("aria-label")
        marks = [one for one in root.iter() if {"bar", "dots"} & set((one.get("class") or "").split())]
        told = [one.findtext("{http://www.w3.org/2000/svg}title") or "" for one in marks]
        assert 0 < len(marks) <= 300
        assert all(re.search(r"\S: .+ (dB|%|elements|scales)$", text) for text in told) or "payload" in chart
    assert not re.search(r"<style|<script| style=| on\w+=|javascript:", text)
    assert len(re.findall(r"<details>", text)) == text.count("<figure>") - (2 if name == "large-quality" else 1)


def test_the_numbers_of_a_real_job(seeded: SeededService) -> None:
    text = page(seeded, "quality")
    job_id = seeded.jobs["ready"]
    objects = seeded.service.client.get(f"/v1/jobs/{job_id}/objects").json()["items"]
    measured = sorted((one for one in objects if one["error"]), key=lambda one: one["error"]["snr_db"])
    found = tables(text)
    assert [row[0] for row in found["worst-heading"]] == [one["name"] for one in measured]
    assert [row[2] for row in found["worst-heading"]] == [f"{one['error']['snr_db']:.2f}" for one in measured]
    sizes: dict[str, int] = {}
    for one in objects:
        kind = one["format"] or one["layout"]
        sizes[kind] = sizes.get(kind, 0) + one["bytes"]
    assert {row[0]: int(re.sub(r"\D", "", row[2])) for row in found["Bytes by format"]} == sizes
    document = seeded.service.client.get(f"/v1/jobs/{job_id}/objects/{measured[0]['index']}").json()
    counts = [str(one["count"]) for one in sorted(document["histograms"]["codes"], key=lambda one: one["value"])]
    assert [re.sub(r"\D", "", row[1]) for row in found["Codes"]] == counts
    assert sum(int(re.sub(r"\D", "", row[1])) for row in found["Scales"]) == sum(
        one["count"] for one in document["histograms"]["scales"]
    )


def test_the_words_of_a_chosen_object(seeded: SeededService) -> None:
    path = f"/jobs/{seeded.jobs['ready']}/quality"
    client = seeded.service.client
    chosen = client.get(path, params={"object": 2}).text
    assert '<option value="2" selected>' in chosen
    assert "all 97 rows" in chosen
    assert "No words of this object were counted" in client.get(path, params={"object": 0}).text
    assert client.get(path, params={"object": 99}).status_code == 404
    assert client.get(path, params={"object": "x"}).status_code == 422


def test_a_sample_is_said_to_be_one(seeded: SeededService) -> None:
    service = seeded.service
    job_id = service.client.post("/v1/jobs", json=job_body(verify="sample")).json()["id"]
    service.work(job_id)
    text = service.client.get(f"/jobs/{job_id}/quality").text
    assert "Measured on the rows of a sample" in text
    assert re.search(r"the \d+ rows of \d+ that were verified", text)


@pytest.mark.parametrize(
    ("kind", "words"),
    [("failed", "See why, and try again"), ("queued", "Watch the job"), ("large", "Watch the job")],
)
def test_before_and_without_verification(seeded: SeededService, kind: str, words: str) -> None:
    answer = seeded.service.client.get(f"/jobs/{seeded.jobs[kind]}/quality")
    assert answer.status_code == 200
    assert words in answer.text


def test_an_unknown_job(seeded: SeededService) -> None:
    answer = seeded.service.client.get("/jobs/00000000-0000-0000-0000-000000000000/quality")
    assert answer.status_code == 404
