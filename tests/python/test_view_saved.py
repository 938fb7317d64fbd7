"""Pages that `kymograph view --save` and `export --to html` write: samples and memory in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from judges import Browser
from program import good
from viewed import data_of, recorded, served, settled, text

pytestmark = pytest.mark.native

SAMPLES, MEMORY = 2**32, 2**33

PROGRAM = """
import json, time
def hot(n):
    x = 0
    for i in range(n): x += i * i
    return x
kept = []
end = time.thread_time() + 0.2
while time.thread_time() < end:
    hot(2000)
    kept.append(json.dumps(list(range(300))))
"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "trace.kymo"
    return recorded(path, PROGRAM, "--sample", "1000", "--memory=exact")


@pytest.fixture(scope="module")
def page(capture: Path) -> Path:
    path = capture.with_name("saved page.html")
    good("view", "--save", path, capture)
    return path


def rows(path: Path, sql: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in good("query", "--json", path, sql).splitlines()]


def test_a_saved_page_has_what_the_server_says(capture: Path, page: Path) -> None:
    data = data_of(page)
    with served(capture) as server:
        told = {key: data["samples"][0][key] for key in server.good("samples")}
        assert told == server.good("samples")
        assert data["memory"] == [server.good("memory")]
        stats = server.good("stats", samples=1)
        assert data["sample_stats"][0]["functions"] == stats["functions"]
        compared, at = {SAMPLES: 0, MEMORY: 0}, 0
        for _, track, level, index, length, _ in data["tiles"]:
            tile = data["stream"][at : at + length]
            at += length
            place = {"level": level, "index": index}
            if track == MEMORY:
                assert tile == server.ask("memorytile", **place).body
                compared[MEMORY] += 1
            elif track >= SAMPLES:
                asked = server.ask("sampletile", thread=track - SAMPLES, **place)
                assert tile == asked.body
                compared[SAMPLES] += 1
        assert at == len(data["stream"])
        assert min(compared.values()) > 3


def test_a_saved_page_has_every_sample_with_its_stack(capture: Path, page: Path) -> None:
    samples = data_of(page)["samples"][0]
    recorded_samples = rows(capture, "SELECT thread, time_ns, stack, weight_ns FROM samples")
    assert sorted((s[0], s[1], s[3], s[5]) for s in samples["all"]) == sorted(
        tuple(row.values()) for row in recorded_samples
    )
    with served(capture) as server:
        for thread, time, name, stack, periods, weight, clock in samples["all"]:
            told = server.good("sample", thread=thread, time=time)
            assert (told["name"], told["number"], told["weight"]) == (name, stack, weight)
            assert (told["periods"], told["clock"]) == (periods, clock)
            assert told["stack"] == samples["stacks"][str(stack)]


def test_a_part_has_the_samples_and_the_memory_of_that_time(capture: Path, tmp_path: Path) -> None:
    part = tmp_path / "part.html"
    good("view", "--save", part, "--from", "50ms", "--to", "100ms", capture)
    data = data_of(part)
    sql = "SELECT count(*) AS n FROM samples WHERE time_ns >= 50000000 AND time_ns < 100000000"
    inside = rows(capture, sql)[0]["n"]
    assert len(data["samples"][0]["all"]) == inside > 0
    assert data["sample_stats"][0]["calls"] == inside
    with served(capture) as server:
        asked = {"from": 50_000_000, "to": 100_000_000}
        assert data["memory"] == [server.good("memory", **asked)]


def test_a_saved_page_shows_samples_and_memory(browser: Browser, capture: Path, page: Path) -> None:
    browser.open(page.as_uri())
    browser.wait(lambda: browser.ask("window.kymograph && kymograph.app.samples[0]"))
    browser.wait(lambda: browser.ask("Boolean(kymograph.app.tracks.memory[0])"))
    settled(browser)
    titles = browser.ask("kymograph.app.tracks.all().map((track) => track.title)")
    assert {"samples", "live memory", "resident memory"} <= set(titles)

    # A value of memory, at a zoom that the page has no tiles of its own for.
    most = max(data_of(page)["memory"][0]["series"], key=lambda series: series["most"])
    browser.ask(
        f"kymograph.app.view.set({most['most_at']} - 2000, {most['most_at']} + 2000);"
        "kymograph.draw()"
    )
    settled(browser)

    # A sample with its stack, and the one after it.
    first, second = rows(capture, "SELECT * FROM samples ORDER BY thread, time_ns LIMIT 2")
    place = {"capture": 0, "thread": first["thread"] + SAMPLES, "start": first["time_ns"]}
    browser.ask(f"kymograph.app.select({json.dumps({**place, 'depth': 0})})")
    browser.wait(lambda: "stands for" in text(browser, "panel-body"))
    assert f"{first['time_ns'] / 1e6:.6f} ms" in text(browser, "panel-body")
    browser.ask(
        "[...document.querySelectorAll('.call-head button')]"
        ".find((button) => button.innerText === 'Next sample').click()"
    )
    browser.wait(lambda: browser.ask("kymograph.app.selected.start") == second["time_ns"])

    browser.ask("document.getElementById('tab-memory').click()")
    browser.wait(lambda: "Most at" in text(browser, "panel-body"))
    assert "live memory" in text(browser, "panel-body")
    assert browser.messages == []


@pytest.mark.parametrize("options", [(), ("--memory",)], ids=["calls", "memory"])
def test_the_html_export_has_them_beside_its_flame_graph(
    options: tuple[str, ...], capture: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    good("export", "--to", "html", *options, "-o", page, capture)
    data = data_of(page)
    assert data["samples"][0]["all"] and data["memory"][0]["series"]


def test_the_html_export_of_samples_alone_has_a_timeline(tmp_path: Path) -> None:
    path, page = tmp_path / "samples.kymo", tmp_path / "page.html"
    recorded(path, PROGRAM, "--calls", "off", "--sample", "1000")
    good("export", "--to", "html", "-o", page, path)
    assert {track for _, track, *_ in data_of(page)["tiles"]} == {0, SAMPLES}


def test_a_thread_without_calls_is_packed_once(tmp_path: Path) -> None:
    """Every level would be another pass over all events of a thread that only allocates."""
    path, page = tmp_path / "memory.kymo", tmp_path / "page.html"
    recorded(path, "kept = [str(i) for i in range(100_000)]", "--calls", "off", "--memory=exact")
    good("export", "--memory", "--to", "html", "-o", page, path)
    levels: dict[int, set[int]] = {}
    for _, track, level, *_ in data_of(page)["tiles"]:
        levels.setdefault(track, set()).add(level)
    assert len(levels[0]) == 1 and len(levels[MEMORY]) > 1
