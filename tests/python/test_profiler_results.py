"""Annotations, tables and events of kymograph.profile."""

from __future__ import annotations

import copy
import importlib
import json
import logging
import math
import pickle
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from profiled import branch, leaf, names_of, trace_of

import kymograph
from kymograph import profiler

# ---- annotations


def test_record_function_takes_the_forms_of_torch() -> None:
    with kymograph.profile() as prof:
        with kymograph.record_function("a", "arguments"):
            pass
        with kymograph.record_function(name="a", args=None):
            pass
        with profiler._RecordFunctionFast("b", [1, 2], {"scope": "user_scope"}):
            pass

    assert Counter(event.name for event in prof.events()) == {"a": 2, "b": 1}
    for wrong in ({}, {"name": 1}, {"name": "a", "args": 1}):
        with pytest.raises(TypeError):
            kymograph.record_function(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        kymograph.record_function("a", "b", "c")  # type: ignore[call-arg]


def test_an_annotation_of_a_context_manager_is_counted_once(tmp_path: Path) -> None:
    from contextlib import contextmanager

    @contextmanager
    def region(name: str) -> Any:
        with kymograph.record_function(name):
            yield

    with kymograph.profile(with_stack=True) as prof:
        for _ in range(3):
            with region("region"):
                leaf()

    assert names_of(prof, tmp_path / "t.json").count("region") == 3
    assert [r.count for r in prof.key_averages() if r.key == "region"] == [3]
    assert sum(event.name == "region" for event in prof.events()) == 3


def test_recursion_is_not_counted_twice() -> None:
    def down(n: int) -> None:
        if n:
            down(n - 1)
        else:
            time.sleep(0.01)

    with kymograph.profile(with_stack=True) as prof:
        down(5)

    for rows in (prof.key_averages(), prof.key_averages(group_by_stack_n=0)):
        (row,) = [r for r in rows if r.key.endswith("down")]
        assert row.count == 6
        assert 10_000 <= row.cpu_time_total < 5 * 10_000


def test_without_functions_their_time_is_the_annotations_own() -> None:
    with kymograph.profile(with_stack=True) as prof:
        with kymograph.record_function("outer"):
            time.sleep(0.01)
            with kymograph.record_function("inner"):
                time.sleep(0.02)

    rows = {row.key: row for row in prof.key_averages(include_python_functions=False)}
    assert set(rows) == {"outer", "inner"}
    outer, inner = rows["outer"], rows["inner"]
    assert outer.self_cpu_time_total >= 10_000
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inner.cpu_time_total)
    assert inner.self_cpu_time_total == inner.cpu_time_total >= 20_000


# ---- tables and events


def test_a_table_has_the_units_it_is_asked_for() -> None:
    with kymograph.profile() as prof:
        with kymograph.record_function("work"):
            time.sleep(0.002)

    averages = prof.key_averages()
    assert "ms" in averages.table()
    assert "us" in averages.table(time_unit="us") and "ms " not in averages.table(time_unit="us")
    with pytest.raises(ValueError, match="time_unit"):
        averages.table(time_unit="hours")
    with pytest.raises(AttributeError, match="cpu_time_total"):
        averages.table(sort_by="beauty")


def test_top_level_events_only_leaves_nested_annotations_out() -> None:
    with kymograph.profile() as prof:
        with kymograph.record_function("outer"):
            with kymograph.record_function("inner"):
                pass

    text = prof.key_averages().table(top_level_events_only=True)
    assert "outer" in text and "inner" not in text


def test_events_know_their_parents_and_children() -> None:
    with kymograph.profile(with_stack=True) as prof:
        with kymograph.record_function("marked"):
            branch()

    events = prof.events()
    (called,) = [e for e in events if e.name.endswith(": branch")]
    assert called.cpu_parent is not None and called.cpu_parent.name == "marked"
    assert [child.name.rpartition(": ")[2] for child in called.cpu_children] == ["leaf", "leaf"]
    assert events[-1] == events[len(events) - 1]
    assert [e.id for e in events[:2]] == [0, 1]
    inside = sum(child.cpu_time_total for child in called.cpu_children)
    assert called.self_cpu_time_total == pytest.approx(called.cpu_time_total - inside)


def test_names_of_events_are_those_of_the_trace(tmp_path: Path) -> None:
    with kymograph.profile(with_stack=True) as prof:
        with kymograph.record_function("marked"):
            branch()
            sorted([str(3), "x".upper()])
            type("Made", (), {})

    written = [
        e
        for e in trace_of(prof, tmp_path / "t.json")["traceEvents"]
        if e.get("cat") in ("user_annotation", "python_function")
    ]
    in_trace = Counter(e["name"] for e in written)
    assert Counter(event.name for event in prof.events()) == in_trace
    # Functions that were running have another line than their first one, which rows have.
    started = Counter(e["name"] for e in written if "started" not in e["args"])
    rows = Counter({row.key: row.count for row in prof.key_averages()})
    assert started <= rows
    running = Counter(re.sub(r"\(\d+\)", "", name) for name in (in_trace - started).elements())
    assert running == Counter(re.sub(r"\(\d+\)", "", name) for name in (rows - started).elements())


def test_files_are_relative_to_where_modules_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "lib"
    (folder / "inner").mkdir(parents=True)
    code = "class C:\n    def f(self): return [g() for g in [lambda: 0]]\n"
    for name in ("one.py", "inner/two.py"):
        (folder / name).write_text(code)
    monkeypatch.syspath_prepend(str(folder))
    one, two = importlib.import_module("one"), importlib.import_module("inner.two")
    with kymograph.profile(with_stack=True) as prof:
        one.C().f()
        monkeypatch.syspath_prepend(str(folder / "inner"))
    with kymograph.profile(with_stack=True) as later:
        two.C().f()

    def of_functions(profile: kymograph.profile) -> set[str]:
        profile.export_chrome_trace(tmp_path / "t.json")
        events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
        written = {e["name"] for e in events if e.get("cat") == "python_function"}
        shown = {e.name for e in profile.events() if e.is_python_function}
        assert written == shown
        return {name for name in written if name.startswith(("one.py", "inner/", "two.py"))}

    assert {"two.py(2): f", "two.py(2): <lambda>"} <= of_functions(later)
    assert {"one.py(2): f", "one.py(2): <lambda>"} <= of_functions(prof)


# ---- results in time


def make_large_profile(timeout: float | None) -> kymograph.profile:
    with kymograph.profile(with_stack=True, post_processing_timeout_s=timeout) as prof:
        with kymograph.record_function("around"):
            for _ in range(200_000):
                leaf()
    return prof


def test_results_come_in_time_and_are_what_was_read(caplog: pytest.LogCaptureFixture) -> None:
    prof = make_large_profile(1e-5)
    assert prof.profiler is not None
    partial = 0
    while True:
        caplog.clear()
        began = time.perf_counter()
        events = prof.events()
        took = time.perf_counter() - began
        if not caplog.records:
            break
        # It may be interrupted for as long as the system likes; reading all would take longer.
        assert took < prof.profiler._timeout + 1
        (record,) = caplog.records
        assert (record.name, record.levelno) == ("torch.autograd.profiler", logging.WARNING)
        assert "timed out" in record.message and "partial results" in record.message
        assert f"{len(events)} events" in record.message
        if len(events):
            partial += 1
            around = next(event for event in events if event.name == "around")
            assert not around.finished
        prof.profiler._timeout *= 2
    assert partial and sum("leaf" in event.name for event in events) == 200_000

    prof.profiler._timeout = 1e-5
    partial = 0
    while True:
        caplog.clear()
        rows = {row.key: row.count for row in prof.key_averages()}
        if not caplog.records:
            break
        assert f"{sum(rows.values())} events" in caplog.records[0].message
        partial += bool(rows)
        prof.profiler._timeout *= 2
    assert partial and 200_000 in rows.values()


def test_no_time_gives_no_results_and_no_limit_all(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    none = make_large_profile(0)
    assert not none.events()
    assert not none.key_averages()
    none.export_stacks(tmp_path / "stacks.txt")
    assert (tmp_path / "stacks.txt").read_bytes() == b""
    assert [record.message.rpartition("of ")[2] for record in caplog.records] == ["0 events"] * 3

    caplog.clear()
    for unlimited in (None, math.inf, 1e300):
        assert len(make_large_profile(unlimited).events()) >= 200_001
    assert not caplog.records


@pytest.mark.parametrize("wrong", [-1, -0.5, math.nan, -math.inf])
def test_a_timeout_is_a_number_from_0(wrong: float) -> None:
    with pytest.raises(ValueError, match="post_processing_timeout_s must be non-negative"):
        kymograph.profile(post_processing_timeout_s=wrong)


# ---- pickled events


def test_pickled_events_say_the_same_in_another_process(tmp_path: Path) -> None:
    def outer() -> None:
        with kymograph.record_function("work"), kymograph.op("scale", inputs=([1, 2], 0.5)):
            branch()

    with kymograph.profile(with_stack=True, record_shapes=True) as prof:
        outer()
    events = prof.events()
    fields = """name key trace_name id cpu_time_total self_cpu_time_total time_range thread scope
        input_dtypes concrete_inputs stack is_user_annotation is_python_function outermost
        cpu_memory_usage python_id activity_type device_index""".split()
    ends = ("branch", "leaf", "work", "scale")  # others were running before
    (tmp_path / "events").write_bytes(pickle.dumps((events, events[2])))
    program = f"""
import json, pickle
events, one = pickle.load(open({str(tmp_path / "events")!r}, "rb"))
assert one == events[2] and len(events) == {len(events)} and one.cpu_parent == events[1]
rows = [
    [(r.key, r.count, r.is_user_annotation, r.is_python_function, r.outermost, r.stack)
     for r in sorted(found, key=lambda r: r.key) if r.key.endswith({ends!r})]
    for found in (events.key_averages(), events.key_averages(include_python_functions=False),
                  events.key_averages(group_by_stack_n=1))
]
said = [[getattr(e, f) for f in {fields!r}] for e in events]
try:
    events.export_chrome_trace("no.json")
except RuntimeError as error:
    rows.append(str(error))
print(json.dumps([said, rows, events.table(), len(pickle.loads(pickle.dumps(events)))]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=tmp_path)

    assert done.returncode == 0, done.stderr.decode()
    said, (*rows, error), table, count = json.loads(done.stdout)
    assert said == json.loads(json.dumps([[getattr(e, f) for f in fields] for e in events]))
    for found, asked in zip(
        rows,
        ({}, {"include_python_functions": False}, {"group_by_stack_n": 1}),
        strict=True,
    ):
        live = sorted(events.key_averages(**asked), key=lambda row: row.key)
        assert found == [
            [r.key, r.count, r.is_user_annotation, r.is_python_function, r.outermost, r.stack]
            for r in live
            if r.key.endswith(ends)
        ]
    assert table == events.table()
    assert count == len(events)
    assert "export them before" in error


def test_the_times_of_pickled_events_add_up_to_the_same() -> None:
    def down(n: int) -> None:
        with kymograph.record_function("level"):
            if n:
                down(n - 1)

    with kymograph.profile(with_stack=True) as prof:
        down(3)
    live, pickled = prof.events(), pickle.loads(pickle.dumps(prof.events()))

    def times(events: Any, functions: bool) -> dict[str, tuple[float, float]]:
        rows = events.key_averages(include_python_functions=functions)
        return {
            r.key: (round(r.cpu_time_total, 3), round(r.self_cpu_time_total, 3))
            for r in rows
            if r.key.endswith(("down", "level"))
        }

    for functions in (True, False):
        assert times(pickled, functions) == times(live, functions)
    assert pickled.self_cpu_time_total == live.self_cpu_time_total


def test_copies_of_events_are_of_the_same_recording() -> None:
    with kymograph.profile(with_stack=True) as prof:
        branch()
    events = prof.events()

    for copied in (copy.copy(events), copy.deepcopy(events)):
        assert list(copied) == list(events)
        assert [row.key for row in copied.key_averages()] == [
            row.key for row in events.key_averages()
        ]
    assert copy.deepcopy(events[0]) == events[0]
    assert copy.deepcopy(events[1:3]) == events[1:3]


def test_pickled_events_without_calls_have_the_rows_of_samples() -> None:
    with kymograph.profile(with_stack=False) as prof:
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            branch()
    events = pickle.loads(pickle.dumps(prof.events()))

    assert len(events) == 0
    assert [r.key for r in events.key_averages()] == [r.key for r in prof.key_averages()]
