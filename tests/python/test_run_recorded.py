"""`kymograph run`: everything a program does is recorded, and nothing else, where it belongs."""

from __future__ import annotations

import gzip
import json
import re
import signal
import sys
import zipfile
from pathlib import Path

import pytest
from ran import RUN, calls, ending, events, execute, recorded, write

import kymograph

pytestmark = pytest.mark.usefixtures("folder")


def test_only_the_program_is_recorded() -> None:
    write("pkg/__init__.py", "import decimal")
    write("pkg/mod.py", "def f(): pass\nf()\n")
    package = str(Path(kymograph.__file__).parent)

    for way in (["pkg/mod.py"], ["-m", "pkg.mod"], ["-c", "import pkg.mod"]):
        assert recorded(*way).returncode == 0
        found = events()
        files = {event.file for event in found}
        assert calls()["f"] == 1
        assert not [file for file in files if file.startswith(package) or "runpy" in file], way
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


def test_the_process_has_the_name_of_the_program() -> None:
    write("script.py", "for _ in range(1_000_000): pass\n")

    assert execute(*RUN, "--calls", "off", "--sample", "1000", "script.py").returncode == 0

    with kymograph.open("script.kymo") as capture:
        assert capture.metadata["process_name"] == "script"
        assert [thread.name for thread in capture.threads] == ["MainThread"]


def test_imports_of_a_package_are_recorded() -> None:
    write("pkg/__init__.py", "def setup(): pass\nsetup()\n")
    write("pkg/__main__.py", "def main(): pass\nmain()\n")

    recorded("-m", "pkg")

    assert (calls()["setup"], calls()["main"]) == (1, 1)


def durations(found: list[kymograph.Event]) -> dict[str, list[float]]:
    """Seconds of every call, by name; that every end fits its begin is asserted."""
    seconds: dict[str, list[float]] = {}
    stacks: dict[int, list[kymograph.Event]] = {}
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

    seconds = durations(events())
    [whole], inside, [module] = seconds["sorted"], seconds["key"], seconds["<module>"]
    assert len(inside) == 2
    assert 0.6 <= sum(inside) <= whole <= module


def test_a_chrome_trace_has_the_same_durations() -> None:
    write("script.py", SORTED)

    for name in ("trace.json", "trace.json.gz"):
        done = execute(*RUN, "-o", name, "script.py")

        assert done.returncode == 0, done.stderr
        opener = gzip.open if name.endswith(".gz") else open
        with opener(name, "rt", encoding="utf-8") as file:
            slices = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        [whole] = [event["dur"] for event in slices if re.search(r"\bsorted\b", event["name"])]
        inside = [event["dur"] for event in slices if re.search(r"\bkey\b", event["name"])]
        assert 0.6e6 <= sum(inside) <= whole
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
    assert "kymograph export trace.json.kymo --to chrome -o trace.json" in done.stderr
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


def test_a_program_that_calls_os_exit_leaves_its_capture() -> None:
    write("script.py", "import os\ndef f(): pass\nfor _ in range(1000): f()\nos._exit(0)\n")

    done = execute(*RUN, "-o", "trace.kymo", "script.py")

    assert done.stderr.startswith("kymograph: recorded 1 00")  # f, and the module
    assert ending() == "clean"
    assert calls()["f"] == 1000
    assert sorted(path.name for path in Path().iterdir()) == ["script.py", "trace.kymo"]


def test_a_child_that_calls_os_exit_prints_nothing() -> None:
    write(
        "script.py",
        """
        import os
        def f(): pass
        child = os.fork()
        if child == 0:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        f()
        """,
    )

    done = execute(*RUN, "-o", "trace.kymo", "script.py")

    assert done.returncode == 0
    assert done.stderr.count("recorded ") == 1
    assert calls()["f"] == 1


def test_sigterm_ends_the_program_and_the_capture_is_complete() -> None:
    write(
        "script.py",
        """
        import os, signal
        def f(): pass
        for _ in range(1000): f()
        os.kill(os.getpid(), signal.SIGTERM)
        f()
        """,
    )

    done = execute(*RUN, "-o", "trace.kymo", "script.py")

    assert done.returncode == -signal.SIGTERM
    assert done.stderr.startswith("kymograph: recorded ")
    assert ending() == "clean"
    assert calls()["f"] == 1000
    assert sorted(path.name for path in Path().iterdir()) == ["script.py", "trace.kymo"]


ENDED = (
    "kymograph: {} ended the program; the capture is trace.kymo\n"
    "kymograph: next: kymograph report trace.kymo\n"
)


@pytest.mark.parametrize("options", [[], ["--flight", "10s"]])
def test_a_program_that_crashes_names_its_capture(options: list[str]) -> None:
    write(
        "script.py",
        """
        import ctypes
        def f(): pass
        for _ in range(1000): f()
        ctypes.string_at(0)
        """,
    )

    done = execute(*RUN, "-o", "trace.kymo", *options, "script.py")
    quiet = execute(*RUN, "-q", "-o", "quiet.kymo", *options, "script.py")

    assert done.returncode == quiet.returncode == -signal.SIGSEGV
    assert done.stderr == ENDED.format("SIGSEGV")
    assert quiet.stderr == ""
    assert calls()["f"] == 1000


def test_a_child_that_crashes_names_no_capture() -> None:
    write(
        "script.py",
        """
        import os
        if not os.fork(): os.abort()
        assert os.WTERMSIG(os.wait()[1]) == 6
        """,
    )

    done = execute(*RUN, "-o", "trace.kymo", "script.py")

    assert done.returncode == 0
    assert "SIGABRT" not in done.stderr and "recorded" in done.stderr


@pytest.mark.parametrize("library", ["CDLL", "PyDLL"])  # PyDLL keeps the GIL
def test_sigterm_ends_a_program_that_is_inside_a_c_function(library: str) -> None:
    write(
        "script.py",
        f"""
        import ctypes, subprocess
        def f(): pass
        for _ in range(1000): f()
        code = ctypes.{library}(None)
        mutex = ctypes.create_string_buffer(128)
        code.pthread_mutex_lock(mutex)
        with subprocess.Popen(["sh", "-c", "sleep 0.1; kill $PPID"]):
            code.pthread_mutex_lock(mutex)  # does not return
        """,
    )

    done = execute(*RUN, "-o", "trace.kymo", "script.py")

    assert done.returncode == -signal.SIGTERM
    assert done.stderr == ENDED.format("SIGTERM")
    assert ending() == "clean"
    assert calls()["f"] == 1000
    assert sorted(path.name for path in Path().iterdir()) == ["script.py", "trace.kymo"]


def test_a_program_that_handles_sigterm_does_so() -> None:
    write(
        "script.py",
        """
        import os, signal
        def handle(*_): print("handled")
        signal.signal(signal.SIGTERM, handle)
        os.kill(os.getpid(), signal.SIGTERM)
        print("goes on")
        """,
    )

    done = recorded("script.py")

    assert (done.returncode, done.stdout) == (0, "handled\ngoes on\n")


def test_a_program_that_starts_itself_again_is_recorded_twice() -> None:
    """As servers do that reload their code."""
    write(
        "script.py",
        """
        import os, subprocess, sys
        def f(): pass
        if "AGAIN" not in os.environ:
            again = [sys.executable, *sys.orig_argv[1:]]
            sys.exit(subprocess.run(again, env={**os.environ, "AGAIN": "1"}).returncode)
        f()
        """,
    )

    done = execute(*RUN, "script.py")

    assert done.returncode == 0, done.stderr
    first, second = sorted(Path().glob("script*.kymo"), key=lambda path: len(path.name))
    assert (first.name, second.name[:7]) == ("script.kymo", "script-")
    assert "f" not in calls("script.kymo")
    assert calls(second.name)["f"] == 1


def test_a_program_that_becomes_another_leaves_what_it_did() -> None:
    write("script.py", "import os, sys\ndef f(): pass\nf()\nos.execv('/bin/true', ['true'])\n")

    done = recorded("script.py")

    assert (done.returncode, done.stderr) == (0, "")
    assert ending() == "clean"
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


def test_max_depth_omits_deeper_calls() -> None:
    write("script.py", MIXED)

    recorded("--max-depth", "4", "script.py")

    assert calls()["helper"] == 3  # below the module


def test_the_capture_says_what_was_run() -> None:
    recorded("-c", "pass", "an argument")

    with kymograph.open("trace.kymo") as capture:
        command = "kymograph run -q -o trace.kymo -c pass 'an argument'"
        assert capture.metadata["command"] == command
        assert capture.metadata["python"] == sys.version.split()[0]


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
