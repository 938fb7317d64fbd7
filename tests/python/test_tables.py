"""Capture.functions() and Capture.call_tree(): the report's figures as columns."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import RunCode
from program import PROGRAM, fib

import kymograph


def work() -> None:
    with kymograph.span("work"):
        fib(8)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "trace.kymo"
    kymograph.start(path)
    thread = threading.Thread(target=work)
    thread.start()
    fib(10)
    thread.join()
    kymograph.stop()
    return path


def report(path: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [PROGRAM, "report", "--json", "--tree", "--threshold", "0", *arguments, str(path)],
        capture_output=True,
        check=True,
        timeout=400,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def as_rows(found: list[dict[str, Any]], *fields: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.get(f, "" if f == "file" else 0) for f in fields) for row in found)


FIELDS = (
    "name",
    "file",
    "line",
    "calls",
    "resumes",
    "self_ns",
    "total_ns",
    "mean_ns",
    "min_ns",
    "max_ns",
    "p50_ns",
    "p99_ns",
)


def test_functions_are_those_of_the_report(traced: Path) -> None:
    wanted = report(traced)["functions"]
    with kymograph.open(traced) as capture:
        table = capture.functions()
        got = sorted(zip(*(table[name] for name in FIELDS), strict=True))
        kinds = dict(zip(table["name"], table["kind"], strict=True))

    assert got == as_rows(wanted, *FIELDS)
    assert (kinds["fib"], kinds["work"]) in {("function", "span"), ("function", "function")}
    assert {row["class"] for row in wanted} == set(table["kind"])
    assert list(table["self_ns"]) == sorted(table["self_ns"], reverse=True)
    assert len(table) == len(wanted)


def test_a_part_can_be_asked_for(traced: Path) -> None:
    with kymograph.open(traced) as capture:
        start = capture.info.start
        one = capture.functions(thread=1)
        same = capture.functions(thread=capture.threads[1])
        part = capture.functions(start=start + 100_000, end=start + 300_000)

        assert list(one) == list(same)
        assert sorted(zip(*(one[name] for name in FIELDS), strict=True)) == as_rows(
            report(traced, "--thread", "1")["functions"], *FIELDS
        )
        assert sorted(zip(*(part[name] for name in FIELDS), strict=True)) == as_rows(
            report(traced, "--from", "100us", "--to", "300us")["functions"], *FIELDS
        )


def test_the_call_tree_is_that_of_the_report(traced: Path) -> None:
    def paths(names: list[str], parents: list[int]) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        for name, parent in zip(names, parents, strict=True):
            found.append((*(found[parent] if parent >= 0 else ()), name))
        return found

    wanted = report(traced)["tree"]
    with kymograph.open(traced) as capture:
        tree = capture.call_tree()
        functions = capture.functions()
        got = sorted(
            zip(
                paths(tree["name"], tree["parent"].tolist()),
                tree["calls"],
                tree["self_ns"],
                tree["total_ns"],
                strict=True,
            )
        )
        assert sum(tree["self_ns"]) == sum(functions["self_ns"])
        assert [functions["name"][i] for i in tree["function"]] == tree["name"]

    names = [row["name"] for row in wanted]
    parents = [-1 if row.get("parent") is None else row["parent"] for row in wanted]
    figures = [(row["calls"], row["self_ns"], row["total_ns"]) for row in wanted]
    assert got == sorted(
        (path, *row) for path, row in zip(paths(names, parents), figures, strict=True)
    )


def test_nothing_is_read_before_it_is_looked_at(traced: Path) -> None:
    with kymograph.open(traced) as capture:
        looked_at, never = capture.functions(), capture.functions()
        bad = capture.functions(thread=99)
        length = len(looked_at)
        with pytest.raises(IndexError, match="no thread 99"):
            len(bad)

    assert len(looked_at["name"]) == length, "what is there stays there"
    with pytest.raises(ValueError, match="closed"):
        len(never)


def test_columns_are_memory_that_numpy_can_use(traced: Path) -> None:
    with kymograph.open(traced) as capture:
        table = capture.functions()
        column = table["self_ns"]

    assert isinstance(column, memoryview)
    assert (column.format, column.itemsize, column.readonly) == ("q", 8, True)
    assert set(dict(table)) == set(table.columns)
    with pytest.raises(KeyError):
        table["price"]
    numpy = pytest.importorskip("numpy")
    assert numpy.asarray(column).sum() == sum(column)


def test_bad_arguments_are_refused(traced: Path) -> None:
    with kymograph.open(traced) as capture:
        with pytest.raises(TypeError):
            capture.functions(thread="main")["name"]  # type: ignore[arg-type]
        with pytest.raises(IndexError):
            capture.call_tree(thread=-3)["name"]
        with pytest.raises(TypeError):
            capture.functions(color="red")  # type: ignore[call-arg]
        assert len(capture.functions(start=1 << 62)) == 0


def test_an_empty_capture_has_empty_tables(tmp_path: Path) -> None:
    path = tmp_path / "empty.kymo"
    kymograph.start(path, calls=False)
    kymograph.stop()

    with kymograph.open(path) as capture:
        assert len(capture.functions()) == len(capture.call_tree()) == 0
        assert list(capture.functions()) == []


def test_ctrl_c_ends_a_long_reading(tmp_path: Path, run_code: RunCode) -> None:
    path = tmp_path / "long.kymo"
    run_code(
        "import kymograph\n"
        f"kymograph.start({str(path)!r}, calls=False)\n"
        "for _ in range(3_000_000): kymograph.instant('x')\n"
        "kymograph.stop()\n"
    )
    code = (
        "import kymograph, sys\n"
        f"capture = kymograph.open({str(path)!r})\n"
        "try:\n"
        "    print('ready', flush=True)\n"
        "    while True: len(capture.functions())\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', len(list(capture.functions())))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b"stopped 0\n"
        assert process.wait(30) == 0
