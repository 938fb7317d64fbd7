"""`kymo run`: a program runs as python runs it, and everything it does is recorded."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kymo
from kymo import _summary
from kymo.verbs import native
from kymo.verbs.run import OPTIONS

Done = subprocess.CompletedProcess[str]
Write = Callable[..., Path]
RUN = [sys.executable, "-m", "kymo", "run"]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a folder of its own, and is in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return tmp_path


def execute(*command: object, **options: Any) -> Done:
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        **options,
    )


def plain(*arguments: object, **options: Any) -> Done:
    return execute(sys.executable, *arguments, **options)


def recorded(*arguments: object, **options: Any) -> Done:
    """Run without a summary, into trace.kymo."""
    return execute(*RUN, "-q", "-o", "trace.kymo", *arguments, **options)


def write(path: str, code: str) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(code), "utf-8")


def events(path: str = "trace.kymo") -> list[kymo.Event]:
    with kymo.open(path) as capture:
        return list(capture.events())


def calls(path: str = "trace.kymo") -> Counter[str]:
    return Counter(event.name for event in events(path) if event.kind == "enter")


def ending(path: str = "trace.kymo") -> str:
    with kymo.open(path) as capture:
        return capture.info.ending


def both(*arguments: object, **options: Any) -> tuple[Done, Done]:
    return plain(*arguments, **options), recorded(*arguments, **options)


def without_addresses(text: str) -> str:
    return re.sub(r"\b0x[0-9a-f]+", "0x…", text)


def assert_same(a: Done, b: Done) -> None:
    assert (b.returncode, b.stdout) == (a.returncode, a.stdout)
    assert without_addresses(b.stderr) == without_addresses(a.stderr)


# ------------------------------------------------------------- as python runs it

SELF = """
    import re, sys
    def shown(value):
        return re.sub(r" at 0x\\w+", "", repr(value))
    print(sys.argv, sys.path, sys.stdin.read(), sep="\\n")
    print({name: shown(value) for name, value in globals().items()})
    main = sys.modules["__main__"]
    print(main.__dict__ is globals(), main.__name__, __name__, sys.flags)
"""

WAYS = {
    "script": ["sub/script.py", "a", "-o", "b"],
    "symlink": ["link.py"],
    "module": ["-m", "sub.script", "-x"],
    "package": ["-m", "sub"],
    "folder": ["sub", "a"],
    "archive": ["program.pyz", "a b"],
    "compiled": ["script.pyc"],
}


@pytest.fixture
def program(folder: Path) -> None:
    """The same program as a script, a module, a package, a folder, and an archive."""
    write("sub/script.py", SELF)
    write("sub/__main__.py", SELF)
    write("sub/__init__.py", "")
    os.symlink("sub/script.py", "link.py")
    with zipfile.ZipFile("program.pyz", "w") as archive:
        archive.write("sub/__main__.py", "__main__.py")
    import py_compile

    py_compile.compile("sub/script.py", cfile="script.pyc")


@pytest.mark.parametrize("way", WAYS)
def test_a_program_sees_of_itself_what_it_sees_with_python(program: None, way: str) -> None:
    before, after = both(*WAYS[way], input="some input")

    assert before.returncode == 0, before.stderr
    assert_same(before, after)


def test_code_on_the_command_line_sees_what_it_sees_with_python() -> None:
    assert_same(*both("-c", textwrap.dedent(SELF), "a", "-c", input="some input"))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="-P is new in 3.11")
def test_a_safe_path_stays_safe() -> None:
    write("sub/script.py", "import sys; print(sys.path)")

    before = plain("-P", "sub/script.py")
    after = execute(sys.executable, "-P", *RUN[1:], "-q", "sub/script.py")

    assert_same(before, after)


def test_a_script_does_not_import_from_the_current_folder() -> None:
    write("json.py", "print('not this one')")
    write("re.py", "print('nor this one')")
    write("sub/script.py", "import json, re; print(json.dumps(1))")

    assert_same(*both("sub/script.py"))


ENDINGS = [
    "pass",
    "sys.exit()",
    "sys.exit(0)",
    "sys.exit(3)",
    "sys.exit(-1)",
    "sys.exit('a message')",
    "sys.exit(None)",
    "sys.exit([1, 2])",
    "raise SystemExit(True)",
    "1 / 0",
    "os._exit(5)",
    "os.kill(os.getpid(), signal.SIGTERM)",
    "os.abort()",
    "raise KeyboardInterrupt",
    "raise BaseException('base')",
    "threading.Thread(target=sys.exit, args=(4,)).start()",
    "atexit.register(print, 'at exit'); sys.exit(6)",
    "atexit.register(lambda: os._exit(7))",
    "os.execv(sys.executable, [sys.executable, '-c', 'print(\"another program\")'])",
]


@pytest.mark.parametrize("end", ENDINGS)
def test_a_program_ends_as_it_ends_with_python(end: str) -> None:
    write(
        "script.py",
        f"import atexit, os, signal, sys, threading\nprint('begun', flush=True)\n{end}\n",
    )

    assert_same(*both("script.py"))


TRACEBACKS = {
    "nested": """
        def outer():
            inner()
        def inner():
            raise ValueError("größer\\nthan one line")
        outer()
    """,
    "chained": """
        def fail():
            try:
                {}["missing"]
            except KeyError as error:
                raise RuntimeError("no") from error
        try:
            fail()
        except RuntimeError:
            int("x")
    """,
    "from an imported module": """
        import helper
        helper.fail()
    """,
    "import that fails": """
        import broken
    """,
    "a module that is missing": """
        import missing.module
    """,
    "own hook": """
        import sys
        def hook(kind, error, traceback):
            print("hooked", kind, error, traceback.tb_frame.f_code.co_name, traceback.tb_next)
        sys.excepthook = hook
        raise ValueError("x")
    """,
    "broken hook": """
        import sys
        def hook(kind, error, traceback):
            raise TypeError("in the hook")
        sys.excepthook = hook
        raise ValueError("x")
    """,
    "hook that is gone": """
        import sys
        del sys.excepthook
        raise ValueError("x")
    """,
    "in a thread": """
        import threading
        def work():
            raise ValueError("in a thread")
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
    """,
    "in a destructor": """
        class Thing:
            def __del__(self):
                raise ValueError("in a destructor")
        Thing()
    """,
    "syntax": """
        def f(:
            pass
    """,
    "indentation": """
        if True:
        pass
    """,
    "the last line": """
        print("begun")
        raise ValueError
    """,
    "with notes": """
        error = ValueError("x")
        if hasattr(error, "add_note"):
            error.add_note("a note")
        raise error
    """,
}


@pytest.mark.parametrize("case", TRACEBACKS)
def test_a_traceback_is_that_of_python(case: str) -> None:
    write("script.py", TRACEBACKS[case])
    write("helper.py", "def fail():\n    return [][0]\n")
    write("broken.py", "import helper\nhelper.fail()\n")

    before, after = both("script.py")

    assert before.stdout + before.stderr != ""
    assert_same(before, after)


def test_a_traceback_of_code_on_the_command_line_is_that_of_python() -> None:
    assert_same(*both("-c", "def f():\n    1 / 0\nf()"))
    assert_same(*both("-c", "def f(:"))


def test_a_traceback_of_a_module_has_only_frames_of_the_program() -> None:
    write("pkg/__init__.py", "")
    write("pkg/mod.py", "def f():\n    1 / 0\nf()\n")

    before, after = both("-m", "pkg.mod")

    lines = before.stderr.splitlines(keepends=True)
    without = "".join(line for line in lines if "runpy" not in line and "_run_" not in line)
    without = re.sub(r"(?m)^    (return _run_code|exec\(code).*\n", "", without)
    assert (after.returncode, after.stdout, after.stderr) == (1, "", without)


@pytest.mark.parametrize("files", [{"pkg/__init__.py": "1 / 0"}, {"pkg/__main__.py": "def f(:"}])
def test_a_package_that_cannot_be_imported_is_reported_without_our_frames(
    files: dict[str, str],
) -> None:
    write("pkg/__init__.py", "")
    write("pkg/__main__.py", "")
    for path, code in files.items():
        write(path, code)

    before, after = both("-m", "pkg")

    assert after.returncode == before.returncode == 1
    assert after.stderr.splitlines()[-1] == before.stderr.splitlines()[-1]
    assert "runpy" not in after.stderr and "kymo" not in after.stderr


INTERRUPTED = """
    import atexit, sys, time
    def wait():
        print("ready", flush=True)
        time.sleep(30)
    atexit.register(print, "at exit")
    wait()
"""


def interrupt(*command: str) -> tuple[int, str, str]:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        time.sleep(0.2)  # until it sleeps
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        return process.returncode, out, err


def test_an_interrupt_ends_a_program_as_it_does_with_python() -> None:
    write("script.py", INTERRUPTED)

    before = interrupt(sys.executable, "script.py")
    after = interrupt(*RUN, "-q", "-o", "trace.kymo", "script.py")

    assert before[0] == -signal.SIGINT
    assert after == before
    assert ending() == "clean"
    assert calls()["wait"] == 1


def test_a_program_may_catch_an_interrupt() -> None:
    write(
        "script.py",
        """
        import time
        try:
            print("ready", flush=True)
            time.sleep(30)
        except KeyboardInterrupt:
            print("caught")
        """,
    )

    assert interrupt(*RUN, "-q", "-o", "trace.kymo", "script.py") == (0, "caught\n", "")


def test_standard_input_is_the_programs() -> None:
    write("script.py", "import sys\nfor line in sys.stdin: print(line.upper(), end='')")

    done = recorded("script.py", input="one\ntwo\n")

    assert (done.returncode, done.stdout, done.stderr) == (0, "ONE\nTWO\n", "")


# ------------------------------------------------------------------ its processes

POOL = """
    import multiprocessing, os, sys

    def work(number):
        return number * number, os.getpid()

    def parent_only():
        pass

    if __name__ == "__main__":
        parent_only()
        context = multiprocessing.get_context(sys.argv[1])
        with context.Pool(2) as pool:
            results = pool.map(work, range(8), chunksize=1)
        print([square for square, _ in results], os.getpid() in {pid for _, pid in results})
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("way", ["script.py", "-m package.module"])
def test_children_of_multiprocessing_work_and_record_nothing(method: str, way: str) -> None:
    write("script.py", POOL)
    write("package/__init__.py", "")
    write("package/module.py", POOL)

    done = recorded(*way.split(), method)

    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "[0, 1, 4, 9, 16, 25, 36, 49] False\n",
        "",
    )
    assert ending() == "clean"
    assert calls()["parent_only"] == 1
    assert calls()["work"] == 0
    assert [path.name for path in Path().glob("*.kymo*")] == ["trace.kymo"]


@needs_fork
def test_a_forked_child_writes_nothing_and_says_nothing() -> None:
    write(
        "script.py",
        """
        import os, sys
        def in_parent(): pass
        def in_child(): pass
        child = os.fork()
        if child == 0:
            in_child()
            sys.exit(3)  # with all that happens at exit
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        in_parent()
        """,
    )

    done = execute(*RUN, "-o", "trace.kymo", "script.py")

    assert (done.returncode, done.stdout) == (0, "3\n")
    assert done.stderr.count("recorded") == 1
    assert "Warning" not in done.stderr  # of a thread that is not the program's
    assert ending() == "clean"
    assert (calls()["in_parent"], calls()["in_child"]) == (1, 0)


@needs_fork
def test_a_hook_of_fork_in_python_does_not_make_our_thread_seen() -> None:
    write(
        "script.py",
        """
        import os
        def hook():
            for _ in range(1000): pass  # long enough for what is pending
        os.register_at_fork(after_in_parent=hook)
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        def after(): pass
        after()
        print(len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 2)
        """,
    )

    done = execute(*RUN, "-o", "trace.kymo", "script.py")

    assert (done.returncode, done.stdout) == (0, "2\n")  # ours is at work again
    assert "Warning" not in done.stderr
    assert ending() == "clean"
    assert calls()["after"] == 1


# -------------------------------------------------------------- what is recorded


def test_only_the_program_is_recorded() -> None:
    write("pkg/__init__.py", "import decimal")
    write("pkg/mod.py", "def f(): pass\nf()\n")

    for way in (["pkg/mod.py"], ["-m", "pkg.mod"], ["-c", "import pkg.mod"]):
        assert recorded(*way).returncode == 0
        found = events()
        files = {event.file for event in found}
        assert calls()["f"] == 1
        assert not [file for file in files if "kymo" in file or "runpy" in file], way
        assert not {event.name for event in found} & {"show_exception", "stop", "metadata"}


def test_nothing_but_the_program_is_recorded() -> None:
    write("script.py", "def f(): pass\nf()\n")

    recorded("script.py")

    assert [(event.kind, event.name) for event in events()] == [
        ("enter", "<module>"),
        ("enter", "f"),
        ("leave", "f"),
        ("leave", "<module>"),
    ]


def test_what_a_package_imports_is_recorded() -> None:
    write("pkg/__init__.py", "def setup(): pass\nsetup()\n")
    write("pkg/__main__.py", "def main(): pass\nmain()\n")

    recorded("-m", "pkg")

    assert (calls()["setup"], calls()["main"]) == (1, 1)


def durations(found: list[kymo.Event]) -> dict[str, list[float]]:
    """Seconds of every call, by name; that every end fits its begin is asserted."""
    seconds: dict[str, list[float]] = {}
    stacks: dict[int, list[kymo.Event]] = {}
    for event in found:
        stack = stacks.setdefault(event.thread, [])
        if event.kind == "enter":
            stack.append(event)
        elif event.kind == "leave":
            begin = stack.pop()
            assert begin.name == event.name
            seconds.setdefault(event.name, []).append((event.time - begin.time) / 1e9)
    return seconds


SORTED = """
    import time
    def key(value):
        time.sleep(0.3)
        return value
    sorted([2, 1], key=key)
"""


def test_a_c_function_lasts_as_long_as_the_python_code_it_calls() -> None:
    write("script.py", SORTED)

    recorded("script.py")

    [seconds] = durations(events())["sorted"]
    assert 0.6 <= seconds < 1.5
    assert len(durations(events())["key"]) == 2


def test_a_chrome_trace_has_the_same_durations() -> None:
    write("script.py", SORTED)

    for name in ("trace.json", "trace.json.gz"):
        done = execute(*RUN, "-o", name, "script.py")

        assert done.returncode == 0, done.stderr
        opener = gzip.open if name.endswith(".gz") else open
        with opener(name, "rt", encoding="utf-8") as file:
            slices = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        [one] = [event for event in slices if "sorted" in event["name"]]
        assert 0.6 <= one["dur"] / 1e6 < 1.5
        assert f"→ {name} (" in done.stderr
        assert sorted(path.name for path in Path().glob("trace*")) == [name]
        Path(name).unlink()


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("trace.pftrace", b"\n"),
        ("trace.html", b"<!DOCTYPE html>"),
        ("trace.pb.gz", b"\x1f\x8b"),
        ("trace.speedscope.json", b"{"),
        ("trace.pstats", b"{"),
    ],
)
def test_the_extension_chooses_any_export(name: str, beginning: bytes) -> None:
    write("script.py", "len('abc')")

    done = execute(*RUN, "-o", name, "script.py")

    assert done.returncode == 0, done.stderr
    assert Path(name).read_bytes().lower().startswith(beginning.lower())
    assert sorted(path.name for path in Path().glob("trace*")) == [name]


def test_a_program_that_ignores_its_children_gets_its_chrome_trace() -> None:
    write("script.py", "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n")

    done = execute(*RUN, "-o", "trace.json", "script.py")

    assert "→ trace.json (" in done.stderr
    assert json.loads(Path("trace.json").read_text())["traceEvents"]
    assert not Path("trace.json.kymo").exists()


def test_the_capture_is_kept_when_the_chrome_trace_cannot_be_written() -> None:
    write("script.py", "import os\nos.mkdir('trace.json')")

    done = execute(*RUN, "-o", "trace.json", "script.py")

    assert done.returncode == 0
    assert "kymo export trace.json.kymo --to chrome -o trace.json" in done.stderr
    assert calls("trace.json.kymo")["mkdir"] == 1


THREADS = """
    import atexit, threading, time
    def worker():
        time.sleep(0.2)
        last_words()
    def last_words(): pass
    def at_exit(): pass
    def endless():
        while True:
            tick()
    def tick(): time.sleep(0.001)
    atexit.register(at_exit)
    threading.Thread(target=endless, daemon=True).start()
    threading.Thread(target=worker).start()
"""


def test_threads_and_exit_handlers_are_recorded_to_the_end() -> None:
    write("script.py", THREADS)

    done = recorded("script.py")

    assert (done.returncode, done.stderr) == (0, "")
    assert ending() == "clean"
    assert (calls()["last_words"], calls()["at_exit"]) == (1, 1)
    assert calls()["tick"] > 10


def test_a_program_that_ends_itself_at_once_leaves_what_it_did() -> None:
    write("script.py", "import os\ndef f(): pass\nfor _ in range(1000): f()\nos._exit(0)\n")

    recorded("script.py")

    assert ending() == "killed"
    assert calls()["f"] == 1000


def test_a_program_that_becomes_another_leaves_what_it_did() -> None:
    write("script.py", "import os, sys\ndef f(): pass\nf()\nos.execv('/bin/true', ['true'])\n")

    done = recorded("script.py")

    assert (done.returncode, done.stderr) == (0, "")
    assert ending() == "killed"
    assert calls()["f"] == 1


MIXED = """
    import gc, json
    class Parser:
        def parse(self, text): return json.loads(text)
    def helper(depth):
        if depth: helper(depth - 1)
    Parser().parse("[1, 2]")
    helper(5)
    gc.collect()
    len("abc")
"""


@pytest.mark.parametrize(
    ("options", "there", "not_there"),
    [
        ([], {"parse", "raw_decode", "helper", "len", "collect", "Python GC"}, set()),
        (["--c-calls", "off"], {"parse", "loads", "helper"}, {"len", "collect"}),
        (["--c-calls=on", "--gc", "off"], {"helper", "len", "collect"}, {"Python GC"}),
        (["--exclude", "*parse"], {"loads", "helper"}, {"parse"}),
        (["--exclude", "*parse", "--exclude=helper"], {"loads"}, {"parse", "helper"}),
        (["--include", "*parse", "--include=helper"], {"parse", "helper"}, {"loads", "<module>"}),
        (["--exclude", "json"], {"parse", "helper"}, {"raw_decode"}),
        (["--no-stdlib"], {"parse", "helper", "len"}, {"raw_decode", "_find_and_load"}),
        (["--level", "19", "--budget", "8M", "--policy", "drop"], {"parse", "len"}, set()),
    ],
)
def test_options_choose_what_is_recorded(
    options: list[str], there: set[str], not_there: set[str]
) -> None:
    write("script.py", MIXED)

    done = recorded(*options, "script.py")

    assert (done.returncode, done.stderr) == (0, "")
    found = {name.rpartition(".")[2] for name in calls()}  # 3.10 has no qualified names
    assert there <= found
    assert not not_there & found


def test_a_greatest_depth_cuts_deeper_calls() -> None:
    write("script.py", MIXED)

    recorded("--max-depth", "4", "script.py")

    assert calls()["helper"] == 3  # below the module


def test_the_capture_says_what_was_run() -> None:
    recorded("-c", "pass", "an argument")

    with kymo.open("trace.kymo") as capture:
        command = "kymo run -q -o trace.kymo -c pass 'an argument'"
        assert capture.metadata["command"] == command
        assert capture.metadata["python"] == sys.version.split()[0]


# ------------------------------------------------------------ what is said, where

SUMMARY = re.compile(
    r"kymo: recorded ([\d ]+) calls? on (\d+) threads? in [\d.]+ m?s → (\S+) "
    r"\([\d.]+ (?:bytes|kB|MB)\); nothing lost\n"
    r"kymo: next: kymo report (\S+) · kymo export (\S+) --to chrome\n"
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
    assert [line.split()[0] for line in done.stdout.splitlines()] == [*printed, "kymo:", "kymo:"]


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
    with kymo.open(golden) as capture:
        lost = capture.info.lost_records

    line = _summary.recorded(golden, golden, "v1.kymo", 3671)

    assert lost
    assert " in 1 h 01 min → v1.kymo (" in line
    assert line.endswith(f"; {lost} records lost, 'kymo info' says why")


def test_a_capture_that_cannot_be_read_is_told_in_one_line() -> None:
    write("x.kymo", "no capture at all")

    line = _summary.recorded("x.kymo", "x.kymo", "x.kymo", 1)

    assert line.startswith("recorded into x.kymo, which cannot be summarised: ")
    assert "not a kymo capture" in line and "\n" not in line


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
    assert done.stderr.startswith("kymo: recording failed: File too large; script.kymo holds")
    assert done.stderr.count("\n") == 1


NAMES = {
    "sub/train.py": "train.kymo",
    "sub/": "sub.kymo",
    "tool.pyz": "tool.kymo",
    "no-extension": "no-extension.kymo",
    "-m sub.train": "train.kymo",
    "-m sub": "sub.kymo",
    "-msub.__main__": "sub.kymo",
    "-cpass": "command.kymo",
}


@pytest.mark.parametrize("way", NAMES)
def test_the_capture_is_named_after_the_program(way: str) -> None:
    for path in ("sub/__init__.py", "sub/__main__.py", "sub/train.py", "no-extension"):
        write(path, "")
    with zipfile.ZipFile("tool.pyz", "w") as archive:
        archive.writestr("__main__.py", "")

    done = execute(*RUN, "--quiet", *way.split())

    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in Path().glob("*.kymo*")] == [NAMES[way]]


# ------------------------------------------------------------------------ refusals


def refused(*arguments: object, code: int = 2) -> str:
    """The one line with which a program is not run."""
    done = execute(*RUN, *arguments)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert done.stderr.startswith("kymo: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr[len("kymo: ") : -1]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "'run' needs a script, -m MODULE or -c CODE; see 'kymo help run'"),
        (["-q"], "'run' needs a script, -m MODULE or -c CODE; see 'kymo help run'"),
        (["-"], "a program cannot be read from standard input; write it to a file"),
        (["missing.py"], "there is no script missing.py"),
        (["empty"], "empty has no __main__.py to run"),
        (["-m", "missing"], "there is no module missing"),
        (["-m", "script.py"], "there is no module script.py; a script is run without -m: "),
        (["-m", "empty"], "No module named empty.__main__; 'empty' is a package"),
        (["-m", "json.missing"], "No module named json.missing"),
        (["-m"], "-m needs something behind it; see 'kymo help run'"),
        (["-o"], "-o needs something behind it; see 'kymo help run'"),
        (["--budget"], "--budget needs something behind it; see 'kymo help run'"),
        (["--ouput", "x.kymo", "script.py"], "'run' has no option --ouput; did you mean --output?"),
        (["-x", "script.py"], "'run' has no option -x; 'kymo help run' lists them"),
        (["--quiet=yes", "script.py"], "--quiet takes no value; write it alone"),
        (["--gc", "maybe", "script.py"], "--gc maybe is not on or off; see 'kymo help run'"),
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
    with kymo.trace("script.kymo", calls=False):
        line = refused("script.py")

    assert line.startswith("script.kymo cannot be recorded into: another process")


# ---------------------------------------------------------------------- its options


def test_the_help_tells_of_every_option_there_is() -> None:
    if native.find() is None:
        pytest.skip("the program is not installed beside this Python")

    text = execute(*RUN, "--help").stdout

    assert text.startswith("usage: kymo run [options] SCRIPT")
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


def test_no_module_is_imported_for_us_that_python_does_not_have_anyway() -> None:
    code = "import sys; print(*sorted(sys.modules))"
    write("script.py", code)
    write("module.py", code)

    before = set(plain("-m", "module").stdout.split())
    after = set(recorded("script.py").stdout.split())

    ours = {"__future__", "atexit", "gc", "_weakref"}
    assert {name for name in after - before if name.partition(".")[0] != "kymo"} <= ours
