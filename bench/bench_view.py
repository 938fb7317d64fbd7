"""The timeline of a huge capture in a real browser without a GPU, at 1280 x 800.

    python bench/bench_view.py [slices [capture]]

Prints how long the first picture takes, how soon a zoom is sharp, how long frames take while
panning, and how much memory the server needs: for 100 000 000 slices, and of 1 000 000 000 only the
first picture. The file is in the cache: it has just been written.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from judges import Browser  # noqa: E402
from viewed import Server, served  # noqa: E402

IMITATE = ROOT / "build" / "bench" / "bench" / "imitate"
ZOOMED_MOST = 100_000_000
READY = "Boolean(window.kymograph && kymograph.frames.length && busy.hidden && !kymograph.asked)"
ZOOM = """new Promise((done) => {
    const began = performance.now();
    kymograph.app.view.set(%f, %f);
    kymograph.draw();
    let shown = 0;
    const look = () => {
        if (!shown) shown = performance.now() - began;
        if (busy.hidden && !kymograph.asked) done([shown, performance.now() - began]);
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(() => requestAnimationFrame(look));
})"""
PAN = """new Promise((done) => {
    kymograph.frames.length = 0;
    let left = 60;
    const step = () => {
        kymograph.app.view.pan(12);
        kymograph.draw();
        if (--left) requestAnimationFrame(step);
        else done(kymograph.frames.slice());
    };
    requestAnimationFrame(step);
})"""


def wait_for(browser: Browser, code: str) -> list[float]:
    answer = browser._call(
        "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
    )
    result: list[float] = answer["result"]["value"]
    return result


def busy(server: Server) -> float:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(server: Server) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measure(path: Path, slices: int) -> None:
    browser = Browser()
    browser._call(
        "Emulation.setDeviceMetricsOverride",
        width=1280,
        height=800,
        deviceScaleFactor=1,
        mobile=False,
    )
    chance = random.Random(1)
    began = time.monotonic()
    with served("--linger", "0", path) as server:
        browser.open(server.address)
        browser.wait(lambda: browser.ask(READY), 400)
        print(f"{slices:,} slices, {path.stat().st_size / 1e6:.0f} MB")
        print(f"  first picture, from the start of the command: {time.monotonic() - began:.2f} s")
        print(f"  the server until then: {busy(server):.2f} s of a processor")
        if slices > ZOOMED_MOST:
            print(f"  the server: {resident(server):.0f} MB resident at most")
            browser.close()
            return
        duration = server.good("overview")["captures"][0]["duration"]
        shown, sharp, frames = [], [], []
        for _ in range(40):
            length = duration / 2 ** chance.uniform(0, 20)
            start = chance.uniform(0, duration - length)
            first, last = wait_for(browser, ZOOM % (start, start + length))
            shown.append(first)
            sharp.append(last)
            frames += wait_for(browser, PAN)
        print(f"  a zoom: {statistics.median(shown):.0f} ms to the next frame")
        print(
            f"  a zoom is sharp after {statistics.median(sharp):.0f} ms,"
            f" p95 {percentile(sharp, 0.95):.0f} ms"
        )
        print(
            f"  a frame while panning: {statistics.median(frames):.1f} ms,"
            f" p95 {percentile(frames, 0.95):.1f} ms"
        )
        print(f"  the server: {resident(server):.0f} MB resident at most")
    browser.close()


def main() -> None:
    sizes = [int(sys.argv[1])] if len(sys.argv) > 1 else [100_000_000, 1_000_000_000]
    for slices in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "huge.kymo"
            if len(sys.argv) > 2:  # one that is there
                path = Path(sys.argv[2])
            elif shutil.disk_usage(folder).free < 4 * slices:
                print(f"{slices:,} slices: left out, there is too little room in {folder}")
                continue
            else:
                subprocess.run([IMITATE, path, str(2 * slices)], check=True)
            measure(path, slices)


if __name__ == "__main__":
    main()
