"""`kymograph doctor`, and verbs in Python: what is found on this machine, and handed over to."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import bad, good, kymograph
from program import PROGRAM, on_terminal

pytestmark = pytest.mark.native


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


# ------------------------------------------------------------------------ doctor


def test_doctor_finds_that_this_machine_can_record(tmp_path: Path) -> None:
    text = good("doctor", tmp_path)

    assert re.search(r"^ok +recording ", text, re.M)
    assert list(tmp_path.iterdir()) == []


def test_doctor_prints_every_check_as_json(tmp_path: Path) -> None:
    report = json.loads(good("doctor", "--json", tmp_path))

    checks = {check["name"]: check for check in report["checks"]}
    assert report["ok"] is True
    assert {"system", "cores", "memory", "disk", "recording", "python", "package"} <= set(checks)
    assert {check["status"] for check in report["checks"]} <= {"ok", "warn"}
    for check in report["checks"]:
        assert (check["way_out"] is None) == (check["status"] == "ok"), check


def test_doctor_says_no_where_nothing_can_be_recorded() -> None:
    done = kymograph("doctor", "/proc")

    assert done.returncode == 1
    assert re.search(r"^fail +recording +cannot record a capture in /proc", done.stdout, re.M)
    assert "-> " in done.stdout and "cannot record here" in done.stdout


def test_on_a_terminal_doctor_fits_its_width(tmp_path: Path) -> None:
    folder = tmp_path / "/".join(["a-folder-with-a-long-name"] * 6)
    folder.mkdir(parents=True)
    broken = script(folder / "python", "exit 1")

    shown = on_terminal("--python", broken, "doctor", folder)
    piped = good("--python", broken, "doctor", folder)

    assert max(map(len, shown.splitlines())) <= 80
    assert re.sub(r"\s", "", shown).count(re.sub(r"\s", "", str(broken))) == 1
    assert str(broken) in piped


def test_doctor_shows_the_python_it_would_use(tmp_path: Path) -> None:
    report = json.loads(good("--python", sys.executable, "doctor", "--json", tmp_path))

    checks = {check["name"]: check for check in report["checks"]}
    version = ".".join(map(str, sys.version_info[:3]))
    assert checks["python"]["found"] == f"{version} at {sys.executable} (--python)"
    assert checks["package"]["status"] == "ok"


def test_doctor_warns_of_a_python_that_does_not_run(tmp_path: Path) -> None:
    broken = script(tmp_path / "python", "echo 'no such version' >&2; exit 127")

    report = json.loads(good("--python", broken, "doctor", "--json", tmp_path))

    (check,) = (check for check in report["checks"] if check["name"] == "python")
    assert check["status"] == "warn" and "no such version" in check["found"]
    assert "--python" in check["way_out"]


# -------------------------------------------------------------- verbs in Python


def fake_python(path: Path) -> Path:
    """Has the package, and shows how it was called."""
    return script(path, 'test "$1" = -c && exit 0; printf "%s\\n" "$0" "$@"; exit 7')


def test_a_python_verb_becomes_a_python_process(tmp_path: Path) -> None:
    python = fake_python(tmp_path / "python")

    done = kymograph("--python", python, "python-info", "--odd", "two words", "--", "-x")

    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout.splitlines() == [
        str(python),
        "-m",
        "kymograph",
        "python-info",
        "--odd",
        "two words",
        "--",
        "-x",
    ]


def test_the_python_is_chosen_in_the_documented_order(tmp_path: Path) -> None:
    option, variable, beside, path = (
        fake_python(tmp_path / f"python{i}") for i in ("-option", "-variable", "-beside", "-path")
    )
    program = tmp_path / "bin" / "kymograph"
    program.parent.mkdir()
    shutil.copy(PROGRAM, program)
    search = tmp_path / "search"
    search.mkdir()
    shutil.copy(path, search / "python3")

    def chosen(*arguments: object, **environment: str) -> str:
        done = subprocess.run(
            [program, *map(str, arguments), "python-info"],
            env={"PATH": f"{search}:/usr/bin:/bin", **environment},
            capture_output=True,
            text=True,
            timeout=400,
        )
        return done.stdout.splitlines()[0]

    assert chosen() == str(search / "python3")
    shutil.copy(beside, program.parent / "python")
    assert chosen() == str(program.parent / "python")
    assert chosen(KYMO_PYTHON=str(variable)) == str(variable)
    assert chosen("--python", option, KYMO_PYTHON=str(variable)) == str(option)


def test_a_python_without_the_package_is_one_line_with_a_hint(tmp_path: Path) -> None:
    bare = script(tmp_path / "python", f'exec "{sys.executable}" -I -S "$@"')

    message = bad("--python", bare, "python-info", cwd=tmp_path)

    assert f"{bare} (--python) does not have the kymograph package" in message
    assert "pip install" in message and "KYMO_PYTHON" in message


@pytest.mark.parametrize("verb", ["python-info", "help"])
def test_a_python_that_is_not_there_is_named(tmp_path: Path, verb: str) -> None:
    arguments = ["help", "python-info"] if verb == "help" else [verb]

    message = bad(*arguments, environment={"KYMO_PYTHON": str(tmp_path / "none")})

    assert f"KYMO_PYTHON names {tmp_path / 'none'}" in message


def test_a_missing_python_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "kymograph"
    shutil.copy(PROGRAM, program)

    done = subprocess.run(
        [program, "python-info"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )

    assert done.returncode == 2 and done.stdout == ""
    assert "no python3 in PATH" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.skipif(
    not Path(PROGRAM).with_name("python").exists(), reason="no python beside the program"
)
def test_the_installed_program_hands_over_to_the_python_beside_it() -> None:
    report = json.loads(good("python-info", environment={"KYMO_PYTHON": ""}))

    assert report["executable"].startswith(str(Path(PROGRAM).parent))
