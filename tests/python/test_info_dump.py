"""`kymograph info` and `kymograph dump`: what a capture holds, and how its recording ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import subprocess
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import NESTED, bad, events_of, good, info_of, kymograph, start_recorder
from conftest import Maker
from program import on_terminal

import kymograph as kymo

pytestmark = pytest.mark.native

WORKERS = """
def work():
    kymograph.thread_name("worker")
    for i in range(10): kymograph.instant("tick")
kymograph.thread_name("main")
kymograph.instant("first")
for i in range(2):
    thread = threading.Thread(target=work); thread.start(); thread.join()
kymograph.stop()
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture with calls."""
    path = tmp_path_factory.mktemp("traced") / "trace.kymo"
    with kymo.trace(path):
        textwrap.wrap("some words")
    return path


@contextlib.contextmanager
def recording(path: Path, code: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has run `code` and still records."""
    with start_recorder(path, code + "\nprint('ready', flush=True); sys.stdin.read()") as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        try:
            yield process
        finally:
            process.kill()


# -------------------------------------------------------------------------- info


def test_info_shows_a_clean_end_and_the_totals(make: Maker) -> None:
    path = make("for i in range(3):\n    with kymograph.span('s'): pass\nkymograph.stop()")

    info = info_of(path)
    text = good("info", path)

    assert info["ending"] == "clean" and info["error"] is None
    assert info["records"] == 6 and info["recovered_records"] == 0
    assert info["gaps"] == info["lost_records"] == 0 and info["losses"] == []
    assert info["damaged_blocks"] == 0 and info["indexed"] is True
    assert info["file_bytes"] == path.stat().st_size and info["live_bytes"] == 0
    assert abs(info["wall_start_ns"] / 1e9 - time.time()) < 120
    assert info["clock"]["source"] in ("tsc", "cntvct", "monotonic")
    assert "stopped cleanly" in text and "lost      nothing" in text


def test_info_shows_threads_with_their_names(make: Maker) -> None:
    path = make(WORKERS)

    threads = info_of(path)["threads"]
    text = good("info", path)

    assert [(t["index"], t["name"], t["records"]) for t in threads] == [
        (0, "main", 1),
        (1, "worker", 10),
        (2, "worker", 10),
    ]
    assert re.search(rf"^ +1 +{threads[1]['tid']} +worker +10 +0 ", text, re.M)


def test_info_shows_metadata(make: Maker) -> None:
    path = make("kymograph.metadata('größe', 'a\\nb'); kymograph.instant('x'); kymograph.stop()")

    assert info_of(path)["metadata"]["größe"] == "a\nb"
    assert r"größe = a\nb" in good("info", path)


def test_info_groups_large_numbers_for_people(make: Maker) -> None:
    path = make("for i in range(1234567): kymograph.instant('x')\nkymograph.stop()")

    assert "1 234 567 on 1 thread\n" in good("info", path)


def test_info_says_that_a_process_was_killed_and_what_was_recovered(make: Maker) -> None:
    path = make("kymograph.instant('last words'); os.kill(os.getpid(), signal.SIGKILL)")

    info = info_of(path)
    text = good("info", path)

    assert info["ending"] == "killed" and info["recovered_records"] == 1
    assert f"the process was killed; 1 record was recovered from {path}.live" in text
    assert [e["name"] for e in events_of(path)] == ["last words"]


def test_info_says_that_a_recording_is_running(tmp_path: Path) -> None:
    path = tmp_path / "trace.kymo"
    with recording(path, "kymograph.instant('so far')") as process:
        info = info_of(path)
        text = good("info", path)

    assert (info["ending"], info["pid"]) == ("running", process.pid)
    assert f"still being recorded by process {process.pid}" in text


def test_info_says_why_writing_failed(make: Maker) -> None:
    path = make(
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))\n"
        "for i in range(2000000): kymograph.counter('x', i * 1.37)\n"
        "try: kymograph.stop()\n"
        "except OSError: pass"
    )

    info = info_of(path)
    text = good("info", path)

    assert info["ending"] == "failed" and info["error"] == os.strerror(27)
    assert "writing failed: File too large" in text
    assert info["lost_records"] > 0
    assert sum(loss["records"] for loss in info["losses"]) == info["lost_records"]
    assert {loss["reason"] for loss in info["losses"]} == {"disk"}
    assert "the file could not be written" in text


def test_info_and_dump_read_what_is_left_of_a_cut_capture(make: Maker) -> None:
    path = make("for i in range(400000): kymograph.instant('x')\nkymograph.stop()")
    os.truncate(path, path.stat().st_size // 2)

    info = info_of(path)

    assert info["indexed"] is False
    assert "incomplete: " in good("info", path)
    assert 0 < info["records"] < 400000
    assert len([e for e in events_of(path) if e["kind"] == "instant"]) == info["records"]


def largest_block_of_records(content: bytes) -> tuple[int, int]:
    """Where its payload begins, and how long that is."""
    largest, at = (0, 0), 128
    while content[at : at + 4] == b"KYBK":
        length: int = struct.unpack_from("<I", content, at + 12)[0]
        if content[at + 8] == 1 and length > largest[1]:
            largest = (at + 64, length)
        at += (64 + length + 7) // 8 * 8
    return largest


def test_verify_finds_a_flipped_byte_and_says_no(make: Maker) -> None:
    path = make("for i in range(400000): kymograph.instant('x')\nkymograph.stop()")
    whole = kymograph("info", "--verify", path)
    content = bytearray(path.read_bytes())
    begin, length = largest_block_of_records(content)
    content[begin + length // 2] ^= 0xFF
    path.write_bytes(content)

    done = kymograph("info", "--verify", "--json", path)
    info = json.loads(done.stdout)

    assert whole.returncode == 0 and "none; every block was read" in whole.stdout
    assert done.returncode == 1
    assert info["verified"] is True and info["damaged_blocks"] == 1
    assert 0 < info["records"] < 400000
    (loss,) = info["losses"]
    assert (loss["reason"], loss["records"]) == ("damaged", 400000 - info["records"])
    assert "1 block cannot be read" in kymograph("info", "--verify", path).stdout
    assert len([e for e in events_of(path) if e["kind"] == "instant"]) == info["records"]


# -------------------------------------------------------------------------- dump


def test_dump_prints_records_in_order_with_their_values(make: Maker) -> None:
    events = events_of(make(NESTED))

    assert [(e["kind"], e["name"]) for e in events] == [
        ("enter", "outer"),
        ("enter", "inner"),
        ("counter", "bytes"),
        ("leave", "inner"),
        ("instant", "moment"),
        ("leave", "outer"),
        ("flow_out", "arrow"),
        ("flow_in", "arrow"),
        ("async_begin", "request"),
        ("async_end", "request"),
    ]
    assert events[0]["time_ns"] == 0
    assert [e["time_ns"] for e in events] == sorted(e["time_ns"] for e in events)
    assert events[2]["value"] == 4096.5
    assert [e["id"] for e in events[6:]] == [7, 7, 8, 8]


def test_dump_indents_names_by_the_spans_open(make: Maker) -> None:
    lines = good("dump", make(NESTED)).splitlines()

    column = lines[0].index("NAME")
    names = [line[column:] for line in lines[1:7]]
    assert names == [
        "outer",
        "  inner",
        "    bytes = 4096.5",
        "  inner",
        "  moment",
        "outer",
    ]
    assert lines[1].split()[0] == "0.000us"


def test_dump_columns_stay_aligned_with_wide_names(make: Maker) -> None:
    path = make(
        "kymograph.thread_name('日本語'); kymograph.instant('a'); kymograph.instant('b')\n"
        "kymograph.stop()"
    )

    header, first, second = good("dump", path).splitlines()

    assert first.rindex("a") == second.rindex("b")
    assert header.index("KIND") == first.index("instant") + 3  # three characters of two cells


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("zeile\nzwei", r"zeile\nzwei"),
        ("\x1b[2Jrot", r"\e[2Jrot"),
        ("a\u202eb", r"a\u202eb"),
        ('"quoted\\"', '"quoted\\"'),
        ("関数 😀", "関数 😀"),
    ],
)
def test_any_name_survives_in_json_and_is_harmless_as_text(
    make: Maker, name: str, shown: str
) -> None:
    path = make(f"kymograph.instant({name!r}); kymograph.stop()")

    assert [e["name"] for e in events_of(path)] == [name]
    text = good("dump", path)
    assert text.endswith(f"{shown}\n") and text.count("\n") == 2


def test_invalid_bytes_in_a_name_become_replacement_characters(make: Maker) -> None:
    path = make(
        "import ctypes, kymograph._core\n"
        "library = ctypes.CDLL(kymograph._core.library())\n"
        "name = ctypes.c_char_p(b'a\\xff\\xed\\xa0\\x80z')\n"
        "library.kymo__instant(name)\n"
        "kymograph.stop()"
    )

    (event,) = events_of(path)

    assert re.fullmatch("a\ufffd+z", event["name"])
    assert re.search("a\ufffd+z\n", good("dump", path))


def test_values_json_has_no_number_for_are_strings(make: Maker) -> None:
    path = make(
        "for x in ('nan', 'inf', '-inf', '1e300', '0.1'): kymograph.counter('x', float(x))\n"
        "kymograph.stop()"
    )

    assert [e["value"] for e in events_of(path)] == ["NaN", "Infinity", "-Infinity", 1e300, 0.1]


def test_on_a_terminal_a_record_of_dump_is_one_line(make: Maker) -> None:
    path = make(
        "kymograph.thread_name('a thread with a name that is rather long')\n"
        "def dive(n):\n"
        "    with kymograph.span('a span with a name that fills the line: ' + 'x' * 60):\n"
        "        if n: dive(n - 1)\n"
        "dive(40)\n"
        "kymograph.stop()"
    )

    for options in ([], ["--absolute"]):
        lines = on_terminal("dump", *options, path).splitlines()
        assert len(lines) == 1 + 82
        assert max(map(len, lines)) <= 80
        assert all(line.endswith("…") for line in lines[1:])
    assert good("dump", path).count("x" * 60) == 82


def test_on_a_terminal_the_place_of_a_call_loses_its_start(traced: Path) -> None:
    lines = on_terminal("dump", traced).splitlines()
    whole = good("dump", traced).splitlines()

    assert max(map(len, lines)) <= 80
    assert any(re.search(r"  …\S*\.py:\d+$", line) for line in lines)
    assert any(re.search(r"  /\S*\.py:\d+$", line) for line in whole)


def test_dump_shows_only_the_thread_asked_for(make: Maker) -> None:
    path = make(WORKERS)
    tid = info_of(path)["threads"][2]["tid"]

    def threads(wanted: object) -> set[int]:
        return {event["thread"] for event in events_of(path, "--thread", wanted)}

    assert threads("main") == threads(0) == {0}
    assert threads("worker") == {1, 2}
    assert threads(f"tid:{tid}") == {2}


@pytest.mark.parametrize("thread", ["nobody", "3", "tid:1", "tid:x", ""])
def test_a_thread_that_is_not_there_is_named_with_those_that_are(make: Maker, thread: str) -> None:
    message = bad("dump", "-t", thread, make(WORKERS))

    assert f"no thread '{thread}'" in message and "0 main, 1 worker, 2 worker" in message


def test_dump_shows_only_the_time_asked_for(make: Maker) -> None:
    path = make("for i in range(1000): kymograph.instant(f'{i}')\nkymograph.stop()")
    times = [event["time_ns"] for event in events_of(path)]
    begin, end = times[300], times[700]

    events = events_of(path, "--from", f"{begin}ns", "--to", f"{end / 1000:.3f}us")

    assert [e["time_ns"] for e in events] == [t for t in times if begin <= t < end]


@pytest.mark.parametrize("text", ["0.0005", "0.0005s", "0.5ms", "500us", "500µs", "500000ns"])
def test_a_time_can_be_written_in_any_unit(make: Maker, text: str) -> None:
    path = make(
        "kymograph.instant('a'); time.sleep(0.001); kymograph.instant('b'); kymograph.stop()"
    )

    assert [e["name"] for e in events_of(path, "--from", text)] == ["b"]
    assert [e["name"] for e in events_of(path, "--to", text)] == ["a"]


def test_times_that_dump_prints_can_be_given_back_to_it(make: Maker) -> None:
    path = make("for i in range(10): kymograph.instant(f'{i}')\nkymograph.stop()")
    line = good("dump", path).splitlines()[5]

    events = events_of(path, "--from", line.split()[0])

    assert events[0]["name"] == line.split()[-1]


def test_limit_stops_and_says_that_there_is_more(make: Maker) -> None:
    path = make(NESTED)

    done = kymograph("dump", "-n", 3, path)

    assert done.returncode == 0
    assert done.stdout.count("\n") == 4
    assert done.stderr == f"kymograph: {path}: stopped after 3 records (--limit); there are more\n"
    assert len(events_of(path, "--limit", 10)) == 10


def test_a_window_without_records_says_so(make: Maker) -> None:
    done = kymograph("dump", "--json", "--from", "1h", make(NESTED))

    assert (done.returncode, done.stdout) == (0, "")
    assert re.search(r"no records match; the capture has \d+ records and lasts ", done.stderr)


def test_absolute_times_are_those_of_the_wall_clock(make: Maker) -> None:
    path = make(NESTED)
    start = info_of(path)["wall_start_ns"]

    events = events_of(path, "--absolute")
    text = good("dump", "--absolute", path, environment={"TZ": "Asia/Kolkata"})

    assert [e["wall_ns"] - e["time_ns"] for e in events] == [start] * len(events)
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}\+05:30 ", text.splitlines()[1])


def test_gaps_are_dumped_with_their_reason(make: Maker) -> None:
    path = make(  # the highest level makes the writer slow enough to fall behind
        "kymograph.stop()\n"
        "kymograph.start(sys.argv[1], budget='1M', policy='drop', level=19, calls=False)\n"
        "end = time.monotonic() + 20\n"
        "while kymograph.stats().dropped_records == 0 and time.monotonic() < end:\n"
        "    for i in range(50000): kymograph.instant(str(i % 1000))\n"
        "kymograph.stop()"
    )
    info = info_of(path)
    if info["lost_records"] == 0:
        pytest.skip("the writer of this machine never fell behind")

    gaps = [event for event in events_of(path) if event["kind"] == "gap"]

    assert sum(gap["lost_records"] for gap in gaps) == info["lost_records"]
    assert {gap["reason"] for gap in gaps} == {"budget"}
    assert info["losses"] == [
        {"reason": "budget", "gaps": info["gaps"], "records": info["lost_records"]}
    ]
    assert "the memory budget was used up" in good("info", path)
