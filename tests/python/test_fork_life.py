"""Forks while sessions start and stop: no thread waits for another for ever."""

import subprocess
import sys

import pytest

MAIN_FORKS = """
import os, threading, warnings, kymograph
warnings.simplefilter("ignore")
def f(i): return i
def cycle():
    for n in range(60):
        with kymograph.trace("capture.kymo"):
            sum(f(i) for i in range(200))
    os.write(1, b"done")
    os._exit(0)
threading.Thread(target=cycle, daemon=True).start()
while True:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
"""

THREAD_FORKS = """
import os, threading, warnings, kymograph
warnings.simplefilter("ignore")
def forks():
    while True:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
threading.Thread(target=forks, daemon=True).start()
for n in range(100):
    kymograph.start("capture.kymo", **OPTIONS)
    kymograph.stop()
os.write(1, b"done")
os._exit(0)
"""


@pytest.mark.parametrize(
    "program",
    [
        MAIN_FORKS,
        THREAD_FORKS.replace("OPTIONS", "{}"),
        THREAD_FORKS.replace("OPTIONS", "{'sample': 997}"),
    ],
    ids=["the main thread forks", "another thread forks", "another thread forks, with samples"],
)
def test_forking_while_another_thread_starts_and_stops_never_hangs(tmp_path, program):
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ran.stdout == "done", ran.stderr
    assert ran.returncode == 0
