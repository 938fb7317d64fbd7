"""Horizontal bars in groups, as an SVG picture."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import floor, log10

BAR = 11  # pixels
GAP = 14
LABELS = 84
VALUES = 46
PANEL = 420
MARGIN = 24
LINE = 18


@dataclass(frozen=True)
class Series:
    key: str
    label: str
    colour: str


@dataclass(frozen=True)
class Panel:
    title: str
    form: str  # of a value: "{:.0f} ns"
    groups: dict[str, dict[str, float]]  # label of the group: key of the series: value
    mark: float | None = None  # a line here


def text(x: float, y: float, words: str, extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{escape(words)}</text>'


def line(x: float, top: float, bottom: float, kind: str) -> str:
    return f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}" class="{kind}"/>'


def bar(x: float, y: float, width: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR - 1}" fill="{colour}"/>'


def nice_step(most: float) -> float:
    """A round distance between the lines of the scale, of which there are at most seven."""
    power = 10.0 ** floor(log10(most))
    return next(power * m for m in (0.1, 0.2, 0.5, 1.0, 2.0) if power * m * 6 >= most)


def panel_height(panel: Panel) -> float:
    return sum(len(bars) * BAR + GAP for bars in panel.groups.values()) + 2 * LINE


def draw_panel(panel: Panel, series: list[Series], x: float, y: float) -> list[str]:
    most = max((v for bars in panel.groups.values() for v in bars.values()), default=0) or 1.0
    scale = (PANEL - LABELS - VALUES) / most
    left = x + LABELS
    bottom = y + panel_height(panel)
    parts = [text(x, y, panel.title, 'class="title"')]
    step = nice_step(most)
    for i in range(int(most / step) + 1):
        at = left + i * step * scale
        parts.append(line(at, y + 10, bottom, "scale"))
        parts.append(text(at, bottom + 12, f"{i * step:g}", 'class="small" text-anchor="middle"'))
    top = y + LINE
    for label, bars in panel.groups.items():
        middle = top + len(bars) * BAR / 2 + 4
        parts.append(text(left - 8, middle, label, 'text-anchor="end"'))
        for one in series:
            if one.key not in bars:
                continue
            value = max(bars[one.key], 0.0)  # below is noise
            length = value * scale
            parts.append(bar(left, top, max(length, 1), one.colour))
            parts.append(
                text(left + length + 4, top + 9, panel.form.format(value), 'class="small"')
            )
            top += BAR
        top += GAP
    if panel.mark is not None:
        parts.append(line(left + panel.mark * scale, y + 10, bottom, "mark"))
    return parts


def picture(title: str, note: str, series: list[Series], panels: list[Panel]) -> str:
    """The panels side by side under a title and the names of the colours."""
    width = len(panels) * (PANEL + MARGIN) + MARGIN
    parts = [text(MARGIN, 28, title, 'class="head"'), text(MARGIN, 46, note, 'class="small"')]
    x, y = float(MARGIN), 68.0
    for one in series:
        length = 32 + 7 * len(one.label)
        if x + length > width - MARGIN:
            x, y = float(MARGIN), y + LINE
        parts += [bar(x, y - 9, 11, one.colour), text(x + 16, y, one.label)]
        x += length
    y += 2 * LINE
    for number, panel in enumerate(panels):
        parts += draw_panel(panel, series, MARGIN + number * (PANEL + MARGIN), y)
    height = y + max(panel_height(panel) for panel in panels) + 2 * LINE
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}"'
            f' viewBox="0 0 {width} {height:.0f}">',
            "<style>text{font:12px system-ui,sans-serif;fill:#222}.head{font-size:17px;"
            "font-weight:600}.title{font-weight:600}.small{font-size:10px;fill:#555}"
            ".scale{stroke:#ddd}.mark{stroke:#888;stroke-dasharray:3 2}</style>",
            f'<rect width="{width}" height="{height:.0f}" fill="#fff"/>',
            *parts,
            "</svg>\n",
        ]
    )
