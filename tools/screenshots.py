#!/usr/bin/env python3
"""Make the pictures of docs/view.md: tools/screenshots.py, after `make build`.

Records a program, opens its timeline in the browser that tests use, and writes docs/images.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from judges import Browser  # noqa: E402
from viewed import capture_of, served  # noqa: E402

PROGRAM = """
import difflib, json, threading, time, zlib

def load(n):
    return [f"row {i * n % 97}" for i in range(120)]

def transform(rows):
    return json.loads(json.dumps([{"text": row, "size": len(row)} for row in rows]))

def compare(k):
    return list(difflib.unified_diff(load(k), load(k + 1)))

def wait_for_disk():
    time.sleep(0.004)

def worker(count):
    for i in range(count):
        transform(load(i + 2))
        compare(i + 3)
        wait_for_disk()

def main():
    for i in range(5):
        compare(i + 5)
        zlib.compress(bytes(200_000))
        wait_for_disk()

threads = [threading.Thread(target=worker, args=(5,), name=f"worker-{i}") for i in range(2)]
for thread in threads:
    thread.start()
main()
for thread in threads:
    thread.join()
"""


def settle(browser: Browser) -> None:
    ready = "window.kymograph && kymograph.frames.length && busy.hidden && !kymograph.asked"
    browser.wait(lambda: browser.ask(ready))


def main() -> None:
    images = ROOT / "docs" / "images"
    with tempfile.TemporaryDirectory() as folder:
        path = capture_of(Path(folder) / "pipeline.kymo", PROGRAM)
        browser = Browser()
        browser._call(
            "Emulation.setDeviceMetricsOverride",
            width=1280,
            height=760,
            deviceScaleFactor=1,
            mobile=False,
        )
        with served("--linger", "0", path) as server:
            browser.open(server.address)
            settle(browser)
            names = server.good("overview")["captures"][0]["names"]
            wanted = next(str(i) for i, name in enumerate(names) if name[0] == "worker")
            found = server.good("find", names=wanted, time=0)
            call = server.good(
                "call", thread=found["thread"], start=found["time"], depth=found["depth"]
            )
            begin, length = call["start"], call["duration"]
            browser.ask(
                f"kymograph.app.view.set({begin - length * 0.03}, {begin + length * 1.03});"
                "for (const t of kymograph.app.tracks.all()) t.folded = t.title === 'MainThread';"
                "kymograph.draw()"
            )
            settle(browser)
            compare = next(str(i) for i, name in enumerate(names) if name[0] == "compare")
            found = server.good("find", names=compare, time=begin + length // 3)
            browser.ask(
                f"kymograph.app.select({{capture: 0, thread: {found['thread']}, "
                f"start: {found['time']}, depth: {found['depth']}}})"
            )
            browser.wait(
                lambda: browser.ask("document.querySelector('h2')?.innerText") == "compare"
            )
            browser.wait(lambda: browser.ask("document.querySelectorAll('.bars i').length > 0"))
            settle(browser)
            browser.picture(images / "view.png")
            browser.press("m")
            browser.wait(lambda: browser.ask("document.querySelectorAll('tbody tr').length > 5"))
            settle(browser)
            browser.picture(images / "view-range.png")
        browser.close()


if __name__ == "__main__":
    main()
