"""What a person does with the page of `kymograph view` beyond looking: arranging tracks, asking who
called, cutting a piece out, watching a program that still runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from judges import Browser
from viewed import Server, capture_of, served, settled, text

import kymograph

pytestmark = pytest.mark.native

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("KYMO_BUILD_DIR", ROOT / "build" / "main"))

PROGRAM = """
import threading
def leaf(n):
    return sum(range(n))
def left():
    leaf(20000)
def right():
    leaf(60000)  # the slower caller
def main():
    for i in range(5):
        left()
        right()
thread = threading.Thread(target=left, name="helper")
thread.start(); thread.join()
main()
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return capture_of(tmp_path_factory.mktemp("actions") / "actions.kymo", PROGRAM)


@pytest.fixture(scope="module")
def server(traced: Path) -> Iterator[Server]:
    with served("--linger", "0", traced) as server:
        yield server


def show(browser: Browser, server: Server) -> None:
    browser.open(server.address)
    settled(browser)


def titles(browser: Browser) -> list[str]:
    """Of the threads, from the top."""
    found: list[str] = browser.ask(
        "[...document.querySelectorAll('.head:not(.group)')]"
        ".sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top))"
        ".map((head) => head.querySelector('.title').innerText)"
    )
    return found


def press_button(browser: Browser, track: str, label: str) -> None:
    """Click the button LABEL of the head of TRACK."""
    x, y = browser.ask(
        "(() => { const head = [...document.querySelectorAll('.head')].find((one) => "
        f"one.querySelector('.title').innerText === '{track}');"
        f"const box = head.querySelector('[aria-label=\"{label}\"]').getBoundingClientRect();"
        "return [box.left + box.width / 2, box.top + box.height / 2]; })()"
    )
    browser.click(x, y)


def test_tracks_can_be_moved(browser: Browser, server: Server) -> None:
    show(browser, server)
    before = titles(browser)
    assert before[0] == "MainThread" and "helper" in before
    press_button(browser, "MainThread", "Move down")
    browser.wait(lambda: titles(browser)[:2] == ["helper", "MainThread"])
    # As when more of the capture is known.
    browser.ask("kymograph.app.tracks.load(kymograph.app.captures)")
    settled(browser)
    assert titles(browser)[:2] == ["helper", "MainThread"]
    press_button(browser, "MainThread", "Move up")
    browser.wait(lambda: titles(browser) == before)
    press_button(browser, "MainThread", "Move up")  # it is the first
    settled(browser)
    assert titles(browser) == before


def choose(browser: Browser, option: str) -> None:
    """Choose the entry OPTION of the list above the flame graph."""
    choice = "document.querySelector('[aria-label=\"Callers and callees of\"]')"
    browser.wait(lambda: browser.ask(f"Boolean({choice})"))
    browser.ask(
        f"(() => {{ const choice = {choice};"
        "choice.value = [...choice.options].find((one) => "
        f"one.innerText === {json.dumps(option)}).value;"
        "choice.dispatchEvent(new Event('change')); })()"
    )


def shown_in_flames(browser: Browser) -> list[tuple[str, int]]:
    """Names and depths in the graph, without its root."""
    found = browser.ask(
        """(() => {
            const names = (node) => kymograph.app.name(0, node.name)[0];
            const all = (node, depth) => node.children.flatMap(
                (child) => [[names(child), depth], ...all(child, depth + 1)]);
            return all(kymograph.panel.flame.root, 0);
        })()"""
    )
    return [(name, depth) for name, depth in found]


def test_callers_and_callees_of_a_function(browser: Browser, server: Server) -> None:
    show(browser, server)
    browser.ask("document.getElementById('tab-flame').click()")
    browser.wait(lambda: "busy on all" in text(browser, "panel-body"))
    choose(browser, "leaf: who calls it")
    assert {name for name, depth in shown_in_flames(browser) if depth == 0} == {"left", "right"}
    assert ("main", 1) in shown_in_flames(browser)
    choose(browser, "main: what it calls")
    below = shown_in_flames(browser)
    assert {name for name, depth in below if depth == 0} - {"range"} == {"left", "right"}
    assert {name for name, depth in below if depth == 1} == {"leaf"}
    choose(browser, "Flame graph of everything")
    assert ("main", 0) not in shown_in_flames(browser)  # it is called by the module


def test_the_source_of_a_call_is_shown(browser: Browser, server: Server) -> None:
    show(browser, server)
    sql = "SELECT thread, depth, start_ns FROM slices WHERE name = 'right' LIMIT 1"
    row = json.loads(server.ask("query", sql=sql).body)
    where = {"capture": 0, "thread": row["thread"], "start": row["start_ns"], "depth": row["depth"]}
    browser.ask(f"kymograph.app.select({json.dumps(where)})")
    browser.wait(lambda: "# the slower caller" in text(browser, "panel-body"))


def test_a_range_is_cut_out_by_its_link(
    browser: Browser, server: Server, tmp_path: Path, traced: Path
) -> None:
    show(browser, server)
    sql = "SELECT start_ns, dur_ns FROM slices WHERE name = 'right' ORDER BY 1 LIMIT 1"
    row = json.loads(server.ask("query", sql=sql).body)
    begin, end = row["start_ns"], row["start_ns"] + row["dur_ns"]
    browser.ask(f"kymograph.app.setRange({{from: {begin}, to: {end}}})")
    browser.ask("document.getElementById('tab-functions').click()")
    link = "document.querySelector('a[download]')"
    browser.wait(lambda: browser.ask(f"Boolean({link})"))
    assert browser.ask(f"{link}.innerText") == "Cut"
    assert browser.ask(f"{link}.download") == "actions-cut.kymo"
    address = browser.ask(f"{link}.href")
    assert address.startswith(server.address)
    piece = tmp_path / "piece.kymo"
    piece.write_bytes(server.send(server.root + address[len(server.address) :]).body)
    with kymograph.open(piece) as capture:
        names = {event.name for event in capture.events()}
    assert "right" in names and "left" not in names


def test_arrows_lead_from_thread_to_thread(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "arrows.kymo"
    code = """
import sys, threading, time, kymograph
kymograph.start(sys.argv[1], calls=False)
with kymograph.span("send"):
    time.sleep(0.002)
    kymograph.flow_out("message", 1)
    time.sleep(0.002)
def take():
    with kymograph.span("receive"):
        time.sleep(0.002)
        kymograph.flow_in("message", 1)
        time.sleep(0.002)
thread = threading.Thread(target=take, name="taker")
thread.start(); thread.join()
kymograph.stop()
"""
    subprocess.run([sys.executable, "-c", code, path], check=True, timeout=400)
    with served("--linger", "0", path) as server:
        show(browser, server)
        browser.wait(lambda: browser.ask("(kymograph.app.tracks.arrows[0] ?? []).length") == 1)
        settled(browser)
        # The canvas with the arrow differs from one without it.
        picture = "document.getElementById('tracks').toDataURL()"
        with_arrow = browser.ask(picture)
        browser.ask("kymograph.kept = kymograph.app.tracks.arrows[0]; 0")
        browser.ask("kymograph.app.tracks.arrows[0] = []; kymograph.draw(); 0")
        settled(browser)
        assert browser.ask(picture) != with_arrow
        browser.ask("kymograph.app.tracks.arrows[0] = kymograph.kept; kymograph.draw(); 0")
        settled(browser)
        assert browser.ask(picture) == with_arrow


def test_a_program_that_runs_is_followed_by_the_page(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "live.kymo"
    code = """
import sys, time, kymograph
kymograph.start(sys.argv[1], calls=False)
print("ready", flush=True)
for i in range(100000):
    with kymograph.span("beat"):
        time.sleep(0.005)
"""
    program = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
    try:
        assert program.stdout is not None and program.stdout.readline() == b"ready\n"
        with served("--linger", "0", path) as server:
            show(browser, server)
            duration = "kymograph.app.captures[0].duration"
            first = browser.ask(duration)
            browser.wait(lambda: browser.ask(duration) > first + 1_000_000_000)
    finally:
        program.kill()
        program.wait()


def test_calls_of_no_length_and_of_a_century_are_shown(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "odd.kymo"
    subprocess.run([BUILD / "tests" / "programs" / "odd_times", path], check=True, timeout=400)
    century = 36525 * 86400 * 10**9
    with served("--linger", "0", path) as server:
        show(browser, server)
        assert browser.ask("kymograph.app.view.to") == pytest.approx(century)
        browser.ask("kymograph.app.select({capture: 0, thread: 0, start: 0, depth: 0})")
        browser.wait(lambda: "century" in text(browser, "panel-body"))
        assert browser.ask("kymograph.panel.call.duration") == pytest.approx(century)
        # One of no length in the middle, seen as near as one can get.
        at = 250 * (century // 1000)
        browser.ask(f"kymograph.go({{capture: 0, thread: 0, start: {at}, depth: 1}}, 0); 0")
        browser.wait(lambda: "nothing" in text(browser, "panel-body"))
        settled(browser)
        assert browser.ask("kymograph.panel.call.duration") == 0
        for tab in ("functions", "flame"):
            browser.ask(f"document.getElementById('tab-{tab}').click()")
            browser.wait(lambda: "busy on all" in text(browser, "panel-body"))
        own = f"request: {server.address}"
        assert [words for words in browser.messages if not words.startswith(own)] == []
