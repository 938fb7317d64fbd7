"""Memory: programs that end suddenly, fork or have other allocators behave as always, and captures
say what they lack."""

from __future__ import annotations

import ctypes.util
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from allocated import OVERHEAD, replay
from program import run as kymograph


def python(path: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run CODE in a Python of its own; `path` is in its argument."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(path)],
        env={**os.environ, "PYTHONWARNINGS": "ignore::DeprecationWarning", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )


def sizes(path: Path) -> list[int]:
    return [block.size - OVERHEAD for block in replay(path).allocated]


def complaint(path: Path) -> str:
    """Why the capture is incomplete, or "" if it is complete."""
    done = kymograph("report", "--memory", "--check", path)
    assert done.returncode == (1 if done.stderr else 0), done
    return done.stderr


# ---- ends

ENDS = {
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "_exit": "os._exit(7)",
    "exec": "os.execv(sys.executable, [sys.executable, '-c', 'print(sum(range(10)))'])",
    "abort": "os.abort()",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_sudden_end_keeps_what_was_recorded_and_shows(capture_path: Path, end: str) -> None:
    done = python(
        capture_path,
        f"""
        import os, signal, sys, time, kymograph
        kymograph.memory.start(sys.argv[1])
        kept = [bytes(30_000 + i) for i in range(10)]
        print("before", flush=True)
        for _ in range(3000):
            with kymograph.open(sys.argv[1]) as capture:
                if any(dict(e.fields).get("size", 0) > 30_000 for e in capture.events()
                       if e.name == "memory.alloc"):
                    break
            time.sleep(0.01)
        {ENDS[end]}
        """,
    )
    expected = {"SIGKILL": -signal.SIGKILL, "_exit": 7, "exec": 0, "abort": -signal.SIGABRT}
    assert done.returncode == expected[end], done
    assert done.stdout == ("before\n45\n" if end == "exec" else "before\n")
    assert set(range(30_000, 30_010)) <= set(sizes(capture_path))
    assert "the process ended before the recording stopped" in complaint(capture_path)


def test_the_stacks_of_a_program_that_is_killed_at_once_are_known(capture_path: Path) -> None:
    """Also of functions that no recording thread had time to ask the interpreter about: it would
    do so after a tenth of a second. A loaded machine may need more than one try."""
    for _ in range(10):
        done = python(
            capture_path,
            """
            import os, signal, sys, time, kymograph
            for i in range(300):
                exec(f"def new_{i}(): return bytes(30_000 + {i})")
            kymograph.memory.start(sys.argv[1])
            kept = [globals()[f"new_{i}"]() for i in range(300)]
            time.sleep(0.03)
            os.kill(os.getpid(), signal.SIGKILL)
            """,
        )
        assert done.returncode == -signal.SIGKILL, done
        blocks = [
            b for b in replay(capture_path).allocated if b.size - OVERHEAD in range(30_000, 30_300)
        ]
        assert len(blocks) == 300
        if all(block.stack[:1] == (f"new_{block.size - OVERHEAD - 30_000}",) for block in blocks):
            return
    pytest.fail("no try had all stacks")


def test_an_exec_that_fails_changes_nothing(capture_path: Path) -> None:
    done = python(
        capture_path,
        """
        import os, sys, kymograph
        kymograph.memory.start(sys.argv[1])
        try:
            os.execv(sys.argv[1] + ".none", ["none"])
        except FileNotFoundError:
            kept = bytes(31_000)
        kymograph.memory.stop()
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert 31_000 in sizes(capture_path)
    assert complaint(capture_path) == ""


def test_a_full_disk_is_reported_and_does_not_stop_the_program(capture_path: Path) -> None:
    done = python(
        capture_path,
        """
        import errno, resource, sys, kymograph
        kymograph.memory.start(sys.argv[1], budget="1M")
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
        total = 0
        for i in range(50_000):
            total += len(bytes(2000 + i % 1000))
        print(total)
        try:
            kymograph.memory.stop()
        except OSError as error:
            assert error.errno == errno.EFBIG, error
            assert error.filename == sys.argv[1], error
            print("failed")
        from kymograph import _core
        assert _core.memory_wrapped() == 0
        """,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout == f"{sum(2000 + i % 1000 for i in range(50_000))}\nfailed\n"
    assert complaint(capture_path)


# ---- forks


def test_forked_children_free_what_the_parent_allocated_and_end_as_always(
    capture_path: Path,
) -> None:
    done = python(
        capture_path,
        """
        import gc, os, sys, threading, time, kymograph
        kymograph.memory.start(sys.argv[1])
        kept = [bytes(40_000 + i) for i in range(20)]
        stop = threading.Event()
        def churn():
            while not stop.is_set():
                for _ in range(50):
                    bytes(3000), [[]] * 10
                time.sleep(0.001)
        threads = [threading.Thread(target=churn) for _ in range(2)]
        for thread in threads:
            thread.start()
        children = []
        for number in range(4):
            child = os.fork()
            if child == 0:
                kept.clear()
                gc.collect()
                more = [bytes(41_000 + i) for i in range(20)]
                stop.set()
                sys.exit(number)  # an ordinary end: finalisation frees everything
            children.append(child)
        print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
        stop.set()
        for thread in threads:
            thread.join()
        kymograph.memory.stop()
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{list(range(4))}\n"
    found = replay(capture_path)
    live = sorted(b.size - OVERHEAD for b in found.live.values() if b.size >= 40_000 + OVERHEAD)
    assert [size for size in live if size < 41_100] == list(range(40_000, 40_020))
    assert found.overlaps == 0
    assert complaint(capture_path) == ""


def test_forking_gives_no_warning_about_threads_of_ours(capture_path: Path) -> None:
    done = python(
        capture_path,
        """
        import os, sys, time, kymograph
        def threads():
            names = []
            for task in os.listdir("/proc/self/task"):
                try:
                    with open(f"/proc/self/task/{task}/comm") as file:
                        names.append(file.read().strip())
                except OSError:
                    pass  # it has ended
            return names
        kymograph.memory.start(sys.argv[1])
        for number in range(3):
            child = os.fork()
            if child == 0:
                os._exit(number)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == number
            while "kymo memory" not in threads():  # it returns when the program continues
                time.sleep(0.001)
        kept = bytes(40_000)
        kymograph.memory.stop()
        """,
        PYTHONWARNINGS="always::DeprecationWarning",  # os.fork ignores one that is an error
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert 40_000 in sizes(capture_path)
    assert complaint(capture_path) == ""


# ---- allocators


def preloaded(name: str) -> dict[str, str]:
    library = ctypes.util.find_library(name)
    if not library:
        pytest.skip(f"lib{name} is not installed: not tested with it")
    return {"LD_PRELOAD": library}


ALLOCATORS = {
    "debug": {"PYTHONMALLOC": "debug"},
    "malloc": {"PYTHONMALLOC": "malloc"},
    "mimalloc": {"PYTHONMALLOC": "mimalloc"},
    "mimalloc_debug": {"PYTHONMALLOC": "mimalloc_debug"},
    "jemalloc preloaded": "jemalloc",
    "mimalloc preloaded": "mimalloc",
    "tcmalloc preloaded": "tcmalloc_minimal",
}


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_every_allocator_is_recorded_completely(capture_path: Path, allocator: str) -> None:
    chosen = ALLOCATORS[allocator]
    environment = preloaded(chosen) if isinstance(chosen, str) else chosen
    if allocator in ("mimalloc", "mimalloc_debug") and sys.version_info < (3, 13):
        pytest.skip("Python has mimalloc since 3.13")
    done = python(
        capture_path,
        """
        import sys, threading, kymograph
        old = [bytes(2000) for _ in range(100)]
        kymograph.memory.start(sys.argv[1])
        def work():
            for _ in range(25):
                kept.append(bytes(50_000))
                bytes(60_000)
                [[]] * 100
        kept = []
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        old.clear()
        import _json, _queue  # libraries loaded meanwhile, in most builds of Python
        kymograph.memory.stop()
        kept.clear()
        """,
        **environment,
    )
    if "unknown allocator" in done.stderr:
        pytest.skip("this Python was built without mimalloc")
    assert (done.returncode, done.stderr) == (0, "")
    found = replay(capture_path)
    assert found.overlaps == 0
    assert sum(b.size == OVERHEAD + 50_000 for b in found.live.values()) == 100
    assert sum(b.size == OVERHEAD + 60_000 for b in found.freed) == 100
    assert complaint(capture_path) == ""


# ---- signals


def test_a_signal_handler_of_python_allocates_and_is_recorded(capture_path: Path) -> None:
    done = python(
        capture_path,
        """
        import signal, sys, time, kymograph
        kept = []
        signal.signal(signal.SIGALRM, lambda *_: kept.append(bytes(45_000)))
        kymograph.memory.start(sys.argv[1])
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        while len(kept) < 20:
            [bytes(1000) for _ in range(100)]
        signal.setitimer(signal.ITIMER_REAL, 0)
        kymograph.memory.stop()
        print(len(kept))
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sizes(capture_path).count(45_000) == int(done.stdout)
    assert complaint(capture_path) == ""
