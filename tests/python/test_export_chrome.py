"""The Chrome export: valid JSON in PyTorch's dialect that holds what the capture holds."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import gzip
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import program
import pytest
from conftest import Record
from program import PROGRAM, fib, interrupted

import kymograph

Slice = dict[str, Any]


run = functools.partial(program.run, "export")
refused = functools.partial(program.refused, "export")


def nanoseconds(microseconds: float) -> int:
    return round(microseconds * 1000)


def check_nesting(events: list[Slice]) -> None:
    """On every track slices either follow or enclose one another."""
    tracks: dict[tuple[Any, Any], list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X":
            start, length = nanoseconds(event["ts"]), nanoseconds(event["dur"])
            assert length >= 0
            tracks.setdefault((event["pid"], event["tid"]), []).append((start, -length))
    for slices in tracks.values():
        ends: list[int] = []
        for start, length in sorted(slices):
            while ends and ends[-1] <= start:
                ends.pop()
            assert not ends or start - length <= ends[-1]
            ends.append(start - length)


def export(path: Path, *arguments: object) -> dict[str, Any]:
    """The export of the capture at `path`, checked."""
    done = run("--to", "chrome", "-o", "-", *arguments, path)
    assert (done.returncode, done.stderr) == (0, ""), done
    trace: dict[str, Any] = json.loads(done.stdout)
    check_nesting(trace["traceEvents"])
    return trace


def slices(trace: dict[str, Any], part: str = "") -> list[Slice]:
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and part in e["name"]]


def of_kind(trace: dict[str, Any], ph: str) -> list[Slice]:
    return [e for e in trace["traceEvents"] if e["ph"] == ph]


def squares(n: int) -> Iterator[int]:
    for i in range(n):
        yield i * i


async def task(n: int) -> int:
    await asyncio.sleep(0)
    return n


async def tasks() -> None:
    await asyncio.gather(*(task(i) for i in range(3)))


def work() -> None:
    kymograph.thread_name("worker")
    with kymograph.span("größe"):
        sorted([3, 1, 2])
        [].append(1)
        int("7")


def program() -> None:
    fib(10)
    list(squares(5))
    gc.collect()
    asyncio.run(tasks())
    with kymograph.span("submit"):
        kymograph.flow_out("job", 7)
    kymograph.counter("rows", 17.5)
    kymograph.instant('say "hi"\n')
    kymograph.async_begin("request", 3)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    kymograph.async_end("request", 3)
    kymograph.flow_in("job", 7)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chrome") / "trace.kymo"
    kymograph.start(path)
    kymograph.metadata("experiment", 'the "first"')
    try:
        program()
    finally:
        kymograph.stop()
    return path


@pytest.fixture(scope="module")
def trace(traced: Path) -> dict[str, Any]:
    return export(traced)


# --------------------------------------------------------------------- what it holds


def test_the_file_has_the_keys_of_the_dialect(trace: dict[str, Any], traced: Path) -> None:
    assert trace["schemaVersion"] == 1
    assert trace["deviceProperties"] == []
    assert trace["displayTimeUnit"] == "ms"
    assert trace["experiment"] == 'the "first"'
    base = trace["baseTimeNanoseconds"]
    with kymograph.open(traced) as capture:
        wall = capture.info.wall_start
        assert base <= wall < base + 7889238 * 10**9
        first = min(nanoseconds(e["ts"]) for e in slices(trace))
        assert abs(base + first - wall) < 10**9


def test_the_file_knows_its_own_name(traced: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.json"
    assert run("-o", output, traced).returncode == 0
    assert json.loads(output.read_text("utf-8"))["traceName"] == str(output)


def test_the_rank_is_recorded_when_known(
    record: Record, trace: dict[str, Any], tmp_path: Path
) -> None:
    with record() as path:
        kymograph.metadata("rank", "3")
        kymograph.metadata("world_size", "8")
        kymograph.metadata("backend", "nccl")
    text = run("--to", "chrome", "-o", "-", path).stdout
    told = json.loads(text)

    assert told["distributedInfo"] == {"rank": 3, "world_size": 8, "backend": "nccl"}
    assert '"rank": 3' in text  # tools look for it with a space
    assert "rank" not in told
    assert "distributedInfo" not in trace


def test_a_rank_that_is_not_a_number_is_left_out(record: Record) -> None:
    with record() as path:
        kymograph.metadata("rank", '0, "x": 1')
    assert "distributedInfo" not in export(path)


def test_arrows_of_pytorch_have_its_categories(record: Record) -> None:
    with record() as path:
        for name in "ac2g", "fwdbwd", "mine":
            with kymograph.span("from"):
                kymograph.flow_out(name, 1)
            with kymograph.span("to"):
                kymograph.flow_in(name, 1)

    trace = export(path)

    for ph in "s", "f":
        found = [(e["cat"], e["name"]) for e in of_kind(trace, ph)]
        assert found == [("ac2g", "ac2g"), ("fwdbwd", "fwdbwd"), ("flow", "mine")]


def test_every_call_is_there_with_its_times(trace: dict[str, Any], traced: Path) -> None:
    with kymograph.open(traced) as capture:
        start, wall = capture.info.start, capture.info.wall_start
        events = list(capture.events())
    shift = wall - start - trace["baseTimeNanoseconds"]
    enters = Counter(e.time + shift for e in events if e.kind == "enter")

    found = Counter(nanoseconds(e["ts"]) for e in slices(trace))

    assert sum(found.values()) == sum(enters.values())
    assert found == enters


def test_the_names_of_callables_begin_with_the_function(trace: dict[str, Any]) -> None:
    names = {e["name"] for e in slices(trace)}
    line = fib.__code__.co_firstlineno

    assert f"fib ({fib.__code__.co_filename}:{line})" in names
    assert "sorted (builtins)" in names
    assert "list.append (builtins)" in names
    assert "Python GC" in names
    if sys.version_info >= (3, 12):
        assert "int (builtins)" in names


def test_every_event_belongs_to_the_process(trace: dict[str, Any]) -> None:
    """A second process, made of one event, keeps viewers from opening on the calls."""
    assert len({e["pid"] for e in trace["traceEvents"]}) == 1
    assert not [e for e in trace["traceEvents"] if e.get("s") == "g"]


def test_categories_distinguish_python_from_spans(trace: dict[str, Any]) -> None:
    for event in slices(trace):
        python = "Python id" in event["args"]
        assert event["cat"] == ("python_function" if python else "user_annotation")
    assert {e["name"] for e in slices(trace) if e["cat"] == "user_annotation"} == {
        "größe",
        "submit",
    }


def test_ids_are_unique_and_parents_enclose(trace: dict[str, Any]) -> None:
    python = {e["args"]["Python id"]: e for e in slices(trace) if "Python id" in e["args"]}
    assert len(python) == sum(1 for e in slices(trace) if e["cat"] == "python_function")

    for event in python.values():
        parent = event["args"].get("Python parent id")
        if parent is None:
            continue
        above = python[parent]
        assert above["tid"] == event["tid"] and parent < event["args"]["Python id"]
        assert nanoseconds(above["ts"]) <= nanoseconds(event["ts"])
        assert nanoseconds(above["ts"]) + nanoseconds(above["dur"]) >= nanoseconds(
            event["ts"]
        ) + nanoseconds(event["dur"])
    inner = [e for e in slices(trace, "fib (") if e["args"]["Python parent id"] in python]
    parents = Counter(python[e["args"]["Python parent id"]]["name"] for e in inner)
    assert parents[inner[0]["name"]] == len(inner) - 1


def test_ids_follow_the_order_of_time_on_a_thread(trace: dict[str, Any]) -> None:
    last: dict[int, tuple[int, int]] = {}
    for event in sorted(
        (e for e in slices(trace) if "Python id" in e["args"]), key=lambda e: e["args"]["Python id"]
    ):
        start = nanoseconds(event["ts"])
        assert start >= last.get(event["tid"], (0, 0))[0]
        last[event["tid"]] = (start, event["args"]["Python id"])


def test_collections_carry_their_counts(trace: dict[str, Any]) -> None:
    explicit = [e for e in slices(trace, "Python GC") if e["args"].get("generation") == 2]

    assert explicit
    assert {"generation", "collected", "uncollectable"} <= explicit[-1]["args"].keys()


def test_slices_of_a_generator_share_an_id(trace: dict[str, Any]) -> None:
    parts = slices(trace, "squares (")

    assert len({e["args"]["Generator id"] for e in parts}) == 1
    assert [e["args"].get("Enter") for e in parts] == [None] + ["resume"] * 5
    assert [e["args"].get("Leave") for e in parts] == ["yield"] * 5 + [None]


def test_marks_have_their_forms(trace: dict[str, Any]) -> None:
    instants = [e for e in of_kind(trace, "i") if e["cat" if "cat" in e else "ph"] != "kymograph"]
    # A busy machine may stop the event loop of the program for a while.
    assert [e["name"] for e in instants if e["name"] != "loop blocked"] == ['say "hi"\n']
    (counter,) = of_kind(trace, "C")
    assert (counter["name"], counter["args"]) == ("rows", {"value": 17.5})


def test_arrows_and_async_spans_have_both_ends(trace: dict[str, Any]) -> None:
    def ends(ph: str, name: str) -> list[tuple[Any, ...]]:
        return [(e["cat"], e["name"], e["id"]) for e in of_kind(trace, ph) if e["name"] == name]

    assert ends("s", "job") == ends("f", "job") == [("flow", "job", 7)]
    assert all(e["bp"] == "e" for e in of_kind(trace, "f"))
    assert len(ends("b", "request")) == 1
    assert ends("b", "request") == ends("e", "request")


def test_tasks_and_their_waits_share_a_lane(trace: dict[str, Any]) -> None:
    begun = [e for e in of_kind(trace, "b") if e["name"] == "task"]
    waits = [e for e in of_kind(trace, "b") if e["name"] == "await sleep"]
    ready = [e for e in of_kind(trace, "b") if e["name"] == "ready"]

    assert len(begun) == 3
    assert {e["id"] for e in begun} == {e["id"] for e in waits}
    assert {e["id"] for e in begun} < {e["id"] for e in ready}
    line = task.__code__.co_firstlineno + 1
    assert {e["args"]["place"] for e in waits} == {f"{__file__}:{line}"}


def test_threads_and_the_process_are_named(trace: dict[str, Any]) -> None:
    named = {e["tid"]: e["args"]["name"] for e in of_kind(trace, "M") if e["name"] == "thread_name"}
    order = [
        e["args"]["sort_index"] for e in of_kind(trace, "M") if e["name"] == "thread_sort_index"
    ]

    assert named[os.getpid()]
    assert "worker" in named.values()
    assert {e["tid"] for e in slices(trace)} <= named.keys()
    assert order == sorted(set(order))
    assert {e["pid"] for e in of_kind(trace, "X")} == {os.getpid()}
    assert [e["args"]["name"] for e in of_kind(trace, "M") if e["name"] == "process_name"]


def test_calls_open_at_either_end_are_marked(trace: dict[str, Any]) -> None:
    opened = [e["name"] for e in slices(trace) if e["args"].get("started") is False]
    unfinished = [e["name"] for e in slices(trace) if e["args"].get("finished") is False]

    assert any("traced" in name for name in opened)  # the fixture that started the session
    assert any("traced" in name for name in unfinished)
    assert not any("End lost" in e["args"] for e in slices(trace))


def test_an_operator_that_outlives_the_call_it_began_in_is_one_event(capture_path: Path) -> None:
    kymograph.start(capture_path)
    with contextlib.ExitStack() as stack:
        stack.enter_context(kymograph.op("step"))
        work()
    kymograph.stop()

    found = [e for e in slices(export(capture_path)) if e["name"].endswith("step")]
    assert [e["cat"] for e in found if e["name"] == "step"] == ["cpu_op"]
    parts = {(e["name"], e["cat"]) for e in found if e["name"] != "step"}
    assert parts == {("part: step", "user_annotation_part")}


def test_a_part_of_the_time_is_cut_at_its_ends(traced: Path, trace: dict[str, Any]) -> None:
    part = export(traced, "--from", "500us", "--until", "1500us")

    starts = [nanoseconds(e["ts"]) for e in slices(part)]
    ends = [nanoseconds(e["ts"]) + nanoseconds(e["dur"]) for e in slices(part)]
    assert max(ends) - min(starts) == 1000000
    assert 0 < len(slices(part)) < len(slices(trace))


def test_one_thread_can_be_chosen(traced: Path) -> None:
    worker = export(traced, "-t", "worker")

    assert len({e["tid"] for e in slices(worker)}) == 1
    assert slices(worker, "größe")


@pytest.mark.parametrize(
    "name",
    [
        'quote " backslash \\ slash /',
        "control \x01\x02\t\n\r\x1f\x7f",
        "größe 名前 😀 \u202e\u2028",
        "lone \ud800 surrogate \udfff",
        "</script>",
        "x" * 70000,
    ],
    ids=["quotes", "controls", "unicode", "surrogates", "script", "long"],
)
def test_any_name_gives_valid_json(tmp_path: Path, name: str) -> None:
    path = tmp_path / "trace.kymo"
    kymograph.start(path, calls=False)
    kymograph.thread_name(name[:100])
    kymograph.metadata("name", name)
    with kymograph.span(name):
        kymograph.instant(name)
        kymograph.counter(name, 1)
        kymograph.flow_out(name, 1)
        kymograph.async_begin(name, 1)
    kymograph.stop()
    with kymograph.open(path) as capture:
        recorded = next(iter(capture.events())).name

    found = export(path)

    assert [e["name"] for e in slices(found)] == [recorded]
    assert sum(e["name"] == recorded for e in found["traceEvents"]) == 5


@pytest.mark.parametrize("value", [0, -1, 1.5, 1e300, 5e-324, 2**53, -(2.0**70), 0.1])
def test_counters_keep_their_values(tmp_path: Path, value: float) -> None:
    path = tmp_path / "trace.kymo"
    kymograph.start(path, calls=False)
    kymograph.counter("value", value)
    kymograph.stop()

    assert of_kind(export(path), "C")[0]["args"] == {"value": value}


def test_values_json_does_not_have_become_strings(tmp_path: Path) -> None:
    path = tmp_path / "trace.kymo"
    kymograph.start(path, calls=False)
    for value in (float("nan"), float("inf"), -float("inf")):
        kymograph.counter("value", value)
    kymograph.stop()

    values = [e["args"]["value"] for e in of_kind(export(path), "C")]
    assert values == ["NaN", "Infinity", "-Infinity"]


def test_a_capture_without_events_is_a_valid_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.kymo"
    kymograph.start(path, calls=False)
    kymograph.stop()

    assert slices(export(path)) == []


def test_the_capture_of_a_killed_program_is_exported(tmp_path: Path) -> None:
    path = tmp_path / "killed.kymo"
    code = (
        "import kymograph, os, signal, sys\n"
        "def deep(n):\n"
        "    if n: deep(n - 1)\n"
        "    else: os.kill(os.getpid(), signal.SIGKILL)\n"
        "kymograph.start(sys.argv[1])\n"
        "deep(20)\n"
    )
    subprocess.run([sys.executable, "-c", code, path], check=False)

    deep = slices(export(path), "deep (")

    assert len(deep) == 21
    assert all(e["args"]["finished"] is False for e in deep)


# --------------------------------------------------------------------- the file itself


def test_the_file_takes_the_name_of_the_capture(traced: Path, tmp_path: Path) -> None:
    capture = tmp_path / "run.kymo"
    capture.write_bytes(traced.read_bytes())

    done = run("--to", "chrome", capture)

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(f"kymograph: wrote {tmp_path / 'run.json'}, ")
    assert json.loads((tmp_path / "run.json").read_text("utf-8"))["traceEvents"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.json", "run.kymo"]


def test_the_extension_selects_the_format_and_the_compression(traced: Path, tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.json", tmp_path / "a.json.gz"

    assert run("-o", plain, traced).returncode == 0
    assert run("-o", packed, traced).returncode == 0

    unpacked = gzip.decompress(packed.read_bytes())
    assert unpacked.replace(b'a.json.gz"', b'a.json"') == plain.read_bytes()
    assert packed.stat().st_size < plain.stat().st_size / 4


def test_an_older_export_is_replaced(traced: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    assert run("-o", out, "--until", "1us", traced).returncode == 0
    before = out.read_text("utf-8")

    assert run("-o", out, traced).returncode == 0
    assert len(out.read_text("utf-8")) > len(before)

    assert json.loads(out.read_text("utf-8"))


def test_the_capture_itself_is_never_overwritten(traced: Path, tmp_path: Path) -> None:
    capture = tmp_path / "trace.json"
    capture.write_bytes(traced.read_bytes())
    link = tmp_path / "link.json"
    link.symlink_to(capture)

    assert "the capture itself" in refused("-o", capture, capture)
    assert "the capture itself" in refused("-o", link, capture)
    assert capture.read_bytes() == traced.read_bytes()


def test_a_full_disk_is_one_line(traced: Path) -> None:
    assert "No space left" in refused("--to", "chrome", "-o", "/dev/full", traced)


def test_a_disk_that_fills_up_leaves_nothing(traced: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.json"

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    message = refused("-o", out, traced, preexec_fn=small_files)

    assert message == f"cannot write {out}: File too large"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_export_leaves_nothing(tmp_path: Path, number: int) -> None:
    capture, out = tmp_path / "large.kymo", tmp_path / "large.json.gz"
    kymograph.start(capture, c_calls=False)
    for _ in range(40):
        fib(16)
    kymograph.stop()

    interrupted(tmp_path, number, "export", "-o", out, capture)


def test_a_reader_that_goes_away_is_not_an_error(traced: Path) -> None:
    with subprocess.Popen(
        [PROGRAM, "export", "--to", "chrome", "-o", "-", traced],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no format given"),
        (["--to", "cuneiform"], "unknown format --to cuneiform"),
        (["-o", "a.tablet"], "cannot tell the format from -o a.tablet"),
        (["-o", "/nonexistent/a.json"], "/nonexistent/a.json: no such directory"),
        (["-o", "/", "--to", "chrome"], "/: this is a directory"),
        (["--to", "chrome", "--from", "soon"], "--from soon is not a time"),
        (["--to", "chrome", "--from", "2", "--until", "1"], "--from 2 is later than --until 1"),
        (["--to", "chrome", "-t", "nobody"], "no thread 'nobody'"),
    ],
)
def test_wrong_usage_is_one_line_that_names_it(
    traced: Path, arguments: list[str], words: str
) -> None:
    assert words in refused(*arguments, traced)


def test_context_managers_around_spans_nest(tmp_path: Path) -> None:
    @contextlib.contextmanager
    def region() -> Iterator[None]:
        with kymograph.span("region span"):
            yield

    path = tmp_path / "trace.kymo"
    kymograph.start(path)
    with region():
        fib(3)
    kymograph.stop()

    found = export(path)

    longest = max(slices(found, "region span"), key=lambda e: e["dur"])
    outer_fib = max(slices(found, "fib ("), key=lambda e: e["dur"])
    assert longest["ts"] <= outer_fib["ts"]
    assert longest["ts"] + longest["dur"] >= outer_fib["ts"] + outer_fib["dur"]
    assert not re.search("lost", json.dumps(found))
