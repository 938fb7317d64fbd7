"""`kymograph run`: a program and its processes run as python runs them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from ran import RUN, Done, calls, ending, execute, recorded, write

pytestmark = pytest.mark.usefixtures("folder")

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def plain(*arguments: object, **options: Any) -> Done:
    return execute(sys.executable, *arguments, **options)


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
    assert "runpy" not in after.stderr and "kymograph" not in after.stderr


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
        out, err = process.communicate(timeout=400)
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


def test_no_module_is_imported_for_us_that_python_does_not_have_anyway() -> None:
    code = "import sys; print(*sorted(sys.modules))"
    write("script.py", code)
    write("module.py", code)

    before = set(plain("-m", "module").stdout.split())
    after = set(recorded("script.py").stdout.split())

    ours = {"__future__", "atexit", "gc", "_weakref", "_posixsubprocess"}
    assert {name for name in after - before if name.partition(".")[0] != "kymograph"} <= ours


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


def test_forked_workers_end_when_they_are_terminated() -> None:
    write(
        "script.py",
        """
        import multiprocessing

        for _ in range(20):  # each time they may wait in C when the signal comes
            with multiprocessing.get_context("fork").Pool(2) as pool:
                pool.map(abs, range(4), chunksize=1)
        """,
    )

    assert recorded("script.py").returncode == 0


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("way", ["script.py", "-m package.module"])
def test_children_that_are_off_work_and_record_nothing(method: str, way: str) -> None:
    write("script.py", POOL)
    write("package/__init__.py", "")
    write("package/module.py", POOL)

    done = recorded("--children", "off", *way.split(), method)

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
def test_a_forked_child_that_is_off_writes_nothing_and_says_nothing() -> None:
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

    done = execute(*RUN, "--children", "off", "-o", "trace.kymo", "script.py")

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
