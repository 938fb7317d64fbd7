"""Memory in `kymograph view`: what the server says of it, and how the page shows it."""

from __future__ import annotations

import bisect
import json
import random
import struct
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from judges import Browser
from program import good
from viewed import Server, recorded, served, settled

pytestmark = pytest.mark.native

PROGRAM = """
import mmap, time
keep = []
def grow():
    for i in range(300):
        keep.append(bytearray(1000 + 37 * i))
        [list(range(20)) for _ in range(5)]
def shrink():
    del keep[::3]
def moves():
    data = bytearray()
    for i in range(400):
        data += b"x" * 700
def mapped():
    with mmap.mmap(-1, 1 << 20):
        time.sleep(0.001)
for i in range(4):
    grow(); time.sleep(0.002); shrink(); moves(); mapped()
"""


class Tile(NamedTuple):
    start: int
    length: int
    series: list[int]
    columns: list[int]
    before: list[int]
    """By column: least, most and last of each series."""
    values: list[list[tuple[int, int, int]]]


def read_tile(data: bytes) -> Tile:
    version, s, n, zero, start, length = struct.unpack_from("<IIIIdd", data)
    assert version == 1 and zero == 0
    words = s + n + (s + n) % 2
    numbers = struct.unpack_from(f"<{words}I", data, 32)
    at = 32 + 4 * words
    assert len(data) == at + 8 * s + 24 * s * n
    before = struct.unpack_from(f"<{s}d", data, at)
    parts = [struct.unpack_from(f"<{n}d", data, at + 8 * (s + i * n)) for i in range(3 * s)]
    values = [
        [
            (int(parts[3 * i][k]), int(parts[3 * i + 1][k]), int(parts[3 * i + 2][k]))
            for i in range(s)
        ]
        for k in range(n)
    ]
    series, columns = list(numbers[:s]), list(numbers[s : s + n])
    return Tile(int(start), int(length), series, columns, [int(one) for one in before], values)


def tile_of(server: Server, level: int, index: int) -> Tile:
    answer = server.ask("memorytile", level=level, index=index)
    assert answer.status == 200, answer
    return read_tile(answer.body)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    return recorded(folder / "memory.kymo", PROGRAM, "--calls", "off", "--memory=exact")


@pytest.fixture(scope="module")
def server(capture: Path) -> Iterator[Server]:
    with served("--linger", "0", capture) as server:
        yield server


def rows_of(path: Path, sql: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in good("query", "--json", path, sql).splitlines()]


class Blocks:
    """Bytes in live blocks over time, replayed from the rows of `kymograph query`: each step is a
    time, the most within it, and the value after it."""

    def __init__(self, path: Path) -> None:
        changes: list[tuple[int, int, int, int | None]] = []  # time, freed, allocated, bytes
        for row in rows_of(path, 'SELECT time_ns, address, size FROM "memory.alloc"'):
            changes.append((row["time_ns"], 0, row["address"], row["size"]))
        for row in rows_of(path, 'SELECT time_ns, address FROM "memory.free"'):
            changes.append((row["time_ns"], row["address"], 0, None))
        for row in rows_of(path, 'SELECT time_ns, address, "from", size FROM "memory.realloc"'):
            changes.append((row["time_ns"], row["from"], row["address"], row["size"]))
        live: dict[int, int] = {}
        self.times: list[int] = []
        self.most: list[int] = []
        self.after: list[int] = []
        total = 0
        for moment, freed, address, size in sorted(changes, key=lambda change: change[0]):
            if size is None and freed not in live:
                continue  # it was alive before the recording
            total -= live.pop(freed, 0)
            if size is not None and address:
                total += size - live.pop(address, 0)
                live[address] = size
            if not self.times or self.times[-1] != moment:
                self.times.append(moment)
                self.most.append(total)
                self.after.append(total)
            self.most[-1] = max(self.most[-1], total)
            self.after[-1] = total

    def at(self, moment: int) -> int:
        """Just before MOMENT."""
        place = bisect.bisect_left(self.times, moment)
        return self.after[place - 1] if place else 0

    def piece(self, start: int, end: int) -> tuple[int, int, int]:
        """Least, most and last from START to before END."""
        first, last = bisect.bisect_left(self.times, start), bisect.bisect_left(self.times, end)
        values = self.after[first:last]
        begins = [self.at(start)] if first == last or self.times[first] > start else []
        most = max(begins + self.most[first:last])
        return min(begins + values), most, (begins + values)[-1]


MAPPED = 5  # the series of mappings; blocks are those before it, and 0 is the total


def check_tile(tile: Tile, blocks: Blocks) -> int:
    """The total without mappings is what the blocks add up to. Returns how many columns were
    compared."""
    total, mapped = tile.series.index(0), tile.series.index(MAPPED)
    assert tile.before[total] - tile.before[mapped] == blocks.at(tile.start)
    step, compared = tile.length // 512, 0
    changed = set()
    first = bisect.bisect_left(blocks.times, tile.start)
    for moment in blocks.times[first:]:
        if moment >= tile.start + tile.length:
            break
        changed.add((moment - tile.start) // step)
    assert changed.issubset(tile.columns)
    for column, values in zip(tile.columns, tile.values, strict=True):
        start = tile.start + column * step
        least, most, last = blocks.piece(start, start + step)
        assert values[total][2] - values[mapped][2] == last
        by_series = sum(
            values[i][2] for i, series in enumerate(tile.series) if 1 <= series < MAPPED
        )
        assert by_series == last
        if values[mapped][0] == values[mapped][1]:
            assert values[total][:2] == (least + values[mapped][0], most + values[mapped][0])
            compared += 1
    return compared


def test_tiles_of_memory_say_what_query_says(server: Server, capture: Path) -> None:
    blocks = Blocks(capture)
    duration = server.good("overview")["captures"][0]["duration"]
    highest = (duration // 512).bit_length() + 1
    chance = random.Random(1)
    compared = 0
    for i in range(200):
        level = i % (highest + 1)
        index = chance.choice(blocks.times) >> level + 9
        compared += check_tile(tile_of(server, level, index), blocks)
    assert len(blocks.times) > 5000 and compared > 5000
    # Beyond the end nothing changes.
    after = tile_of(server, highest, 5)
    assert not after.columns and after.before == [
        one["end"] for one in server.good("memory")["series"]
    ]


def series_of(answer: dict[str, Any]) -> dict[str, dict[str, int]]:
    return {one["name"]: one for one in answer["series"]}


@pytest.mark.parametrize("mode", ["exact", "sampled"])
def test_figures_of_memory_are_those_of_the_report(mode: str, tmp_path: Path) -> None:
    options = ["--calls", "off", f"--memory={mode}"]
    options += ["--memory-rate", "4K"] if mode == "sampled" else []
    path = recorded(tmp_path / "memory.kymo", PROGRAM, *options)
    report = json.loads(good("report", "--memory", "--json", path))
    with served(path) as server:
        answer = server.good("memory")
        series = series_of(answer)
        assert answer["mode"] == mode == report["mode"]
        assert series["total"]["most"] == report["at_peak"]["bytes"] > 100000
        assert series["total"]["most_at"] == report["peak_ns"]
        assert series["total"]["end"] == report["at_end"]["bytes"]
        for name, value in report["end_by_category"].items():
            assert series.get(name, {"end": 0})["end"] == value
        assert series["resident"]["most"] == report["resident"]["most"]
        assert series["resident"]["end"] == report["resident"]["end"]
        # Each point of the report's timeline is the most memory of its time.
        for point in report["timeline"]:
            at = {"from": point["time_ns"], "to": point["time_ns"] + 1}
            here = series_of(server.good("memory", **at))
            bytes_there = sum(size for name, size in point["bytes"].items() if name != "arenas")
            # A part of the timeline may begin less than a nanosecond before a change, and then
            # has what was there until then.
            assert bytes_there in (here["total"]["most"], here["total"]["start"])
        # At any time.
        duration = server.good("overview")["captures"][0]["duration"]
        for moment in random.Random(3).sample(range(duration), 5):
            at = json.loads(good("report", "--memory", "--json", "--at", f"{moment}ns", path))
            here = series_of(server.good("memory", **{"from": moment, "to": moment + 1}))
            # Or before a change within that nanosecond.
            assert at["at_time"]["bytes"] in (here["total"]["end"], here["total"]["start"])


def test_a_range_of_memory_is_its_pieces(server: Server, capture: Path) -> None:
    """The least, the most and when that was are those of the tiles within."""
    duration = server.good("overview")["captures"][0]["duration"]
    blocks = Blocks(capture)
    chance = random.Random(7)
    for _ in range(30):
        start, end = sorted(chance.sample(range(duration), 2))
        total = series_of(server.good("memory", **{"from": start, "to": end}))
        if total["mappings"]["least"] != total["mappings"]["most"]:
            continue
        mapped = total["mappings"]["least"]
        least, most, last = blocks.piece(start, end)
        assert total["total"]["least"] == least + mapped
        assert total["total"]["most"] == most + mapped
        assert total["total"]["end"] == last + mapped
        assert total["total"]["start"] == blocks.at(start) + mapped
        moment = total["total"]["most_at"]
        assert start <= moment < end and blocks.piece(moment, moment + 1)[1] == most


def test_captures_without_memory_events_say_so(tmp_path: Path) -> None:
    golden = Path(__file__).resolve().parents[1] / "golden" / "v1.4-summaries.kymo"
    with served(golden) as server:
        assert server.good("memory") == {"mode": "none"}
        assert tile_of(server, 20, 0).series == []
    live = recorded(tmp_path / "live.kymo", PROGRAM, "--calls", "off", "--memory=live")
    with served(live) as server:
        answer = server.good("memory")
        assert answer["mode"] == "live"
        assert "total" not in series_of(answer)  # it has no events; resident memory was measured


def test_bad_questions_about_memory_are_answered(server: Server) -> None:
    assert server.ask("memory", **{"from": 5, "to": 5}).status == 400
    assert server.ask("memory", capture=1).status == 404
    assert server.ask("memorytile", level=3).status == 400
    assert server.ask("memorytile", level=48, index=0).status == 400
    assert server.ask("memorytile", level=47, index=1 << 20).status == 404


# ----------------------------------------------------------------- the page


def show(browser: Browser, server: Server) -> None:
    browser.open(server.address)
    browser.wait(lambda: browser.ask("window.kymograph && kymograph.app.tracks.memory[0]"))
    settled(browser)


def words_of(size: int) -> str:
    """As the page writes it."""
    value, unit = float(size), 0
    while value >= 1024:
        value, unit = value / 1024, unit + 1
    digits = 0 if unit == 0 else 1 if value >= 100 else 2
    # Of two that are equally near, JavaScript takes the larger one.
    rounded = Decimal(value).quantize(Decimal(10) ** -digits, ROUND_HALF_UP)
    return f"{rounded} {['B', 'KiB', 'MiB', 'GiB'][unit]}"


def test_memory_is_shown_on_tracks(browser: Browser, server: Server, capture: Path) -> None:
    show(browser, server)
    heads = str(browser.ask("document.getElementById('heads').innerText"))
    assert "Memory" in heads and "live memory" in heads and "Python objects" in heads

    # Hovering shows the value.
    blocks = Blocks(capture)
    gaps = zip(blocks.times, blocks.times[1:], strict=False)
    start, end = max(gaps, key=lambda gap: gap[1] - gap[0])
    middle = (start + end) // 2
    tip = "document.getElementById('tip').innerText"
    for zoom in (end - start, 4 * (end - start)):
        browser.ask(f"kymograph.app.view.set({middle - zoom}, {middle + zoom}); kymograph.draw()")
        settled(browser)
        x, y = browser.ask(
            f"""(() => {{
                const track = kymograph.app.tracks.all().find((one) => one.memory?.series === 0);
                const box = document.getElementById('tracks').getBoundingClientRect();
                return [box.left + kymograph.app.view.x({middle}), box.top + track.y + 20];
            }})()"""
        )
        browser._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        at = {"from": middle, "to": middle + 1}
        total = series_of(server.good("memory", **at))["total"]["end"]
        browser.wait(lambda total=total: f"({total} bytes)" in browser.ask(tip))
    own = f"request: {server.address}"
    assert [words for words in browser.messages if not words.startswith(own)] == []


def test_the_memory_of_a_range_is_listed(browser: Browser, server: Server) -> None:
    show(browser, server)
    browser.ask("kymograph.panel.open('memory')")
    duration = server.good("overview")["captures"][0]["duration"]
    start, end = duration // 3, duration // 2
    browser.ask(f"kymograph.app.setRange({{from: {start}, to: {end}}})")
    body = "document.getElementById('panel-body').innerText"
    browser.wait(lambda: "Selected" in browser.ask(body) and "live memory" in browser.ask(body))
    rows = browser.ask(
        "[...document.querySelectorAll('tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    series = server.good("memory", **{"from": start, "to": end})["series"]
    assert len(rows) == len(series)
    for row, one in zip(rows, series, strict=True):
        assert [row[1], row[2]] == [words_of(one["start"]), words_of(one["end"])]
        assert [row[4], row[5]] == [words_of(one["least"]), words_of(one["most"])]
    # A click goes to where it was the most.
    browser.ask("kymograph.app.view.set(0, 1000000); document.querySelector('tbody tr').click()")
    inside = f"kymograph.app.view.from < {series[0]['most_at']} && kymograph.app.view.to > 1000000"
    browser.wait(lambda: browser.ask(inside))
