"""`kymograph run --memory`: its options, and what it records."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from allocated import replay
from ran import RUN, execute, recorded, write

PROGRAM = """
    def hold():
        return [bytes(30_000) for _ in range(10)]
    kept = hold()
"""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "mode"),
    [(["--memory"], "exact"), (["--memory=live"], "live"), (["--memory", "sampled"], "sampled")],
)
def test_the_mode_may_be_left_out(words: list[str], mode: str) -> None:
    write("script.py", PROGRAM)
    done = recorded(*words, "--calls", "off", "script.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert replay(Path("trace.kymo")).metadata["memory.mode"] == mode


def test_what_kymograph_allocates_is_not_the_programs() -> None:
    write("script.py", PROGRAM)
    recorded("--memory", "script.py")

    text = execute(*RUN[:-1], "report", "--memory", "trace.kymo").stdout

    ours = re.search(r"(\d+) bytes  kymograph$", text, re.M)
    assert "(the program)" in text
    assert not ours or int(ours[1]) < 1000, text  # frames around the program


def test_a_script_called_like_a_mode_is_run() -> None:
    write("live", PROGRAM)
    done = recorded("--memory", "--calls", "off", "live")
    assert (done.returncode, done.stderr) == (0, "")
    assert replay(Path("trace.kymo")).metadata["memory.mode"] == "exact"


def test_the_program_is_recorded_without_the_frames_of_its_runner() -> None:
    write("script.py", PROGRAM)
    done = recorded("--memory", "--memory-domains", "python", "--calls", "off", "script.py")
    assert (done.returncode, done.stderr) == (0, "")
    stacks = [b.stack for b in replay(Path("trace.kymo")).live.values() if b.size > 30_000]
    assert len(stacks) == 10
    assert {stack[-2:] for stack in stacks} == {("hold", "<module>")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--memory=all"], "--memory all is not exact or sampled or live"),
        (["--memory-rate", "1M"], "--memory-rate works only with --memory"),
        (["--memory", "--memory-rate", "1M"], "--memory-rate works only with --memory=sampled"),
        (["--memory", "--memory-domains", "x"], "--memory-domains x is not a list of native"),
        (
            ["--memory", "--flight", "9s", "--memory-signal", "USR2"],
            "--flight takes USR2 to write the capture; use --memory-signal USR1",
        ),
        (["--memory", "--memory-signal", "x"], "--memory-signal x is not a signal like USR2"),
        (["--memory", "--memory-signal", "KILL"], "--memory-signal KILL is not a signal like"),
    ],
)
def test_wrong_options_are_refused(words: list[str], message: str) -> None:
    write("script.py", PROGRAM)
    done = execute(*RUN, *words, "script.py")
    assert done.returncode == 2
    assert done.stderr.startswith(f"kymograph: {message}"), done.stderr
