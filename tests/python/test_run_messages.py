"""`kymograph run`: what it says of a recording, what it refuses, and what its options are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ran import RUN, calls, execute, write
from traced import BUDGETS

import kymograph
from kymograph import _summary
from kymograph.verbs import native
from kymograph.verbs.run import OPTIONS

pytestmark = pytest.mark.usefixtures("folder")

# ------------------------------------------------------------ what is said, where

SUMMARY = re.compile(
    r"kymograph: recorded ([\d ]+) calls? on (\d+) threads? in [\d.]+ m?s → (\S+) "
    r"\([\d.]+ (?:bytes|kB|MB)\); nothing lost\n"
    r"kymograph: next: kymograph report (\S+) · kymograph view (\S+)\n"
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
    assert f"; {lost} records lost, see 'kymograph info'" in line
    assert "nothing lost" not in line


def test_an_unreadable_capture_is_reported_in_one_line() -> None:
    write("x.kymo", "no capture at all")

    line = _summary.recorded("x.kymo", "x.kymo", "x.kymo", 1)

    assert line.startswith("recorded into x.kymo, but cannot read it: ")
    assert "not a kymograph capture" in line and "\n" not in line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.01234, "12.3 ms"), (31.44, "31.4 s"), (59.97, "1 min 00 s"), (725, "12 min 05 s")],
)
def test_durations_are_readable(seconds: float, text: str) -> None:
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
def test_sizes_are_readable(number: int, text: str) -> None:
    assert _summary.size(number) == text


def test_a_failed_recording_is_reported_in_one_line() -> None:
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
    assert done.stderr.startswith(
        "kymograph: recording failed: File too large; script.kymo has everything"
    )
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
        (["-"], "cannot run a program from standard input; write it to a file"),
        (["missing.py"], "no script missing.py"),
        (["empty"], "empty has no __main__.py to run"),
        (["-m", "missing"], "no module missing"),
        (["-m", "script.py"], "no module script.py; run a script without -m: "),
        (["-m", "empty"], "No module named empty.__main__; 'empty' is a package"),
        (["-m", "json.missing"], "No module named json.missing"),
        (["-m"], "-m needs a value; see 'kymograph help run'"),
        (["-o"], "-o needs a value; see 'kymograph help run'"),
        (["--budget"], "--budget needs a value; see 'kymograph help run'"),
        (["--ouput", "x.kymo", "script.py"], "'run' has no option --ouput; did you mean --output?"),
        (["-x", "script.py"], "'run' has no option -x; 'kymograph help run' lists them"),
        (["--quiet=yes", "script.py"], "--quiet takes no value"),
        (
            ["--c-calls", "fast", "script.py"],
            "--c-calls fast is not available any more; use on or off, or --overhead 5% for less",
        ),
        (["--gc", "maybe", "script.py"], "--gc maybe is not on or off; see 'kymograph help run'"),
        (["--level", "20", "script.py"], "--level 20 is not a number from 1 to 19; see"),
        (
            ["--budget", "much", "script.py"],
            "--budget much is not a size like 64M or 1G, of at least 1M; see",
        ),
        (["--policy", "wait", "script.py"], "--policy wait is not help or drop; see"),
        (["--max-depth", "-1", "script.py"], "--max-depth -1 is not a number from 1 to"),
        (["-o", "x.txt", "script.py"], "-o x.txt: the extension chooses the format: .kymo,"),
        (["-o", "no/x.kymo", "script.py"], "cannot record into no/x.kymo: No such file"),
        (["-o", "no/x.json", "script.py"], "cannot write no/x.json: there is no such directory"),
        (
            ["--execution-trace", "no/et.json", "script.py"],
            "cannot write no/et.json: there is no such directory",
        ),
        (
            ["--execution-trace", "other.kymo", "script.py"],
            "other.kymo exists and was not written by kymograph; name another file",
        ),
        (
            ["--ops=names", "--execution-trace", "et.json", "script.py"],
            "--execution-trace needs all of an operator: use --ops full, or no --ops",
        ),
        (
            ["--dir", "d", "--execution-trace", "et.json", "script.py"],
            "--execution-trace and --dir exclude each other; 'kymograph export FILE --to et'",
        ),
        (["-o", "folder.kymo", "script.py"], "cannot record into folder.kymo: Is a directory"),
        (["-o", "folder.json", "script.py"], "folder.json: this is a directory; name a file in it"),
        (["-o", "other", "script.py"], "-o other: the extension chooses the format"),
        (["-o", "other.kymo", "script.py"], "cannot record into other.kymo: the file exists"),
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

    assert refused("-o", "x.json", "script.py") == "cannot write x.json: Permission denied"
    assert not Path("was-run").exists()


def test_a_capture_that_is_being_recorded_is_left_alone() -> None:
    write("script.py", "")
    with kymograph.trace("script.kymo", calls=False):
        done = execute(*RUN, "script.py")

    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in Path().glob("*.kymo")) == [
        re.search(r"→ (script-\d+\.kymo) ", done.stderr)[1],  # type: ignore[index]
        "script.kymo",
    ]


# ---------------------------------------------------------------------- its options


def test_help_lists_every_option() -> None:
    if native.find() is None:
        pytest.skip("the program is not installed beside this Python")

    text = execute(*RUN, "--help").stdout

    assert text.startswith("usage: kymograph run [options] SCRIPT")
    found = re.findall(r"^ +(?:-(\w), )?--([\w-]+)", text, re.M)
    told = {name: letter for letter, name in found}
    assert told.pop("help") == "h"
    assert told == {name: option.letter for name, option in OPTIONS.items()}
    assert execute(*RUN, "-h").stdout == text


def test_options_after_the_script_belong_to_the_program() -> None:
    write("script.py", "import sys; print(sys.argv[1:])")

    done = execute(*RUN, "-qo", "x.kymo", "script.py", "--help", "-o", "y.kymo", "--", "-m", "z")

    assert done.stdout == "['--help', '-o', 'y.kymo', '--', '-m', 'z']\n"
    assert Path("x.kymo").exists() and not Path("y.kymo").exists()


def test_a_script_with_a_dash_is_named_after_two_dashes() -> None:
    write("-script.py", "print('here')")

    assert execute(*RUN, "-q", "--", "-script.py").stdout == "here\n"


# ------------------------------------------------------------ what is not in a capture


def said(done: subprocess.CompletedProcess[str]) -> str:
    """What the summary says of what is missing."""
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[0].partition("); ")[2]


def test_children_that_are_not_recorded_are_missing() -> None:
    write("script.py", "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'pass'])\n")

    text = said(execute(*RUN, "--children", "off", "script.py"))

    assert re.fullmatch(r"not in it: child processes \([\d.]+ m?s of CPU time\)", text)


def test_children_from_before_are_not_missing() -> None:
    write("script.py", "pass\n")
    before = "import os, subprocess, sys; subprocess.run([sys.executable, '-c', 'pass']); "

    done = execute(sys.executable, "-c", before + f"os.execv({RUN[0]!r}, {[*RUN, 'script.py']!r})")

    assert said(done) == "nothing lost"


@pytest.mark.skipif(not BUDGETS, reason="no overhead budget on 3.11.0 to 3.11.3")
def test_calls_that_a_budget_switched_off_are_missing() -> None:
    write(
        "script.py",
        """
        def f(): pass
        for _ in range(2_000_000): f()
        """,
    )

    text = said(execute(*RUN, "--overhead", "1%", "script.py"))

    assert re.match(r"not in it: calls of \d+ functions? .*overhead budget", text), text


def test_recording_nothing_is_warned_of() -> None:
    write("script.py", "def f(): pass\nf()\n")

    off = execute(*RUN, "--calls", "off", "script.py")
    nothing = execute(*RUN, "--include", "nosuch", "script.py")
    something = execute(*RUN, "--include", "f", "script.py")

    assert "\nkymograph: --calls off alone records only the program's own marks" in off.stderr
    assert "\nkymograph: no called function matches --include nosuch\n" in nothing.stderr
    assert "matches" not in something.stderr


# ----------------------------------------------------------------- whose files they are


def test_a_file_that_is_not_an_export_is_not_replaced() -> None:
    write("notes.json", '{"my": "notes about kymograph"}')

    line = refused("-o", "notes.json", "-c", "print(1)")

    assert line.startswith("notes.json exists and was not written by kymograph; ")
    assert Path("notes.json").read_text() == '{"my": "notes about kymograph"}'
    assert execute(*RUN, "--force", "-o", "notes.json", "-c", "pass").returncode == 0
    assert "traceEvents" in Path("notes.json").read_text()


@pytest.mark.parametrize("name", ["x.json", "x.json.gz", "x.html", "x.pftrace", "x.callgrind"])
def test_an_export_is_replaced_by_the_next(name: str) -> None:
    for _ in range(2):
        done = execute(*RUN, "-o", name, "-c", "pass")
        assert done.returncode == 0, done.stderr
        assert f"→ {name} (" in done.stderr


def test_a_file_that_the_program_writes_is_not_replaced_either() -> None:
    done = execute(*RUN, "-o", "x.json", "-c", "open('x.json', 'w').write('mine')")

    assert Path("x.json").read_text() == "mine"
    assert "x.json was not written: a file of that name was created in the meantime" in done.stderr
    assert Path("x.json.kymo").exists()


def test_a_capture_that_was_deleted_is_not_kept() -> None:
    write("script.py", "import glob, os\nfor each in glob.glob('*.kymo*'): os.unlink(each)\n")

    for name in ("x.kymo", "x.json"):
        done = execute(*RUN, "-o", name, "script.py")

        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.count("\n") == 1
        assert "deleted" in done.stderr or "there is no x." in done.stderr
        assert "kept" not in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its root")
@pytest.mark.parametrize("what", ["os.chroot('.')", "os.chdir('/'); os.setgid(1); os.setuid(1)"])
@pytest.mark.parametrize("output", ["x.kymo", "x.json"])
def test_a_program_that_changed_its_root_or_user_ends_without_a_traceback(
    what: str, output: str
) -> None:
    done = execute(*RUN, "-o", output, "-c", f"import os; {what}; print(1)")

    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("kymograph: ")


def test_too_little_memory_is_one_line() -> None:
    code = (
        "import resource, sys; from kymograph.__main__ import main; "
        "resource.setrlimit(resource.RLIMIT_AS, (80 << 20, resource.RLIM_INFINITY)); "
        "sys.exit(main(['run', '-c', 'print(1)']))"
    )

    done = execute(sys.executable, "-c", code)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert "memory" in done.stderr


# ------------------------------------------------------------------ installed programs


def test_an_installed_program_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    write("bin/serve", f"#!{sys.executable}\nimport sys\ndef f(): print(*sys.argv[1:])\nf()\n")
    Path("bin/serve").chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path('bin').resolve()}:{os.environ['PATH']}")

    done = execute(*RUN, "serve", "--port", "80")

    assert (done.returncode, done.stdout) == (0, "--port 80\n"), done.stderr
    assert calls("serve.kymo")["f"] == 1


def test_the_console_scripts_of_this_python_need_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    done = execute(*RUN, "-q", "pip", "--version")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("pip ")


def test_what_python_does_not_run_is_refused() -> None:
    assert refused("ls").endswith("is not a Python program; add --memory to record its memory")
    assert refused("no-such-program") == ("no script no-such-program, and no such program in PATH")


def test_the_arguments_can_be_left_out_of_the_capture() -> None:
    write("script.py", "import sys\nassert sys.argv[1:] == ['--password', 'sesame']\n")

    for options in ([], ["--no-command"]):
        done = execute(*RUN, *options, "script.py", "--password", "sesame")
        assert done.returncode == 0, done.stderr
        with kymograph.open("script.kymo") as capture:
            noted = [value for value in capture.metadata.values() if "sesame" in value]
        assert bool(noted) is not bool(options)
        if options:
            assert b"sesame" not in Path("script.kymo").read_bytes()
