"""Sizes, times and counts in words, the same from the server and in the browser."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser

from service.dashboard import quantities
from service.dashboard.quantities import UNKNOWN
from tests.dashboard.seeded import SeededService


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (None, UNKNOWN),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (17_495_365_888, "17.5 GB"),
        (99_950_000, "100 MB"),
        (12_340_000, "12.3 MB"),
        (3 * 10**18, "3000 PB"),
    ],
)
def test_sizes_have_three_digits_at_most(count: int | None, words: str) -> None:
    assert quantities.size(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, UNKNOWN),
        (0.0009, "under 1 ms"),
        (0.314, "0.31 s"),
        (9.99, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (249, "4 min 09 s"),
        (3599.5, "1 h 00 min"),
        (11_220, "3 h 07 min"),
    ],
)
def test_time_spans_have_two_units_at_most(seconds: float | None, words: str) -> None:
    assert quantities.duration(seconds) == words


def test_other_quantities_in_words() -> None:
    thin = "\N{NARROW NO-BREAK SPACE}"
    assert quantities.grouped(1234567) == f"1{thin}234{thin}567"
    assert quantities.rate(4.12e8) == "412 MB/s"
    assert quantities.rate(None) == UNKNOWN
    assert quantities.shape([5120, 17408]) == "5120\N{NO-BREAK SPACE}\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}17408"
    assert quantities.shape([]) == "scalar"
    assert quantities.shape(None) == UNKNOWN
    assert [quantities.percent(share) for share in (0, 0.009, 0.999, 1)] == ["0 %", "0 %", "99 %", "100 %"]
    at = datetime(2026, 11, 30, 7, 18, 3, tzinfo=UTC)
    assert quantities.moment(at) == "2026-11-30 07:18:03"
    assert quantities.between(at, at + timedelta(seconds=75)) == "1 min 15 s"
    assert quantities.between(at, None) == UNKNOWN


def test_the_browser_says_the_same(browser: Browser, seeded: SeededService) -> None:
    chance = random.Random(5)  # noqa: S311 - the same numbers each time
    sizes = [None, *(chance.randrange(10 ** chance.randrange(1, 16)) for _ in range(500))]
    spans = [None, *(chance.random() * 10 ** chance.randrange(-3, 6) for _ in range(500))]
    page = browser.new_page()
    page.goto(f"{seeded.url}/sign-in")
    found = page.evaluate(
        "async ([sizes, spans]) => { const words = await import('/static/quantities.js');"
        " return [sizes.map(words.size), spans.map(words.duration), sizes.map(words.grouped)]; }",
        [sizes, spans],
    )
    page.close()
    assert found[0] == [quantities.size(one) for one in sizes]
    assert found[1] == [quantities.duration(one) for one in spans]
    assert found[2] == [quantities.grouped(one) for one in sizes]
