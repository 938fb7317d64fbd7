"""What recording child processes costs: programs that start many, with `--children on` and `off`.

Both run in turns. `off` imports the package and records the parent, so the difference is what the
children cost: their sessions, files and, for new interpreters, importing Kymograph.
"""

from __future__ import annotations

import argparse
import os
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


def turn(script: Path, children: str) -> tuple[float, float]:
    """Run it; return seconds of CPU time, children included, and elapsed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "kymograph", "run", "-q", "--children", children, script]
    subprocess.run(command, check=True, cwd=script.parent)
    elapsed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--forks", type=int, default=200)
    parser.add_argument("--starts", type=int, default=20)
    options = parser.parse_args()
    print(
        f"{'child':34} {'CPU off':>9} {'on':>9} {'ratio':>6} {'wall off':>9} {'on':>9} {'ratio':>6}"
    )
    for name, code in PROGRAMS.items():
        count = options.forks if name == "fork" else options.starts
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder, "program.py")
            script.write_text(code.format(count=count))
            rounds = [(turn(script, "off"), turn(script, "on")) for _ in range(options.rounds)]
            sizes = [entry.stat().st_size for entry in os.scandir(Path(folder, "program.kymo.d"))]
        line = f"{name:34}"
        for kind in (0, 1):
            off, on = (min(pair[i][kind] for pair in rounds) / count * 1e3 for i in (0, 1))
            ratio = statistics.median(pair[1][kind] / pair[0][kind] for pair in rounds)
            line += f" {off:6.1f} ms {on:6.1f} ms {ratio:5.2f}×"
        print(f"{line}  {max(sizes) / 1e3:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
