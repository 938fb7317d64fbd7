"""Starting and stopping: states, options, and what can go wrong."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Read, Record, RunCode

import kymograph


def test_running_says_whether_a_session_runs(record: Record) -> None:
    assert not kymograph.running()
    with record():
        assert kymograph.running()
    assert not kymograph.running()


def test_a_second_session_is_a_range_of_the_first(
    record: Record, read: Read, tmp_path: Path
) -> None:
    second = tmp_path / "second.kymo"
    with record():
        kymograph.instant("before")
        session = kymograph.start(second, calls=False)
        assert session.nested and session.running
        kymograph.instant("inside")
        kymograph.stop()
        assert not session.running
        assert kymograph.running()
        kymograph.instant("after")

    name = f"session {second}"
    assert [(event.kind, event.name) for event in read()] == [
        ("instant", "before"),
        ("async_begin", name),
        ("instant", "inside"),
        ("async_end", name),
        ("instant", "after"),
    ]
    assert not second.exists()


def test_a_session_ends_only_itself(capture_path: Path, tmp_path: Path) -> None:
    outer = kymograph.start(capture_path, calls=False)
    inner = kymograph.start(tmp_path / "inner.kymo")
    innermost = kymograph.start(tmp_path / "innermost.kymo")

    inner.stop()
    assert outer.running and innermost.running
    kymograph.stop()
    assert not innermost.running and outer.running
    inner.stop()
    assert outer.running
    outer.stop()
    assert not kymograph.running()
    outer.stop()


def test_a_session_that_is_left_open_ends_with_the_one_around_it(
    capture_path: Path, tmp_path: Path
) -> None:
    with kymograph.start(capture_path, calls=False):
        inner = kymograph.start(tmp_path / "inner.kymo")
    assert not inner.running

    with kymograph.start(capture_path, calls=False) as another:
        inner.stop()
        assert another.running


def test_stop_leaves_the_session_of_a_block_alone(capture_path: Path) -> None:
    with kymograph.trace(capture_path, calls=False):
        kymograph.stop()
        assert kymograph.running()
    assert not kymograph.running()


def test_the_session_of_the_parent_is_not_the_childs(run_code: RunCode, capture_path: Path) -> None:
    run_code(
        """
import os, sys, kymograph
with kymograph.start(sys.argv[1], calls=False) as session:
    child = os.fork()
    if child == 0:
        assert not session.running
        session.stop()
        with kymograph.start(sys.argv[1] + ".child", calls=False) as own:
            assert own.running and not own.nested
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert session.running
""",
        capture_path,
    )
    with kymograph.open(capture_path) as capture:
        assert capture.info.ending == "clean"


def test_stopping_without_a_session_is_an_error(record: Record) -> None:
    with pytest.raises(kymograph.SessionError, match="no session"):
        kymograph.stop()
    with record():
        kymograph.stop()
        with pytest.raises(kymograph.SessionError, match="no session"):
            kymograph.stop()


def test_a_session_may_be_stopped_by_another_thread(record: Record, read: Read) -> None:
    with record():
        kymograph.instant("here")
        thread = threading.Thread(target=kymograph.stop)
        thread.start()
        thread.join()
        assert not kymograph.running()

    assert [event.name for event in read()] == ["here"]


def test_threads_may_mark_while_another_stops_and_starts(
    capture_path: Path, quick_switches: None
) -> None:
    done = threading.Event()

    def mark(index: int) -> None:
        i = 0
        while not done.is_set():
            with kymograph.span(f"thread {index}"):
                kymograph.instant("literal")
                kymograph.counter(f"count {i % 2000}", i)
            i += 1

    threads = [threading.Thread(target=mark, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            kymograph.start(capture_path, calls=False)
            kymograph.stop()
            with kymograph.open(capture_path) as capture:
                names = {event.name.rstrip("0123456789") for event in capture.events()}
            assert names <= {"thread ", "literal", "count "}
    finally:
        done.set()
        for thread in threads:
            thread.join()


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Threads take turns a hundred times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(before / 100)
    yield
    sys.setswitchinterval(before)


def test_an_older_capture_is_replaced(record: Record, read: Read) -> None:
    for name in ("old", "new"):
        with record():
            kymograph.instant(name)

    assert [event.name for event in read()] == ["new"]


def test_a_file_that_is_not_a_capture_is_left_alone(capture_path: Path) -> None:
    capture_path.write_text("precious")

    with pytest.raises(FileExistsError) as raised:
        kymograph.start(capture_path, calls=False)

    assert raised.value.filename == str(capture_path)
    assert "left alone" in str(raised.value)
    assert capture_path.read_text() == "precious"
    assert not kymograph.running()


def test_a_missing_folder_is_file_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        kymograph.start(tmp_path / "missing" / "trace.kymo", calls=False)

    assert raised.value.filename == str(tmp_path / "missing" / "trace.kymo")
    assert not kymograph.running()


def test_a_directory_cannot_be_recorded_into(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        kymograph.start(tmp_path, calls=False)


def test_nothing_is_left_beside_a_finished_capture(record: Record, tmp_path: Path) -> None:
    with record():
        kymograph.instant("tick")

    assert [path.name for path in tmp_path.iterdir()] == ["trace.kymo"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "wait"}, "policy"),
        ({"level": 0}, "level"),
        ({"level": 20}, "level"),
        ({"budget": 0}, "size"),
        ({"budget": -1}, "size"),
        ({"budget": "lots"}, "size"),
        ({"c_calls": "fast"}, "was removed"),
        ({"c_calls": "off"}, "True or False"),
    ],
)
def test_a_wrong_option_is_a_value_error(
    capture_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        kymograph.start(capture_path, **options, calls=False)  # type: ignore[arg-type]

    assert not kymograph.running()
    assert not capture_path.exists()


@pytest.mark.parametrize("budget", [8 << 20, "8M", "8 MiB", "8192k"])
def test_a_budget_is_a_number_or_a_size(record: Record, budget: int | str) -> None:
    with record(budget=budget):
        assert kymograph.stats().budget_bytes == 8 << 20


def test_every_policy_and_level_records(record: Record, read: Read) -> None:
    for policy in ("help", "drop"):
        for level in (1, 19):
            with record(policy=policy, level=level):
                kymograph.instant(f"{policy} {level}")
            assert [event.name for event in read()] == [f"{policy} {level}"]


def test_helping_threads_lose_nothing_when_the_budget_is_used_up(
    record: Record, read: Read
) -> None:
    with record(budget="1M", policy="help"):
        for i in range(300_000):
            kymograph.counter("i", i)

    assert len(read()) == 300_000


def test_stats_count_what_the_session_did(record: Record) -> None:
    with record():
        kymograph.instant("tick")
        stats = kymograph.stats()
        assert stats.threads == 1
        assert stats.dropped_records == 0
        assert stats.error == 0
        assert 0 < stats.pool_bytes <= stats.budget_bytes

    with pytest.raises(kymograph.SessionError):
        kymograph.stats()


def test_a_device_cannot_be_recorded_into() -> None:
    with pytest.raises(OSError) as raised:
        kymograph.start("/dev/null", calls=False)

    assert raised.value.filename == "/dev/null"
    assert not kymograph.running()


def test_a_failed_write_is_an_os_error_at_stop_and_the_capture_opens(
    run_code: RunCode, capture_path: Path
) -> None:
    code = """if True:
        import errno, resource, sys, kymograph
        kymograph.start(sys.argv[1], budget="2M", calls=False)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        for _ in range(200_000):
            kymograph.instant("tick")
        try:
            kymograph.stop()
        except OSError as error:
            assert error.errno == errno.EFBIG, error
            assert error.filename == sys.argv[1], error
            print("failed")
    """
    assert run_code(code, capture_path).stdout == "failed\n"

    with kymograph.open(capture_path) as capture:
        info = capture.info
        kinds = Counter(event.kind for event in capture.events())
        gaps = [(gap.detail, gap.id) for gap in capture.events() if gap.kind == "gap"]
    assert (info.ending, info.error) == ("failed", errno.EFBIG)
    assert 0 < kinds["instant"] == 200_000 - info.lost_records
    assert {reason for reason, _ in gaps} == {"disk"}
    assert sum(lost for _, lost in gaps) == info.lost_records


def test_the_program_may_change_its_folder_while_recording(
    record: Record, read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)

    kymograph.start("trace.kymo", calls=False)
    os.chdir("elsewhere")
    kymograph.instant("moved")
    kymograph.stop()

    assert [event.name for event in read()] == ["moved"]
    assert list((tmp_path / "elsewhere").iterdir()) == []
