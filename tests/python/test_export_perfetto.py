"""`kymograph export --to perfetto`, as Perfetto's own trace processor reads it."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Record
from program import PROGRAM, fib

import kymograph

pytestmark = pytest.mark.native

ROOT = Path(__file__).parents[2]

Rows = list[list[Any]]
Query = Callable[..., list[Rows]]

# Problems the trace processor met while it read.
PROBLEMS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"


@pytest.fixture(scope="module")
def engine() -> Iterator[subprocess.Popen[str]]:
    """The trace processor, ready for questions."""
    if not shutil.which("node"):
        pytest.skip("Perfetto's trace processor needs node, which is not installed")
    done = subprocess.run(
        [ROOT / "tools" / "trace-processor.sh"],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    if done.returncode:
        pytest.skip("no trace processor: " + done.stderr.strip().splitlines()[-1])
    with subprocess.Popen(
        ["node", Path(__file__).with_name("trace_processor.mjs"), done.stdout.strip()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def ask(engine: subprocess.Popen[str], tmp_path: Path) -> Query:
    """`ask(capture, query, ...)`: export it and let Perfetto answer; it must have no complaints."""

    def answers(path: Path, *queries: str, options: tuple[str, ...] = ()) -> list[Rows]:
        trace = path if path.suffix != ".kymo" else tmp_path / "trace.pftrace"
        if trace != path:
            export(path, trace, *options)
        assert engine.stdin and engine.stdout
        question = {"trace": str(trace), "queries": [PROBLEMS, *queries]}
        engine.stdin.write(json.dumps(question) + "\n")
        engine.stdin.flush()
        answer = json.loads(engine.stdout.readline())
        assert isinstance(answer, list), answer
        problems, *rest = answer
        assert problems == []
        return rest

    return answers


def export(capture: Path, output: Path, *options: str) -> None:
    done = subprocess.run(
        [PROGRAM, "export", "--to", "perfetto", "-o", output, *options, capture],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done
    assert done.stderr.startswith(f"kymograph: wrote {output}, "), done


def calls(path: Path) -> Counter[tuple[str, int, int, int]]:
    """Every finished call of a well-formed capture: name, start, duration, depth."""
    found: Counter[tuple[str, int, int, int]] = Counter()
    stacks: dict[int, list[kymograph.Event]] = {}
    with kymograph.open(path) as capture:
        for event in capture.events():
            stack = stacks.setdefault(event.thread, [])
            if event.kind == "enter":
                stack.append(event)
            elif event.kind == "leave":
                enter = stack.pop()
                assert enter.key == event.key
                found[enter.name, enter.time, event.time - enter.time, len(stack)] += 1
    assert not any(stacks.values())
    return found


SLICES = "select name, ts, dur, depth from slice where category in ('python', 'c', 'gc', 'span')"


def as_calls(rows: Rows) -> Counter[tuple[str, int, int, int]]:
    return Counter((row[0], row[1], row[2], row[3]) for row in rows)


async def task() -> None:
    await asyncio.sleep(0)


async def tasks() -> None:
    await asyncio.gather(*(task() for _ in range(3)))


def work() -> None:
    kymograph.thread_name("wörker")
    fib(9)
    with kymograph.span("größe"):
        sorted([3, 1, 2])


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("perfetto") / "trace.kymo"
    kymograph.start(path)
    try:
        # Calls that began before the recording are left out of the comparison.
        kymograph.metadata("experiment", "the first")
        with kymograph.span("whole"):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            [fib(i) for i in range(5)]
            asyncio.run(tasks())
            gc.collect()
            kymograph.counter("rows", 17.5)
            kymograph.counter("rows", -2)
            kymograph.instant("now")
            kymograph.async_begin("request", 3)
            kymograph.flow_out("job", 7)
            kymograph.flow_in("job", 7)
            kymograph.async_end("request", 3)
    finally:
        kymograph.stop()
    return path


def test_every_call_is_there_with_its_name_times_and_depth(ask: Query, record: Record) -> None:
    with record() as path:
        kymograph.thread_name("main")
        for i in range(300):
            with kymograph.span(f"outer {i % 40}"), kymograph.span("inner"):
                kymograph.span("innermost").__enter__().__exit__(None, None, None)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    (slices,) = ask(path, SLICES)

    assert as_calls(slices) == calls(path)
    assert len(slices) == 903


def test_a_long_thread_is_whole_although_it_is_written_in_pieces(
    ask: Query, record: Record
) -> None:
    with record() as path, kymograph.span("whole"):
        for i in range(35_000):  # more records than fit in two blocks
            with kymograph.span(f"outer {i % 40}"), kymograph.span("inner"):
                pass

    (slices,) = ask(path, SLICES)

    assert as_calls(slices) == calls(path)
    assert len(slices) == 70_001


def test_a_programs_events_are_exported(ask: Query, traced: Path) -> None:
    threads, counters, flows, instants, asyncs, generators, gcs, sources, meta, fibs = ask(
        traced,
        "select name from thread where name is not null order by name",
        "select value, counter_track.name from counter join counter_track "
        "on counter.track_id = counter_track.id order by ts",
        "select o.name, i.name from flow join slice o on o.id = slice_out "
        "join slice i on i.id = slice_in where o.name = 'job'",
        "select name, dur from slice where category = 'instant'",
        "select name, count(*) from slice where category = 'async' group by name order by name",
        "select count(distinct extract_arg(arg_set_id, 'debug.generator')) from slice "
        "where name = 'task' and category = 'python'",
        "select extract_arg(arg_set_id, 'debug.generation'), dur > 0 from slice "
        "where category = 'gc'",
        "select distinct extract_arg(arg_set_id, 'source.file_name'), "
        "extract_arg(arg_set_id, 'source.line_number') from slice where name = 'fib'",
        "select extract_arg(arg_set_id, 'debug.experiment') from slice "
        "where name = 'kymograph: recording'",
        "select count(*), min(dur) from slice where name = 'fib'",
    )
    assert ["MainThread"] in threads and ["wörker"] in threads
    assert counters == [[17.5, "rows"], [-2, "rows"]]
    assert flows == [["job", "job"]]
    assert instants == [["now", 0]]
    assert dict(map(tuple, asyncs))["request"] == 1
    assert dict(map(tuple, asyncs))["task"] == 3
    assert generators == [[3]]
    assert [2, 1] in gcs
    assert sources == [[fib.__code__.co_filename, fib.__code__.co_firstlineno]]
    assert meta == [["the first"]]
    with kymograph.open(traced) as capture:
        recorded = sum(e.kind == "enter" and e.name == "fib" for e in capture.events())
    assert fibs[0][0] == recorded and fibs[0][1] >= 0


def test_perfetto_finds_no_id_of_an_arrow_twice(
    ask: Query, capture_path: Path, tmp_path: Path
) -> None:
    async def work() -> None:
        await asyncio.sleep(0)

    async def creator() -> None:
        await asyncio.create_task(work())

    async def main() -> None:
        for _ in range(50):
            await creator()
        await asyncio.gather(*(creator() for _ in range(50)))

    with kymograph.trace(capture_path):
        asyncio.run(main())
    chrome = tmp_path / "trace.json"
    with kymograph.open(capture_path) as capture:
        capture.export(chrome, "chrome")

    wrong = "select name, value from stats where name like 'flow_%' and value > 0"
    for trace in capture_path, chrome:
        complaints, [[arrows]] = ask(trace, wrong, "select count(*) from flow")
        assert complaints == []
        assert arrows >= 200  # to the start of each task, and from its end


def test_the_wall_clock_is_known(ask: Query, traced: Path) -> None:
    rows = ask(traced, "select clock_name, clock_value from clock_snapshot order by id limit 2")[0]
    with kymograph.open(traced) as capture:
        assert rows == [
            ["MONOTONIC", capture.info.start],
            ["REALTIME", str(capture.info.wall_start)],
        ]


HOSTILE = [
    'say "hi" \\',
    "</script><script>alert(1)</script>",
    "\x01\x1f\x7f\t\n",
    "größe 大きさ 🐍",
    "x" * 10_000,
    "%s%n{}",
    "lone \ud800 surrogate",
]


def test_names_may_hold_anything(ask: Query, record: Record) -> None:
    with record() as path:
        for name in HOSTILE:
            with kymograph.span(name):
                kymograph.instant(name)
                kymograph.counter(name, 1)

    slices, counters = ask(path, SLICES, "select name from counter_track")

    assert as_calls(slices) == calls(path)
    assert sorted(row[0] for row in counters) == sorted({row[0] for row in slices})
    assert {row[0] for row in slices} >= {name for name in HOSTILE if "\ud800" not in name}


def test_texts_of_annotations_are_args(ask: Query, record: Record) -> None:
    texts = [text for text in HOSTILE if "\ud800" not in text]
    with record() as path:
        for text in texts:
            with kymograph.record_function("step", text):
                pass

    (found,) = ask(path, "select extract_arg(arg_set_id, 'debug.args') from slice order by ts")

    assert [row[0] for row in found if row[0] is not None] == texts


def test_a_capture_without_events_is_a_trace(ask: Query, record: Record) -> None:
    with record() as path:
        pass
    assert ask(path, SLICES, "select count(*) from process where pid > 0") == [[], [[1]]]


def test_deep_recursion_is_spread_over_tracks(ask: Query, record: Record) -> None:
    depth = 1700
    with record() as path:
        spans = [kymograph.span(f"level {i}").__enter__() for i in range(depth)]
        for span in reversed(spans):
            span.__exit__(None, None, None)

    slices, tracks = ask(
        path,
        "select name, ts, dur, depth from slice where category = 'span' order by ts",
        "select thread_track.name, max(depth) from slice join thread_track "
        "on track_id = thread_track.id where category = 'span' group by 1 order by min(ts)",
    )

    expected = Counter({(n, s, d, i % 500): c for (n, s, d, i), c in calls(path).items()})
    assert len(slices) == depth
    assert as_calls(slices) == expected
    assert [row[0] for row in tracks[1:]] == [f"calls from depth {i} on" for i in (500, 1000, 1500)]


def test_a_killed_process_leaves_a_trace(ask: Query, capture_path: Path) -> None:
    code = """if True:
        import os, signal, sys, kymograph
        kymograph.start(sys.argv[1], calls=False)
        with kymograph.span("finished"):
            pass
        kymograph.span("open").__enter__()
        kymograph.span("inside").__enter__()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", code, capture_path], timeout=400, check=False)
    assert done.returncode == -signal.SIGKILL

    rows = ask(
        capture_path,
        "select name, dur >= 0, extract_arg(arg_set_id, 'debug.finished') from slice "
        "where category = 'span' order by ts",
    )[0]

    assert rows == [["finished", 1, None], ["open", 1, 0], ["inside", 1, 0]]


def test_gaps_are_reported(ask: Query, record: Record) -> None:
    with record() as path:
        for _ in range(300_000):
            kymograph.instant("tick")
    with path.open("r+b") as file:  # the middle of the file is damaged
        file.seek(path.stat().st_size // 2)
        file.write(bytes(64))
    with kymograph.open(path) as capture:
        lost = [event.id for event in capture.events() if event.kind == "gap"]

    gaps, ticks = ask(
        path,
        "select extract_arg(arg_set_id, 'debug.events'), "
        "extract_arg(arg_set_id, 'debug.reason') from slice where name like 'kymograph: % lost %'",
        "select count(*) from slice where name = 'tick'",
    )

    assert lost and gaps == [[count, "damaged"] for count in lost]
    assert ticks == [[300_000 - sum(lost)]]


def test_a_part_is_cut_out(ask: Query, record: Record) -> None:
    with record() as path, kymograph.span("all"):
        for i in range(5):
            with kymograph.span(f"part {i}"):
                time.sleep(0.01)

    rows = ask(
        path,
        "select name, dur, extract_arg(arg_set_id, 'debug.started'), "
        "extract_arg(arg_set_id, 'debug.finished') from slice where category = 'span' "
        "order by ts, depth",
        options=("--from", "15ms", "--until", "25ms"),
    )[0]

    assert rows[0] == ["all", 10_000_000, 0, 0]
    assert all(dur <= 10_000_000 for _, dur, _, _ in rows)


def test_plain_compressed_and_gzipped_say_the_same(
    ask: Query, traced: Path, tmp_path: Path
) -> None:
    packed, zipped = tmp_path / "a.perfetto-trace", tmp_path / "b.pftrace.gz"
    for output in packed, zipped:
        done = subprocess.run([PROGRAM, "export", "-o", output, traced], timeout=400, check=False)
        assert done.returncode == 0
    plain = gzip.decompress(zipped.read_bytes())
    assert len(plain) > packed.stat().st_size

    query = SLICES + " order by ts, depth, name"
    assert ask(packed, query) == ask(zipped, query)


def test_a_pipe_gets_packets_uncompressed(traced: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "export", "--to", "perfetto", "-o", "-", traced],
        capture_output=True,
        timeout=400,
        check=True,
    )
    assert b"fib" in done.stdout


@pytest.fixture
def merged(record: Record, tmp_path: Path) -> Path:
    """Two captures of this very process: even one process id is two processes then."""
    for name in ("first", "second"):
        with record() as path:
            kymograph.process_name(name)
            with kymograph.span(name):
                pass
        path.rename(tmp_path / f"{name}.kymo")
    both, out = [tmp_path / "first.kymo", tmp_path / "second.kymo"], tmp_path / "merged.kymo"
    subprocess.run([PROGRAM, "merge", *both, "-o", out], check=True, timeout=400)
    return out


def test_processes_of_a_merged_capture_are_kept_apart(ask: Query, merged: Path) -> None:
    (rows,) = ask(
        merged,
        "select process.name, slice.name, pid from slice join thread_track on track_id ="
        " thread_track.id join thread using (utid) join process using (upid) order by 1",
    )

    assert [row[:2] for row in rows] == [["first", "first"], ["second", "second"]]
    assert rows[0][2] != rows[1][2]


def test_processes_of_a_merged_capture_are_in_a_chrome_trace_too(merged: Path) -> None:
    out = merged.with_suffix(".json")
    subprocess.run([PROGRAM, "export", merged, "-o", out], check=True, timeout=400)

    events = json.loads(out.read_text())["traceEvents"]
    pids = {event["name"]: event["pid"] for event in events if event["ph"] == "X"}
    named = {e["args"]["name"]: e["pid"] for e in events if e["name"] == "process_name"}
    assert named == pids and len(set(pids.values())) == 2
