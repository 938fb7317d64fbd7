"""Samples in `kymograph view`: what the server says of them, and how the page shows them."""

from __future__ import annotations

import bisect
import collections
import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from judges import Browser
from program import good
from viewed import CALL, Part, Server, recorded, served, settled, text

pytestmark = pytest.mark.native

PROGRAM = """
import json, threading, time
def hot(n):
    x = 0
    for i in range(n): x += i * i
    return x
def warm(n): return json.loads(json.dumps(list(range(n))))
def main(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        hot(3000)
        warm(300)
thread = threading.Thread(target=main, args=(0.3,), name="helper")
thread.start()
main(0.4)
thread.join()
"""


class Sampled(NamedTuple):
    thread: int
    time_ns: int
    weight_ns: int
    stack: int


Function = tuple[str, str, int]

# What the interpreter's garbage collector is called there; it has one row of its own.
COLLECTOR = "gc_collect_main"


class Samples:
    """The samples of a capture, as `kymograph query` has them."""

    def __init__(self, path: Path) -> None:
        def rows(sql: str) -> list[dict[str, Any]]:
            return [json.loads(line) for line in good("query", "--json", path, sql).splitlines()]

        sql = f"SELECT {', '.join(Sampled._fields)} FROM samples"
        self.all = sorted(Sampled(**row) for row in rows(sql))
        self.shown: dict[int, list[tuple[Function, int]]] = collections.defaultdict(list)
        for row in rows("SELECT * FROM frames WHERE shown ORDER BY stack, depth"):
            file = row["file"] or (row["module"] if row["kind"] == "native" else "") or ""
            function = row["name"], file, row["first_line"] or 0
            if row["kind"] == "native" and row["name"] == COLLECTOR:
                function = "Python GC", "", 0
            self.shown[row["stack"]].append((function, row["line"] or 0))

    def function(self, sample: Sampled) -> Function:
        """The innermost function that is shown."""
        stack = self.shown.get(sample.stack)
        return stack[0][0] if stack else ("(native)", "", 0)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Only samples of CPU time; and of elapsed time, together with calls."""
    folder = tmp_path_factory.mktemp("samples")
    return [
        recorded(folder / "only.kymo", PROGRAM, "--calls", "off", "--sample", "1000"),
        recorded(folder / "both.kymo", PROGRAM, "--sample", "500,wall"),
    ]


def functions_of(server: Server) -> list[Function]:
    return [(name[0], name[1], name[2]) for name in server.good("samples")["names"]]


def parts_expected(
    samples: Samples, thread: int, level: int, start: int, length: int
) -> list[tuple[int, int, int, int, dict[Function, int]]]:
    columns: dict[int, list[Sampled]] = collections.defaultdict(list)
    for sample in samples.all:
        if sample.thread == thread and start <= sample.time_ns < start + length:
            columns[sample.time_ns >> level].append(sample)
    expected = []
    for _, inside in sorted(columns.items()):
        times: collections.Counter[Function] = collections.Counter()
        for sample in inside:
            times[samples.function(sample)] += sample.weight_ns
        first, last = inside[0].time_ns, inside[-1].time_ns
        expected.append((first, last, len(inside), sum(times.values()), dict(times)))
    return expected


def check_part(
    part: Part, wanted: tuple[int, int, int, int, dict[Function, int]], name: Function, unit: int
) -> None:
    first, last, count, weight, times = wanted
    assert part.depth == 0 and part.count == count
    assert bool(part.flags & CALL) == (count == 1)
    assert abs(part.start - first) < unit and abs(part.end - last) <= unit
    assert abs(part.busy - min(weight, unit * 0xFFFFFFFF)) < unit
    # As many nanoseconds for the name that leads as for any other.
    assert times[name] == max(times.values())


def test_tiles_of_samples_say_what_query_says(captures: list[Path]) -> None:
    compared, joined = 0, 0
    for number, path in enumerate(captures):
        samples = Samples(path)
        chance = random.Random(number)
        with served(path) as server:
            names = functions_of(server)
            duration = server.good("overview")["captures"][0]["duration"]
            threads = [thread for thread, _ in server.good("samples")["threads"]]
            highest = (duration // 512).bit_length() + 1
            for i in range(100):
                level = highest - i % (highest + 1) if i < 40 else chance.randrange(highest + 1)
                if level < 20 and samples.all:  # where there is something
                    index = chance.choice(samples.all).time_ns >> level + 9
                else:
                    index = chance.randrange((duration >> level + 9) + 1)
                thread = chance.choice(threads)
                tile = server.tile("sampletile", thread=thread, level=level, index=index)
                expected = parts_expected(samples, thread, level, tile.start, tile.length)
                assert len(tile.parts) == len(expected), (path, thread, level, index)
                for part, wanted in zip(tile.parts, expected, strict=True):
                    check_part(part, wanted, names[part.name], tile.unit)
                    compared += 1
                    joined += part.count > 1
    assert compared > 500 and joined > 50


def test_every_sample_is_found_with_its_stack(captures: list[Path]) -> None:
    for path in captures:
        samples = Samples(path)
        with served(path) as server:
            names = functions_of(server)
            counts = collections.Counter(sample.thread for sample in samples.all)
            answer = server.good("samples")
            assert dict(answer["threads"]) == counts
            assert answer["samples"] == len(samples.all)
            for thread in counts:
                own = [sample for sample in samples.all if sample.thread == thread]
                times = [sample.time_ns for sample in own]
                for moment in random.Random(thread).choices(range(times[-1] + 10), k=20):
                    after = server.ask("sample", thread=thread, time=moment)
                    place = bisect.bisect_left(times, moment)
                    if place == len(times):
                        assert after.status == 404
                    else:
                        assert after.json()["time"] == times[place]
                    before = server.ask("sample", thread=thread, time=moment, back=1)
                    if place == 0:
                        assert before.status == 404
                    else:
                        assert before.json()["time"] == times[place - 1]
                for sample in own[:: max(1, len(own) // 25)]:
                    found = server.good("sample", thread=thread, time=sample.time_ns)
                    assert found["number"] == sample.stack and found["weight"] == sample.weight_ns
                    stack = [(names[name], line) for name, line in found["stack"]]
                    assert stack == samples.shown.get(sample.stack, [(("(native)", "", 0), 0)])


def test_figures_of_samples_are_those_of_the_report(captures: list[Path]) -> None:
    compared = 0
    for path in captures:
        with served(path) as server:
            names = functions_of(server)
            for first, last in ((0, 10**12), (100_000_000, 250_000_000)):
                arguments = ("--from", f"{first}ns", "--to", f"{last}ns") if first else ()
                report = json.loads(
                    good("report", "--json", "--native", "brief", *arguments, path)
                )["samples"]
                stats = server.good("stats", samples=1, **{"from": first, "to": last})
                assert stats["calls"] == report["count"] and stats["busy"] == report["time_ns"]
                ours = {names[f["name"]]: (f["own"], f["calls"]) for f in stats["functions"]}
                least = min((own for own, _ in ours.values()), default=0)
                for function in report["functions"]:
                    key = function["name"], function.get("file") or "", function.get("line") or 0
                    if key not in ours:  # 300 are listed, those with the most samples first
                        assert len(ours) == 300 and function["self_samples"] <= least
                        continue
                    assert ours[key] == (function["self_samples"], function["samples"])
                    compared += 1
                roots = [node for node in stats["tree"] if node[1] < 0]
                assert sum(node[4] for node in roots) == stats["busy"]
    assert compared > 10


def test_bad_questions_about_samples_are_answered(captures: list[Path]) -> None:
    with served(captures[0]) as server:
        for name, values in (
            ("sampletile", {"thread": 10**6, "level": 3, "index": 0}),
            ("sampletile", {"thread": 0, "level": 40, "index": 1 << 60}),
            ("sample", {"thread": 10**6, "time": 0}),
        ):
            assert server.ask(name, **values).status == 404
        for name in ("sampletile", "sample"):
            assert server.ask(name, thread=-1).status == 400


def test_a_capture_without_samples_says_so() -> None:
    golden = Path(__file__).resolve().parents[1] / "golden" / "v1.4-summaries.kymo"
    with served(golden) as server:
        assert server.good("samples") == {"samples": 0}


# ----------------------------------------------------------------- the page


def wait_for_samples(browser: Browser, server: Server) -> None:
    browser.open(server.address)
    browser.wait(lambda: browser.ask("window.kymograph && kymograph.app.samples[0]"))
    settled(browser)


def test_a_thread_has_a_track_of_its_samples(browser: Browser, captures: list[Path]) -> None:
    with served("--linger", "0", captures[1]) as server:
        samples = Samples(captures[1])
        wait_for_samples(browser, server)
        titles = browser.ask("kymograph.app.tracks.all().map((track) => track.title)")
        assert titles.count("samples") == len({sample.thread for sample in samples.all})

        # Zoom to one sample and click it.
        sample = max(samples.all, key=lambda one: len(samples.shown[one.stack]))
        track = f"kymograph.app.tracks.find(0, {sample.thread} + 2 ** 32)"
        browser.ask(
            f"kymograph.app.view.set({sample.time_ns - 400000}, {sample.time_ns + 400000});"
            "kymograph.draw()"
        )
        settled(browser)
        x, y = browser.ask(
            f"""(() => {{
                const box = document.getElementById('tracks').getBoundingClientRect();
                const scroll = document.getElementById('scroll');
                scroll.scrollTop = {track}.y - 100;
                return [box.left + kymograph.app.view.x({sample.time_ns}),
                        box.top + {track}.y - scroll.scrollTop + 10];
            }})()"""
        )
        settled(browser)
        browser.click(x, y)
        browser.wait(lambda: "stands for" in text(browser, "panel-body"))
        panel = text(browser, "panel-body")
        assert f"{sample.time_ns / 1e6:.6f} ms" in panel
        missing = [f[0] for f, _ in samples.shown[sample.stack] if f[0] not in panel]
        assert not missing, panel
        assert browser.ask("kymograph.app.selected.start") == sample.time_ns

        # The next one.
        later = [s.time_ns for s in samples.all if s.thread == sample.thread]
        later = [moment for moment in later if moment > sample.time_ns]
        if later:
            browser.ask(
                "[...document.querySelectorAll('.call-head button')]"
                ".find((button) => button.innerText === 'Next sample').click()"
            )
            browser.wait(lambda: browser.ask("kymograph.app.selected.start") == later[0])
        own = f"request: {server.address}"
        assert [words for words in browser.messages if not words.startswith(own)] == []


def test_a_range_counts_samples(browser: Browser, captures: list[Path]) -> None:
    with served("--linger", "0", captures[0]) as server:
        wait_for_samples(browser, server)
        # There is nothing else: each thread has one track, and figures are of samples.
        assert browser.ask("kymograph.app.tracks.all().every((track) => track.samples)")
        browser.ask("kymograph.app.setRange({from: 0, to: kymograph.app.view.whole})")
        browser.wait(lambda: "samples, for" in text(browser, "panel-body"))
        stats = server.good("stats", samples=1)
        rows = browser.ask(
            "[...document.querySelectorAll('tbody tr')]"
            ".map((row) => [...row.cells].map((cell) => cell.innerText))"
        )
        assert len(rows) == len(stats["functions"])
        hot = next(row for row in rows if row[0] == "hot")
        names = functions_of(server)
        wanted = next(f for f in stats["functions"] if names[f["name"]][0] == "hot")
        assert int(hot[1].replace("\u202f", "")) == wanted["own"] > 0
        # A function of the table is marked in the tracks.
        browser.ask(
            "[...document.querySelectorAll('tbody tr')]"
            ".find((row) => row.cells[0].innerText === 'hot').click()"
        )
        marked = "kymograph.app.highlighted[0]?.has(kymograph.app.named[0] + {})"
        browser.wait(lambda: browser.ask(marked.format(wanted["name"])))
        browser.ask("document.getElementById('tab-flame').click()")
        browser.wait(lambda: browser.ask("document.querySelector('.flame canvas')?.height > 40"))
        own = f"request: {server.address}"
        assert [words for words in browser.messages if not words.startswith(own)] == []
