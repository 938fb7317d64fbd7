"""A program that crashes under `kymograph run --on-crash stacks` says where all threads were."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kymograph

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")

START = """
import ctypes, os, signal, sys, threading, time
import resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

def read_null():
    ctypes.string_at(0)

def overflow():
    # The C library parses parentheses by recursion, and nobody counts.
    ctypes.CDLL(None).regcomp(ctypes.create_string_buffer(1024), b"(" * 10**6, 1)

def recurse(*_):
    numbers = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(numbers, 2, 4, callback)
    return 0

callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(recurse)

def recurse_for_ever():
    sys.setrecursionlimit(10**8)
    recurse()

def free_twice():
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    memory, behind = libc.malloc(5000), libc.malloc(100)
    libc.free(ctypes.c_void_p(memory))
    libc.free(ctypes.c_void_p(memory))
    libc.free(ctypes.c_void_p(memory))

def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()

def sleeper():
    time.sleep(60)

def looper():
    while True:
        pass
"""


def run(
    tmp_path: Path, code: str, *options: str, python: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "app.py"
    script.write_text(START + code)
    arguments = ["-q", "-o", str(tmp_path / "app.kymo"), *options, str(script)]
    return subprocess.run(
        [sys.executable, *python, "-m", "kymograph", "run", *arguments],
        capture_output=True,
        text=True,
        timeout=400,
        errors="replace",
    )


def stacks(tmp_path: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return run(tmp_path, code, "--on-crash", "stacks", *options)


def crashed(text: str) -> str:
    """The part of TEXT about the thread that crashed."""
    found = re.search(r"^Thread \d+.*, which crashed:\n(?:  .*\n)*", text, re.MULTILINE)
    assert found, text
    return found[0]


def check(done: subprocess.CompletedProcess[str], number: int, *functions: str) -> None:
    assert done.returncode == -number, done.stderr
    name = signal.Signals(number).name
    assert re.search(rf"^kymograph: {name} \(.*\) in thread \d+$", done.stderr, re.MULTILINE)
    assert re.search(rf"^Process \d+ \(.*\): {name}, ", done.stderr, re.MULTILINE), done.stderr
    for function in functions:
        assert re.search(rf"in {function}\n", crashed(done.stderr)), done.stderr


def test_a_null_pointer_is_reported(tmp_path: Path) -> None:
    done = stacks(tmp_path, "read_null()")

    check(done, signal.SIGSEGV, "<module>", "read_null", "string_at")
    assert ", address 0x0. " in done.stderr
    # The native function that failed is the last one; C libraries are often without its name.
    assert re.search(r"strlen|string_at|libc\.so", crashed(done.stderr).splitlines()[-1])


def test_without_the_option_nothing_is_printed(tmp_path: Path) -> None:
    done = run(tmp_path, "read_null()")

    assert (done.returncode, done.stderr) == (-signal.SIGSEGV, "")


def test_abort_is_reported(tmp_path: Path) -> None:
    check(stacks(tmp_path, "os.abort()"), signal.SIGABRT, "<module>")


def test_a_signal_that_was_sent_is_reported(tmp_path: Path) -> None:
    check(stacks(tmp_path, "os.kill(os.getpid(), signal.SIGBUS)"), signal.SIGBUS, "<module>")


@pytest.mark.parametrize("how", ["overflow()", "in_thread(overflow)"])
def test_a_stack_overflow_is_reported(tmp_path: Path, how: str) -> None:
    done = stacks(tmp_path, how)

    check(done, signal.SIGSEGV, "overflow")
    assert re.search(r"  \[the last (\d+ calls|call) repeated \d+ more times\]", done.stderr)


def test_recursion_through_c_is_reported_or_refused(tmp_path: Path) -> None:
    done = stacks(tmp_path, "recurse_for_ever()")

    if done.returncode >= 0:  # some versions of Python notice in time
        assert "which crashed" not in done.stderr
    else:
        check(done, signal.SIGSEGV, "recurse_for_ever", "recurse")


def test_a_double_free_is_reported(tmp_path: Path) -> None:
    done = stacks(tmp_path, "free_twice()")

    check(done, signal.SIGABRT, "free_twice")


def test_a_crash_in_a_thread_is_reported_while_others_have_the_gil(tmp_path: Path) -> None:
    done = stacks(
        tmp_path,
        """
for function in (sleeper, looper, looper):
    threading.Thread(target=function, daemon=True).start()
time.sleep(0.2)
in_thread(read_null)
""",
    )

    check(done, signal.SIGSEGV, "read_null")
    assert ", in sleeper\n" in done.stderr
    assert done.stderr.count(", in looper\n") == 2
    assert ", in in_thread\n" in done.stderr


def test_a_crash_at_exit_is_reported(tmp_path: Path) -> None:
    code = """
class Late:
    def __del__(self, read=ctypes.string_at):
        read(0)
late = Late()
late.self = late
"""
    done = stacks(tmp_path, code)

    check(done, signal.SIGSEGV)


def test_a_crash_of_a_forked_child_is_reported(tmp_path: Path) -> None:
    code = """
import warnings
warnings.simplefilter("ignore")
pid = os.fork()
if pid == 0:
    read_null()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) + 50)
"""
    done = stacks(tmp_path, code)

    assert done.returncode == 50 - signal.SIGSEGV, done.stderr
    assert "in read_null\n" in crashed(done.stderr)


def test_faulthandler_enabled_later_reports_too(tmp_path: Path) -> None:
    done = stacks(tmp_path, "import faulthandler; faulthandler.enable(); read_null()")

    check(done, signal.SIGSEGV, "read_null")
    assert "Fatal Python error: Segmentation fault" in done.stderr


def test_faulthandler_enabled_before_reports_too(tmp_path: Path) -> None:
    done = run(tmp_path, "read_null()", "--on-crash", "stacks", python=("-X", "faulthandler"))

    check(done, signal.SIGSEGV, "read_null")
    assert "Fatal Python error: Segmentation fault" in done.stderr


@pytest.mark.parametrize(
    ("code", "number"), [("read_null()", signal.SIGSEGV), ("os.abort()", signal.SIGABRT)]
)
def test_a_flight_recorder_is_written_too(tmp_path: Path, code: str, number: int) -> None:
    done = stacks(tmp_path, f"def last():\n    {code}\nlast()", "--flight", "10s")

    check(done, number, "last")
    with kymograph.open(tmp_path / "app.kymo") as capture:
        assert any(event.name == "last" for event in capture.events())


def test_the_command_reads_what_was_printed_raw(tmp_path: Path) -> None:
    """Where the program cannot be run the raw text is printed, and can be read later."""
    broken = tmp_path / "kymograph"
    broken.write_text("no program\n")
    broken.chmod(0o755)
    code = f"import kymograph; kymograph._core.crash_stacks(True, {str(broken)!r}); read_null()"
    done = run(tmp_path, code)

    assert done.returncode == -signal.SIGSEGV
    assert "kymo stacks 1\n" in done.stderr
    raw = done.stderr[done.stderr.index("kymo stacks 1\n") :]
    again = subprocess.run(
        [sys.executable, "-m", "kymograph", "stacks", "-"],
        input=raw,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert again.returncode == 0, again.stderr
    assert "in read_null\n" in crashed(again.stdout)


def test_a_crash_without_memory_is_reported(tmp_path: Path) -> None:
    code = """
import kymograph
kymograph.crash_stacks()
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
most = pages * os.sysconf("SC_PAGESIZE") + (64 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
held = []
try:
    while True:
        held.append(bytearray(1 << 20))
except MemoryError:
    read_null()
"""
    done = run(tmp_path, code)

    check(done, signal.SIGSEGV, "read_null")


def test_a_crash_without_descriptors_is_reported_raw(tmp_path: Path) -> None:
    code = """
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    read_null()
"""
    done = stacks(tmp_path, code)

    assert done.returncode == -signal.SIGSEGV
    assert '"read_null"' in done.stderr
    assert done.stderr.endswith("end\n")


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    done = stacks(tmp_path, "import kymograph; kymograph.crash_stacks(False); read_null()")

    assert (done.returncode, done.stderr) == (-signal.SIGSEGV, "")


def test_libraries_loaded_after_it_was_switched_on_are_named(tmp_path: Path) -> None:
    done = stacks(tmp_path, "import sys; assert '_ctypes' in sys.modules; read_null()")

    # By a function, or in an interpreter without symbols by the file.
    assert re.search(r"native (PyCFuncPtr_call|_ctypes\S*)", crashed(done.stderr)), done.stderr
    assert "in no file" not in crashed(done.stderr)


def test_an_unknown_on_crash_action_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "pass", "--on-crash", "nothing")

    assert done.returncode == 2
    assert done.stderr == "kymograph: --on-crash nothing is not stacks; see 'kymograph help run'\n"
