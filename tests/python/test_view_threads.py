"""A capture that claims very many threads neither breaks the server nor the page."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from judges import Browser
from program import good
from viewed import served, settled

pytestmark = pytest.mark.native

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("KYMO_BUILD_DIR", ROOT / "build" / "main"))
THREADS = 20000
SHOWN = 4000  # KYMO__SHOWN_THREADS


def capture_of(folder: Path, threads: int) -> Path:
    program = BUILD / "tests" / "programs" / "many_threads"
    path = folder / f"{threads}.kymo"
    subprocess.run([program, path, str(threads)], check=True, timeout=400)
    return path


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return capture_of(tmp_path_factory.mktemp("threads"), THREADS)


def most_memory(capture: Path) -> int:
    """Bytes that the server had resident at most, for what a page asks."""
    with served(capture) as server:
        for name in ("overview", "marks", "samples", "memory", "stats", "counts"):
            server.good(name)
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024


def test_a_thread_takes_the_server_few_bytes(capture: Path, tmp_path: Path) -> None:
    more = 4 * THREADS
    each = (most_memory(capture_of(tmp_path, more)) - most_memory(capture)) / (more - THREADS)
    assert each < 200  # what a reader keeps of a thread and its block, and its name


def test_the_server_lists_some_and_answers_about_all(capture: Path) -> None:
    with served(capture) as server:
        overview = server.good("overview")["captures"][0]
        assert overview["threads_all"] == THREADS and len(overview["threads"]) == SHOWN
        for thread in (0, THREADS - 1):
            (part,) = server.tile(thread=thread, level=21, index=0).parts
            assert (part.start, part.end - part.start) == (1000 * thread, 500)
        assert server.ask("tile", thread=THREADS, level=21, index=0).status == 404
        assert server.good("stats")["calls"] == THREADS
        assert server.good("marks")["marks"] == []
        assert server.good("samples") == {"samples": 0}
        assert server.good("memory") == {"mode": "none"}


def test_a_report_tells_all_threads_apart(capture: Path) -> None:
    report = json.loads(good("report", "--json", capture))
    assert [thread["calls"] for thread in report["threads"]] == [1] * THREADS


def test_the_page_draws_what_is_in_sight(capture: Path) -> None:
    browser = Browser()
    try:
        browser.resize(1280, 800)
        with served("--linger", "0", capture) as server:
            browser.open(server.address)
            settled(browser)
            notes = "document.getElementById('notes').innerText"
            assert "4\u202f000 busiest threads are shown" in browser.ask(notes)
            heads = "document.getElementById('heads')"
            assert 0 < browser.ask(f"{heads}.children.length") < 60

            # To the very end of the list.
            browser.ask("document.getElementById('scroll').scrollTop = 1e9")
            browser.wait(lambda: f"worker {SHOWN - 1}" in browser.ask(f"{heads}.innerText"))
            settled(browser)
            assert browser.ask(f"{heads}.children.length") < 60

            # What was asked for is what was in sight, and the strip above.
            own = f"request: {server.address}"
            tiles = [words for words in browser.messages if words.startswith(f"{own}tile")]
            assert len(tiles) < 400
            assert [words for words in browser.messages if not words.startswith(own)] == []

            browser.ask("document.getElementById('scroll').scrollTop = 0")
            filtered = "document.getElementById('filter')"
            browser.ask(
                f"{filtered}.value = 'worker 3999'; {filtered}.dispatchEvent(new Event('input'))"
            )
            # The process, that thread, and the one with that number.
            browser.wait(lambda: browser.ask(f"{heads}.children.length") == 3)
            assert "worker 3999" in browser.ask(f"{heads}.innerText")
    finally:
        browser.close()
