"""`kymograph cut` and `kymograph merge`: captures made of captures say what the originals said."""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import RunCode
from program import fib, good, interrupted, refused

import kymograph

pytestmark = pytest.mark.native


def facts(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(good(*arguments, "--json"))
    return found


def figures(*arguments: object) -> dict[str, Any]:
    """A report without what it says of the file, of records, and of moments."""
    report = facts("report", *arguments)
    for key in ("file", "ending", "duration_ns", "from_ns", "to_ns", "records"):
        report.pop(key)
    report["paths"].sort(key=json.dumps)  # those that took equally long are in any order
    for thread in report["threads"]:
        thread.pop("records")
        thread.pop("index")
    return report


def squares(n: int) -> Iterator[int]:
    for i in range(n):
        yield fib(i % 5)


def work() -> None:
    kymograph.thread_name("worker")
    with kymograph.span("work"):
        for i in range(5):
            kymograph.counter("round", i)
            sum(squares(20))
            gc.collect()


def program() -> None:
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    fib(10)
    for thread in threads:
        thread.join()


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cut") / "trace.kymo"
    kymograph.start(path)
    program()
    kymograph.stop()
    return path


# --------------------------------------------------------------------------- cut


@pytest.mark.parametrize(("first", "last"), [(0.0, 0.5), (0.3, 0.6), (0.5, 1.0), (0.2, 0.21)])
def test_a_report_on_a_cut_is_the_report_on_that_part(
    traced: Path, tmp_path: Path, first: float, last: float
) -> None:
    length = facts("info", traced)["duration_ns"]
    window = (f"{int(first * length)}ns", f"{int(last * length)}ns")
    out = tmp_path / "part.kymo"

    good("cut", traced, "-o", out, "--from", window[0], "--until", window[1])

    assert figures(out) == figures(traced, "--from", window[0], "--to", window[1])
    assert facts("info", out, "--verify")["damaged_blocks"] == 0
    whole = facts("info", traced)
    assert abs(facts("info", out)["wall_start_ns"] - whole["wall_start_ns"] - first * length) <= 1


def test_threads_can_be_cut_out(traced: Path, tmp_path: Path) -> None:
    out = tmp_path / "part.kymo"

    good("cut", traced, "-o", out, "-t", "worker")

    assert figures(out) == figures(traced, "--thread", "worker")
    assert [thread["name"] for thread in facts("info", out)["threads"]] == ["worker"] * 3


def test_a_cut_of_a_cut_is_a_cut(traced: Path, tmp_path: Path) -> None:
    one, two, direct = (tmp_path / name for name in ("one.kymo", "two.kymo", "direct.kymo"))

    good("cut", traced, "-o", one, "--from", "1ms", "--until", "4ms")
    good("cut", one, "-o", two, "--from", "1ms", "--to", "2ms")
    good("cut", traced, "-o", direct, "--from", "2ms", "--until", "3ms")

    assert figures(two) == figures(direct)


def test_a_cut_says_where_it_comes_from(traced: Path, tmp_path: Path) -> None:
    out = tmp_path / "part.kymo"

    good("cut", traced, "-o", out, "--until", "1ms")

    with kymograph.open(out) as capture, kymograph.open(traced) as original:
        assert capture.metadata["cut"].startswith(f"0 ns to 1.000 ms of {traced}")
        assert original.metadata.items() <= capture.metadata.items()
        assert capture.threads[0].pid == os.getpid()


def test_a_cut_replaces_an_older_capture_and_nothing_else(traced: Path, tmp_path: Path) -> None:
    out, letter = tmp_path / "part.kymo", tmp_path / "letter.txt"
    letter.write_text("Dear reader")

    good("cut", traced, "-o", out)
    good("cut", traced, "-o", out)

    message = refused("cut", traced, "-o", letter)
    assert message == f"{letter}: the file exists and is not a kymograph capture; it was left alone"
    assert letter.read_text() == "Dear reader"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["letter.txt", "part.kymo"]


def test_force_replaces_any_file(traced: Path, tmp_path: Path) -> None:
    letter, part = tmp_path / "letter.txt", tmp_path / "part.kymo"
    good("cut", traced, "-o", part)

    for arguments in (["cut", traced], ["merge", traced, part]):
        letter.write_text("Dear reader")
        good(*arguments, "--force", "-o", letter)
        with kymograph.open(letter) as capture:
            assert capture.info.records > 0

    assert sorted(path.name for path in tmp_path.iterdir()) == ["letter.txt", "part.kymo"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "add -o OUT.kymo"),
        (["-o", "-"], "cannot be written to stdout"),
        (["-o", "/nonexistent/a.kymo"], "/nonexistent/a.kymo: no such directory"),
        (["-o", "/"], "/: this is a directory"),
        (["-o", "x", "--from", "soon"], "--from soon is not a time"),
        (["-o", "x", "--from", "3s", "--until", "2s"], "--from 3s is later than --until 2s"),
        (["-o", "x", "--to", "3s", "--until", "2s"], "mean the same"),
        (["-o", "x", "--from", "1h"], "--from 1h is after its end"),
        (["-o", "x", "-t", "nobody"], "no thread 'nobody'"),
    ],
)
def test_an_invalid_cut_is_refused(
    traced: Path, tmp_path: Path, arguments: list[str], words: str
) -> None:
    assert words in refused("cut", traced, *arguments, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["cut", "merge"])
def test_bad_input_is_named(traced: Path, tmp_path: Path, verb: str) -> None:
    text, out = tmp_path / "text.kymo", tmp_path / "out.kymo"
    text.write_text("not a capture")
    more = [traced] if verb == "merge" else []

    missing = tmp_path / "no.kymo"
    assert "no.kymo: no such file" in refused(verb, *more, missing, "-o", out)
    assert "text.kymo: this is not a kymograph capture" in refused(verb, *more, text, "-o", out)
    assert "is the capture itself" in refused(verb, *more, traced, "-o", traced)
    assert not out.exists()


@pytest.mark.parametrize("verb", ["cut", "merge"])
def test_a_full_disk_leaves_nothing(traced: Path, tmp_path: Path, verb: str) -> None:
    out = tmp_path / "out.kymo"
    more = [traced] if verb == "merge" else []

    message = refused(
        verb,
        traced,
        *more,
        "-o",
        out,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )

    assert message == f"cannot write {out}: File too large"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_cut_leaves_nothing(tmp_path: Path, number: int) -> None:
    capture, out = tmp_path / "large.kymo", tmp_path / "out.kymo"
    kymograph.start(capture, c_calls=False)
    for _ in range(20):
        fib(20)
    kymograph.stop()

    interrupted(tmp_path, number, "cut", "-o", out, capture)


def test_awkward_captures_can_be_cut(tmp_path: Path, run_code: RunCode) -> None:
    killed, empty, out = (tmp_path / f"{name}.kymo" for name in ("killed", "empty", "out"))
    run_code(
        "import os, signal, kymograph\n"
        f"kymograph.start({str(killed)!r}, calls=False)\n"
        "span = kymograph.span('evil \\x1b[31m\\n name'); span.__enter__()\n"
        "for i in range(100): kymograph.counter('n', i)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n",
        check=False,
    )
    kymograph.start(empty, calls=False)
    kymograph.stop()

    good("cut", killed, "-o", out)
    assert figures(out) == figures(killed)
    assert "ended: the process ended without stopping" in facts("info", out)["metadata"]["cut"]
    good("cut", empty, "-o", out)
    assert facts("info", out)["records"] == 0


# ------------------------------------------------------------------------- merge


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Captures of three processes that ran at the same time."""
    folder = tmp_path_factory.mktemp("ranks")
    code = (
        "import sys, time, kymograph\n"
        "def step(n): return sum(range(n))\n"
        "kymograph.start(sys.argv[1], calls=True)\n"
        "kymograph.process_name('rank ' + sys.argv[2])\n"
        "kymograph.metadata('rank', sys.argv[2])\n"
        "kymograph.async_begin('job', 1)\n"
        "for i in range(10): step(i)\n"
        "time.sleep(0.3)\n"
        "kymograph.async_end('job', 1)\n"
        "kymograph.stop()\n"
    )
    paths = [folder / f"rank{i}.kymo" for i in range(3)]
    processes = [
        subprocess.Popen([sys.executable, "-c", code, path, str(i)]) for i, path in enumerate(paths)
    ]
    for process in processes:
        assert process.wait(60) == 0
    return paths


def test_processes_of_one_machine_are_on_one_clock(ranks: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out.kymo"

    good("merge", *ranks, "-o", out)

    singles = [facts("info", path) for path in ranks]
    merged = facts("info", out, "--verify")
    assert [p["pid"] for p in merged["processes"]] == [s["pid"] for s in singles]
    assert [p["name"] for p in merged["processes"]] == ["rank 0", "rank 1", "rank 2"]
    assert [t["pid"] for t in merged["threads"]] == [s["pid"] for s in singles]
    assert merged["monotonic_start_ns"] == min(s["monotonic_start_ns"] for s in singles)
    assert merged["records"] == sum(s["records"] for s in singles)
    assert merged["metadata"]["merged_clocks"] == "one monotonic clock"
    assert merged["metadata"]["1.rank"] == "1" and "rank" not in merged["metadata"]
    assert merged["metadata"]["machine"] == singles[0]["metadata"]["machine"]
    text = good("info", out)
    assert "PROCESS" in text and "rank 2" in text


def test_figures_of_merged_captures_add_up(ranks: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out.kymo"

    good("merge", *ranks, "-o", out)

    singles = [figures(path) for path in ranks]
    merged = figures(out)
    assert merged["time_in_calls_ns"] == sum(s["time_in_calls_ns"] for s in singles)
    steps = [row for row in merged["functions"] if row["name"] == "step"]
    assert [row["calls"] for row in steps] == [30], "equal functions are one"


def test_every_event_of_every_process_is_there(ranks: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out.kymo"

    good("merge", *ranks, "-o", out)

    with kymograph.open(out) as merged:
        assert {thread.pid for thread in merged.threads} == {
            facts("info", path)["pid"] for path in ranks
        }
        ids = {event.id for event in merged.events() if event.kind == "async_begin"}
        assert len(ids) == 3, "async spans of one id are kept apart"
        for index, path in enumerate(ranks):
            with kymograph.open(path) as single:
                wanted = [(e.kind, e.detail, e.time, e.name, e.line) for e in single.events()]
            got = [(e.kind, e.detail, e.time, e.name, e.line) for e in merged.events(thread=index)]
            assert got == wanted


def on_another_machine(path: Path, copy: Path) -> Path:
    """A copy of a capture that claims to be of another boot."""
    data = bytearray(path.read_bytes())
    data[48:64] = bytes(range(16))
    data[124:128] = crc32c(bytes(data[:124])).to_bytes(4, "little")
    copy.write_bytes(data)
    return copy


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def of_a_newer_version(path: Path, copy: Path) -> Path:
    """A copy of a capture of format 1.99 that was killed after a block of an unknown type."""
    data = path.read_bytes()
    index = min(
        at for at in range(128, len(data), 8) if data[at : at + 4] == b"KYBK" and data[at + 8] == 3
    )
    block = b"\x63" + bytes(55)
    header = data[:10] + (99).to_bytes(2, "little") + data[12:124]
    sealed = header + crc32c(header).to_bytes(4, "little")
    new = b"KYBK" + crc32c(block).to_bytes(4, "little") + block
    copy.write_bytes(sealed + data[128:index] + new)
    return copy


def test_parts_of_a_newer_version_do_not_go_missing_silently(
    ranks: list[Path], tmp_path: Path
) -> None:
    newer = of_a_newer_version(ranks[1], tmp_path / "newer.kymo")
    said = "a newer kymograph wrote it (format 1.99"

    with pytest.warns(UserWarning, match=re.escape(said)):
        capture = kymograph.open(newer)
    assert capture.info.unknown_parts == 1 and capture.info.damaged_blocks == 0
    capture.close()
    good("merge", ranks[0], newer, "-o", tmp_path / "out.kymo", said=f"{newer}: incomplete: {said}")


def test_another_machine_is_aligned_by_wall_clock(ranks: list[Path], tmp_path: Path) -> None:
    foreign = on_another_machine(ranks[1], tmp_path / "foreign.kymo")
    out = tmp_path / "out.kymo"

    good("merge", ranks[0], foreign, "-o", out, said="captures from different machines or boots")

    assert (
        facts("info", out)["metadata"]["merged_clocks"] == "aligned by each machine's time of day"
    )
    with kymograph.open(out) as merged, kymograph.open(ranks[1]) as single:
        assert abs(merged.threads[1].first - single.threads[0].first) < 50_000_000


def test_clocks_that_cannot_be_related_are_refused(
    ranks: list[Path], traced: Path, tmp_path: Path
) -> None:
    foreign = on_another_machine(traced, tmp_path / "foreign.kymo")
    out = tmp_path / "out.kymo"

    message = refused("merge", ranks[0], foreign, "-o", out)
    assert "by the time of day" in message and "--align start" in message
    assert not out.exists()

    good(
        "merge", ranks[0], foreign, "-o", out, "--align", "start", said="the captures were aligned"
    )
    with kymograph.open(out) as merged:
        firsts = [thread.first for thread in merged.threads[:2]]
        assert firsts[0] == firsts[1] == merged.info.start
    good("merge", ranks[0], foreign, "-o", out, "--align", "wall", said="captures from different")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "add -o OUT.kymo"),
        (["-o", "x", "--align", "moon"], "unknown --align moon; choose wall or start"),
    ],
)
def test_an_invalid_merge_is_refused(
    ranks: list[Path], tmp_path: Path, arguments: list[str], words: str
) -> None:
    assert words in refused("merge", *ranks, *arguments, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_one_capture_is_not_enough_to_merge(ranks: list[Path]) -> None:
    refused("merge", ranks[0], "-o", "x")


def test_a_merged_capture_can_be_cut_and_merged(ranks: list[Path], tmp_path: Path) -> None:
    both, part, all_ = (tmp_path / f"{name}.kymo" for name in ("both", "part", "all"))

    good("merge", *ranks[:2], "-o", both)
    good("cut", both, "-o", part, "-t", "1")
    good("merge", both, ranks[2], "-o", all_)

    pids = [facts("info", path)["pid"] for path in ranks]
    assert [t["pid"] for t in facts("info", part)["threads"]] == pids[1:2]
    assert [t["pid"] for t in facts("info", all_)["threads"]] == pids


def test_a_process_of_a_merged_capture_can_be_cut_out(ranks: list[Path], tmp_path: Path) -> None:
    both, part = tmp_path / "both.kymo", tmp_path / "part.kymo"
    pid = facts("info", ranks[1])["pid"]
    good("merge", *ranks, "-o", both)

    for wanted in ("1", f"pid:{pid}", "rank 1"):
        good("cut", both, "-o", part, "--process", wanted)

        found = facts("info", part)
        assert [thread["pid"] for thread in found["threads"]] == [pid]
        assert figures(part)["functions"] == figures(ranks[1])["functions"]
    assert "no process '7'" in refused("cut", both, "-o", part, "-p", "7")
