#!/usr/bin/env python3
"""Add up test results that were left as JUnit files in one directory.

count.py pass|fail|skip DIR NAME [REASON]   leave one result that has no file of its own
count.py step DIR NAME STATUS               leave a failure if STATUS says so and no file does
count.py programs DIR NAME LOG              leave one for each program that did not end well
                                            although no test of it failed, from Meson's LOG
count.py total DIR [NAME]                   print every skip, every failure, then the sum
"""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Result(NamedTuple):
    suite: str
    name: str
    outcome: str
    reason: str


def last_line(text: str | None) -> str:
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def read(path: Path) -> list[Result]:
    found = []
    for case in ET.parse(path).getroot().iter("testcase"):
        name = ".".join(x for x in (case.get("classname"), case.get("name")) if x)
        outcome, reason = "passed", ""
        for kind, tag in (("skipped", "skipped"), ("failed", "failure"), ("failed", "error")):
            mark = case.find(tag)
            if mark is not None:
                outcome = kind
                reason = mark.get("message") or last_line(mark.text)
        if outcome != "passed" and not reason:
            output = case.findtext("system-out") or ""
            errors = case.findtext("system-err") or ""
            reason = last_line(output + "\n" + errors) or "no reason given"
        found.append(Result(path.stem, name, outcome, reason))
    return found


def read_all(results: Path, name: str = "*") -> list[Result]:
    return [r for path in sorted(results.glob(f"{name}.xml")) for r in read(path)]


def leave(results: Path, outcome: str, name: str, reason: str) -> None:
    case = ET.Element("testcase", name=name)
    if outcome != "pass":
        ET.SubElement(case, "skipped" if outcome == "skip" else "failure", message=reason)
    suite = ET.Element("testsuite")
    suite.append(case)
    stem = re.sub(r"[^A-Za-z0-9.]+", "-", name)
    ET.ElementTree(suite).write(results / f"{stem}-{outcome}.xml")


def ended_badly(log: Path) -> Iterator[tuple[str, str]]:
    """Programs that hung or crashed: their JUnit file has only the tests they came to."""
    for line in log.read_text(errors="replace").splitlines():
        program = json.loads(line)
        if not program["is_fail"] or re.search(r"^not ok", program["stdout"], re.MULTILINE):
            continue
        how = f"{program['result'].lower()} after {program['duration']:.0f} s"
        # A sanitizer sums up in one line what it found; a test's last words are the next best.
        words = program.get("stderr", "") + "\n" + program["stdout"]
        summary = re.search(r"^SUMMARY: .*", words, re.MULTILINE)
        said = summary.group() if summary else last_line(words)
        yield program["name"], f"{how}, status {program['returncode']}: {said}"


def total(results: Path, name: str) -> str:
    everything = read_all(results, name)
    for outcome in ("skipped", "failed"):  # what matters most is nearest to the end
        for r in everything:
            if r.outcome == outcome:
                print(f"{r.outcome}: {r.suite}: {r.name}: {r.reason}")
    count = {o: sum(r.outcome == o for r in everything) for o in ("passed", "failed", "skipped")}
    return "{passed} passed, {failed} failed, {skipped} skipped".format(**count)


def main(argv: list[str]) -> int:
    verb, results = argv[1], Path(argv[2])
    if verb == "total":
        print(total(results, argv[3] if len(argv) > 3 else "*"))
    elif verb == "step":
        seen = results / ".failures"
        failures = sum(r.outcome == "failed" for r in read_all(results))
        before = int(seen.read_text()) if seen.exists() else 0
        if argv[4] != "0" and failures == before:
            leave(results, "fail", argv[3], f"exit status {argv[4]}")
            failures += 1
        seen.write_text(str(failures))
    elif verb == "programs":
        for name, how in ended_badly(Path(argv[4])):
            leave(results, "fail", f"{argv[3]} {name}", how)
    else:
        leave(results, verb, argv[3], argv[4] if len(argv) > 4 else "")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
