"""The walls between the rooms hold: who may include what.

The compiler is asked with the very flags the build uses, taken from compile_commands.json.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("KYMO_BUILD_DIR", ROOT / "build" / "main"))

ROOMS_BELOW = {
    "base": set(),
    "symbol": {"base"},
    "trace": {"base"},
    "stack": {"base"},
    "record": {"base", "stack", "trace"},
    "model": {"base", "symbol", "trace"},
    "cli": {"base", "symbol", "trace", "model"},
}
WALLS = [(a, b) for a, below in ROOMS_BELOW.items() for b in ROOMS_BELOW if b not in {a, *below}]


@pytest.fixture(scope="module")
def commands() -> list[dict[str, str]]:
    path = BUILD / "compile_commands.json"
    if not path.exists():
        pytest.skip(f"no build directory: {path} is missing")
    return json.loads(path.read_text())


def flags_of(commands: list[dict[str, str]], room: str) -> list[str]:
    """The compiler and the flags of one source of ROOM, without its input and outputs."""
    for entry in commands:
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        if source.parent == ROOT / "src" / room:
            break
    else:
        pytest.fail(f"no source of src/{room} is compiled")
    words = shlex.split(entry["command"])
    kept = [words[0]]
    rest = iter(words[1:])
    for word in rest:
        if word in ("-o", "-MF", "-MQ"):
            next(rest)
        elif word not in ("-c", "-MD", entry["file"]):
            kept.append(word)
    return kept


def includes(flags: list[str], header: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*flags, "-fsyntax-only", "-x", "c", "-"],
        input=f"#include {header}\n",
        capture_output=True,
        text=True,
        cwd=BUILD,
    )


def some_header(room: str) -> str:
    headers = sorted((ROOT / "src" / room).glob("*.h"))
    if not headers:
        pytest.skip(f"src/{room} has no header")
    return f'"{headers[0].name}"'


@pytest.mark.parametrize(("room", "other"), WALLS)
def test_room_cannot_include_a_room_that_is_not_below_it(commands, room, other):
    header = some_header(other)

    result = includes(flags_of(commands, room), header)

    assert result.returncode != 0, f"src/{room} can include {header} of src/{other}"
    assert "o such file" in result.stderr or "not found" in result.stderr, result.stderr


@pytest.mark.parametrize(("room", "below"), [(a, b) for a, bs in ROOMS_BELOW.items() for b in bs])
def test_room_can_include_the_rooms_below_it(commands, room, below):
    result = includes(flags_of(commands, room), some_header(below))

    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("room", ROOMS_BELOW)
def test_room_cannot_find_python(commands, room):
    result = includes(flags_of(commands, room), "<Python.h>")

    assert result.returncode != 0
    assert "Python.h" in result.stderr


@pytest.mark.parametrize("room", ROOMS_BELOW)
def test_room_can_include_the_public_headers(commands, room):
    flags = flags_of(commands, room)

    for header in ("<kymo/kymo.h>", "<kymo/source.h>"):
        assert includes(flags, header).returncode == 0, header


def test_header_names_are_unique_over_the_tree():
    seen: dict[str, Path] = {}
    for directory in ("include", "src", "ext", "gpu"):
        for header in (ROOT / directory).rglob("*.h"):
            assert header.name not in seen, f"{header} and {seen[header.name]}"
            seen[header.name] = header
