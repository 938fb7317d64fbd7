"""`kymograph export` to pprof, pstats, callgrind, collapsed stacks: judged by what reads them."""

from __future__ import annotations

import asyncio
import gc
import gzip
import marshal
import os
import pstats
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import RunCode
from costs import Costs, add_up
from judges import judge
from program import PROGRAM, fib

import kymograph

FORMATS = {
    "html": ".html",
    "speedscope": ".speedscope.json",
    "pprof": ".pb.gz",
    "collapsed": ".collapsed",
    "pstats": ".pstats",
    "callgrind": ".callgrind",
}
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--",
    'say "hi"; \\ done',
    "two\nlines\r\n",
    "\x00\x07\x1b[31m",
    "größe 測試 🎉",
    "\ud800 alone \udc80",
    "\u2028\u2029\u202eright to left",
    "(1) 12",
    "x" * 10_000,
]


def export(path: Path, name: str, *arguments: object) -> Path:
    """The export of the capture at PATH that is called NAME, which tells its format."""
    output = path.with_name(name)
    done = subprocess.run(
        [PROGRAM, "export", "-o", output, *map(str, arguments), path],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done
    assert done.stderr.startswith(f"kymograph: wrote {output}, "), done
    return output


def squares(n: int) -> Iterator[int]:
    for i in range(n):
        yield i * i


def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


def odd(n: int) -> bool:
    return n != 0 and even(n - 1)


async def task(n: int) -> int:
    await asyncio.sleep(0)
    return n


async def tasks() -> None:
    await asyncio.gather(*(task(i) for i in range(3)))


def work() -> None:
    kymograph.thread_name("worker")
    with kymograph.span("größe"):
        sorted([3, 1, 2], key=lambda x: -x)
        fib(5)


def program() -> None:
    fib(10)
    even(9)
    sum(squares(5))
    gc.collect()
    asyncio.run(tasks())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("formats") / "trace.kymo"
    kymograph.start(path)
    try:
        program()
    finally:
        kymograph.stop()
    return path


@pytest.fixture(scope="module")
def costs(traced: Path) -> Costs:
    return add_up(traced)


def record_hostile(path: Path) -> Path:
    """A capture of functions, files, spans and a thread with the names of HOSTILE."""
    kymograph.start(path)
    try:
        kymograph.thread_name(HOSTILE[0])
        for name in HOSTILE:
            plain = name.replace("\x00", "").encode("utf-8", "replace").decode()
            space: dict[str, Any] = {}
            exec(compile("def f():\n return sum((1, 2))", plain, "exec"), space)
            space["f"].__code__ = space["f"].__code__.replace(co_name=plain)
            with kymograph.span(name):
                space["f"]()
    finally:
        kymograph.stop()
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_hostile(tmp_path_factory.mktemp("hostile") / "trace.kymo")


def record_killed(run_code: RunCode, path: Path) -> Path:
    """A capture whose process was killed in the middle of its calls."""
    code = """if True:
        import os, signal, sys, kymograph
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)
        def main():
            fib(12)
            os.kill(os.getpid(), signal.SIGKILL)
        kymograph.start(sys.argv[1])
        main()
    """
    done = run_code(code, path, check=False)
    assert done.returncode == -signal.SIGKILL
    return path


def record_gap(path: Path) -> Path:
    """A capture with records missing: a part of the file is not what was written."""
    kymograph.start(path, calls=False)
    for i in range(200_000):
        with kymograph.span("outer"), kymograph.span(f"inner {i % 97}"):
            pass
    kymograph.stop()
    data = bytearray(path.read_bytes())
    for part in (0.4, 0.5, 0.6):  # one of them may hit a summary, which costs nothing
        at = int(len(data) * part)
        data[at : at + 64] = bytes(64)
    path.write_bytes(data)
    with kymograph.open(path) as capture:
        assert any(event.kind == "gap" for event in capture.events())
    return path


# ---- pstats


def stats_of(path: Path) -> dict[tuple[str, int, str], Any]:
    stats: dict[tuple[str, int, str], Any] = pstats.Stats(str(path)).stats  # type: ignore[attr-defined]
    return stats


def nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


def test_pstats_has_the_figures_of_every_function_and_its_callers(
    traced: Path, costs: Costs
) -> None:
    stats = stats_of(export(traced, "a.pstats"))
    python = {f for f in costs.functions if f[1] > 0}
    assert {key for key in stats if key[0] != "~"} == python
    for function in python:
        primitive, calls, own, total, callers = stats[function]
        cost = costs.functions[function]
        assert (calls, primitive) == (cost.calls, cost.primitive), function
        assert (nanoseconds(own), nanoseconds(total)) == (cost.self, cost.total), function
        wanted = {a: c for (a, b), c in costs.edges.items() if b == function and a in python}
        assert {key for key in callers if key[0] != "~"} == set(wanted)
        for caller, cost in wanted.items():
            calls, primitive, own, total = callers[caller]
            assert (calls, primitive) == (cost.calls, cost.primitive), (caller, function)
            assert (nanoseconds(own), nanoseconds(total)) == (cost.self, cost.total)
    assert sum(nanoseconds(row[2]) for row in stats.values()) == sum(costs.by_name().values())


def test_pstats_names_what_is_written_in_c_as_cprofile_does(traced: Path) -> None:
    stats = stats_of(export(traced, "b.prof"))
    names = {key[2] for key in stats if key[:2] == ("~", 0)}
    assert {"<built-in method builtins.sum>", "<built-in method gc.collect>"} <= names
    assert "größe" in names
    assert any(re.fullmatch(r"<method '\w+' of '[\w.]+' objects>", name) for name in names)


def test_pstats_prints(traced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = export(traced, "c.pstats")
    stats = pstats.Stats(str(path))
    stats.sort_stats("cumulative").print_stats()
    stats.print_callers()
    stats.print_callees()
    stats.add(str(path))
    printed = capsys.readouterr().out
    assert "192/2" in printed and "(fib)" in printed  # fib(10), and fib(5) on the other thread


# ---- pprof


def pprof(path: Path, *options: str) -> str:
    done = subprocess.run(
        [*judge("pprof"), "-symbolize=none", *options, str(path)],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
        env={**os.environ, "PPROF_TMPDIR": str(path.parent)},
    )
    assert done.returncode == 0, done
    return done.stdout


def pprof_top(path: Path, index: str, unit: str) -> dict[str, tuple[int, int]]:
    """By name: flat and cumulative value."""
    text = pprof(
        path,
        "-top",
        f"-sample_index={index}",
        f"-unit={unit}",
        "-nodecount=100000",
        "-nodefraction=0",
        "-edgefraction=0",
    )
    rows = {}
    for line in text.split("flat%", 1)[1].splitlines()[1:]:
        flat, _, _, cumulative, _, name = line.split(None, 5)
        rows[name.strip()] = (
            int(flat.removesuffix(unit)),
            int(cumulative.removesuffix(unit)),
        )
    return rows


@pytest.mark.native
def test_pprof_says_what_the_capture_says(traced: Path, costs: Costs) -> None:
    path = export(traced, "a.pb.gz")
    rows = pprof_top(path, "wall", "ns")
    assert {name: flat for name, (flat, _) in rows.items() if flat} == costs.by_name()
    recursive = next(f for f in costs.functions if f[2] == "fib")
    assert rows["fib"][1] == costs.functions[recursive].total  # recursion counts once
    calls = pprof_top(path, "calls", "count")
    assert {name: flat for name, (flat, _) in calls.items() if flat} == costs.by_name("calls")
    assert "Type: wall" in pprof(path, "-top")
    tags = pprof(path, "-tags")
    assert "thread: Total" in tags and "worker" in tags and "thread_id: Total" in tags
    raw = pprof(path, "-raw")
    assert "PeriodType: wall nanoseconds" in raw and "Period: 1" in raw
    assert re.search(rf"fib {re.escape(fib.__code__.co_filename)}:\d+", raw)


# ---- callgrind


@pytest.mark.native
def test_callgrind_annotate_says_what_the_capture_says(traced: Path, costs: Costs) -> None:
    path = export(traced, "callgrind.out.1")
    done = subprocess.run(
        [*judge("callgrind"), "--threshold=100", "--auto=no", str(path)],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    own: Counter[str] = Counter()
    for number, name in re.findall(r"^ *([\d,]+) \([^)]*%\)  .*?:(.*)$", done.stdout, re.M):
        own[name.removesuffix(" []")] += int(number.replace(",", ""))
    assert own == costs.by_name()
    total = sum(costs.by_name().values())
    assert re.search(rf"^{total:,} .*PROGRAM TOTALS$", done.stdout, re.M)


@pytest.mark.native
def test_callgrind_has_the_calls_of_every_caller(traced: Path, costs: Costs) -> None:
    text = export(traced, "d.callgrind").read_text("utf-8")
    names: dict[str, str] = {}
    edges: Counter[tuple[str, str]] = Counter()
    caller = callee = ""
    for line in text.splitlines():
        if match := re.fullmatch(r"(c?fn)=(\(\d+\))(?: (.*))?", line):
            kind, number, name = match.groups()
            if name is not None:
                names[number] = name
            if kind == "fn":
                caller = names[number]
            else:
                callee = names[number]
        elif match := re.fullmatch(r"calls=(\d+) \d+", line):
            edges[caller, callee] += int(match[1])
    wanted: Counter[tuple[str, str]] = Counter()
    for (a, b), cost in costs.edges.items():
        wanted[a[2], b[2]] += cost.calls
    assert edges == wanted


# ---- collapsed stacks


@pytest.mark.native
def test_collapsed_stacks_add_up(traced: Path, costs: Costs) -> None:
    paths: Counter[tuple[str, ...]] = Counter()
    for line in export(traced, "a.folded").read_text("utf-8").splitlines():
        stack, _, time = line.rpartition(" ")
        paths[tuple(stack.split(";")[1:])] += int(time)
    wanted: Counter[tuple[str, ...]] = Counter()
    for path, own in costs.paths.items():
        names = (
            name + (f" ({file}:{at})" if at else f" ({file})" if file else "")
            for file, at, name in path
        )
        wanted[tuple(names)] += own
    assert paths == +wanted


# ---- all of them


@pytest.mark.native
def test_the_extension_selects_the_format(traced: Path) -> None:
    for name, extension in FORMATS.items():
        explicit = export(traced, "explicit.out", "--to", name)
        assert export(traced, "implicit" + extension).read_bytes() == explicit.read_bytes()
        if name != "pprof":
            packed = export(traced, "implicit" + extension + ".gz")
            assert gzip.decompress(packed.read_bytes()) == explicit.read_bytes()


@pytest.mark.native
def test_the_help_lists_every_format() -> None:
    done = subprocess.run(
        [PROGRAM, "export", "--help"], capture_output=True, encoding="utf-8", check=True
    )
    part = done.stdout.split("\nFormats\n")[1]
    assert {*FORMATS, "chrome"} <= set(re.findall(r"^  (\w+)  ", part, re.M))


@pytest.mark.native
def test_a_thread_and_a_part_can_be_chosen(traced: Path) -> None:
    with kymograph.open(traced) as capture:
        worker = next(t for t in capture.threads if t.name == "worker")
    wanted = add_up(traced, worker.index)
    path = export(traced, "worker.pstats", "--thread", "worker")
    assert sum(row[1] for row in stats_of(path).values()) == sum(wanted.by_name("calls").values())
    nothing = export(traced, "nothing.collapsed", "--until", "0ns")
    assert nothing.read_bytes() == b""


def readable(path: Path) -> None:
    """Every format of the capture at PATH is read by what it is for."""
    stats = stats_of(export(path, "odd.pstats"))
    text = export(path, "odd.collapsed").read_text("utf-8")
    own = sum(nanoseconds(row[2]) for row in stats.values())
    assert sum(int(line.rpartition(" ")[2]) for line in text.splitlines()) == own
    top = pprof(export(path, "odd.pb.gz"), "-top", "-unit=ns", "-nodecount=5")
    assert f"Total samples = {own}ns" in top
    done = subprocess.run(
        [*judge("callgrind"), "--auto=no", str(export(path, "odd.callgrind"))],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done
    assert re.search(rf"^{own:,} .*PROGRAM TOTALS$", done.stdout, re.M)


@pytest.mark.native
def test_hostile_names_are_read_everywhere(hostile: Path) -> None:
    readable(hostile)
    names = {key[2] for key in stats_of(export(hostile, "odd.pstats"))}
    assert {"<!--", "two\nlines\r\n", "größe 測試 🎉", "x" * 10_000} <= names
    assert "\\ud800 alone \\udc80" in names


@pytest.mark.native
def test_a_killed_recording_is_read_everywhere(run_code: RunCode, capture_path: Path) -> None:
    path = record_killed(run_code, capture_path)
    readable(path)
    assert any(key[2] == "fib" for key in stats_of(export(path, "odd.pstats")))


@pytest.mark.native
def test_a_recording_with_gaps_is_read_everywhere(capture_path: Path) -> None:
    readable(record_gap(capture_path))


@pytest.mark.native
def test_an_empty_recording_is_read_where_a_reader_allows_it(capture_path: Path) -> None:
    kymograph.start(capture_path, calls=False)
    kymograph.stop()
    assert marshal.loads(export(capture_path, "a.pstats").read_bytes()) == {}
    assert export(capture_path, "a.collapsed").read_bytes() == b""
    assert "Type: wall" in pprof(export(capture_path, "a.pb.gz"), "-top")


@pytest.mark.native
def test_deep_recursion_is_read_everywhere(capture_path: Path) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)

    def deep(n: int) -> None:
        if n:
            deep(n - 1)

    try:
        kymograph.start(capture_path)
        thread = threading.Thread(target=deep, args=(3000,))
        size = threading.stack_size(256 << 20)
        thread.start()
        thread.join()
        threading.stack_size(size)
    finally:
        kymograph.stop()
        sys.setrecursionlimit(limit)
    readable(capture_path)
    stats = stats_of(export(capture_path, "odd.pstats"))
    row = next(row for key, row in stats.items() if key[2].endswith("deep"))
    assert row[:2] == (1, 3001)


# ---- Python


@pytest.mark.parametrize("name", FORMATS)
def test_python_exports_the_same(traced: Path, name: str) -> None:
    path = traced.with_name("python" + FORMATS[name])
    with kymograph.open(traced) as capture:
        capture.export(path)
        first = path.read_bytes()
        capture.export(str(path), format=name)
        assert path.read_bytes() == first
    assert first == export(traced, "command" + FORMATS[name]).read_bytes()


def test_python_exports_a_part(traced: Path) -> None:
    path = traced.with_name("part.collapsed")
    with kymograph.open(traced) as capture:
        middle = (capture.info.start + capture.info.end) // 2
        worker = next(t for t in capture.threads if t.name == "worker")
        times = []
        for start, end in ((None, middle), (middle, None), (None, None)):
            capture.export(path, thread=0, start=start, end=end)
            lines = path.read_text("utf-8").splitlines()
            times.append(sum(int(line.rpartition(" ")[2]) for line in lines))
        assert times[0] + times[1] == times[2]
        capture.export(path, thread=worker)
        assert path.read_text("utf-8").startswith("worker;")


def test_python_explains_what_it_cannot_do(traced: Path, tmp_path: Path) -> None:
    with kymograph.open(traced) as capture:
        with pytest.raises(ValueError, match=r"cannot tell the format from 'a\.tablet'.*'pprof'"):
            capture.export("a.tablet")
        with pytest.raises(ValueError, match=r"unknown format 'cuneiform'.*'html'"):
            capture.export("a.html", "cuneiform")
        with pytest.raises(TypeError, match="format must be a str, not int"):
            capture.export("a.html", 3)  # type: ignore[arg-type]
        with pytest.raises(FileNotFoundError):
            capture.export(tmp_path / "no" / "a.html")
        with pytest.raises(IndexError, match="no thread 99"):
            capture.export(tmp_path / "a.html", thread=99)
    with pytest.raises(ValueError, match="is closed"):
        capture.export(tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []


def test_other_threads_run_while_python_exports(tmp_path: Path) -> None:
    path = tmp_path / "long.kymo"
    kymograph.start(path, calls=False)
    for _ in range(150_000):
        with kymograph.span("a"):
            pass
    kymograph.stop()
    done = threading.Event()
    turns = 0

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            time.sleep(0.001)

    def turns_meanwhile(capture: kymograph.Capture) -> int:
        before = turns
        capture.export(tmp_path / "a.speedscope.json.gz")
        return turns - before

    thread = threading.Thread(target=count)
    with kymograph.open(path) as capture:
        thread.start()
        # A machine with much else to do may let the thread wait once, but not always.
        most = max(turns_meanwhile(capture) for _ in range(5))
        done.set()
        thread.join()
    assert most > 5


def test_ctrl_c_ends_an_export_and_leaves_nothing(run_code: RunCode, tmp_path: Path) -> None:
    code = """if True:
        import os, signal, sys, threading, kymograph
        from pathlib import Path
        path = Path(sys.argv[1])
        kymograph.start(path / "a.kymo", calls=False)
        for _ in range(400_000):
            with kymograph.span("a"):
                pass
        kymograph.stop()
        with kymograph.open(path / "a.kymo") as capture:
            threading.Timer(0.03, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                for _ in range(50):
                    capture.export(path / "a.speedscope.json.gz")
                raise SystemExit("not interrupted")
            except KeyboardInterrupt:
                pass
            names = {p.name for p in path.iterdir()} - {"a.kymo", "a.speedscope.json.gz"}
            assert names == set(), names
            capture.export(path / "b.collapsed")
            assert (path / "b.collapsed").stat().st_size
    """
    run_code(code, tmp_path)
