"""`kymograph query`: SQL over a capture gives what the events say, and can only read."""

from __future__ import annotations

import contextlib
import csv
import functools
import gc
import io
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import program
import pytest
from conftest import RunCode
from program import PROGRAM, fib, on_terminal

import kymograph

pytestmark = pytest.mark.native

ROOT = Path(__file__).resolve().parents[2]


run = functools.partial(program.run, "query")
good = functools.partial(program.good, "query")
bad = functools.partial(program.refused, "query")

if "without SQLite" in run("--tables").stderr:
    pytest.skip("this kymograph was built without SQLite", allow_module_level=True)


def rows(path: Path, sql: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in good("--json", path, sql).splitlines()]


def value(path: Path, sql: str) -> Any:
    (row,) = rows(path, sql)
    (only,) = row.values()
    return only


def squares(n: int) -> Iterator[int]:
    for i in range(n):
        yield i * i


def fail() -> None:
    raise ValueError("as planned")


def work() -> None:
    kymograph.thread_name("worker")
    for i in range(20):
        kymograph.counter("round", i * 1.5)
        fib(6)
        with contextlib.suppress(ValueError):
            fail()


def program() -> None:
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    with kymograph.span("main part"):
        fib(12)
        sum(squares(10))
        time.sleep(0.02)
        gc.collect()
    kymograph.instant("half-way")
    for thread in threads:
        thread.join()


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("query") / "trace.kymo"
    kymograph.start(path)
    program()
    kymograph.stop()
    return path


def report(path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [PROGRAM, "report", "--json", str(path)], capture_output=True, check=True, timeout=400
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# ------------------------------------------------------------------------ tables


def test_slices_and_functions_say_what_the_report_says(traced: Path) -> None:
    wanted = report(traced)

    assert value(traced, "SELECT sum(self_ns) FROM slices") == wanted["time_in_calls_ns"]
    fields = ("name", "calls", "resumes", "self_ns", "total_ns", "mean_ns", "p99_ns")
    got = rows(traced, f"SELECT {', '.join(fields)} FROM functions")
    assert sorted(map(repr, got)) == sorted(
        repr({key: row[key] for key in fields}) for row in wanted["functions"]
    )
    from_slices = rows(
        traced,
        "SELECT name, sum(entered NOT IN ('resume', 'throw')) AS calls, sum(self_ns) AS self_ns "
        "FROM slices GROUP BY function",
    )
    assert sorted(map(repr, from_slices)) == sorted(
        repr({key: row[key] for key in ("name", "calls", "self_ns")}) for row in wanted["functions"]
    )


def test_every_slice_lies_within_its_parent(traced: Path) -> None:
    wrong = rows(
        traced,
        "WITH s AS MATERIALIZED (SELECT * FROM slices) "
        "SELECT c.id FROM s c LEFT JOIN s p ON p.id = c.parent "
        "WHERE (c.parent IS NULL) != (c.depth = 0) OR c.parent IS NOT NULL AND (p.id IS NULL "
        "OR c.depth != p.depth + 1 OR c.start_ns < p.start_ns OR c.end_ns > p.end_ns "
        "OR c.thread != p.thread) OR c.dur_ns != c.end_ns - c.start_ns",
    )

    assert wrong == []
    assert value(traced, "SELECT count(*) = count(DISTINCT id) FROM slices") == 1


@pytest.mark.parametrize(
    "condition",
    [
        "{t} >= {a}",
        "{t} > {a}",
        "{t} < {b}",
        "{t} <= {b}",
        "{t} BETWEEN {a} AND {b}",
        "{t} >= {a} + 0.5 AND {t} < {b} + 0.5",
        "{t} = (SELECT min(start_ns) FROM slices WHERE depth = 3)",
        "{t} >= {a} AND thread = 1",
        "thread = 2",
        "thread = 77",
        "thread = -1",
        "thread = 0.5",
        "thread = NULL",
        "{t} < NULL",
        "{t} < 'text'",
        "{t} >= {b} AND {t} < {a}",
        "{t} > 9e30",
        "{t} > -9e30",
        "{t} >= 9223372036854775807",
        "{t} > -9223372036854775808",
    ],
)
@pytest.mark.parametrize(
    ("table", "column"), [("slices", "start_ns"), ("events", "time_ns"), ("counters", "time_ns")]
)
def test_conditions_that_are_used_while_reading_change_nothing(
    traced: Path, condition: str, table: str, column: str
) -> None:
    end = value(traced, "SELECT value FROM info WHERE key = 'kymograph.duration_ns'")
    where = condition.format(t=column, a=end // 3, b=end // 3 * 2)
    # A plus sign before a column keeps SQLite from handing the condition on.
    hidden = re.sub(
        rf"\b({column}|thread)\b", r"+\1", condition.format(t=column, a=end // 3, b=end // 3 * 2)
    )

    assert rows(traced, f"SELECT * FROM {table} WHERE {where}") == rows(
        traced, f"SELECT * FROM {table} WHERE {hidden}"
    )


@pytest.mark.parametrize(
    ("table", "number", "of"), [("functions", "id", "function"), ("threads", "thread", "thread")]
)
def test_joins_find_rows_of_short_tables_by_their_number(
    traced: Path, table: str, number: str, of: str
) -> None:
    joined = f"FROM slices s JOIN {table} t ON t.{number} = s.{of}"
    plan = rows(traced, f"EXPLAIN QUERY PLAN SELECT count(*) {joined}")
    assert [row["detail"].rpartition(":")[2] for row in plan] == ["", "r"]  # "r": see query_table.c
    assert value(traced, f"SELECT count(*) {joined}") == value(
        traced, "SELECT count(*) FROM slices"
    )
    found = rows(traced, f"SELECT * FROM {table}")
    for row in found:
        assert rows(traced, f"SELECT * FROM {table} WHERE {number} = {row[number]}") == [row]
    for missing in ("-1", "0.5", "1e15", "NULL", "'x'"):
        assert rows(traced, f"SELECT * FROM {table} WHERE {number} = {missing}") == []


def test_events_are_those_of_the_capture(traced: Path) -> None:
    got = rows(traced, "SELECT time_ns, thread, kind, name, value FROM events")

    with kymograph.open(traced) as capture:
        start = capture.info.start
        wanted = [(e.time - start, e.thread, e.kind, e.name or None) for e in capture.events()]
    known = [(r["time_ns"], r["thread"], r["kind"], r["name"]) for r in got]
    assert [w for w in wanted if w[2] != "unknown"] == [
        k for k, w in zip(known, wanted, strict=True) if w[2] != "unknown"
    ]


def test_the_tables_of_payloads_are_listed_with_the_capture() -> None:
    golden = Path(__file__).parents[1] / "golden" / "v1.4-payloads.kymo"

    tables = re.findall(r"^(\w+): payloads", good("--tables", golden), re.M)

    assert "correlation" in tables and len(tables) > 1
    for table in tables:
        good(golden, f'SELECT * FROM "{table}"')
    assert "payloads" not in good("--tables")


def test_the_small_tables(traced: Path) -> None:
    threads = rows(traced, "SELECT * FROM threads")
    assert [row["name"] for row in threads] == ["MainThread", "worker", "worker"]
    assert {row["pid"] for row in threads} == {os.getpid()}
    counters = rows(traced, "SELECT name, count(*) n, max(value) m FROM counters GROUP BY name")
    assert counters == [{"name": "round", "n": 40, "m": 28.5}]
    assert rows(traced, "SELECT * FROM gaps") == []
    info = {row["key"]: row["value"] for row in rows(traced, "SELECT * FROM info")}
    assert info["kymograph.ending"] == "clean" and info["kymograph.pid"] == os.getpid()
    with kymograph.open(traced) as capture:
        assert capture.metadata.items() <= info.items()
    assert rows(traced, "SELECT pid FROM processes") == [{"pid": os.getpid()}]


def test_kinds_and_endings(traced: Path) -> None:
    def count(where: str) -> int:
        return int(value(traced, f"SELECT count(*) FROM slices WHERE {where}"))

    assert count("name = 'fail' AND ended = 'unwind' AND kind = 'function'") == 40
    assert count("name = 'squares' AND entered = 'resume' AND task IS NOT NULL") == 10
    assert count("name = 'squares' AND ended = 'yield'") == 10
    assert count("name = 'main part' AND kind = 'span' AND file IS NULL AND line IS NULL") == 1
    assert count("kind = 'gc'") >= 1
    assert count("entered = 'open'") >= 1, "what was open when recording began"


# ------------------------------------------------------------------ the page's queries

PAGE = (ROOT / "docs" / "query.md").read_text("utf-8")
QUERIES = re.findall(r"^```sql\n(.*?)^```", PAGE, re.S | re.M)


def test_the_page_has_a_dozen_queries() -> None:
    assert len(QUERIES) == 12


@pytest.mark.parametrize("number", range(12))
def test_queries_of_the_page_run_and_find_something(traced: Path, number: int) -> None:
    golden = Path(__file__).parents[1] / "golden" / "v1.2-sampled.kymo"
    capture = golden if "samples" in QUERIES[number] else traced
    assert len(good(capture, QUERIES[number]).splitlines()) >= 2


def test_the_page_names_every_table_and_column() -> None:
    columns = re.findall(r"^ +(\w+)", good("--tables"), re.M)
    tables = re.findall(r"^(\w+):", good("--tables"), re.M)

    assert tables and all(f"| `{table}` |" in PAGE for table in tables)
    assert columns and all(f"`{column}`" in PAGE for column in columns)


# ------------------------------------------------------------------------- forms


def test_a_table_is_aligned(traced: Path) -> None:
    text = good(
        traced, "SELECT 1 AS one, 'abc' AS word, NULL AS missing UNION ALL VALUES(22, 'd', 3)"
    )

    assert text == "one  word  missing\n  1  abc         -\n 22  d           3\n"
    assert good(traced, "SELECT 1 AS a WHERE 0") == "a\n"


def test_on_a_terminal_a_row_is_one_line(traced: Path) -> None:
    sql = "SELECT *, '/a/long/path/' || name || '.py' AS file2 FROM functions"
    shown = on_terminal("query", traced, sql).splitlines()
    piped = good(traced, sql).splitlines()

    assert max(map(len, shown)) <= 80 < max(map(len, piped))
    titles, all_titles = shown[0].split(), piped[0].split()
    assert titles == [title for title in all_titles if title in titles] != all_titles
    assert len(shown) == len(piped)


def test_the_columns_that_do_not_fit_are_named(traced: Path) -> None:
    sql = (
        "SELECT 1 AS first, NULL AS empty, hex(zeroblob(200)) AS wide, '/a/b/' || hex(zeroblob(40))"
    )
    numbers = ", ".join(f"{10**17 + i} AS number{i}" for i in range(5))

    shown = on_terminal("query", traced, f"{sql} AS path, {numbers}", stderr=True).splitlines()

    assert shown[0].split() == ["first", "wide", "path", "number0", "number1"]
    assert shown[1].split()[1].endswith("…") and shown[1].split()[2].startswith("…")
    assert shown[2].endswith(
        "not shown: empty, number2, number3, number4; select fewer columns, or use --csv"
    )
    assert (
        on_terminal("query", traced, "SELECT 1 AS one, NULL AS empty") == "one  empty\n  1      -\n"
    )


def test_a_long_result_is_printed_in_parts(traced: Path) -> None:
    numbers = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 5000)"

    lines = good(traced, numbers + " SELECT i FROM n").split()

    assert lines == ["i", *map(str, range(1, 5001))]


def test_csv_can_be_read_back(traced: Path) -> None:
    text = good(
        "--csv", traced, "SELECT 'a,b' AS \"x,y\", 'say \"no\"' AS b, char(10) AS c, NULL AS d"
    )

    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["x,y", "b", "c", "d"],
        ["a,b", 'say "no"', "\n", ""],
    ]


def test_json_keeps_types(traced: Path) -> None:
    sql = "SELECT 1 AS a, 2.5 AS b, 'x' AS c, NULL AS d, x'00ff' AS e, 1e999 AS f"

    assert rows(traced, sql) == [
        {"a": 1, "b": 2.5, "c": "x", "d": None, "e": "00ff", "f": "Infinity"}
    ]


def test_hostile_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "evil.kymo"
    kymograph.start(path, calls=False)
    with kymograph.span("evil \x1b[31m\n'); DROP"):
        pass
    kymograph.stop()

    text = good(path, "SELECT name, dur_ns FROM slices")

    assert "evil \\e[31m\\n'); DROP" in text and "\x1b" not in text
    assert rows(path, "SELECT name FROM slices") == [{"name": "evil \x1b[31m\n'); DROP"}]


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT nope FROM slices", "no such column: nope; 'kymograph query --tables'"),
        ("SELECT * FROM nowhere", "no such table: nowhere; 'kymograph query --tables'"),
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT", "incomplete input"),
        ("", "the query is empty"),
        (" ; -- nothing", "the query is empty"),
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("SELECT abs(-9223372036854775808)", "integer overflow"),
        ("CREATE TABLE x(a)", "only SELECT is allowed"),
        ("CREATE TEMP TABLE x(a)", "only SELECT is allowed"),
        ("INSERT INTO slices(id) VALUES(1)", "only SELECT is allowed"),
        ("DELETE FROM slices", "may not be modified"),
        ("UPDATE info SET value = 1", "may not be modified"),
        ("DROP TABLE slices", "only SELECT is allowed"),
        ("ATTACH 'stolen.db' AS x", "only SELECT is allowed"),
        ("VACUUM INTO 'stolen.db'", "only SELECT is allowed"),
        ("PRAGMA journal_mode = wal", "only SELECT is allowed"),
        ("SELECT load_extension('x')", "not authorized to use function: load_extension"),
    ],
)
def test_an_invalid_query_is_refused_in_one_line(
    traced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert words in bad(traced, sql)
    assert list(tmp_path.iterdir()) == []


def test_bad_usage_is_refused(traced: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.kymo"
    text.write_text("not a capture")

    assert "no file given" in bad()
    assert "no query given" in bad(traced)
    assert "use one of them" in bad("--csv", "--json", traced, "SELECT 1")
    assert "no such file" in bad(tmp_path / "no.kymo", "SELECT 1")
    assert "not a kymograph capture" in bad(text, "SELECT 1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
        "SELECT count(*) FROM slices a, slices b, slices c",
    ],
)
def test_an_endless_query_can_be_interrupted(traced: Path, sql: str, number: int) -> None:
    with subprocess.Popen([PROGRAM, "query", traced, sql], stderr=subprocess.PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(number)

        assert process.wait(10) == -number
        assert process.stderr and process.stderr.read() == b""


def test_a_reader_that_goes_away_ends_it(traced: Path) -> None:
    sql = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    with subprocess.Popen(
        [PROGRAM, "query", traced, sql], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(20) == -signal.SIGPIPE
        assert process.stderr.read() == b""


def test_awkward_captures_can_be_queried(tmp_path: Path, run_code: RunCode) -> None:
    killed, empty = tmp_path / "killed.kymo", tmp_path / "empty.kymo"
    run_code(
        "import os, signal, kymograph\n"
        f"kymograph.start({str(killed)!r}, calls=False)\n"
        "span = kymograph.span('open'); span.__enter__()\n"
        "kymograph.instant('last')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n",
        check=False,
    )
    kymograph.start(empty, calls=False)
    kymograph.stop()

    assert rows(killed, "SELECT name, ended FROM slices") == [{"name": "open", "ended": "open"}]
    for table in re.findall(r"^(\w+):", good("--tables"), re.M):
        assert rows(killed, f"SELECT count(*) AS n FROM {table}")[0]["n"] >= 0
        few = rows(empty, f"SELECT count(*) AS n FROM {table}")[0]["n"]
        assert few == 0 or table in ("info", "processes", "threads")
