"""A capture that claims very many threads neither breaks the server nor the page."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from judges import Browser
from viewed import served, settled

pytestmark = pytest.mark.native

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("KYMO_BUILD_DIR", ROOT / "build" / "main"))
THREADS = 20000
SHOWN = 4000  # KYMO__SHOWN_THREADS


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = BUILD / "tests" / "programs" / "many_threads"
    path = tmp_path_factory.mktemp("threads") / "many.kymo"
    subprocess.run([program, path, str(THREADS)], check=True, timeout=400)
    return path


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
