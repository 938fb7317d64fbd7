"""What recording child processes costs: programs that start many.

Each runs in turns in three ways: unrecorded, with `import kymograph` as its first line; recorded
with `--children off`; and recorded with its children, `--children on`. The first two differ in what
recording the parent costs, the last two in what the children cost: their sessions, files and, for
new interpreters, importing Kymograph.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = {
    "fork": """
import os
for _ in range({count}):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
""",
    "subprocess": """
import subprocess, sys
for _ in range({count}):
    subprocess.run([sys.executable, "-c", "pass"])
""",
    "subprocess that imports kymograph": """
import subprocess, sys
for _ in range({count}):
    subprocess.run([sys.executable, "-c", "import kymograph"])
""",
}


WAYS = ("imports", "off", "on")


def turn(folder: str, code: str, way: str) -> tuple[float, float]:
    """Run CODE; return seconds of CPU time, children included, and elapsed."""
    # Each turn has a directory of its own: deleting what the last one wrote would be timed, too.
    place = Path(tempfile.mkdtemp(prefix=way, dir=folder))
    Path(place, "program.py").write_text(code)
    command = [sys.executable, "-m", "kymograph", "run", "-q", "--children", way, "program.py"]
    if way == "imports":
        command = [sys.executable, "-c", f"import kymograph\n{code}"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, cwd=place)
    elapsed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, elapsed


def figures(rounds: list[list[tuple[float, float]]], kind: int, count: int) -> str:
    """Return milliseconds per child in each way, and how much longer the last way takes."""
    least = [min(turns[i][kind] for turns in rounds) / count * 1e3 for i in range(len(WAYS))]
    ratios = [
        statistics.median(turns[2][kind] / turns[i][kind] for turns in rounds) for i in (0, 1)
    ]
    return "".join(f" {ms:7.2f}" for ms in least) + "".join(f" {ratio:5.2f}×" for ratio in ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--forks", type=int, default=200)
    parser.add_argument("--starts", type=int, default=20)
    options = parser.parse_args()
    titles = "".join(f" {way:>7}" for way in WAYS) + f" {'/imp.':>6} {'/off':>6}"
    print(f"{'ms per child':34} {'CPU':40}  wall\n{'':34}{titles} {titles}")
    for name, code in PROGRAMS.items():
        count = options.forks if name == "fork" else options.starts
        with tempfile.TemporaryDirectory() as folder:
            program = code.format(count=count)
            rounds = [[turn(folder, program, way) for way in WAYS] for _ in range(options.rounds)]
            sizes = [each.stat().st_size for each in Path(folder).glob("on*/program.kymo.d/*")]
        told = " ".join(figures(rounds, kind, count) for kind in (0, 1))
        print(f"{name:34}{told}  {max(sizes) / 1e3:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
