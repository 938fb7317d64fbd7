"""A new interpreter that is recorded as a child does little before its program runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from ran import recorded, write

from kymograph import _core
from kymograph._family import VARIABLE, Family

pytestmark = pytest.mark.usefixtures("folder")

START = """
import subprocess, sys
subprocess.run([sys.executable, "child.py"], check=True)
"""


def test_it_begins_with_little_memory() -> None:
    write("script.py", START)
    write(
        "child.py",
        """
        import os
        live = [entry for entry in os.scandir("trace.kymo.d") if entry.name.endswith(".live")]
        print(len(live), live[0].stat().st_size)
        """,
    )

    count, size = map(int, recorded("script.py").stdout.split())

    assert count == 1
    assert 0 < size < 500_000  # others begin with 2 MiB


def test_it_imports_only_what_it_needs() -> None:
    write("script.py", START)
    write("child.py", "import json, sys\nprint(json.dumps(sorted(sys.modules)))")
    plain = subprocess.run([sys.executable, "child.py"], capture_output=True, text=True, check=True)

    more = set(json.loads(recorded("script.py").stdout)) - set(json.loads(plain.stdout))

    ours = {name for name in more if name.partition(".")[0] == "kymograph"}
    builtin = {"_posixsubprocess"} & set(sys.builtin_module_names)  # nothing to wait for
    assert more - ours <= {"__future__", "atexit", "gc", "time"} | builtin
    needed = {"callcost", "core", "family", "imports", "member", "messages", "patterns", "ranks"}
    needed |= {"session", "spawn", "start"}
    assert ours == {"kymograph", *(f"kymograph._{name}" for name in needed)}


def test_it_takes_over_what_its_parent_measured() -> None:
    write("script.py", START)
    write("child.py", "import subprocess\nsubprocess.run(['env'], check=True)")

    said = recorded("script.py").stdout.splitlines()

    (text,) = (line.partition("=")[2] for line in said if line.startswith(f"{VARIABLE}="))
    family = Family.parse(text)
    assert family.costs
    if family.clock_rate is None:
        assert _core.clock_rate() is None  # the processor states it, or has no counter
    else:
        assert re.fullmatch(r"[0-9a-f]{32} [0-9]{6,12}", family.clock_rate)
