"""`python -m kymograph`: verbs in Python, and handing all others over to the program."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import RunCode

import kymograph
from kymograph import _core
from kymograph.verbs import VERBS, load, native


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kymograph", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, **environment},
    )


def test_python_info_tells_what_answers() -> None:
    done = run("python-info")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "version": platform.python_version(),
        "executable": sys.executable,
        "kymo_version": kymograph.__version__,
        "extension": _core.__file__,
        "library": _core.library(),
    }


def test_python_info_takes_no_arguments() -> None:
    done = run("python-info", "extra")

    assert done.returncode == 2
    assert done.stderr == "kymograph: python-info takes no arguments\n"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_in_the_table_can_be_loaded(verb: str) -> None:
    assert callable(load(verb))


HAND_OVER = """if True:
    import sys
    from pathlib import Path
    from kymograph.verbs import native
    native._candidates = lambda: iter([Path(sys.argv[1])])
    sys.exit(native.execute(sys.argv[2:]))
"""

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Where a stand-in for the native program may be put."""
    return tmp_path / "kymograph"


@pytest.fixture
def call(program: Path, run_code: RunCode) -> Call:
    """`call(*arguments)`: hand them over to `program`; the exit code and the output."""

    def hand_over(*arguments: str) -> tuple[int, str]:
        done = run_code(HAND_OVER, program, *arguments, check=False)
        return done.returncode, done.stdout + done.stderr

    return hand_over


def install(path: Path, script: str) -> None:
    path.write_text(script)
    path.chmod(0o755)


def test_other_verbs_run_the_program_with_their_arguments(program: Path, call: Call) -> None:
    install(program, '#!/bin/sh\nprintf "%s|" "$@" "$KYMO_PYTHON"\nexit 5\n')

    assert call("report", "a b", "", "--top") == (5, f"report|a b||--top|{sys.executable}|")


def test_a_missing_program_is_one_clear_line(call: Call) -> None:
    code, text = call("report")

    assert code == 2
    assert text == (
        f"kymograph: the program 'kymograph' is not installed beside {sys.executable}; "
        "reinstall kymograph\n"
    )


def test_a_program_that_cannot_be_run_is_one_clear_line(program: Path, call: Call) -> None:
    install(program, "no program at all")

    code, text = call("report")

    assert code == 2
    assert text.startswith(f"kymograph: {program} cannot be run: ")
    assert text.count("\n") == 1


def test_a_verb_that_nobody_has_does_not_go_round_for_ever(program: Path, call: Call) -> None:
    install(program, f'#!/bin/sh\nexec {sys.executable} -m kymograph "$@"\n')

    code, text = call("no-such-verb")

    assert code == 2
    assert text == "kymograph: neither the program nor the package has a verb 'no-such-verb'\n"


def test_a_note_left_by_another_process_does_not_matter(
    program: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(program, "#!/bin/sh\necho reached\n")
    monkeypatch.setenv(native.NOTE, str(os.getpid()))

    assert call("report") == (0, "reached\n")


def test_the_installed_program_answers() -> None:
    if native.find() is None:
        pytest.skip("the program is not installed beside this Python")

    done = run("--version")

    assert done.returncode == 0
    assert kymograph.__version__ in done.stdout
