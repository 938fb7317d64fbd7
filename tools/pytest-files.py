#!/usr/bin/env python3
"""Run test files with pytest, each in a process of its own, on all cores.

pytest-files.py RESULTS NAME [pytest options] -- FILE...

A file in a process of its own finds nothing that another one left, in whichever order they
come. Those that took longest the last time begin first. Each leaves RESULTS/NAME-FILE.xml, a
failure too if it crashed or hung, or left files of kymograph's in the temporary directory. If a
test failed, RESULTS/NAME-FILE.txt has what pytest printed. Prints a line for each file, with the
time it took and the time it used a core, and what pytest printed if a test failed. The exit
status is 1 if any did. A file whose turn comes after KYMO_DEADLINE, in seconds since 1970, is
skipped.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from pathlib import Path

LIMIT_S = 1200  # of one file, on a machine that does a lot besides
DUMP_S = 10  # to write the stacks of one that hangs
NO_TESTS = 5  # pytest's exit status when all were left out
TOO_LATE = "this machine is too slow today"

# Those known to take long, when there are no times of the last run: the longest should not be
# the last to begin. The order matters, the figures do not.
FIRST = (
    "test_export_parquet.py test_tracer_nesting.py test_sample.py test_differential.py"
    " test_export_pages.py test_export_formats.py test_run.py test_samples.py test_interpreter.py"
    " test_fake_source.py test_leaks.py test_dump_stacks.py test_export_perfetto.py"
    " test_profiler_programs.py test_run_messages.py test_fork_life.py test_tracer_budget.py"
    " test_traceback.py test_run_recorded.py test_crash.py test_flight.py test_diff.py"
).split()


def leave_result(path: Path, file: Path, tag: str, reason: str) -> None:
    case = ET.Element("testcase", classname="", name=file.name)
    ET.SubElement(case, tag, message=reason)
    suite = ET.Element("testsuite")
    suite.append(case)
    ET.ElementTree(suite).write(path)


def group_of(leader: int) -> list[str]:
    """A line for each process that LEADER's tests have running, and LEADER's."""
    lines = []
    for entry in Path("/proc").iterdir():
        try:
            pid = int(entry.name)
            if os.getsid(pid) == leader:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                lines.append(f"{pid}: {command.decode(errors='replace')[:300]}")
        except (ValueError, OSError):
            continue  # not a process, or it has ended
    return lines


def signal_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        pass


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for what one file's tests leave. The name is short, as that of a socket must be."""
    return tempfile.TemporaryDirectory(prefix="kt-", ignore_cleanup_errors=True)


class Watch:
    """Ends a process that has run for LIMIT_S, after it wrote where its threads are."""

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.processes: list[str] = []
        self.timers = [
            threading.Timer(LIMIT_S, self.dump),
            threading.Timer(LIMIT_S + DUMP_S, signal_group, (leader, signal.SIGKILL)),
        ]
        for timer in self.timers:
            timer.start()

    def dump(self) -> None:
        self.processes = group_of(self.leader)
        os.kill(self.leader, signal.SIGABRT)  # pytest's fault handler prints all stacks

    def end(self) -> None:
        for timer in self.timers:
            timer.cancel()

    @property
    def hung(self) -> bool:
        return bool(self.processes)


def where_it_hung(file: Path, text: str) -> str:
    """The innermost line of FILE in the last stack of TEXT in which a test of it runs."""
    stacks = re.split(r"^(?:Thread|Current thread) 0x", text, flags=re.MULTILINE)
    for stack in reversed(stacks):
        lines = re.findall(rf'/{re.escape(file.name)}", line (\d+) in (\w+)', stack)
        tests = [name for _, name in lines if name.startswith("test_")]
        if tests:
            return f", in {tests[-1]}, at {file.name}:{lines[0][0]}"
    return ""


class Run:
    def __init__(self, results: Path, name: str, options: list[str], files: list[Path]) -> None:
        self.results, self.name, self.options = results, name, options
        self.times_path = results.parent / f"{name}-times.json"
        try:
            self.times: dict[str, float] = json.loads(self.times_path.read_text())
        except (OSError, ValueError):
            self.times = {name: 1e6 - place for place, name in enumerate(FIRST)}
        # A long file is often a slow one; nothing better is known of a new one.
        self.waiting = sorted(
            files, key=lambda f: (self.times.get(f.name, 1e3), f.stat().st_size), reverse=True
        )
        self.times = {}
        self.lock = threading.Lock()
        self.count = len(files)
        self.deadline = float(os.environ.get("KYMO_DEADLINE") or "inf")
        self.done = 0
        self.failed = False

    def work(self) -> None:
        while True:
            with self.lock:
                if not self.waiting:
                    return
                file = self.waiting.pop(0)
            if time.time() > self.deadline:
                self.skip(file)
            else:
                self.run(file)

    def skip(self, file: Path) -> None:
        with self.lock:
            self.done += 1
            print(f"{self.done:3}/{self.count} {file.name}: NOT RUN, {TOO_LATE}", flush=True)
        leave_result(self.result_of(file), file, "skipped", TOO_LATE)

    def result_of(self, file: Path) -> Path:
        return self.results / f"{self.name}-{file.stem}.xml"

    def run(self, file: Path) -> None:
        xml = self.result_of(file)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        began = time.monotonic()
        with tempfile.TemporaryFile() as output, temporary_folder() as folder:
            process = subprocess.Popen(
                [*command, f"--junitxml={xml}", *self.options, str(file)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "TMPDIR": folder},
                start_new_session=True,
            )
            watch = Watch(process.pid)
            try:
                _, raw, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(raw)
            finally:
                watch.end()
                signal_group(process.pid, signal.SIGKILL)  # what its tests left running
            output.seek(0)
            text = output.read().decode(errors="replace")
            left = [path.name for path in Path(folder).glob("kymograph-*")]
        took = time.monotonic() - began
        status = process.returncode
        if watch.hung:
            reason = f"ran for more than {LIMIT_S} s{where_it_hung(file, text)}"
            leave_result(xml, file, "failure", reason)
            text += "\n".join(["", "running when the time was up:", *watch.processes, reason])
        elif not xml.exists():
            leave_result(xml, file, "failure", f"ended with status {status}")
        elif left and status == 0:
            status, reason = 1, "left in the temporary directory: " + " ".join(left)
            leave_result(xml, file, "failure", reason)
            text += reason
        with self.lock:
            self.tell(file, took, usage.ru_utime + usage.ru_stime, status, text)

    def tell(self, file: Path, took: float, used: float, status: int, text: str) -> None:
        self.done += 1
        self.times[file.name] = round(took, 1)
        if status not in (0, NO_TESTS):
            self.failed = True
            (self.results / f"{self.name}-{file.stem}.txt").write_text(text, errors="replace")
            print(text, flush=True)
        last = re.sub(r"^=+|=+$| in [0-9.]+s.*", "", text.strip().rpartition("\n")[2]).strip()
        again = text.count(" failed and is tried again:")  # see tests/python/conftest.py
        if again:
            last += f", {again} tried again"
        print(
            f"{self.done:3}/{self.count} {took:6.1f} s {used:5.1f} s of a core"
            f"  {file.name}: {last}",
            flush=True,
        )

    def finish(self) -> int:
        self.times_path.write_text(json.dumps(self.times, indent=0, sort_keys=True))
        return int(self.failed)


def main(argv: list[str]) -> int:
    results, name, rest = Path(argv[1]), argv[2], argv[3:]
    split = rest.index("--")
    run = Run(results, name, rest[:split], [Path(word) for word in rest[split + 1 :]])
    workers = [threading.Thread(target=run.work) for _ in os.sched_getaffinity(0)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return run.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
