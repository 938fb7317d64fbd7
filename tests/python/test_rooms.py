"""The walls between the rooms hold: who may include what.

The compiler runs with the flags of the build, taken from compile_commands.json.
"""

from __future__ import annotations

import graphlib
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.native

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("KYMO_BUILD_DIR", ROOT / "build" / "main"))

READ = {"base", "symbol", "trace"}
SUM = READ | {"model/read"}
HEAP = SUM | {"model/sum"}
EXPORT = HEAP | {"model/heap", "model/ops"}
FORMATS = ["chrome", "et", "heap", "html", "perfetto", "pprof", "speedscope", "text"]
MODEL = {
    "model/read": READ,
    "model/sum": SUM,
    "model/heap": HEAP,
    "model/tiles": HEAP,
    "model/ops": SUM,
    "model/export/common": EXPORT,
    **{f"model/export/{name}": EXPORT | {"model/export/common"} for name in FORMATS},
    "model/export/html": EXPORT | {"model/export/common", "model/tiles"},
    "model/rewrite": SUM | {"model/ops"},
}
SHARED = {"base", "symbol", "trace", "cli/term", *MODEL}
VERBS = [
    *("check", "completion", "diff", "doctor", "dump", "export", "index"),
    *("info", "query", "report", "rewrite", "run", "stacks", "view"),
]
ROOMS_BELOW = {
    "base": set(),
    "symbol": {"base"},
    "trace": {"base"},
    "stack": {"base"},
    "stackdump": {"base", "stack"},
    "record": {"base", "stack", "stackdump", "trace"},
    "preload": set(),
    "heap": {"base", "preload", "record", "stack", "stackdump", "trace"},
    **MODEL,
    "cli/term": {"base"},
    "cli/shared": SHARED,
    **{f"cli/{name}": SHARED | {"cli/shared"} for name in VERBS},
}
EXT = {
    "ext/common": set(),
    "ext/marks": {"ext/common"},
    "ext/reading": {"ext/common"},
    "ext/frames": {"ext/common"},
    "ext/heap": {"ext/common"},
    "ext/messages": {"ext/common"},
    "ext/tracer": {"ext/common", "ext/frames"},
    "ext/torch": {"ext/common", "ext/frames", "ext/marks"},
}
BELOW = {**ROOMS_BELOW, **EXT}


@pytest.fixture(scope="module")
def commands() -> list[dict[str, str]]:
    path = BUILD / "compile_commands.json"
    if not path.exists():
        pytest.skip(f"no build directory: {path} is missing")
    return json.loads(path.read_text())


def place_of(room: str) -> Path:
    return ROOT / room if room.startswith("ext/") else ROOT / "src" / room


def flags_of(commands: list[dict[str, str]], room: str) -> list[str]:
    """The compiler and the flags of one source of ROOM, without its input and outputs."""
    place = place_of(room)
    for entry in commands:
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        if source.parent == place:
            break
    else:
        if room.startswith("ext/"):
            pytest.skip("this build has no extension module")
        pytest.fail(f"no source of {place} is compiled")
    words = shlex.split(entry["command"])
    kept = [words[0]]
    rest = iter(words[1:])
    for word in rest:
        if word in ("-o", "-MF", "-MQ"):
            next(rest)
        elif word not in ("-c", "-MD", entry["file"]):
            kept.append(word)
    return kept


def compiled(flags: list[str], text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*flags, "-fsyntax-only", "-x", "c", "-"],
        input=text,
        capture_output=True,
        text=True,
        cwd=BUILD,
    )


def some_header(room: str) -> str | None:
    """A header of ROOM, if it has any."""
    return next((header.name for header in sorted(place_of(room).glob("*.h"))), None)


@pytest.mark.parametrize("room", BELOW)
def test_room_cannot_include_rooms_that_are_not_below_it(commands, room):
    others = [*BELOW, "ext/module"] if room in EXT else ROOMS_BELOW
    headers = [some_header(other) for other in others if other not in {room, *BELOW[room]}]
    probes = [f'#if __has_include("{name}")\n#error "{name}"\n#endif\n' for name in headers if name]

    result = compiled(flags_of(commands, room), "".join(probes))

    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("room", BELOW)
def test_room_can_include_the_rooms_below_it_and_the_public_headers(commands, room):
    headers = [some_header(below) for below in BELOW[room]]
    lines = [f'#include "{name}"\n' for name in headers if name]
    lines += ["#include <kymo/kymo.h>\n", "#include <kymo/source.h>\n"]

    result = compiled(flags_of(commands, room), "".join(lines))

    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("room", ROOMS_BELOW)
def test_room_cannot_find_python(commands, room):
    probe = '#if __has_include(<Python.h>)\n#error "Python.h"\n#endif\n'

    result = compiled(flags_of(commands, room), probe)

    assert result.returncode == 0, result.stderr


def test_every_room_has_its_walls():
    rooms = {
        path.parent.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.c")
    }

    # The two that put the others together: every verb, and every export format.
    assert rooms - {"cli/front", "model/export"} == set(ROOMS_BELOW)


def test_header_names_are_unique_over_the_tree():
    # Public headers are apart: they are included as <kymo/name.h>.
    seen: dict[str, Path] = {}
    for directory in ("src", "ext", "gpu"):
        for header in (ROOT / directory).rglob("*.h"):
            assert header.name not in seen, f"{header} and {seen[header.name]}"
            seen[header.name] = header


def test_only_the_files_that_make_a_session_see_all_of_it():
    # The others take the parts that they need from running.h.
    makers = {"session.c", "sessionparts.c", "stats.c"}
    found = {
        source.name
        for directory in ("bench", "include", "src", "ext", "gpu", "tests")
        for source in (ROOT / directory).rglob("*.[ch]")
        if re.search(r'#\s*include\s*"session\.h"', source.read_text("utf-8"))
    }

    assert found == makers


def test_files_of_record_do_not_include_each_other_in_a_circle():
    parts = {path.name: path.stem for path in (ROOT / "src" / "record").glob("*.[ch]")}
    below: dict[str, set[str]] = {part: set() for part in parts.values()}
    for name, part in parts.items():
        text = (ROOT / "src" / "record" / name).read_text("utf-8")
        for header in re.findall(r'#\s*include\s*"(\w+\.h)"', text):
            if parts.get(header, part) != part:
                below[part].add(parts[header])

    order = graphlib.TopologicalSorter(below).static_order()  # raises for a circle

    assert len(list(order)) == len(below)


def test_error_codes_are_written_without_a_minus():
    # The codes are negative themselves; a minus would make them positive, and so a success.
    wrong = re.compile(r"-\s*KYMO_E(?!X|N[TD])[A-Z]+\b")
    for directory in ("bench", "include", "src", "ext", "gpu", "tests"):
        for source in (ROOT / directory).rglob("*.[ch]"):
            for number, line in enumerate(source.read_text("utf-8").splitlines(), 1):
                assert not wrong.search(line), f"{source}:{number}: {line.strip()}"


def test_no_two_structs_have_one_name():
    # Debuggers and readers find a struct by its name; those of one file have no prefix.
    seen: dict[str, Path] = {}
    for directory in ("include", "src", "ext", "gpu"):
        for source in sorted((ROOT / directory).rglob("*.[ch]")):
            for name in re.findall(
                r"^\s*struct ((?:kymo|cli)_\w+) \{", source.read_text("utf-8"), re.MULTILINE
            ):
                assert name not in seen, f"struct {name} in {source} and {seen[name]}"
                seen[name] = source


def test_threads_and_mappings_are_made_in_one_place():
    for call, place in (("pthread_create(", "thread.c"), ("MAP_NORESERVE", "mapped.c")):
        found = [path for path in (ROOT / "src").rglob("*.c") if call in path.read_text("utf-8")]
        assert [path.name for path in found] == [place], f"{call}: {found}"
