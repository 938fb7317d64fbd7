"""`python -m kymograph`: verbs in Python, and handing all others over to the program."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import shutil
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
        timeout=400,
        check=False,
        env={**os.environ, **environment},
    )


def test_python_info_describes_the_interpreter() -> None:
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
        "kymograph: the program 'kymograph' is missing from the package; reinstall kymograph\n"
    )


def test_a_program_that_cannot_be_run_is_one_clear_line(program: Path, call: Call) -> None:
    install(program, "no program at all")

    code, text = call("report")

    assert code == 2
    assert text.startswith(f"kymograph: cannot run {program}: ")
    assert text.count("\n") == 1


def test_an_unknown_verb_does_not_loop_forever(program: Path, call: Call) -> None:
    install(program, f'#!/bin/sh\nexec "{sys.executable}" -m kymograph "$@"\n')

    code, text = call("no-such-verb")

    assert code == 2
    assert text == "kymograph: unknown verb 'no-such-verb'\n"


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


def test_the_package_carries_the_program(tmp_path: Path) -> None:
    """As with pip's --target and PYTHONPATH, where nothing lies beside the interpreter."""
    interpreter = sys._base_executable  # type: ignore[attr-defined]
    if Path(interpreter).with_name("kymograph").exists():
        pytest.skip("kymograph is installed beside the interpreter itself")
    assert kymograph.__file__
    shutil.copytree(Path(kymograph.__file__).parent, tmp_path / "kymograph")

    done = subprocess.run(
        [interpreter, "-m", "kymograph", "help", "report"],
        capture_output=True,
        text=True,
        timeout=400,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd="/",
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: kymograph report")


def test_the_wheel_has_the_man_page() -> None:
    files = importlib.metadata.files("kymograph") or []
    if not files:
        pytest.skip("the package was not installed by pip")

    assert [str(file) for file in files if str(file).endswith("share/man/man1/kymograph.1")]


def test_without_proc_the_main_thread_is_sampled_and_the_rest_is_named(tmp_path: Path) -> None:
    program = native.find()
    unshare = shutil.which("unshare")
    if program is None or unshare is None or os.geteuid() != 0:
        pytest.skip("only root can hide /proc")
    code = "for _ in range(10_000_000): pass"
    command = f'run --calls off --sample 1000,wall -o trace.kymo -c "{code}"'
    script = f'mount -t tmpfs none /proc && "$0" -m kymograph {command} && "$1" info trace.kymo'

    done = subprocess.run(
        [unshare, "-m", "sh", "-c", script, sys.executable, program],
        capture_output=True,
        text=True,
        timeout=400,
        cwd=tmp_path,
    )

    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"/proc cannot be hidden here: {done.stderr.strip()}")
    assert "kymograph: /proc/self/task cannot be read: only the main thread" in done.stderr
    assert re.search(r"^  samples +[1-9]", done.stdout, re.M), done.stdout
    assert re.search(r"^  absent +samples of threads that record no calls: ", done.stdout, re.M)


def test_without_proc_the_python_beside_the_program_is_found(tmp_path: Path) -> None:
    program = native.find()
    unshare = shutil.which("unshare")
    if program is None or unshare is None or os.geteuid() != 0:
        pytest.skip("only root can hide /proc")
    folder = tmp_path / "bin"
    folder.mkdir()
    shutil.copy(program, folder / "kymograph")
    install(folder / "python", "#!/bin/sh\necho the python beside\n")
    script = 'mount -t tmpfs none /proc && exec "$0" run -c pass'

    done = subprocess.run(
        [unshare, "-m", "sh", "-c", script, folder / "kymograph"],
        capture_output=True,
        text=True,
        timeout=400,
        env={"PATH": os.environ["PATH"]},
    )

    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"/proc cannot be hidden here: {done.stderr.strip()}")
    assert "the python beside" in done.stdout, done.stderr
