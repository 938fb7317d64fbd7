#!/usr/bin/env python3
"""Run PyTorch's own tests of its profiler with kymograph.profile in place of torch.profiler.

    tools/torch-tests.py DIRECTORY [FILE...]

DIRECTORY is `test/profiler` of a source tree of PyTorch, best of the version that is installed.
Every FILE of it runs twice: as it is, and after `kymograph.torch_compat.install()`. What passes
with torch and not with Kymograph is listed with the first line of its failure.

Needs torch, pytest and expecttest on the path; `make test-torch` installs the first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import types
import xml.etree.ElementTree as ET
from pathlib import Path

FILES = (
    "test_profiler.py",
    "test_profiler_tree.py",
    "test_execution_trace.py",
    "test_record_function.py",
    "test_python_tracer.py",
    "test_trace_validator.py",
)
SECONDS = 1800  # for a file


class Absent(types.ModuleType):
    """A module that this torch does not have any more. Tests that use it fail, both times."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def run_inside(mode: str, file: str, results: str) -> int:
    """Run FILE in this process."""
    import pytest

    if mode == "kymograph":
        import kymograph.torch_compat

        kymograph.torch_compat.install()
    gone = "torch.profiler._pattern_matcher"
    try:
        __import__(gone)
    except ImportError:
        sys.modules[gone] = Absent(gone)
    sys.path.insert(0, os.path.dirname(file))
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:warnings", "--tb=short"]
    return int(pytest.main([*options, f"--junitxml={results}", file]))


def outcomes(results: Path) -> dict[str, tuple[str, str]]:
    """Return by test: passed, skipped or failed, and why."""
    found = {}
    for case in ET.parse(results).iter("testcase") if results.exists() else ():
        bad = next(
            (case.find(tag) for tag in ("failure", "error") if case.find(tag) is not None), None
        )
        name = f"{(case.get('classname') or '').rpartition('.')[2]}.{case.get('name')}"
        if bad is not None:
            found[name] = ("failed", (bad.get("message") or "").partition("\n")[0][:150])
        else:
            found[name] = ("skipped" if case.find("skipped") is not None else "passed", "")
    return found


def main(directory: str, *files: str) -> int:
    both = all_passed = 0
    with tempfile.TemporaryDirectory() as place:
        for file in files or FILES:
            path = str(Path(directory, file).resolve())
            found = {}
            for mode in ("torch", "kymograph"):
                results = Path(place, f"{mode}-{file}.xml")
                command = [sys.executable, __file__, "--inside", mode, path, str(results)]
                subprocess.run(command, timeout=SECONDS, capture_output=True)
                found[mode] = outcomes(results)
            wanted = [name for name, (how, _) in found["torch"].items() if how == "passed"]
            missing = dict.fromkeys(wanted, ("gone", "the process ended before it"))
            ours = {**missing, **found["kymograph"]}
            passed = [name for name in wanted if ours[name][0] == "passed"]
            both += len(passed)
            all_passed += len(wanted)
            print(f"{file}: {len(passed)} of the {len(wanted)} that pass with torch")
            for name in wanted:
                if name not in passed:
                    print(f"    {name}: {': '.join(filter(None, ours[name]))}")
    share = 100 * both / all_passed if all_passed else 0
    print(f"{both} of {all_passed}, {share:.0f} %")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(__doc__)
        sys.exit(2)
    if sys.argv[1] == "--inside":
        sys.exit(run_inside(*sys.argv[2:5]))
    sys.exit(main(*sys.argv[1:]))
