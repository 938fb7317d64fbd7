"""`kymograph report`: its figures are those of the events, and its tables say what they should."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import program
import pytest
from conftest import RunCode
from program import PROGRAM, fib

import kymograph

Function = tuple[str, str, int]  # name, file, line


run = functools.partial(program.run, "report")
text_of = functools.partial(program.good, "report")


def report(*arguments: object) -> dict[str, Any]:
    return json.loads(text_of("--json", *arguments))


def function_of(row: dict[str, Any]) -> Function:
    return (row["name"], row.get("file", ""), row.get("line", 0))


# ------------------------------------------------------------ figures, computed anew


@dataclass
class Cost:
    calls: int = 0
    resumes: int = 0
    self_ns: int = 0
    total_ns: int = 0
    lengths: list[int] = field(default_factory=list)


def costs(path: Path) -> dict[Function, Cost]:
    """What each function cost, from the events alone, by the plainest of algorithms."""
    found: dict[Function, Cost] = {}
    with kymograph.open(path) as capture:
        end = capture.info.end
        for thread in capture.threads:
            stack: list[list[Any]] = []  # function, start, time of callees

            def close(time: int, stack: list[list[Any]] = stack) -> None:
                function, start, inside = stack.pop()
                length = time - start
                found[function].self_ns += length - inside
                found[function].lengths.append(length)
                if all(frame[0] != function for frame in stack):
                    found[function].total_ns += length
                if stack:
                    stack[-1][2] += length

            for event in capture.events(thread):
                function = (event.name, event.file, event.line)
                if event.kind == "enter":
                    cost = found.setdefault(function, Cost())
                    if event.detail in ("resume", "throw"):
                        cost.resumes += 1
                    else:
                        cost.calls += 1
                    stack.append([function, event.time, 0])
                elif event.kind == "leave":
                    assert stack[-1][0] == function
                    close(event.time)
            while stack:
                close(end)
    return found


def squares(n: int) -> Iterator[int]:
    for i in range(n):
        yield i * i


def fail(depth: int) -> None:
    if depth == 0:
        raise ValueError("as planned")
    fail(depth - 1)


def work() -> None:
    kymograph.thread_name("worker")
    for i in range(50):
        json.loads(json.dumps({"a": [1, 2, {"b": i}]}))
    fib(8)


def a_name_so_long_that_no_table_has_room_for_all_of_it_on_a_terminal_of_ninety_columns() -> None:
    pass


def program() -> None:
    a_name_so_long_that_no_table_has_room_for_all_of_it_on_a_terminal_of_ninety_columns()
    fib(12)
    sum(squares(20))
    with contextlib.suppress(ValueError):
        fail(5)
    gc.collect()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture of a program with recursion, generators, exceptions, threads and GC."""
    path = tmp_path_factory.mktemp("report") / "trace.kymo"
    kymograph.start(path)
    try:
        program()
    finally:
        kymograph.stop()
    return path


def test_every_figure_is_that_of_the_events(traced: Path) -> None:
    expected = costs(traced)

    found = report(traced)

    rows: dict[Function, list[dict[str, Any]]] = {}
    for row in found["functions"]:
        rows.setdefault(function_of(row), []).append(row)
    assert len(found["functions"]) == found["function_count"]
    assert rows.keys() == expected.keys()
    for function, cost in expected.items():
        # A type and its instances, when called, may have the same name: two rows.
        same = rows[function]
        assert len({row["class"] for row in same}) == len(same)
        assert sum(row["calls"] for row in same) == cost.calls, function
        assert sum(row["resumes"] for row in same) == cost.resumes, function
        assert sum(row["self_ns"] for row in same) == cost.self_ns, function
        if len(same) > 1:
            continue
        row = same[0]
        assert row["total_ns"] == cost.total_ns, function
        assert row["min_ns"] == min(cost.lengths) and row["max_ns"] == max(cost.lengths)
        assert row["mean_ns"] == sum(cost.lengths) // len(cost.lengths)
        ordered = sorted(cost.lengths)
        for name, share in (("p50_ns", 50), ("p99_ns", 99)):
            exact = ordered[-(-len(ordered) * share // 100) - 1]
            assert abs(row[name] - exact) <= exact / 100, (function, name)
    assert found["calls"] == sum(cost.calls for cost in expected.values())
    assert found["resumes"] == sum(cost.resumes for cost in expected.values())
    assert found["time_in_calls_ns"] == sum(cost.self_ns for cost in expected.values())


def test_nothing_is_missing_from_a_plain_program(traced: Path) -> None:
    found = report(traced)

    assert found["ending"] == "clean"
    assert [found[key] for key in ("gaps", "lost_records", "lost_leaves", "orphan_leaves")] == [
        0
    ] * 4


def test_the_time_of_threads_and_classes_adds_up(traced: Path) -> None:
    found = report(traced)

    inside = found["time_in_calls_ns"]
    assert sum(thread["busy_ns"] for thread in found["threads"]) == inside
    assert sum(kind["self_ns"] for kind in found["classes"]) == inside
    assert sum(kind["calls"] for kind in found["classes"]) == found["calls"]
    assert [t["name"] for t in found["threads"][1:]] == ["worker"] * 3


def test_the_tree_holds_all_calls_under_their_callers(traced: Path) -> None:
    found = report("--tree", "--threshold", "0", traced)
    tree = found["tree"]

    below = [0] * len(tree)
    for position, node in enumerate(tree):
        if node["parent"] is not None:
            assert node["parent"] < position
            below[node["parent"]] += node["total_ns"]
    for node, children in zip(tree, below, strict=True):
        assert node["total_ns"] == node["self_ns"] + children
    assert sum(node["calls"] for node in tree) == found["calls"]
    assert sum(node["self_ns"] for node in tree) == found["time_in_calls_ns"]
    paths = {(node["parent"], node["class"], *function_of(node)) for node in tree}
    assert len(paths) == len(tree)


def test_no_rows_are_no_table(traced: Path) -> None:
    text = text_of("--limit", "0", traced)
    assert "more; --limit shows more" in text and "  none\n" not in text


def test_a_threshold_folds_small_branches(traced: Path) -> None:
    found = report("--tree", "--threshold=10%", traced)

    least = found["time_in_calls_ns"] / 10
    assert found["tree"]
    assert all(node["total_ns"] >= int(least) for node in found["tree"])


def test_callers_share_the_calls_of_a_function(traced: Path) -> None:
    functions = {row["name"]: row for row in report(traced)["functions"]}

    callers = report("--callers", "fib", traced)["callers"]

    assert {row["caller"]["name"] for row in callers} == {"fib", "program", "work"}
    assert all(row["function"]["name"] == "fib" for row in callers)
    assert sum(row["calls"] for row in callers) == functions["fib"]["calls"]
    assert sum(row["self_ns"] for row in callers) == functions["fib"]["self_ns"]
    assert sum(row["total_ns"] for row in callers) == functions["fib"]["total_ns"]
    assert next(r for r in callers if r["caller"]["name"] == "fib")["total_ns"] == 0


def test_collections_are_counted_as_python_counts_them(tmp_path: Path) -> None:
    path = tmp_path / "gc.kymo"
    gc.collect()
    gc.disable()
    try:
        kymograph.start(path)
        for _ in range(100):
            loop: list[object] = []
            loop.append(loop)
        del loop
        gc.collect(0)
        gc.collect(2)
        kymograph.stop()
    finally:
        gc.enable()

    found = report(path)["gc"]

    assert {g["generation"]: g["collections"] for g in found["generations"]} == {0: 1, 2: 1}
    assert found["collected"] >= 100
    assert 0 < found["longest_ns"] <= sum(g["time_ns"] for g in found["generations"])


def test_a_part_of_the_time_is_what_it_would_have_been_alone(traced: Path) -> None:
    whole = report(traced)
    middle = whole["duration_ns"] // 2

    first = report("--to", f"{middle}ns", traced)
    second = report("--from", f"{middle}ns", traced)

    assert first["to_ns"] == second["from_ns"] == middle
    parts = first["time_in_calls_ns"] + second["time_in_calls_ns"]
    assert parts == whole["time_in_calls_ns"]
    assert first["records"] + second["records"] == whole["records"]
    assert all(t["busy_ns"] <= middle for t in first["threads"])


def test_a_thread_can_be_chosen(traced: Path) -> None:
    whole, workers = report(traced), report("--thread", "worker", traced)
    one = report("-t", "1", traced)

    assert [t["index"] for t in workers["threads"]] == [1, 2, 3]
    assert workers["calls"] == sum(t["calls"] for t in whole["threads"][1:])
    assert [t["index"] for t in one["threads"]] == [1]
    assert "program" not in {row["name"] for row in workers["functions"]}


@pytest.mark.parametrize(
    ("key", "field_"),
    [
        ("self", "self_ns"),
        ("total", "total_ns"),
        ("calls", "calls"),
        ("mean", "mean_ns"),
        ("p99", "p99_ns"),
    ],
)
def test_functions_are_sorted_as_asked(traced: Path, key: str, field_: str) -> None:
    rows = report("--sort", key, traced)["functions"]

    figures = [row[field_] for row in rows]
    assert figures == sorted(figures, reverse=True)
    assert [row["name"] for row in report("-s", "name", traced)["functions"]] == sorted(
        (row["name"] for row in rows), key=str.encode
    )


@pytest.mark.parametrize(
    ("pattern", "some", "none"),
    [
        ("fib", "fib", "program"),
        ("f*b", "fib", "fail"),
        ("*/json/*", "loads", "fib"),
        pytest.param(
            "JSONDec",
            "JSONDecoder.decode",
            "fib",
            marks=pytest.mark.skipif(
                sys.version_info < (3, 11), reason="3.10 has no qualified names of code"
            ),
        ),
        ("test_report.py", "squares", "loads"),
    ],
)
def test_a_filter_matches_names_and_files(traced: Path, pattern: str, some: str, none: str) -> None:
    names = {row["name"] for row in report("--filter", pattern, traced)["functions"]}

    assert some in names and none not in names


def test_a_limit_is_respected(traced: Path) -> None:
    found = report("--limit", 3, traced)

    assert len(found["functions"]) == 3 < found["function_count"]


# ------------------------------------------------------------------------- the text


def test_the_text_begins_with_the_answer(traced: Path) -> None:
    text = text_of(traced)

    assert text.startswith(f"{traced}\n  ended     stopped cleanly\n")
    assert re.search(r"^  calls     [\d ]+ on 4 threads, \d+ resumes", text, re.M)
    assert re.search(r"^  lost      nothing$", text, re.M)
    assert re.search(r"^  work      .* Python [\d.]+ %, C [\d.]+ %, garbage", text, re.M)
    for heading in (
        "Functions by self time",
        "Hottest call paths",
        "Garbage collection",
        "Threads",
    ):
        assert re.search(rf"^{heading}", text, re.M), heading
    table = text.split("Functions by self time\n")[1]
    assert re.match(r" +SELF +% +TOTAL +WAITED +CALLS +MEAN +P99 +FUNCTION +WHERE\n", table)
    assert "more; --limit" in table
    assert all(line == line.rstrip() for line in text.splitlines())


def test_the_location_of_a_function_is_shown_beside_it(traced: Path) -> None:
    text = text_of("-n", 1000, traced)

    assert re.search(r"  fib +python/program\.py:\d+$", text, re.M)
    assert re.search(r"  gc|collect +\(C, gc\)$", text, re.M)
    assert re.search(r"  Python GC +\(garbage collector\)$", text, re.M)


def test_the_tree_branches_where_calls_branch(tmp_path: Path, run_code: RunCode) -> None:
    path = tmp_path / "trace.kymo"
    run_code(
        "import kymograph, sys\n"
        "def a(): b(); d()\n"
        "def b(): c(3)\n"
        "def c(n):\n"
        "    for i in range(2000 * n): pass\n"
        "    if n: c(n - 1)\n"
        "def d(): pass\n"
        "kymograph.start(sys.argv[1], c_calls=False)\n"
        "a()\n"
        "kymograph.stop()\n",
        path,
    )

    text = text_of("--tree", "--threshold", "0", path)

    lines = text.split("FUNCTION\n")[1].splitlines()
    tree = [re.sub(r"^.{45}(.*)  \S+$", r"\1", line) for line in lines]
    assert tree == ["<module>", "a", "├ b", "│ c", "│ c", "│ c", "│ c", "└ d"]


def test_callers_are_a_table(traced: Path) -> None:
    text = text_of("--callers", "squares", traced)

    assert re.search(r"^Callers of squares  python/test_report\.py:\d+$", text, re.M)
    assert re.search(r"^ +TOTAL +SELF +CALLS +CALLED BY +WHERE$", text, re.M)


def test_spans_of_programs_without_python_calls_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "spans.kymo"
    kymograph.start(path, calls=False)
    for i in range(10):
        with kymograph.span("outer"), kymograph.span("größe"):
            kymograph.counter("rows", i - 3)
    kymograph.stop()

    found, text = report(path), text_of(path)

    assert {row["name"]: row["calls"] for row in found["functions"]} == {"outer": 10, "größe": 10}
    assert found["classes"][0]["class"] == "span"
    assert found["counters"] == [{"name": "rows", "last": 6, "least": -3, "most": 6, "changes": 10}]
    assert "spans 100.0 %" in text and "größe" in text
    assert re.search(r"^  rows +6 +-3 +6 +10$", text, re.M)
    assert "outer > größe" in text


def test_a_span_in_a_context_manager_is_not_a_loss(tmp_path: Path) -> None:
    @contextlib.contextmanager
    def region() -> Iterator[None]:
        with kymograph.span("region span"):
            yield

    path = tmp_path / "trace.kymo"
    kymograph.start(path)
    for _ in range(5):
        with region():
            fib(5)
    kymograph.stop()

    found = report("--callers", "fib", path)

    assert (found["lost_leaves"], found["orphan_leaves"]) == (0, 0)
    assert "region span" in {row["caller"]["name"] for row in found["callers"]}
    (row,) = [row for row in found["functions"] if row["name"] == "region span"]
    assert row["calls"] == 5


def test_a_killed_program_has_a_report(tmp_path: Path) -> None:
    path = tmp_path / "killed.kymo"
    code = (
        "import kymograph, os, signal, sys\n"
        "def deep(n):\n"
        "    if n: deep(n - 1)\n"
        "    else: os.kill(os.getpid(), signal.SIGKILL)\n"
        "kymograph.start(sys.argv[1])\n"
        "deep(20)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], check=False)
    assert done.returncode == -signal.SIGKILL

    found, text = report(path), text_of(path)

    assert found["ending"] == "killed"
    (row,) = [row for row in found["functions"] if row["name"] == "deep"]
    assert row["calls"] == 21 and row["total_ns"] > 0
    assert found["lost_leaves"] == 0
    assert "deep (21 times)" in text
    assert "the process was killed" in text


def test_losses_are_reported(tmp_path: Path, run_code: RunCode) -> None:
    path = tmp_path / "lossy.kymo"
    run_code(
        "import kymograph, sys\n"
        "kymograph.start(sys.argv[1], budget='1M', policy='drop', level=19)\n"
        "def f(): pass\n"
        "for i in range(300000): f()\n"
        "kymograph.stop()\n",
        path,
    )
    with kymograph.open(path) as capture:
        if not capture.info.lost_records:
            pytest.skip("the disk kept up: nothing was lost")

    found, text = report(path), text_of(path)

    assert found["lost_records"] > 0 and found["gaps"] > 0
    assert re.search(r"^  lost      [\d ]+ records? in [\d ]+ gaps?", text, re.M)


def test_names_that_could_disturb_a_terminal_are_spelled_out(tmp_path: Path) -> None:
    path = tmp_path / "trace.kymo"
    kymograph.start(path, calls=False)
    with kymograph.span("line\nend \x1b[31m red"):
        pass
    kymograph.stop()

    text = text_of(path)

    assert r"line\nend \e[31m red" in text and "\x1b" not in text
    assert report(path)["functions"][0]["name"] == "line\nend \x1b[31m red"


def test_on_a_terminal_lines_fit_its_width(traced: Path) -> None:
    for options in ([], ["--tree", "--threshold", "0"], ["--callers", "fib"]):
        code = (
            "import os, pty, sys\n"
            "os.environ.update(COLUMNS='90', TERM='xterm')\n"
            "sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, PROGRAM, "report", *options, str(traced)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=400,
            check=False,
        )

        assert done.returncode == 0 and "\x1b[1m" in done.stdout
        plain = re.sub(r"\x1b\[\d*m", "", done.stdout)
        tables = plain[plain.index("\n\n") :]
        assert all(len(line) <= 90 for line in tables.splitlines()), options
        assert options == ["--callers", "fib"] or "…" in tables


def test_the_busiest_of_many_threads_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "trace.kymo"

    def body(times: int) -> None:
        with kymograph.span("work"):
            for _ in range(times):
                fib(3)

    kymograph.start(path, calls=False)
    for i in range(30):
        thread = threading.Thread(target=body, args=(1 + 1000 * (i == 29),))
        thread.start()
        thread.join()
    kymograph.stop()

    table = text_of(path).split("Threads, busiest first\n")[1].splitlines()

    assert table[1].split()[0] == "29"
    assert len(table) == 22 and "and 10 more" in table[-1]
    assert len(report(path)["threads"]) == 30


# ---------------------------------------------------------------------- wrong usage


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sort", "size"], "unknown --sort size"),
        (["--limit", "many"], "--limit many is not a number"),
        (["--tree", "--threshold", "much"], "--threshold much is not a share"),
        (["--tree", "--threshold", "101"], "--threshold 101 is not a share"),
        (["--threshold", "5%"], "--threshold works only with --tree"),
        (["--memory", "--json", "--threshold", "5%"], "--threshold works only with --tree"),
        (["--from", "soon"], "--from soon is not a time"),
        (["--from", "2", "--to", "1"], "--from 2 is later than --to 1"),
        (["--thread", "nobody"], "no thread 'nobody'"),
    ],
)
def test_wrong_usage_is_one_line_that_names_it(
    traced: Path, arguments: list[str], words: str
) -> None:
    done = run(*arguments, traced)

    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("kymograph: ") and done.stderr.count("\n") == 1
    assert words in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--filter", "zzz"], "no function matches 'zzz' (--filter)"),
        (["--callers", "zzz"], "no function matches 'zzz' (--callers)"),
        (["--from", "1h"], "no calls or spans in that part"),
    ],
)
def test_an_empty_report_says_why(traced: Path, arguments: list[str], words: str) -> None:
    done = run(*arguments, traced)

    assert done.returncode == 0
    assert words in done.stderr and done.stderr.count("\n") == 1


# --------------------------------------------------------------- tasks, gaps, totals


def test_tasks_have_their_time_and_how_much_they_waited(tmp_path: Path, run_code: RunCode) -> None:
    path = tmp_path / "tasks.kymo"
    run_code(
        "import asyncio, kymograph\n"
        "async def nap():\n"
        "    await asyncio.sleep(0.02)\n"
        "async def main():\n"
        "    await asyncio.gather(*(asyncio.create_task(nap()) for _ in range(4)))\n"
        f"kymograph.start({str(path)!r})\n"
        "asyncio.run(main())\n"
        "kymograph.async_begin('job', 3)\n"
        "kymograph.stop()\n"
    )

    found = {row["name"]: row for row in report(path)["asyncs"]}
    assert found["nap"]["count"] == 4 and found["nap"]["open"] == 0
    assert found["nap"]["waited_ns"] >= 4 * 18_000_000
    assert found["nap"]["time_ns"] >= found["nap"]["waited_ns"]
    wait = found["await sleep"]
    assert wait["inside"] == wait["count"] == 4 and wait["line"] == 3
    assert found["nap"]["ready_ns"] >= wait["ready_ns"] >= wait["ready_longest_ns"] > 0
    assert found["job"]["open"] == 1
    text = text_of(path)
    section = text[text.index("Tasks and async spans") :]
    assert re.search(r"\b4 .*nap", section) and "(async span)" in section
    lanes, waits = section.split("Threads")[0].split("Where tasks waited")
    assert "await" not in lanes, "there waits are a column, not rows"
    assert re.search(r"\b4 .*await sleep", waits) and "await gather" in waits


def test_gaps_are_listed(tmp_path: Path, run_code: RunCode) -> None:
    path = tmp_path / "gaps.kymo"
    run_code(
        "import threading, kymograph\n"
        f"kymograph.start({str(path)!r}, calls=False, budget=1 << 20, policy='drop')\n"
        "hold = threading.Barrier(20)\n"
        "def work():\n"
        "    kymograph.instant('first')\n"
        "    hold.wait()\n"
        "    for _ in range(20000): kymograph.instant('many')\n"
        "threads = [threading.Thread(target=work) for _ in range(20)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "kymograph.stop()\n"
    )

    done = json.loads(run("--json", path).stdout)

    if done["gaps"] == 0:
        pytest.skip("the disk was fast enough for everything")
    assert sum(row["records"] for row in done["gap_list"]) == done["lost_records"]
    assert {row["reason"] for row in done["gap_list"]} <= {"budget", "disk", "nested"}
    assert "Gaps: missing records" in run(path).stdout


def test_functions_by_total_time_are_there_too(traced: Path) -> None:
    text = text_of(traced)

    totals = text[text.index("Functions by total time") :]
    assert len(re.findall(r"\n  .*", totals.split("\n\n")[0])) == 11
    assert "Functions by total time" not in text_of(traced, "--sort", "self")
    assert text_of(traced, "--sort", "total").count("Functions by total time") == 1


def test_until_is_an_alias_of_to(traced: Path) -> None:
    assert text_of(traced, "--until", "1ms") == text_of(traced, "--to", "1ms")
    assert "mean the same" in run(traced, "--until", "1ms", "--to", "1ms").stderr


@pytest.mark.parametrize("verb", ["report", "info"])
def test_a_truncated_file_is_not_reported_as_complete(
    traced: Path, tmp_path: Path, verb: str
) -> None:
    short = tmp_path / "short.kymo"
    short.write_bytes(traced.read_bytes()[:-200])

    done = subprocess.run(
        [PROGRAM, verb, short], capture_output=True, encoding="utf-8", timeout=400
    )

    assert done.returncode == 0
    assert "  lost      unknown: the end of the file is missing\n" in done.stdout


def test_a_file_that_ends_before_its_records_says_so(traced: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.kymo"
    cut.write_bytes(traced.read_bytes()[:200])

    done = run(cut)

    assert done.stderr == (
        f"kymograph: {cut} has no records; 'kymograph info' says how the recording ended\n"
    )
