"""Forks, kills, exits, and readers in another process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Read, Record, RunCode

import kymograph

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def names(path: Path) -> list[str]:
    with kymograph.open(path) as capture:
        return [event.name for event in capture.events()]


def test_a_capture_can_be_read_while_it_is_written(record: Record, capture_path: Path) -> None:
    with record():
        for i in range(1000):
            kymograph.instant(f"early {i}")
        with kymograph.open(capture_path) as capture:
            assert capture.info.ending == "running"
            kymograph.instant("late")
            seen = [event.name for event in capture.events()]

    assert seen == [f"early {i}" for i in range(1000)]
    assert names(capture_path) == [*seen, "late"]


def test_another_process_can_read_while_we_write(record: Record, run_code: RunCode) -> None:
    code = """if True:
        import sys, kymograph
        with kymograph.open(sys.argv[1]) as capture:
            print(capture.info.ending, *(event.name for event in capture))
    """
    with record() as path:
        kymograph.instant("one")
        kymograph.instant("two")
        done = run_code(code, path)

    assert done.stdout == "running one two\n"


def test_a_capture_being_written_cannot_be_taken_by_another_process(
    record: Record, run_code: RunCode, read: Read
) -> None:
    code = """if True:
        import errno, sys, kymograph
        try:
            kymograph.start(sys.argv[1], calls=False)
        except OSError as error:
            assert error.errno == errno.EBUSY, error
            assert error.filename == sys.argv[1]
            print(error)
    """
    with record() as path:
        kymograph.instant("mine")
        done = run_code(code, path)

    assert "another process is recording" in done.stdout
    assert [event.name for event in read()] == ["mine"]


@needs_fork
def test_a_forked_child_does_not_write_into_its_parents_capture(
    run_code: RunCode, read: Read, capture_path: Path
) -> None:
    code = """if True:
        import os, sys, kymograph
        kymograph.start(sys.argv[1], calls=False)
        kymograph.instant("parent before")
        span = kymograph.span("open across the fork")
        span.__enter__()
        child = os.fork()
        if child == 0:
            assert not kymograph.running()
            kymograph.instant("child")
            span.__exit__(None, None, None)
            with kymograph.span("child"):
                pass
            sys.exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        span.__exit__(None, None, None)
        kymograph.instant("parent after")
        kymograph.stop()
    """
    run_code(code, capture_path)

    assert [event.name for event in read()] == [
        "parent before",
        "open across the fork",
        "open across the fork",
        "parent after",
    ]


@needs_fork
def test_a_forked_child_may_record_for_itself(run_code: RunCode, tmp_path: Path) -> None:
    code = """if True:
        import os, sys, kymograph
        kymograph.start(sys.argv[1], calls=False)
        kymograph.instant("shared name")
        child = os.fork()
        if child == 0:
            kymograph.start(sys.argv[2], calls=False)
            kymograph.instant("shared name")
            kymograph.instant("child's own")
            kymograph.stop()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        kymograph.stop()
    """
    run_code(code, tmp_path / "parent.kymo", tmp_path / "child.kymo")

    assert names(tmp_path / "parent.kymo") == ["shared name"]
    assert names(tmp_path / "child.kymo") == ["shared name", "child's own"]


def test_a_killed_program_leaves_every_record_it_made(capture_path: Path) -> None:
    code = """if True:
        import sys, time, kymograph
        kymograph.start(sys.argv[1], calls=False)
        kymograph.metadata("who", "the victim")
        kymograph.thread_name("main of the victim")
        for i in range(50_000):
            kymograph.instant(f"record {i % 100}")
        print("ready", flush=True)
        time.sleep(60)
    """
    with subprocess.Popen(
        [sys.executable, "-c", code, str(capture_path)], stdout=subprocess.PIPE
    ) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"ready\n"
        victim.send_signal(signal.SIGKILL)
        victim.wait()

    with kymograph.open(capture_path) as capture:
        assert capture.info.ending == "killed"
        assert capture.info.pid == victim.pid
        assert capture.metadata["who"] == "the victim"
        assert [thread.name for thread in capture.threads] == ["main of the victim"]
        seen = [event.name for event in capture.events()]
    assert seen == [f"record {i % 100}" for i in range(50_000)]


@pytest.mark.parametrize("ending", ["sys.exit(3)", "os._exit(3)", "os.abort()", "1 / 0"])
def test_a_program_that_does_not_stop_its_session_keeps_it(
    run_code: RunCode, read: Read, capture_path: Path, ending: str
) -> None:
    code = f"""if True:
        import os, sys, kymograph
        kymograph.start(sys.argv[1], calls=False)
        with kymograph.span("outer"):
            kymograph.instant("inner")
            {ending}
    """
    run_code(code, capture_path, check=False)

    assert [event.name for event in read()][:2] == ["outer", "inner"]


def test_a_session_is_stopped_at_exit(run_code: RunCode, capture_path: Path) -> None:
    run_code(
        "import sys, kymograph\n"
        "kymograph.start(sys.argv[1], calls=False); kymograph.instant('tick')",
        capture_path,
    )

    with kymograph.open(capture_path) as capture:
        assert capture.info.ending == "clean"
        assert [event.name for event in capture.events()] == ["tick"]


def test_a_daemon_thread_may_mark_until_the_end(run_code: RunCode, capture_path: Path) -> None:
    code = """if True:
        import sys, threading, time, kymograph
        kymograph.start(sys.argv[1], calls=False)
        def mark():
            while True:
                with kymograph.span("daemon"):
                    kymograph.instant("tick")
        threading.Thread(target=mark, daemon=True).start()
        time.sleep(0.1)
    """
    run_code(code, capture_path)

    assert {*names(capture_path)} == {"daemon", "tick"}
