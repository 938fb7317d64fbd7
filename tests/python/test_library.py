"""What the installed libkymo needs, what it lets out, and that a process has only one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


HEADERS = sorted((Path(kymograph.__file__).parent / "include" / "kymo").glob("*.h"))


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
@pytest.mark.parametrize(
    ("compiler", "language"), [("cc", ["c", "-std=c11"]), ("c++", ["c++", "-std=c++11"])]
)
def test_each_header_compiles_alone_in_c_and_in_cxx(header: Path, compiler, language):
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{header.parents[1]}", "-fsyntax-only"]
    if header.stem.startswith("arch_"):
        pytest.skip("included by arch.h, on its machine only")

    done = subprocess.run(
        [compiler, *flags, "-x", *language, "-"],
        input=f"#include <kymo/{header.name}>\n#include <kymo/{header.name}>\n",
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr


def test_kymo_h_includes_recording_marking_reading_and_exporting():
    text = (HEADERS[0].parent / "kymo.h").read_text("utf-8")

    included = set(re.findall(r"^#include <kymo/(\w+\.h)>", text, re.MULTILINE))

    assert included == {"record.h", "mark.h", "read.h", "exports.h", "types.h"}


def test_library_is_never_unloaded():
    assert "NODELETE" in readelf("-d", str(library()))


def test_process_has_one_library():
    code = (
        "import kymograph._core\n"
        "paths = {l[l.index('/'):].rstrip() for l in open('/proc/self/maps') if 'libkymo' in l}\n"
        "print(*paths, sep='\\n')\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert out.stdout.splitlines() == [str(library().resolve())]


def test_a_c_program_links_with_the_library_of_the_package(tmp_path: Path) -> None:
    if not (shutil.which("cc") and shutil.which("pkg-config")):
        pytest.skip("there is no cc or no pkg-config")
    source = tmp_path / "program.c"
    source.write_text(
        "#include <kymo/kymo.h>\n#include <stdio.h>\n"
        "int main(void) { puts(kymo_version()); return 0; }\n"
    )
    # Where a path has spaces, pkg-config escapes them for a shell.
    folder = tmp_path / "package"
    folder.symlink_to(library().parent)
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "kymo"],
        env={**os.environ, "PKG_CONFIG_PATH": str(folder / "pkgconfig")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    subprocess.run(["cc", source, "-o", tmp_path / "program", *flags], check=True)
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True)

    assert done.stdout == kymograph.__version__ + "\n"
