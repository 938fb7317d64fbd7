"""Programs that look up malloc themselves, and programs that are not Python: `kymograph run
--memory` preloads a library for them, and nobody else notices."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from allocated import replay
from program import run as kymograph

from kymograph import _preload
from kymograph import open as kymograph_open

ROOT = Path(__file__).resolve().parents[2]
SIZE = 54321  # of the blocks of tests/programs/resolver.c, which makes seven and keeps two


def built(name: str) -> Path:
    """A program of tests/programs. Other builds than these may have sanitizers in them."""
    folders = [Path(os.environ.get("KYMO_BUILD_DIR", "")), ROOT / "build" / "main"]
    found = [path for folder in folders if (path := folder / "tests" / "programs" / name).exists()]
    if not found:
        why = "which takes a static C library" if name == "ignores_us" else "which `make` does"
        pytest.skip(f"tests/programs/{name} has not been built, {why}")
    return found[0]


def counts(path: Path) -> tuple[int, int]:
    """How many of the resolver's blocks were recorded, and how many of them were kept."""
    found = replay(path)
    assert found.overlaps == 0
    live = sum(block.size == SIZE for block in found.live.values())
    return sum(block.size == SIZE for block in found.allocated), live


CODE = """
import ctypes, os, sys
ctypes.CDLL(sys.argv[1]).resolver_allocate()
print([name for name in os.environ if name == "LD_PRELOAD" or name.startswith("KYMO_PRELOAD")])
sys.stdout.flush()
os.system('echo "child <$LD_PRELOAD>"')
sys.exit(5)
"""


def address_of_malloc(library: str | None) -> int | None:
    return ctypes.cast(ctypes.CDLL(library).malloc, ctypes.c_void_p).value


# In a Python that is not position-independent, the address of malloc is that of a stub in its
# executable, which jumps through a slot that we patch.
HAS_STUB = address_of_malloc(None) != address_of_malloc("libc.so.6")


@pytest.mark.parametrize(
    ("options", "expected"),
    [([], (7, 2) if HAS_STUB else (0, 0)), (["--memory-preload"], (7, 2))],
)
def test_only_the_preloaded_library_sees_allocations_through_dlsym(
    capture_path: Path, options: list[str], expected: tuple[int, int]
) -> None:
    library = built("libresolver.so")
    done = kymograph(
        *("run", "--memory", *options, "--calls", "off", "-o", capture_path, "-c", CODE, library)
    )
    assert (done.returncode, done.stdout) == (5, "[]\nchild <>\n"), done
    assert counts(capture_path) == expected


def test_the_memory_of_a_native_program_is_recorded(capture_path: Path) -> None:
    done = kymograph(
        *("run", "--memory", "-o", capture_path, built("resolver"), "first", "second"),
        env={**os.environ, "LD_PRELOAD": "libm.so.6"},
    )
    # Its arguments, its own LD_PRELOAD, and none of our variables.
    assert (done.returncode, done.stdout) == (3, "3 second libm.so.6\n"), done
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("kymograph: recording the memory of ")
    assert counts(capture_path) == (7, 2)
    assert replay(capture_path).metadata["memory.stacks"] == "native"
    tree = kymograph("report", "--memory", "--tree", capture_path).stdout
    assert " main" in tree and "(native)" not in tree


def ends_abruptly(path: Path, how: str, *options: str) -> tuple[int, str]:
    """Record tests/programs/abrupt.c, which ends in the way HOW; its status and output."""
    done = kymograph("run", "--memory", "-q", *options, "-o", path, built("abrupt"), how)
    assert done.stderr == "", done
    return done.returncode, done.stdout


def assert_whole(path: Path) -> None:
    """Of three blocks two were kept; the capture has them, and ended by itself."""
    assert not path.with_name(path.name + ".live").exists()
    with kymograph_open(path) as capture:
        assert capture.info.ending == "clean"
    assert counts(path) == (3, 2)
    assert kymograph("report", "--memory", "--check", path).returncode == 0


@pytest.mark.parametrize("how", ["_exit", "_Exit", "quick_exit", "signal"])
def test_a_native_program_that_runs_no_destructors_ends_by_itself(
    capture_path: Path, how: str
) -> None:
    output = "quick\n" if how == "quick_exit" else ""
    assert ends_abruptly(capture_path, how) == (7, output)
    assert_whole(capture_path)
    assert "process.ended" not in replay(capture_path).metadata


@pytest.mark.parametrize(
    "how", ["execv", "execve", "execvp", "execvpe", "fexecve", "execl", "execlp", "execle"]
)
def test_a_native_program_that_becomes_another_one_says_so(capture_path: Path, how: str) -> None:
    assert ends_abruptly(capture_path, how) == (0, "became\n")
    assert_whole(capture_path)
    assert replay(capture_path).metadata["process.ended"] == "exec"


def test_a_native_program_ends_though_its_main_thread_ended_before(capture_path: Path) -> None:
    assert ends_abruptly(capture_path, "pthread_exit") == (0, "")
    with kymograph_open(capture_path) as capture:
        assert capture.info.ending == "clean"
    assert counts(capture_path) == (3, 2)
    assert 54_322 in (block.size for block in replay(capture_path).allocated)


@pytest.mark.parametrize("name", ["jemalloc", "mimalloc", "tcmalloc_minimal"])
def test_a_native_program_may_have_another_allocator(
    capture_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = ctypes.util.find_library(name)
    if not library:
        pytest.skip(f"lib{name} is not installed: not tested with it")
    monkeypatch.setenv("LD_PRELOAD", library)
    assert ends_abruptly(capture_path, "_exit") == (7, "")
    monkeypatch.delenv("LD_PRELOAD")
    assert_whole(capture_path)


def test_the_children_of_a_native_program_do_not_end_its_recording(capture_path: Path) -> None:
    assert ends_abruptly(capture_path, "children") == (7, "child\nchild\n")
    assert_whole(capture_path)


def test_a_native_program_tries_to_become_one_that_does_not_exist(capture_path: Path) -> None:
    assert ends_abruptly(capture_path, "fails") == (7, "")
    assert_whole(capture_path)


def test_what_is_held_is_written_before_a_native_program_ends(capture_path: Path) -> None:
    assert ends_abruptly(capture_path, "_exit", "--memory=live") == (7, "")
    done = kymograph("report", "--memory", "--check", capture_path)
    assert done.returncode == 0, done
    assert "106.1 KiB" in done.stdout  # of two blocks


def test_a_native_program_runs_where_its_capture_cannot_be_written(tmp_path: Path) -> None:
    output = tmp_path / "missing" / "trace.kymo"
    done = kymograph("run", "--memory", "-q", "-o", output, built("resolver"), "x")
    assert (done.returncode, done.stdout) == (3, "2 x -\n"), done
    assert done.stderr == f"kymograph: {output}: No such file or directory\n"


def test_a_static_program_runs_as_always_and_nothing_is_recorded(tmp_path: Path) -> None:
    static = built("ignores_us")
    for options in [], ["--memory-preload"]:
        done = kymograph("run", "--memory", *options, static, "x", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (4, "2 x\n"), done
        assert done.stderr == (
            f"kymograph: {static} is statically linked: it runs, but none of its memory can be "
            "recorded\n"
        )
    assert list(tmp_path.iterdir()) == []


def test_options_for_python_are_refused_for_native_programs(tmp_path: Path) -> None:
    program = built("resolver")
    done = kymograph("run", "--memory", "--gc", "on", program, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"kymograph: --gc works only with Python programs; {program} is native\n"
    done = kymograph("run", "--memory", "-o", "x.html", program, cwd=tmp_path)
    assert done.returncode == 2
    assert "records into a .kymo file" in done.stderr


def test_the_library_may_lie_in_a_folder_with_spaces(tmp_path: Path) -> None:
    folder = tmp_path / "a folder: with spaces"
    folder.mkdir()
    for name in "libkymo-preload.so", "libkymo.so.0":
        (folder / name).write_bytes((Path(_preload._HERE) / name).read_bytes())
    code = """
import sys
from kymograph import _preload
from kymograph import open as kymograph_open
_preload._HERE = sys.argv[1]
_preload._LIBRARY = sys.argv[1] + "/libkymo-preload.so"
program, output = sys.argv[2:]
_preload.execute([program], program, "x", {"memory": "exact", "output": output, "quiet": True})
"""
    output = tmp_path / "trace.kymo"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), str(built("resolver")), str(output)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (3, ""), done
    assert counts(output) == (7, 2)
