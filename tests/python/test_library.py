"""What the installed libkymo needs, what it lets out, and that a process has only one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import kymograph


def library() -> Path:
    return Path(kymograph.__file__).parent / "libkymo.so.0"


def readelf(*args: str) -> str:
    return subprocess.run(
        ["readelf", "-W", *args], capture_output=True, text=True, check=True
    ).stdout


def test_library_needs_no_python():
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", str(library())))

    assert not [name for name in needed if "python" in name.lower()]


def test_library_refers_to_no_python_symbol():
    symbols = readelf("--dyn-syms", str(library()))

    assert not re.findall(r"\b_?Py[A-Z]\w*", symbols)


def test_library_has_its_soname():
    assert "[libkymo.so.0]" in readelf("-d", str(library()))


def test_library_exports_only_what_its_headers_declare():
    headers = Path(kymograph.__file__).parent / "include" / "kymo"
    declared = set(re.findall(r"\bkymo_\w+", "".join(h.read_text() for h in headers.glob("*.h"))))
    exported = set()
    for line in readelf("--dyn-syms", str(library())).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[4] in ("GLOBAL", "WEAK") and fields[6] not in ("UND", "ABS"):
            exported.add(fields[7].split("@")[0])

    assert exported
    assert exported <= declared


def test_process_has_one_library():
    code = (
        "import kymograph._core\n"
        "paths = {l.split()[-1] for l in open('/proc/self/maps') if 'libkymo' in l}\n"
        "print(*paths, sep='\\n')\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert out.stdout.split() == [str(library().resolve())]
