"""Charts of what quantization cost, and of the words that it made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import pygal
from markupsafe import Markup

from service.dashboard.charts import configured, drawn
from service.dashboard.quality import Fidelity, LayerFidelity, RoleFidelity
from service.dashboard.quantities import grouped
from service.dashboard.word_bars import WordBar

MAX_ROLES = 40
"""Bars of a chart of roles; the worst come first."""
_MAX_DOTS = 150
_HALF_WIDTH = 580
"""Of a chart that has another one beside it."""
_ROLE_LETTERS = 44
_LABELS = 12
"""Labels below an axis that has more places than there is room for."""

_KEPT = 16
"""Charts kept while somebody looks at the words of one object of a job after another."""

Measure = Callable[[Fidelity], float | None]


def snr_db(of: Fidelity) -> float | None:
    return of.snr_db


def error_percent(of: Fidelity) -> float | None:
    return None if of.relative_rms is None else 100 * of.relative_rms


@lru_cache(_KEPT)
def layers_chart(layers: tuple[LayerFidelity, ...], measure: Measure, unit: str, label: str) -> Markup:
    """A line for each stack of layers."""
    numbers = sorted({one.layer for one in layers})
    stacks = list(dict.fromkeys(one.stack for one in layers))
    found = {(one.stack, one.layer): measure(one.fidelity) for one in layers}
    chart = configured(
        pygal.Line,
        width=_HALF_WIDTH,
        height=260,
        x_title="layer",
        y_title=unit,
        show_legend=len(stacks) > 1,
        show_dots=len(found) <= _MAX_DOTS,
        dots_size=3,
        **_thinned(len(numbers)),
    )
    chart.x_labels = [str(number) for number in numbers]
    for stack in stacks:
        values = [found.get((stack, number)) for number in numbers]
        chart.add(stack, values, formatter=_told([f"{stack}, layer {number}" for number in numbers], unit))
    return drawn(chart, label)


@lru_cache(_KEPT)
def roles_chart(roles: tuple[RoleFidelity, ...], measure: Measure, unit: str, label: str) -> Markup:
    """A bar for each role, in the order given from the top."""
    shown = list(reversed(roles[:MAX_ROLES]))  # the library draws from the bottom up
    chart = configured(
        pygal.HorizontalBar,
        width=_HALF_WIDTH,
        height=80 + 22 * len(shown),
        x_title=unit,
        show_legend=False,
        show_y_guides=False,
        truncate_label=_ROLE_LETTERS,
    )
    chart.x_labels = [one.role for one in shown]
    values = [measure(one.fidelity) for one in shown]
    chart.add(unit, values, formatter=_told([one.role for one in shown], unit))
    return drawn(chart, label)


def words_chart(bars: Sequence[WordBar], x_title: str, unit: str, label: str) -> Markup:
    """A bar for each group of words, as high as their count."""
    chart = configured(pygal.Bar, height=260, x_title=x_title, y_title=unit, show_legend=False, **_thinned(len(bars)))
    chart.x_labels = [bar.tick for bar in bars]
    chart.value_formatter = _whole
    chart.add(unit, [bar.count for bar in bars], formatter=_told([bar.label for bar in bars], unit, _whole))
    return drawn(chart, label)


def _whole(count: float) -> str:
    return grouped(int(count))


def _told(
    places: Sequence[str], unit: str, spelled: Callable[[float], str] = "{:#.4g}".format
) -> Callable[[float, int | None], str]:
    """Words of the tooltip of a mark."""

    def formatter(value: float, index: int | None) -> str:
        told = f"{spelled(value)} {unit}"
        return told if index is None else f"{places[index]}: {told}"

    return formatter


def _thinned(places: int) -> dict[str, int | bool]:
    thinned = {"x_labels_major_every": -(-places // _LABELS), "show_minor_x_labels": False}
    return {"truncate_label": -1, **(thinned if places > _LABELS else {})}
