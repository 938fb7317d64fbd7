"""`kymograph export --to parquet`, as pyarrow and DuckDB read it."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Record
from program import PROGRAM

import kymograph

ROOT = Path(__file__).parents[2]
TABLES = ["args", "clock", "counters", "functions", "gaps", "marks", "meta", "slices", "threads"]

Query = Callable[..., list[Any]]

JUDGE = """
import json, sys
import duckdb, pyarrow.parquet
directory, *queries = sys.argv[1:]
base = duckdb.connect()
counts = {}
for table in sorted(__import__("os").listdir(directory)):
    name = table.removesuffix(".parquet")
    base.execute(f"create view {name} as from '{directory}/{table}'")
    counts[name] = pyarrow.parquet.ParquetFile(f"{directory}/{table}").metadata.num_rows
    assert base.execute(f"select count(*) from {name}").fetchone()[0] == counts[name]
print(json.dumps([counts] + [base.execute(query).fetchall() for query in queries]))
"""


def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "export", "--to", "parquet", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
        **options,
    )


@pytest.fixture
def ask(analysis: tuple[str, dict[str, str]], tmp_path: Path) -> Query:
    """`ask(capture, query, ...)`: the rows of each table, and DuckDB's answers."""
    python, environment = analysis

    def answers(path: Path, *queries: str, options: tuple[str, ...] = ()) -> list[Any]:
        output = tmp_path / "tables.parquet"
        done = run("-o", output, *options, path, env=environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        told = subprocess.run(
            [python, "-c", JUDGE, output, *queries],
            capture_output=True,
            encoding="utf-8",
            timeout=400,
            check=False,
        )
        assert told.returncode == 0, told.stderr
        rows: list[Any] = json.loads(told.stdout)
        return rows

    return answers


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
                found[enter.name, enter.time, event.time - enter.time, len(stack)] += 1
    return found


SLICES = "select name, monotonic_ns, dur_ns, depth from slices"


def work() -> None:
    kymograph.thread_name("wörker")
    with kymograph.span("größe"):
        kymograph.counter("rows", 1.5)


def test_tables_hold_what_the_capture_holds(ask: Query, record: Record) -> None:
    with record() as path:
        kymograph.metadata("experiment", "the first")
        for i in range(50):
            with kymograph.span(f"outer {i % 7}"), kymograph.span("inner"):
                kymograph.instant("now")
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        kymograph.flow_out("job", 7)

    counts, slices, joined, parents, counters, marks, threads, meta, wall = ask(
        path,
        SLICES,
        "select count(*) from slices join functions using (function) "
        "join threads using (thread) where slices.name = functions.name and category = 'span'",
        "select count(*) from slices s join slices p on s.parent = p.id where s.name = 'inner' "
        "and p.name like 'outer%' and s.ts_ns >= p.ts_ns and s.depth = p.depth + 1",
        "select c.name, value, t.name from counters c join threads t using (thread)",
        "select kind, name, count(*), max(number) from marks group by all order by kind",
        "select name, thread from threads order by thread",
        "select value from meta where key = 'experiment'",
        "select min(ts_ns - monotonic_ns), max(ts_ns - monotonic_ns) from slices",
    )

    with kymograph.open(path) as capture:
        info = capture.info
        assert counts["functions"] == len(capture.callables)
        assert counts["clock"] == len(capture.snapshots)
    assert sorted(counts) == TABLES
    assert Counter(map(tuple, slices)) == calls(path)
    assert joined == [[101]]
    assert parents == [[50]]
    assert counters == [["rows", 1.5, "wörker"]]
    assert marks == [["flow_out", "job", 1, 7], ["instant", "now", 50, 0]]
    assert threads[1] == ["wörker", 1]
    assert meta == [["the first"]]
    assert wall == [[info.wall_start - info.start] * 2]


def test_numbers_and_texts_are_args(ask: Query, tmp_path: Path) -> None:
    texts = ['größe "3"', "", "plain"]
    path = tmp_path / "trace.kymo"
    kymograph.start(path, c_calls=False)
    for text in texts:
        with kymograph.record_function("step", text):
            pass
    gc.collect()
    kymograph.stop()

    _, found, numbers = ask(
        path,
        "select s.name, a.name, a.value, a.text from args a join slices s using (id) "
        "where a.\"table\" = 'slices' and a.text is not null order by id",
        "select distinct name, text from args where value is not null order by name",
    )

    assert found == [["step", "args", None, text] for text in texts]
    assert numbers == [[name, None] for name in ("collected", "generation", "uncollectable")]


def test_python_calls_are_there(ask: Query, tmp_path: Path) -> None:
    def inner(n: int) -> int:
        return n if n < 2 else inner(n - 1) + inner(n - 2)

    path = tmp_path / "trace.kymo"
    kymograph.start(path)
    inner(12)
    kymograph.stop()

    _, rows = ask(
        path,
        "select count(*), any_value(category), any_value(file), any_value(line) from slices "
        f"join functions using (function) where slices.name = '{inner.__qualname__}'",
    )

    assert rows == [[465, "python", __file__, inner.__code__.co_firstlineno]]


def test_names_may_hold_anything(ask: Query, record: Record) -> None:
    names = ['say "hi" \\', "</script>", "\x01\x1f\n", "大きさ 🐍", "x" * 10_000, "a\ud800b"]
    with record() as path:
        for name in names:
            with kymograph.span(name):
                pass
    (_, rows) = ask(path, "select name from slices order by id")
    assert [row[0] for row in rows][:5] == names[:5]
    assert len(rows) == 6


def test_a_capture_without_events_has_every_table(ask: Query, record: Record) -> None:
    with record() as path:
        pass
    counts, columns = ask(path, "select * from (describe slices)")
    assert sorted(counts) == TABLES
    assert counts["slices"] == counts["marks"] == counts["gaps"] == 0
    assert [row[0] for row in columns][:4] == ["id", "parent", "ts_ns", "monotonic_ns"]


def test_a_killed_process_and_deep_recursion(ask: Query, capture_path: Path) -> None:
    code = """if True:
        import os, signal, sys, kymograph
        kymograph.start(sys.argv[1], calls=False)
        for i in range(3000):
            kymograph.span(f"level {i}").__enter__()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", code, capture_path], timeout=400, check=False)

    _, rows = ask(
        capture_path,
        "select count(*), max(depth), bool_or(finished), bool_and(started) from slices",
    )

    assert rows == [[3000, 2999, False, True]]


def test_gaps_are_reported(ask: Query, record: Record) -> None:
    with record() as path:
        for _ in range(300_000):
            kymograph.instant("tick")
    with path.open("r+b") as file:  # the middle of the file is damaged
        file.seek(path.stat().st_size // 2)
        file.write(bytes(64))
    with kymograph.open(path) as capture:
        lost = [event.id for event in capture.events() if event.kind == "gap"]

    _, gaps, ticks = ask(
        path,
        "select events, reason from gaps",
        "select count(*) from marks where name = 'tick'",
    )

    assert lost and gaps == [[count, "damaged"] for count in lost]
    assert ticks == [[300_000 - sum(lost)]]


def test_a_part_is_cut_out(ask: Query, record: Record) -> None:
    with record() as path, kymograph.span("all"):
        for i in range(5):
            with kymograph.span(f"part {i}"):
                time.sleep(0.01)
    _, rows = ask(
        path,
        "select name, dur_ns, started, finished from slices order by ts_ns, depth",
        options=("--from", "15ms", "--until", "25ms"),
    )
    assert rows[0] == ["all", 10_000_000, False, False]
    assert 1 <= len(rows) - 1 <= 2


# ------------------------------------------------------------------------- what can go wrong


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("kymograph: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_without_pyarrow_one_line_says_what_to_install(record: Record, tmp_path: Path) -> None:
    with record() as path:
        kymograph.instant("x")
    blocked = tmp_path / "blocked"
    (blocked / "pyarrow").mkdir(parents=True)
    (blocked / "pyarrow" / "__init__.py").write_text("raise ImportError")
    environment = {**os.environ, "PYTHONPATH": str(blocked), "KYMO_PYTHON": sys.executable}

    line = refused(run("-o", tmp_path / "out", path, env=environment))

    assert "-m pip install pyarrow" in line
    assert not (tmp_path / "out").exists()


def test_an_older_export_is_replaced_and_nothing_else(
    analysis: tuple[str, dict[str, str]], record: Record, tmp_path: Path
) -> None:
    with record() as path:
        kymograph.instant("x")
    output, environment = tmp_path / "out.parquet", analysis[1]
    assert run("-o", output, path, env=environment).returncode == 0
    assert run("-o", output, path, env=environment).returncode == 0

    (output / "mine.txt").write_text("mine")
    assert "mine.txt" in refused(run("-o", output, path, env=environment))
    file = tmp_path / "file"
    file.write_text("mine")
    assert "not a directory" in refused(run("-o", file, path, env=environment))
    assert "no such directory" in refused(run("-o", tmp_path / "no" / "x", path, env=environment))
    assert "name a directory" in refused(run("-o", "-", path, env=environment))
    assert "name a directory" in refused(run("-o", tmp_path / "x.gz", path, env=environment))

    assert file.read_text() == "mine" and (output / "mine.txt").read_text() == "mine"
    assert {p.name for p in tmp_path.iterdir()} <= {"out.parquet", "file", "trace.kymo"}


def test_an_interrupted_export_leaves_nothing(
    analysis: tuple[str, dict[str, str]], record: Record, tmp_path: Path
) -> None:
    with record() as path:
        for _ in range(600_000):
            kymograph.instant("tick")
    output = tmp_path / "out.parquet"
    process = subprocess.Popen(
        [PROGRAM, "export", "-o", output, path], env=analysis[1], stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if any("part" in entry.name for entry in tmp_path.iterdir()):
            process.send_signal(signal.SIGTERM)
            break
        time.sleep(0.005)
    process.communicate(timeout=400)

    assert process.returncode in (-signal.SIGTERM, 0)
    left = {entry.name for entry in tmp_path.iterdir()} - {"trace.kymo"}
    assert left == (set() if process.returncode else {"out.parquet"})


def test_samples_and_the_frames_of_their_stacks_are_tables(ask: Query) -> None:
    golden = ROOT / "tests" / "golden" / "v1.2-sampled-calls.kymo"
    counts, totals, marks = ask(
        golden,
        "select f.name, sum(periods) from samples s join frames f using (stack) "
        "where f.depth = 0 group by f.name order by 2 desc, 1",
        "select count(*) from marks",
    )
    assert counts["samples"] == 17
    assert counts["frames"] == 27
    assert [tuple(row) for row in totals] == [
        ("[libwork.so.1]", 11),
        ("[python3.13]", 3),
        ("fib", 2),
        ("<module>", 1),
        ("[generated code]", 1),
    ]
    assert [tuple(row) for row in marks] == [(0,)]
