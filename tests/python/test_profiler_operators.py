"""Operators in the results of `kymograph.profile`, without torch: those of `kymograph.op`."""

from __future__ import annotations

import array
import json
import re
import warnings
from pathlib import Path

import pytest

import kymograph
from kymograph.profiler._config import _ExperimentalConfig, option


def record(**options: object) -> kymograph.profile:
    data = array.array("d", range(6))
    with kymograph.profile(with_stack=False, **options) as prof:
        for _ in range(3):
            with kymograph.op("scale", (data, 0.5)), kymograph.op("multiply", (data, data)):
                pass
        with kymograph.op("add", (data, [1, 2], True, "text")), kymograph.op("add", (data,)):
            pass
        with kymograph.span("mark"), kymograph.op("scale", (data[:2], 0.5)):
            pass
    return prof


def test_averages_are_by_operator() -> None:
    rows = {row.key: row for row in record().key_averages()}

    counts = {name: row.count for name, row in rows.items()}
    assert counts == {"scale": 4, "multiply": 3, "add": 1, "mark": 1}
    assert [name for name, row in rows.items() if row.is_user_annotation] == ["mark"]
    assert not any(row.is_python_function for row in rows.values())
    assert rows["scale"].cpu_time_total >= rows["scale"].self_cpu_time_total > 0


def test_averages_by_shape() -> None:
    rows = record().key_averages(group_by_input_shape=True)

    counts = {(row.key, str(row.input_shapes)): row.count for row in rows}
    assert counts["scale", "[[6], []]"] == 3
    assert counts["scale", "[[2], []]"] == 1
    assert "[[6], []]" in rows.table()
    assert "Input Shapes" not in record().key_averages().table()


def test_an_operator_that_only_calls_another_of_its_name_is_one_event() -> None:
    events = record().events()

    (add,) = [event for event in events if event.name == "add"]
    assert add.cpu_children == []
    assert add.input_shapes == [[6], [], [], []]
    assert add.concrete_inputs == [None, [1, 2], True, None]
    assert add.input_dtypes == ["double", "ScalarList", "Scalar", ""]
    assert add.self_cpu_time_total == add.cpu_time_total


def test_events_of_operators_nest() -> None:
    events = record().events()

    (multiply, *_) = [event for event in events if event.name == "multiply"]
    assert multiply.cpu_parent is not None
    assert multiply.cpu_parent.name == "scale"
    assert (multiply.activity_type, multiply.is_user_annotation) == ("cpu_op", False)
    (mark,) = [event for event in events if event.name == "mark"]
    assert (mark.activity_type, mark.scope) == ("user_annotation", 7)


def test_options_of_a_pickled_config_are_understood() -> None:
    class Foreign:
        """Shows its options only when it is pickled, as torch's class does."""

        def __getstate__(self) -> tuple[object, ...]:
            return (False, [], False, False, False, False, True, True, False, "", False, False)

    assert option(Foreign(), "record_python_gc_info") is True
    assert option(Foreign(), "capture_overload_names") is True
    assert option(Foreign(), "trace_only") is False
    assert option(_ExperimentalConfig(trace_only=True), "trace_only") is True
    assert option(object(), "record_python_gc_info") is False


def test_options_of_an_older_pickled_config_are_understood() -> None:
    class Foreign:
        """Has the lists of metrics and of performance events at its ends, as torch 2.8 has."""

        def __getstate__(self) -> tuple[object, ...]:
            return ([], False, True, False, False, False, False, True, ["cycles"])

    assert option(Foreign(), "capture_overload_names") is True
    assert option(Foreign(), "verbose") is True
    assert option(Foreign(), "performance_events") == ["cycles"]
    assert option(Foreign(), "enable_cuda_sync_events") is False
    assert option(Foreign(), "record_python_gc_info") is False


def test_a_step_made_by_a_function_is_one_event(tmp_path: Path) -> None:
    def end_step(prof: kymograph.profile) -> None:
        prof.step()

    plan = kymograph.schedule(wait=0, warmup=1, active=2, repeat=1)
    with kymograph.profile(with_stack=True, schedule=plan) as prof:
        for _ in range(3):
            end_step(prof)
    prof.export_chrome_trace(tmp_path / "t.json")

    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    steps = [event["name"] for event in events if "ProfilerStep" in event["name"]]
    assert sorted(steps) == ["ProfilerStep#1", "ProfilerStep#2"]


def test_the_text_of_an_annotation_can_be_asked_for() -> None:
    assert kymograph.record_function("name", "text").args == "text"
    assert kymograph.record_function("name").args is None
    assert kymograph.span("name", other="text").args is None


def test_tables_sort_by_the_times_of_any_device() -> None:
    rows = record().key_averages()

    for device in ("cuda", "xpu", "device"):
        for field in (f"{device}_time", f"{device}_time_total", f"self_{device}_time_total"):
            assert "scale" in rows.table(sort_by=field)


def test_a_table_leaves_its_shares_in_the_rows() -> None:
    rows = record().key_averages()
    assert {row.self_cpu_percent for row in rows} == {-1}

    text = rows.table()

    assert all(str(row.self_cpu_percent) in text for row in rows)
    assert abs(sum(float(str(row.self_cpu_percent)[:-1]) for row in rows) - 100) < 1


def test_that_memory_is_not_recorded_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kymograph.profiler._memory._warned", set())
    with pytest.warns(UserWarning, match="torch is not imported") as found:
        with kymograph.profile(profile_memory=True) as prof:
            with kymograph.op("alone"):
                pass
    assert found[0].filename == __file__
    assert "CPU Mem" in prof.key_averages().table()
    assert prof.key_averages()[0].cpu_memory_usage == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with kymograph.profile(profile_memory=True):
            pass


def test_python_functions_have_the_ids_of_the_trace(tmp_path: Path) -> None:
    def outer() -> None:
        with kymograph.span("between"):
            inner()

    def inner() -> None:
        pass

    with kymograph.profile(with_stack=True) as prof:
        outer()

    events = {re.split(r"\W", event.name)[-1]: event for event in prof.events()}
    assert events["inner"].python_parent_id == events["outer"].python_id > 0
    assert (events["between"].python_id, events["between"].python_parent_id) == (-1, -1)
    assert events["outer"].python_module_id == -1
    prof.export_chrome_trace(tmp_path / "t.json")
    trace = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    ids = [
        (event["args"]["Python id"], event["args"].get("Python parent id", -1), event["name"])
        for event in trace
        if event.get("cat") == "python_function"
    ]
    functions = [event for event in prof.events() if event.is_python_function]
    assert sorted(ids) == sorted((e.python_id, e.python_parent_id, e.name) for e in functions)


def test_trace_only_has_no_effect_with_stacks() -> None:
    config = _ExperimentalConfig(trace_only=True)

    with pytest.warns(UserWarning, match="trace_only"):
        prof = kymograph.profile(with_stack=True, experimental_config=config)
    with prof:
        pass
    with kymograph.profile(with_stack=False, experimental_config=config) as other:
        pass

    prof.events()
    with pytest.raises(RuntimeError, match="trace_only"):
        other.events()


def test_an_option_of_torchs_own_config_that_is_ignored_is_told() -> None:
    class Foreign:
        adjust_profiler_step = True

    with pytest.warns(FutureWarning, match="adjust_profiler_step"):
        kymograph.profile(experimental_config=Foreign())
