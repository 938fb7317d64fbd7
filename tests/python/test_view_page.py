"""The page of `kymograph view` in a real browser: used as a person would."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import good
from judges import Browser
from viewed import Server, capture_of, served, settled, text

import kymograph

pytestmark = pytest.mark.native

PROGRAM = """
import json, threading, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def slow():
    time.sleep(0.01)
def busy():
    fib(12)
    json.dumps(list(range(50)))
def main():
    for i in range(4):
        busy()
        slow()
thread = threading.Thread(target=busy, name="helper")
thread.start(); thread.join()
main()
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return capture_of(tmp_path_factory.mktemp("page") / "page.kymo", PROGRAM)


@pytest.fixture(scope="module")
def server(traced: Path) -> Iterator[Server]:
    with served("--linger", "0", traced) as server:
        yield server


def show(browser: Browser, server: Server, state: str = "") -> None:
    browser.open(server.address + state)
    settled(browser)


def said(browser: Browser, server: Server) -> list[str]:
    """What the page said or asked of others than its server."""
    own = f"request: {server.address}"
    return [words for words in browser.messages if not words.startswith(own)]


def in_sight(browser: Browser) -> list[float]:
    return browser.ask("[kymograph.app.view.from, kymograph.app.view.to]")


def place_of(browser: Browser, server: Server, name: str) -> tuple[float, float, dict[str, Any]]:
    """Where the longest call of NAME is on the screen, and which it is."""
    sql = (
        "SELECT thread, depth, start_ns, dur_ns FROM slices "
        f"WHERE name = '{name}' ORDER BY dur_ns DESC LIMIT 1"
    )
    row = json.loads(server.ask("query", sql=sql).body)
    middle = row["start_ns"] + row["dur_ns"] / 2
    x, y = browser.ask(
        f"""(() => {{
            const app = kymograph.app, track = app.tracks.find(0, {row["thread"]});
            const box = document.getElementById('tracks').getBoundingClientRect();
            const y = track.y + 2 + {row["depth"]} * 18 + 9;
            const scroll = document.getElementById('scroll');
            scroll.scrollTop = y - 100;
            return [box.left + app.view.x({middle}), box.top + y - scroll.scrollTop];
        }})()"""
    )
    settled(browser)
    return x, y, row


def click_call(browser: Browser, server: Server, name: str) -> dict[str, Any]:
    x, y, row = place_of(browser, server, name)
    browser.click(x, y)
    browser.wait(lambda: name in text(browser, "panel-body"))
    return row


def test_the_whole_capture_is_shown(browser: Browser, server: Server) -> None:
    show(browser, server)

    assert browser.ask("document.title").startswith("page.kymo")
    assert "MainThread" in text(browser, "heads")
    duration = server.good("overview")["captures"][0]["duration"]
    assert in_sight(browser) == [0, duration]
    pixels = """(() => {
        const canvas = document.getElementById('tracks');
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4)
            if (data[i + 3]) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
        return seen.size;
    })()"""
    assert browser.ask(pixels) > 20
    assert said(browser, server) == []


def test_the_strip_needs_no_tiles_of_its_own(browser: Browser, server: Server) -> None:
    show(browser, server)
    asked = [words for words in browser.messages if "/tile?" in words]
    assert asked and len(asked) == len(set(asked))
    assert len({words.split("level=")[1].split("&")[0] for words in asked}) == 1


def test_keys_zoom_and_pan(browser: Browser, server: Server) -> None:
    show(browser, server)
    whole = in_sight(browser)
    browser.press("w", "w", "w")
    settled(browser)
    near = in_sight(browser)
    assert near[1] - near[0] < 0.5 * (whole[1] - whole[0])
    browser.press("d")
    settled(browser)
    assert in_sight(browser)[0] > near[0]
    browser.press("a")
    settled(browser)
    assert in_sight(browser)[0] == pytest.approx(near[0], abs=1)
    browser.press("0")
    browser.wait(lambda: in_sight(browser) == whole)


def test_a_click_shows_a_call(browser: Browser, server: Server) -> None:
    show(browser, server)
    row = click_call(browser, server, "slow")

    panel = text(browser, "panel-body")
    assert "page.py:4" in panel and "Called by" in panel and "main" in panel
    assert f"{row['start_ns'] / 1e6:.6f} ms" in panel
    browser.press("f")
    browser.wait(lambda: in_sight(browser)[1] - in_sight(browser)[0] < row["dur_ns"] * 1.25)
    browser.ask("document.querySelector('.callers .link').click()")
    browser.wait(lambda: "main" in browser.ask("document.querySelector('h2').innerText"))
    assert said(browser, server) == []


def test_a_range_has_figures(browser: Browser, server: Server) -> None:
    show(browser, server)
    axis = browser.ask(
        "(({left, top, width}) => [left, top, width])"
        "(document.getElementById('axis').getBoundingClientRect())"
    )
    left, top, width = axis
    for kind, x, button in (
        ("mouseMoved", 0.5, "none"),
        ("mousePressed", 0.5, "left"),
        ("mouseMoved", 0.7, "left"),
        ("mouseMoved", 0.95, "left"),
        ("mouseReleased", 0.95, "left"),
    ):
        browser._call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=left + x * width,
            y=top + 10,
            button=button,
            buttons=int(button == "left"),
            clickCount=1,
        )
    browser.wait(lambda: "busy on all threads" in text(browser, "panel-body"))

    chosen = browser.ask("kymograph.app.range")
    stats = server.good("stats", **{"from": int(chosen["from"]), "to": int(chosen["to"]) + 1})
    rows = browser.ask("[...document.querySelectorAll('tbody tr')].map((row) => row.innerText)")
    assert len(rows) == len(stats["functions"])
    assert any(row.startswith("fib") for row in rows)
    browser.ask("document.getElementById('tab-flame').click()")
    browser.wait(lambda: browser.ask("document.querySelector('.flame canvas')?.height > 40"))
    browser.press("Escape")
    browser.wait(lambda: browser.ask("kymograph.app.range") is None)
    assert said(browser, server) == []


BARS = "[...document.querySelectorAll('.bars button')]"


def last_bar(browser: Browser) -> tuple[float, float]:
    """Where the bar of the longest calls is."""
    x, y = browser.ask(
        "(({left, bottom, width}) => [left + width / 2, bottom - 2])"
        f"({BARS}.filter((bar) => !bar.disabled).pop().getBoundingClientRect())"
    )
    return x, y


def wait_for_call(browser: Browser, row: dict[str, int]) -> None:
    """Wait until the page has gone to this call: in the panel, and as wide as the screen."""
    start = "kymograph.app.selected && kymograph.panel.call && kymograph.panel.call.start"
    browser.wait(lambda: browser.ask(start) == row["start_ns"])
    browser.wait(lambda: in_sight(browser)[1] - in_sight(browser)[0] < row["dur_ns"] * 1.25)


def test_a_bar_of_the_durations_leads_to_its_calls(browser: Browser, server: Server) -> None:
    show(browser, server)
    click_call(browser, server, "slow")
    browser.wait(lambda: browser.ask(f"{BARS}.length") > 0)

    rows = [
        json.loads(line)
        for line in server.ask(
            "query",
            sql="SELECT start_ns, dur_ns FROM slices WHERE name = 'slow' ORDER BY 2 DESC, 1",
        ).body.splitlines()
    ]
    words = browser.ask("document.querySelector('.durations').innerText")
    assert "4 calls in all of the capture" in words and "median" in words and "p99" in words
    labels = browser.ask(f"{BARS}.filter((bar) => !bar.disabled).map((bar) => bar.title)")
    assert sum(int(label.split()[0]) for label in labels) == 4

    # The last bar has the longest call; each further click leads to the next longest.
    inside = int(labels[-1].split()[0])
    for row in rows[:inside]:
        browser.click(*last_bar(browser))
        wait_for_call(browser, row)
        assert browser.ask(f"{BARS}.filter((bar) => bar.className === 'here').length") == 1
    browser.click(*last_bar(browser))
    wait_for_call(browser, rows[0])
    assert said(browser, server) == []


def test_a_row_of_the_functions_shows_durations(browser: Browser, server: Server) -> None:
    show(browser, server)
    sql = "SELECT thread, depth, start_ns, dur_ns FROM slices WHERE name = 'busy' LIMIT 1"
    row = json.loads(server.ask("query", sql=sql).body)
    where = {"capture": 0, "thread": row["thread"], "start": row["start_ns"], "depth": row["depth"]}
    browser.ask(f"kymograph.app.select({json.dumps(where)})")
    browser.wait(lambda: browser.ask("document.querySelector('h2')?.innerText") == "busy")
    browser.press("m")
    browser.wait(lambda: "busy on all threads" in text(browser, "panel-body"))
    rows = "[...document.querySelectorAll('tbody tr')]"
    browser.ask(f"{rows}.find((row) => row.cells[0].innerText === 'fib').click()")
    browser.wait(lambda: browser.ask(f"{BARS}.length") > 0)

    sql = (
        f"SELECT count(*) AS calls FROM slices WHERE name = 'fib' AND start_ns >= {row['start_ns']}"
        f" AND start_ns < {row['start_ns'] + row['dur_ns']}"
    )
    calls = json.loads(server.ask("query", sql=sql).body)["calls"]
    words = browser.ask("document.querySelector('.durations').innerText")
    assert f"{calls} calls began in the range" in words
    assert browser.ask("document.querySelector('h2').innerText") == "fib"
    browser.press("Escape", "Escape", "Escape")
    assert said(browser, server) == []


def test_search_goes_from_call_to_call(browser: Browser, server: Server) -> None:
    show(browser, server)
    browser.press("/")
    browser.press(*"slow")
    browser.wait(lambda: "calls" in text(browser, "hits"))
    assert text(browser, "hits") == "1 name, 4 calls"

    starts: list[int] = [0]
    selected = "kymograph.app.selected && kymograph.app.selected.start"
    for _ in range(4):
        browser.press("Enter")
        browser.wait(lambda: (browser.ask(selected) or 0) > starts[-1])
        starts.append(browser.ask(selected))
    sql = "SELECT start_ns FROM slices WHERE name = 'slow' ORDER BY start_ns"
    lines = server.ask("query", sql=sql).body.splitlines()
    assert starts[1:] == [json.loads(line)["start_ns"] for line in lines]
    browser.press("Enter")
    browser.wait(lambda: "no later call" in text(browser, "hits"))
    browser.press("Escape")
    assert browser.ask("kymograph.app.highlighted[0]") is None


def test_a_bad_expression_is_said(browser: Browser, server: Server) -> None:
    show(browser, server)
    browser.press("/")
    browser.press(*"/(/")
    browser.wait(lambda: "not a regular expression" in text(browser, "hits"))
    browser.press("Escape")


def test_rows_of_sql_lead_to_their_calls(browser: Browser, server: Server) -> None:
    show(browser, server)
    browser.ask("document.getElementById('tab-sql').click()")
    sql = "SELECT name, start_ns, dur_ns, thread, depth FROM slices WHERE name = 'busy' LIMIT 1"
    browser.ask(f"document.getElementById('sql').value = {json.dumps(sql)}")
    browser.ask("document.querySelector('.sql button').click()")
    browser.wait(lambda: browser.ask("document.querySelectorAll('tbody tr').length") == 1)
    browser.ask("document.querySelector('tbody tr').click()")
    browser.wait(lambda: browser.ask("document.querySelector('h2')?.innerText") == "busy")
    browser.ask("document.getElementById('tab-sql').click()")
    browser.ask("document.getElementById('sql').value = 'SELECT absent'")
    browser.ask("document.querySelector('.sql button').click()")
    browser.wait(lambda: "no such column" in text(browser, "panel-body"))


def test_tracks_fold_pin_and_filter(browser: Browser, server: Server) -> None:
    show(browser, server)
    first = "kymograph.app.tracks.shown.find((item) => item.kind === 'thread')"
    tall = browser.ask(f"{first}.height")
    browser.ask("document.querySelector('.head:not(.group) button').click()")
    browser.wait(lambda: browser.ask(f"{first}.height") < tall)
    settled(browser)  # the heads of what was out of sight come with the next frame
    browser.ask(
        "[...document.querySelectorAll('.head')].find((head) => head.innerText.includes('helper'))"
        ".querySelector('[aria-label=\"Pin to the top\"]').click()"
    )
    browser.wait(lambda: browser.ask(f"{first}.title") == "helper")
    browser.ask("filter.value = 'main'; filter.dispatchEvent(new Event('input', {bubbles: true}))")
    browser.wait(lambda: "helper" not in text(browser, "heads"))
    assert "MainThread" in text(browser, "heads")


def test_the_address_brings_one_back(browser: Browser, server: Server) -> None:
    show(browser, server)
    row = click_call(browser, server, "slow")
    browser.press("w", "w", "m")
    browser.wait(lambda: browser.ask("kymograph.app.range") is not None)
    browser.wait(lambda: "r=" in browser.ask("location.hash"))
    before = in_sight(browser)
    state = browser.ask("location.hash")

    show(browser, server, state)

    assert in_sight(browser) == pytest.approx(before, abs=2)
    assert browser.ask("kymograph.app.selected.start") == row["start_ns"]
    assert browser.ask("kymograph.app.range.from") == row["start_ns"]


def test_help_lists_the_keys(browser: Browser, server: Server) -> None:
    show(browser, server)
    browser.press("?")
    browser.wait(lambda: not browser.ask("keys.hidden"))
    assert "zoom in, out" in text(browser, "keys")
    browser.press("Escape")
    assert browser.ask("keys.hidden")


def test_dark_and_light(browser: Browser, server: Server) -> None:
    show(browser, server)
    colour = "getComputedStyle(document.body).backgroundColor"
    assert browser.ask(colour) == "rgb(255, 255, 255)"
    browser.ask("document.getElementById('theme').click()")
    assert browser.ask(colour) == "rgb(20, 24, 29)"
    browser.ask("document.getElementById('theme').click()")


def test_two_captures_stand_one_above_the_other(browser: Browser, traced: Path) -> None:
    with served("--linger", "0", traced, traced) as server:
        show(browser, server)
        browser.ask(
            "for (const track of kymograph.app.tracks.all()) track.folded = true;kymograph.draw()"
        )
        browser.wait(lambda: browser.ask("document.querySelectorAll('.head.group').length") == 2)
        browser.ask(
            "kymograph.app.selected = {capture: 1, thread: 0, start: 1000, depth: 0};"
            "kymograph.app.range = {from: 5000, to: 6000}"
        )
        browser.press("l")
        assert browser.ask("kymograph.app.offset[1]") == 4000
        browser.ask("kymograph.app.offset[1] = 0; kymograph.app.setRange(null)")
        browser.ask("document.getElementById('tab-functions').click()")
        choice = "document.querySelector('.stats-head select')"
        browser.wait(lambda: browser.ask(f"Boolean({choice})"))
        browser.ask(f"{choice}.value = '2'; {choice}.dispatchEvent(new Event('change'))")
        browser.wait(lambda: "Change of self" in text(browser, "panel-body"))
        rows = browser.ask("[...document.querySelectorAll('tbody tr')].map((r) => r.innerText)")
        assert rows and all("\t0 ns\t" in row for row in rows)  # the same capture twice
        assert said(browser, server) == []


def test_counters_tasks_and_instants_are_tracks(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "marks.kymo"
    kymograph.start(path, calls=False)
    kymograph.async_begin("request", 7)
    for i in range(50):
        kymograph.counter("level", i)
        with kymograph.span("step"):
            pass
    kymograph.instant("moment")
    kymograph.async_end("request", 7)
    kymograph.stop()
    with served("--linger", "0", path) as server:
        show(browser, server)
        browser.wait(lambda: "level" in text(browser, "heads"))
        settled(browser)
        heads = text(browser, "heads")
        assert "Tasks" in heads and "Instants" in heads
        x, y = browser.ask(
            """(() => {
                const tracks = kymograph.app.tracks.all();
                const track = tracks.find((one) => one.title === 'Tasks');
                const box = document.getElementById('tracks').getBoundingClientRect();
                return [box.left + box.width / 2, box.top + track.y + 10];
            })()"""
        )
        browser.click(x, y)
        browser.wait(lambda: "request" in text(browser, "panel-body"))
        assert said(browser, server) == []


def test_markup_in_names_stays_text(browser: Browser, tmp_path: Path) -> None:
    """Names of spans, threads and arguments may hold anything; nothing of it runs."""
    path = tmp_path / "<b onmouseover=hacked=1>.kymo"
    evil = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
    kymograph.start(path, calls=False)
    for i in range(20):
        with kymograph.span(evil + str(i % 3)):
            pass
    kymograph.stop()
    with served("--linger", "0", path) as server:
        show(browser, server)
        sql = "SELECT thread, depth, start_ns AS start FROM slices LIMIT 1"
        row = json.loads(server.ask("query", sql=sql).body)
        browser.ask(
            f"kymograph.go({{capture: 0, thread: {row['thread']}, start: {row['start']}, "
            f"depth: {row['depth']}}}, 1000); 0"
        )
        browser.wait(lambda: evil in text(browser, "panel-body"))
        for tab in ("functions", "flame"):
            browser.ask(f"document.getElementById('tab-{tab}').click()")
            browser.wait(lambda: "busy on all" in text(browser, "panel-body"))
        assert browser.ask("window.hacked") is None
        assert browser.ask("document.querySelectorAll('img, b').length") == 0
        assert said(browser, server) == []


def test_a_saved_page_works_by_itself(browser: Browser, traced: Path, tmp_path: Path) -> None:
    """From a file, without a network or a server."""
    page = tmp_path / "saved page.html"
    good("view", "--save", page, traced)
    browser.open(page.as_uri())
    settled(browser)
    assert "MainThread" in text(browser, "heads")
    sql = "SELECT thread, depth, start_ns, dur_ns FROM slices WHERE name = 'slow' LIMIT 1"
    row = json.loads(good("query", "--json", traced, sql))
    where = {"capture": 0, "thread": row["thread"], "start": row["start_ns"], "depth": row["depth"]}
    browser.ask(f"kymograph.app.select({json.dumps(where)})")
    browser.wait(lambda: "Called by" in text(browser, "panel-body"))
    assert browser.ask("kymograph.panel.call.duration") == row["dur_ns"]
    assert "main" in text(browser, "panel-body")
    assert "need kymograph view and the capture" in text(browser, "panel-body")
    browser.press("/")
    browser.press(*"slow")
    browser.wait(lambda: text(browser, "hits") == "1 name, 4 calls")
    browser.press("Enter")
    browser.wait(lambda: browser.ask("kymograph.app.selected.start") > row["start_ns"])
    browser.press("Escape")
    for tab in ("functions", "flame"):
        browser.ask(f"document.getElementById('tab-{tab}').click()")
        browser.wait(lambda: "On this page" in text(browser, "panel-body"))
    assert browser.messages == []


def test_the_page_is_small(server: Server) -> None:
    assert len(gzip.compress(server.send(server.root).body)) < 200_000


def test_a_hundred_thousand_calls_inside_each_other_are_shown(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "deep.kymo"
    depth = 100_000
    kymograph.start(path, calls=False)
    spans = [kymograph.span(f"deep {i % 7}") for i in range(depth)]
    for span in spans:
        span.__enter__()
    for span in reversed(spans):
        span.__exit__(None, None, None)
    kymograph.stop()
    with served("--linger", "0", path) as server:
        show(browser, server)
        assert browser.ask("kymograph.app.store.depths.size > 0")
        sql = "SELECT thread, start_ns FROM slices WHERE depth = 50"
        row = json.loads(server.ask("query", sql=sql).body)
        where = {"capture": 0, "thread": row["thread"], "start": row["start_ns"], "depth": 50}
        browser.ask(f"kymograph.app.select({json.dumps(where)})")
        browser.wait(lambda: "Called by" in text(browser, "panel-body"), 400)
        assert "deep 1" in text(browser, "panel-body")  # 50 = 7 · 7 + 1
        for tab in ("functions", "flame"):
            browser.ask(f"document.getElementById('tab-{tab}').click()")
            browser.wait(lambda: "busy on all" in text(browser, "panel-body"), 400)
        assert said(browser, server) == []
