"""`kymograph run`: what it says of a recording, what it refuses, and what its options are."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from ran import RUN, calls, execute, write

import kymograph
from kymograph import _summary
from kymograph.verbs import native
from kymograph.verbs.run import OPTIONS

pytestmark = pytest.mark.usefixtures("folder")

# ------------------------------------------------------------ what is said, where

SUMMARY = re.compile(
    r"kymograph: recorded ([\d ]+) calls? on (\d+) threads? in [\d.]+ m?s → (\S+) "
    r"\([\d.]+ (?:bytes|kB|MB)\); nothing lost\n"
    r"kymograph: next: kymograph report (\S+) · kymograph export (\S+) --to chrome\n"
)


def test_the_summary_counts_calls_and_threads_and_names_the_next_step() -> None:
    write("script.py", "def f(): pass\nfor _ in range(12344): f()\n")

    done = execute(*RUN, "--c-calls", "off", "script.py")

    match = SUMMARY.fullmatch(done.stderr)
    assert match, done.stderr
    assert match.groups() == ("12 345", "1", *["script.kymo"] * 3)
    assert done.stdout == ""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_the_summary_comes_after_all_that_the_program_prints(
    monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    write(
        "script.py", "import sys\nprint('out')\nprint('err', file=sys.stderr)\nraise SystemExit(2)"
    )

    done = subprocess.run(
        [*RUN, "script.py"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )

    assert done.returncode == 2
    printed = ["out", "err"] if unbuffered else ["err", "out"]
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        *printed,
        "kymograph:",
        "kymograph:",
    ]


def test_the_summary_is_plain_where_the_locale_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")

    done = execute(*RUN, "-c", "pass")

    assert " -> command.kymo (" in done.stderr


def test_a_program_without_standard_streams_runs() -> None:
    done = execute("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *RUN, "-c", "def f(): pass\nf()")

    assert done.returncode == 0
    assert calls("command.kymo")["f"] == 1


def test_the_summary_says_what_was_lost() -> None:
    golden = str(Path(__file__).parents[1] / "golden" / "v1.kymo")
    with kymograph.open(golden) as capture:
        lost = capture.info.lost_records

    line = _summary.recorded(golden, golden, "v1.kymo", 3671)

    assert lost
    assert " in 1 h 01 min → v1.kymo (" in line
    assert line.endswith(f"; {lost} records lost, 'kymograph info' says why")


def test_a_capture_that_cannot_be_read_is_told_in_one_line() -> None:
    write("x.kymo", "no capture at all")

    line = _summary.recorded("x.kymo", "x.kymo", "x.kymo", 1)

    assert line.startswith("recorded into x.kymo, which cannot be summarised: ")
    assert "not a kymograph capture" in line and "\n" not in line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.01234, "12.3 ms"), (31.44, "31.4 s"), (59.97, "1 min 00 s"), (725, "12 min 05 s")],
)
def test_durations_are_told_for_people(seconds: float, text: str) -> None:
    assert _summary.duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (2048, "2.0 kB"),
        (121_300_000, "121 MB"),
        (999_600_000, "1.0 GB"),
        (5 * 10**12, "5.0 TB"),
    ],
)
def test_sizes_are_told_for_people(number: int, text: str) -> None:
    assert _summary.size(number) == text


def test_a_recording_that_fails_is_told_in_one_line() -> None:
    write(
        "script.py",
        """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        def f(): pass
        for _ in range(200_000): f()
        """,
    )

    done = execute(*RUN, "--budget", "2M", "script.py")

    assert done.returncode == 0
    assert done.stderr.startswith("kymograph: recording failed: File too large; script.kymo holds")
    assert done.stderr.count("\n") == 1


# ------------------------------------------------------------------------ refusals


def refused(*arguments: object, code: int = 2) -> str:
    """The one line with which a program is not run."""
    done = execute(*RUN, *arguments)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert done.stderr.startswith("kymograph: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr[len("kymograph: ") : -1]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "'run' needs a script, -m MODULE or -c CODE; see 'kymograph help run'"),
        (["-q"], "'run' needs a script, -m MODULE or -c CODE; see 'kymograph help run'"),
        (["-"], "a program cannot be read from standard input; write it to a file"),
        (["missing.py"], "there is no script missing.py"),
        (["empty"], "empty has no __main__.py to run"),
        (["-m", "missing"], "there is no module missing"),
        (["-m", "script.py"], "there is no module script.py; a script is run without -m: "),
        (["-m", "empty"], "No module named empty.__main__; 'empty' is a package"),
        (["-m", "json.missing"], "No module named json.missing"),
        (["-m"], "-m needs something behind it; see 'kymograph help run'"),
        (["-o"], "-o needs something behind it; see 'kymograph help run'"),
        (["--budget"], "--budget needs something behind it; see 'kymograph help run'"),
        (["--ouput", "x.kymo", "script.py"], "'run' has no option --ouput; did you mean --output?"),
        (["-x", "script.py"], "'run' has no option -x; 'kymograph help run' lists them"),
        (["--quiet=yes", "script.py"], "--quiet takes no value; write it alone"),
        (["--gc", "maybe", "script.py"], "--gc maybe is not on or off; see 'kymograph help run'"),
        (["--level", "20", "script.py"], "--level 20 is not a number from 1 to 19; see"),
        (["--budget", "much", "script.py"], "--budget much is not a size like 64M or 1G; see"),
        (["--policy", "wait", "script.py"], "--policy wait is not help or drop; see"),
        (["--max-depth", "-1", "script.py"], "--max-depth -1 is not a number from 1 to"),
        (["-o", "x.txt", "script.py"], "-o x.txt: the name chooses the format; it ends in"),
        (["-o", "no/x.kymo", "script.py"], "no/x.kymo cannot be recorded into: No such file"),
        (["-o", "no/x.json", "script.py"], "no/x.json cannot be recorded into: No such file"),
        (["-o", "folder.kymo", "script.py"], "folder.kymo cannot be recorded into: Is a directory"),
        (["-o", "folder.json", "script.py"], "folder.json: this is a directory; name a file in it"),
        (["-o", "other", "script.py"], "-o other: the name chooses the format"),
        (["-o", "other.kymo", "script.py"], "other.kymo cannot be recorded into: the file exists"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(arguments: list[str], line: str) -> None:
    write("script.py", "open('was-run', 'w')")
    write("other.kymo", "precious")
    for name in ("empty", "folder.kymo", "folder.json"):
        os.mkdir(name)
    write("empty/__init__.py", "")

    assert refused(*arguments).startswith(line)
    assert not Path("was-run").exists()
    assert Path("other.kymo").read_text() == "precious"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_that_may_not_be_written_is_refused_before_the_program_runs() -> None:
    write("script.py", "open('was-run', 'w')")
    write("x.json", "{}")
    os.chmod("x.json", 0o400)

    assert refused("-o", "x.json", "script.py") == "x.json cannot be written: Permission denied"
    assert not Path("was-run").exists()


def test_a_capture_that_is_being_recorded_is_left_alone() -> None:
    write("script.py", "")
    with kymograph.trace("script.kymo", calls=False):
        line = refused("script.py")

    assert line.startswith("script.kymo cannot be recorded into: another process")


# ---------------------------------------------------------------------- its options


def test_the_help_tells_of_every_option_there_is() -> None:
    if native.find() is None:
        pytest.skip("the program is not installed beside this Python")

    text = execute(*RUN, "--help").stdout

    assert text.startswith("usage: kymograph run [options] SCRIPT")
    found = re.findall(r"^ +(?:-(\w), )?--([\w-]+)", text, re.M)
    told = {name: letter for letter, name in found}
    assert told.pop("help") == "h"
    assert told == {name: option.letter for name, option in OPTIONS.items()}
    assert execute(*RUN, "-h").stdout == text


def test_options_behind_the_script_are_the_programs() -> None:
    write("script.py", "import sys; print(sys.argv[1:])")

    done = execute(*RUN, "-qo", "x.kymo", "script.py", "--help", "-o", "y.kymo", "--", "-m", "z")

    assert done.stdout == "['--help', '-o', 'y.kymo', '--', '-m', 'z']\n"
    assert Path("x.kymo").exists() and not Path("y.kymo").exists()


def test_a_script_with_a_dash_is_named_behind_two_dashes() -> None:
    write("-script.py", "print('here')")

    assert execute(*RUN, "-q", "--", "-script.py").stdout == "here\n"
