"""Charts as SVG inside a page. What they look like is in static/charts.css, so that light and dark differ there alone.

A Content-Security-Policy refuses styles and scripts inside of pages, so the ones that the library brings are dropped.
"""

from __future__ import annotations

import sys
from typing import Any
from xml.etree.ElementTree import Element

import pygal
from markupsafe import Markup
from pygal.graph.graph import Graph
from pygal.style import Style

# It puts a finder for plugins, which we have none of, among those that every import goes by, and that one is of a kind
# that Python has given up: each import would be told a warning.
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != pygal.__name__]


_MEASURED = Style(label_font_size=13, major_label_font_size=13)
"""What the library takes letters to measure when it leaves room for labels; charts.css draws them."""


def configured(kind: type[Graph], **options: Any) -> Graph:
    """A chart of that kind, without any style or script of its own."""
    return kind(
        style=_MEASURED,
        css=[],
        js=[],
        no_prefix=True,
        disable_xml_declaration=True,
        tooltip_fancy_mode=False,
        legend_at_bottom=True,
        width=options.pop("width", 860),
        height=options.pop("height", 280),
        **options,
    )


def drawn(chart: Graph, label: str) -> Markup:
    """The chart as an SVG element. `label` says to screen readers what it shows; its numbers belong in a table beside
    it."""

    def for_page(root: Element) -> Element:
        _drop_foreign(root)
        root.set("role", "img")
        root.set("aria-label", label)
        root.attrib.pop("id", None)
        return root

    chart.add_xml_filter(for_page)
    return Markup(chart.render(is_unicode=True))  # noqa: S704 - the library escapes what is drawn


def _drop_foreign(element: Element) -> None:
    """Drops comments, styles, scripts and the library's title; turns the labels of marks into tooltips."""
    element.attrib.pop("style", None)
    for child in list(element):
        name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else None
        if name in {None, "style", "script", "defs"} or (name == "title" and child.text == "Pygal"):
            element.remove(child)
        elif name == "desc":
            if child.get("class") == "value" and child.text:
                child.tag = "title"
                child.attrib.clear()
            else:
                element.remove(child)
        else:
            _drop_foreign(child)
