"""The page of `export_memory_timeline`: memory of tensors by category as a picture."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import accumulate

from kymograph.profiler._memory_categories import Category

# In units of the picture.
_WIDTH, _HEIGHT, _LEFT, _TOP, _LINE = 1000, 400, 90, 40, 22

# As torch has them.
_COLOURS = {
    Category.PARAMETER: "darkgreen",
    Category.OPTIMIZER_STATE: "goldenrod",
    Category.INPUT: "black",
    Category.TEMPORARY: "mediumpurple",
    Category.ACTIVATION: "red",
    Category.GRADIENT: "mediumblue",
    Category.AUTOGRAD_DETAIL: "royalblue",
    Category.UNKNOWN: "grey",
}


def page(device: str, times: Sequence[int], sizes: Sequence[Sequence[int]]) -> str:
    """Return the page for `sizes`, each a 0 and the bytes by category, at `times`."""
    title = f"Memory of tensors on {device}"
    sums = [list(accumulate(row)) for row in sizes]
    peak = max((row[-1] for row in sums), default=0)
    last = (times[-1] - times[0]) / 1000 if times else 0
    used = [each for each in Category if any(row[each + 1] for row in sizes)]
    # An area reaches to the ground and is behind those of the categories below it.
    areas = "\n".join(
        f'<path d="{_area(times, [row[each + 1] for row in sums], peak)}" fill="{_COLOURS[each]}"/>'
        for each in reversed(used)
    )
    legend = "\n".join(_entry(number, each) for number, each in enumerate(reversed(used)))
    bottom = _TOP + _HEIGHT
    return f"""<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><title>{html.escape(title)}</title></head>
<body style="font-family: sans-serif">
<svg viewBox="0 0 {_WIDTH + _LEFT + 180} {bottom + 60}" font-size="14">
<text x="{_LEFT}" y="20">{html.escape(title)}: at most {peak / 2**20:.2f} MiB</text>
<text x="{_LEFT - 6}" y="{_TOP + 10}" text-anchor="end">{peak / 2**20:.2f} MiB</text>
<text x="{_LEFT - 6}" y="{bottom}" text-anchor="end">0</text>
{areas}
<path d="M{_LEFT} {_TOP}v{_HEIGHT}h{_WIDTH}" fill="none" stroke="black"/>
<text x="{_LEFT}" y="{bottom + 20}">0</text>
<text x="{_LEFT + _WIDTH}" y="{bottom + 20}" text-anchor="end">{last:.3f} ms</text>
{legend}
</svg>
</body>
</html>
"""


def _entry(number: int, category: Category) -> str:
    x, y = _LEFT + _WIDTH + 16, _TOP + number * _LINE
    name = category.name.lower().replace("_", " ")
    return (
        f'<rect x="{x}" y="{y}" width="14" height="14" fill="{_COLOURS[category]}"/>'
        f'<text x="{x + 20}" y="{y + 12}">{name}</text>'
    )


def _area(times: Sequence[int], totals: Sequence[int], peak: int) -> str:
    """Return the path of an area under steps, with the most in each column of the picture."""
    columns: dict[int, tuple[int, int]] = {}  # the most, and the last
    length = max(times[-1] - times[0], 1)
    for time, total in zip(times, totals, strict=True):
        column = (time - times[0]) * _WIDTH // length
        columns[column] = (max(columns.get(column, (0, 0))[0], total), total)
    scale = _HEIGHT / max(peak, 1)
    path = [f"M{_LEFT} {_TOP + _HEIGHT}"]
    for column, (most, last) in columns.items():
        path.append(f"H{_LEFT + column}V{_TOP + _HEIGHT - max(most, 0) * scale:.1f}")
        if last != most:
            path.append(f"H{_LEFT + column + 1}V{_TOP + _HEIGHT - max(last, 0) * scale:.1f}")
    return "".join([*path, f"H{_LEFT + _WIDTH}V{_TOP + _HEIGHT}Z"])
