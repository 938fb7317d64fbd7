"""What kymograph.profile does where torch.profiler is known to go wrong, and what it says."""

from __future__ import annotations

import enum
import gzip
import json
import os
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import RunCode

import kymograph
from kymograph import profiler


def trace_of(prof: kymograph.profile, path: Path) -> dict[str, Any]:
    prof.export_chrome_trace(path)
    trace: dict[str, Any] = json.loads(path.read_bytes())
    return trace


def names_of(prof: kymograph.profile, path: Path, category: str = "user_annotation") -> list[str]:
    events = trace_of(prof, path)["traceEvents"]
    return [event["name"] for event in events if event.get("cat") == category]


def leaf() -> int:
    return 1


def branch() -> int:
    return leaf() + leaf()


# ---- what others get wrong


def test_threads_started_during_the_window_are_recorded(tmp_path: Path) -> None:
    with kymograph.profile(with_stack=True) as prof:
        threads = [threading.Thread(target=branch, name=f"t{i}") for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    events = trace_of(prof, tmp_path / "trace.json")["traceEvents"]
    calls = [e for e in events if e["name"].endswith(": branch")]
    assert len(calls) == 4
    assert len({e["tid"] for e in calls}) >= 1
    assert {e.thread for e in prof.events() if e.name.endswith(": branch")} == {
        e["tid"] for e in calls if e["tid"] < 1_000_000_000
    }


def test_two_exports_give_the_same_trace(tmp_path: Path) -> None:
    with kymograph.profile(with_stack=True) as prof:
        branch()

    prof.export_chrome_trace(tmp_path / "one.json")
    prof.export_chrome_trace(tmp_path / "two.json")
    prof.export_chrome_trace(tmp_path / "three.json.gz")

    first = json.loads((tmp_path / "one.json").read_bytes())
    second = json.loads((tmp_path / "two.json").read_bytes())
    third = json.loads(gzip.decompress((tmp_path / "three.json.gz").read_bytes()))
    names = [trace.pop("traceName") for trace in (first, second, third)]
    assert [Path(name).name for name in names] == ["one.json", "two.json", "three.json.gz"]
    assert first == second == third


def test_stacks_are_there_without_hidden_flags(tmp_path: Path) -> None:
    with kymograph.profile(with_stack=True) as prof:
        with kymograph.record_function("marked"):
            branch()

    prof.export_stacks(tmp_path / "stacks.txt")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert any(";marked;" in line and ":_branch;" in line for line in lines)
    assert all(int(line.rsplit(" ", 1)[1]) > 0 for line in lines)
    (event,) = [e for e in prof.events() if e.name.endswith(": branch")]
    assert event.stack[0].endswith("test_stacks_are_there_without_hidden_flags")
    (row,) = [r for r in prof.key_averages(group_by_stack_n=1) if r.key.endswith(": leaf")]
    assert row.stack[0].endswith(": branch")


def test_a_stack_is_written_once_with_the_time_of_all_its_calls(tmp_path: Path) -> None:
    with kymograph.profile(with_stack=True) as prof:
        for _ in range(50):
            branch()

    prof.export_stacks(tmp_path / "stacks.txt")
    stacks = [line.rsplit(" ", 1)[0] for line in (tmp_path / "stacks.txt").read_text().splitlines()]
    assert len(stacks) == len(set(stacks))


@pytest.mark.parametrize("name", ['"quoted"', "back\\slash", "grün", "列", "a\nb", "\x7f", "🙂"])
def test_names_with_quotes_and_non_ascii_survive(name: str, tmp_path: Path) -> None:
    with kymograph.profile() as prof:
        with kymograph.record_function(name):
            pass

    assert names_of(prof, tmp_path / "trace.json") == [name]
    assert [event.name for event in prof.events()] == [name]


def mark(name: str) -> None:
    with kymograph.record_function(name):
        pass


def test_a_profile_inside_another_is_a_part_of_it(tmp_path: Path) -> None:
    with kymograph.profile() as outer:
        mark("before")
        with kymograph.profile() as inner:
            mark("inside")
        assert [event.name for event in inner.events()] == ["inside"]  # while the outer records
        mark("after")

    assert names_of(outer, tmp_path / "outer.json") == ["before", "inside", "after"]
    assert names_of(inner, tmp_path / "inner.json") == ["inside"]
    assert [row.key for row in inner.key_averages()] == ["inside"]
    del outer
    assert names_of(inner, tmp_path / "inner.json") == ["inside"]  # the capture is there


def test_profiles_that_overlap_both_get_everything(tmp_path: Path) -> None:
    first, second = kymograph.profile(), kymograph.profile()
    first.start()
    mark("one")
    second.start()
    mark("two")
    first.stop()
    mark("three")
    second.stop()
    assert not kymograph.running()
    mark("four")

    assert names_of(first, tmp_path / "first.json") == ["one", "two"]
    assert names_of(second, tmp_path / "second.json") == ["two", "three"]


def test_profiles_with_schedules_do_not_stop_each_other(tmp_path: Path) -> None:
    found: list[list[str]] = []

    def ready(prof: kymograph.profile) -> None:
        found.append([event.name for event in prof.events()])

    schedule = kymograph.schedule(wait=1, warmup=1, active=1, repeat=2)
    with kymograph.profile(schedule=schedule, on_trace_ready=ready) as prof:
        for step in range(6):
            with kymograph.profile() as around:
                mark(f"step {step}")
                prof.step()
            assert f"step {step}" in [event.name for event in around.events()]

    # The first call of `step` after the mark ends the window.
    assert ["step 2" in names for names in found] == [True, False]
    assert ["step 5" in names for names in found] == [False, True]


def test_profiles_of_two_threads_share_a_capture() -> None:
    inside, done = threading.Event(), threading.Event()
    seen: list[list[str]] = []

    def other() -> None:
        with kymograph.profile() as prof:
            mark("of the thread")
            inside.set()
            assert done.wait(400)
        seen.append([event.name for event in prof.events()])

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(400)
    with kymograph.profile() as prof:
        mark("of main")
    done.set()
    thread.join()

    assert [event.name for event in prof.events()] == ["of main"]
    assert seen == [["of the thread", "of main"]]
    assert not kymograph.running()


def test_a_profile_inside_another_session_is_a_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "trace.kymo"
    with kymograph.trace(path, calls=False):
        with kymograph.record_function("before"):
            pass
        with kymograph.profile() as prof:
            with kymograph.record_function("inside"):
                pass
        with kymograph.record_function("after"):
            pass
        assert [row.key for row in prof.key_averages()] == ["inside"]
        assert names_of(prof, tmp_path / "trace.json") == ["inside"]

    with kymograph.open(path) as capture:
        entered = [event.name for event in capture.events() if event.kind == "enter"]
    assert entered == ["before", "inside", "after"]
    assert [row.key for row in prof.key_averages()] == ["inside"]


def spin(seconds: float) -> float:
    """Call `leaf` for that long; how long it was really."""
    began = now = time.thread_time()
    while now < began + seconds:
        leaf()
        now = time.thread_time()
    return now - began


@pytest.mark.timing
def test_without_annotations_samples_show_what_took_the_time() -> None:
    with kymograph.profile() as prof:
        spent = spin(0.2) * 1e6

    rows = {row.key.rpartition(": ")[2]: row for row in prof.key_averages()}
    assert "spin" in str(prof.key_averages())
    assert spent / 2 < rows["spin"].cpu_time_total < spent * 2
    assert rows["spin"].cpu_time_total >= rows["spin"].self_cpu_time_total > 0
    assert prof.events() == [] or len(prof.events()) == 0


def test_annotations_come_before_samples() -> None:
    with kymograph.profile() as prof:
        with kymograph.record_function("mine"):
            spin(0.05)

    assert [row.key for row in prof.key_averages()] == ["mine"]


def test_with_stack_false_takes_no_samples() -> None:
    with kymograph.profile(with_stack=False) as prof:
        spin(0.05)

    assert len(prof.key_averages()) == 0
    assert prof.capture.info.samples == 0


def test_forgetting_stop_loses_nothing(run_code: RunCode, tmp_path: Path) -> None:
    code = """if True:
        import sys, kymograph
        def start():
            prof = kymograph.profile(on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[1]))
            prof.start()
        start()
        with kymograph.record_function("last words"):
            pass
    """
    path = tmp_path / "trace.json"
    run_code(code, path)

    events = json.loads(path.read_bytes())["traceEvents"]
    assert "last words" in [event["name"] for event in events]


def test_forgetting_stop_without_a_handler_keeps_the_capture_and_says_where(
    run_code: RunCode, tmp_path: Path
) -> None:
    code = """if True:
        import sys, tempfile, kymograph
        tempfile.tempdir = sys.argv[1]
        prof = kymograph.profile()
        prof.start()
        with kymograph.record_function("last words"):
            pass
    """
    done = run_code(code, tmp_path, check=False)

    assert done.returncode == 0
    (path,) = tmp_path.glob("kymograph-profile-*/profile.kymo")
    assert done.stderr == (
        f"kymograph: a profile was never stopped; what it recorded is in {path}\n"
    )
    with kymograph.open(path) as capture:
        assert next(event.name for event in capture.events()) == "last words"


def test_an_exception_inside_the_block_still_leaves_a_trace(tmp_path: Path) -> None:
    ready = []
    with pytest.raises(ZeroDivisionError):
        with kymograph.profile(on_trace_ready=ready.append) as prof:
            with kymograph.record_function("work"):
                _ = 1 / 0

    assert ready == [prof]
    assert names_of(prof, tmp_path / "trace.json") == ["work"]


def captures_in(directory: str) -> list[str]:
    return [name for name in os.listdir(directory) if name.startswith("kymograph-profile-")]


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_is_bounded_over_a_schedule_that_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cycles, sizes = 0, []

    def handler(prof: kymograph.profile) -> None:
        nonlocal cycles
        cycles += 1
        sizes.append(resident())
        assert len(captures_in(str(tmp_path))) <= 2

    plan = kymograph.schedule(wait=0, warmup=1, active=1)
    with kymograph.profile(schedule=plan, on_trace_ready=handler, with_stack=True) as prof:
        for _ in range(120):
            branch()
            prof.step()
    del prof

    assert cycles == 60
    assert max(sizes[30:]) - max(sizes[:30]) < 8 << 20
    assert captures_in(str(tmp_path)) == []


# ---- what is told when


def test_nothing_of_the_profiler_itself_is_recorded(tmp_path: Path) -> None:
    plan = kymograph.schedule(wait=1, warmup=1, active=2, repeat=1)
    with kymograph.profile(schedule=plan, with_stack=True) as prof:
        for _ in range(5):
            leaf()
            prof.step()

    functions = list(names_of(prof, tmp_path / "t.json", "python_function"))
    ours = (os.path.dirname(kymograph.__file__), enum.__file__, os.path.dirname(json.__file__))
    assert [name for name in functions if name.startswith(ours)] == []
    assert Counter(n for n in functions if n.endswith(": leaf")).total() == 2


def test_warm_up_is_not_shown(tmp_path: Path) -> None:
    plan = kymograph.schedule(wait=0, warmup=2, active=1, repeat=1)
    with kymograph.profile(schedule=plan) as prof:
        for step in range(3):
            with kymograph.record_function(f"step {step}"):
                pass
            prof.step()

    assert names_of(prof, tmp_path / "t.json") == ["step 2", "ProfilerStep#2"]
    assert [event.name for event in prof.events()] == ["ProfilerStep#2", "step 2"]
    assert [row.key for row in prof.key_averages()] == ["ProfilerStep*", "step 2"]


@pytest.mark.parametrize(
    ("steps", "warning"),
    [
        ("WN", "WARMUP followed by NONE"),
        ("RN", "RECORD followed by NONE"),
        ("RW", "RECORD followed by WARMUP"),
    ],
)
def test_a_schedule_that_throws_records_away_is_warned_of(steps: str, warning: str) -> None:
    actions = {
        "N": kymograph.ProfilerAction.NONE,
        "W": kymograph.ProfilerAction.WARMUP,
        "R": kymograph.ProfilerAction.RECORD,
    }
    prof = kymograph.profile(schedule=lambda step: actions[(steps + "N")[min(step, 2)]])
    prof.start()
    with pytest.warns(UserWarning, match=warning):
        prof.step()
    if steps == "RW":
        prof.stop()
    else:
        prof.step()
        prof.stop()
    assert not kymograph.running()


def test_an_internal_action_from_a_schedule_is_refused() -> None:
    stopped = kymograph.ProfilerAction.DEVICE_STOPPED
    with pytest.raises(ValueError, match="DEVICE_STOPPED"):
        kymograph.profile(schedule=lambda step: stopped)
    prof = kymograph.profile(
        schedule=lambda step: stopped if step else kymograph.ProfilerAction.RECORD
    )
    prof.start()
    with pytest.raises(ValueError, match="DEVICE_STOPPED"):
        prof.step()
    assert (prof.step_num, prof.current_action) == (0, kymograph.ProfilerAction.RECORD)
    prof.stop()


def test_results_before_the_end_are_an_error_that_says_so() -> None:
    prof = kymograph.profile()
    with pytest.raises(AssertionError, match="before exporting chrome trace"):
        prof.export_chrome_trace("trace.json")
    prof.start()
    with pytest.raises(RuntimeError, match=r"call stop\(\) before"):
        prof.events()
    prof.stop()
    assert len(prof.events()) == 0


def test_an_empty_recording_exports_valid_json(tmp_path: Path) -> None:
    with kymograph.profile() as prof:
        pass

    assert trace_of(prof, tmp_path / "trace.json")["schemaVersion"] == 1
    assert prof.key_averages().table() == ""


def test_an_export_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with kymograph.profile(with_stack=True) as prof:
        branch()

    with pytest.raises(FileNotFoundError):
        prof.export_chrome_trace(tmp_path / "missing" / "trace.json")
    with pytest.raises(FileNotFoundError):
        prof.export_stacks(tmp_path / "missing" / "stacks.txt")
    assert list(tmp_path.iterdir()) == []


# ---- options


@pytest.mark.parametrize(
    ("activities", "error", "text"),
    [
        ([], AssertionError, "No valid profiler activities found"),
        ([kymograph.ProfilerActivity.CPU] * 2, ValueError, "twice"),
        (["CPU"], TypeError, "ProfilerActivity"),
        ("CPU", TypeError, "list"),
        ([{kymograph.ProfilerActivity.CPU: ["CPU_OP", "NONSENSE"]}], ValueError, "'NONSENSE'"),
        (
            [kymograph.ProfilerActivity.CPU, {kymograph.ProfilerActivity.CPU: []}],
            ValueError,
            "twice",
        ),
    ],
)
def test_wrong_activities_are_refused(activities: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        kymograph.profile(activities=activities)


def test_a_device_that_is_not_recorded_is_warned_of(run_code: RunCode) -> None:
    code = """if True:
        import warnings, kymograph
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            both = [kymograph.ProfilerActivity.CPU, kymograph.ProfilerActivity.CUDA]
            kymograph.profile(activities=both)
            kymograph.profile(activities=both)
        assert [str(w.message) for w in caught] == ["CUDA is not recorded here, only CPU is"]
    """
    run_code(code)


def test_with_modules_is_deprecated() -> None:
    with pytest.warns(FutureWarning, match="with_modules"):
        kymograph.profile(with_modules=True)


def test_metadata_that_is_not_json_is_refused() -> None:
    prof = kymograph.profile()
    with pytest.raises(ValueError, match="'broken' is not JSON"):
        prof.add_metadata_json("broken", "{'single': 1}")
    with pytest.raises(ValueError, match="not JSON"):
        prof.preset_metadata_json("broken", "nothing")


def test_metadata_added_after_the_end_is_in_the_next_export(tmp_path: Path) -> None:
    with kymograph.profile() as prof:
        pass

    prof.add_metadata("late", 'but "there"')
    prof.add_metadata("traceEvents", "is not to be replaced")
    trace = trace_of(prof, tmp_path / "trace.json")
    assert trace["late"] == 'but "there"'
    assert isinstance(trace["traceEvents"], list)


def test_job_variables_are_in_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PT_PROFILER_JOB_NAME", "nightly")
    with kymograph.profile() as prof:
        pass

    trace = trace_of(prof, tmp_path / "trace.json")
    assert trace["PT_PROFILER_JOB_NAME"] == "nightly"
    assert trace["host_name"] == os.uname().nodename


def test_collections_are_recorded_without_functions() -> None:
    config = profiler._ExperimentalConfig(record_python_gc_info=True)
    with kymograph.profile(experimental_config=config) as prof:
        import gc

        gc.collect()
        leaf()

    keys = [row.key for row in prof.key_averages(include_python_functions=True)]
    assert keys == ["Python GC"]


def test_the_memory_timeline_says_what_is_missing() -> None:
    with kymograph.profile(with_stack=True) as prof:
        pass
    with pytest.raises(ValueError, match="record_shapes=True, profile_memory=True required"):
        prof.export_memory_timeline("memory.html")

    with kymograph.profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        pass
    with pytest.raises(RuntimeError, match="no memory timeline"):
        prof.export_memory_timeline("memory.html")


def test_stacks_need_with_stack_and_a_known_metric(tmp_path: Path) -> None:
    with kymograph.profile() as prof:
        pass
    with pytest.raises(AssertionError, match="requires with_stack=True"):
        prof.export_stacks(tmp_path / "stacks.txt")
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "stacks.txt", "self_time")


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

    in_trace = Counter(
        e["name"]
        for e in trace_of(prof, tmp_path / "t.json")["traceEvents"]
        if e.get("cat") in ("user_annotation", "python_function")
    )
    assert Counter(event.name for event in prof.events()) == in_trace
    rows = {row.key: row.count for row in prof.key_averages()}
    assert rows == dict(in_trace)


# ---- captures


def test_the_capture_can_be_kept(tmp_path: Path) -> None:
    with kymograph.profile() as prof:
        with kymograph.record_function("work"):
            pass

    prof.save_capture(tmp_path / "kept.kymo")
    with kymograph.open(tmp_path / "kept.kymo") as capture:
        assert [event.name for event in capture.events()] == ["work", "work"]
    assert prof.capture.info.ending == "clean"


def test_the_capture_goes_with_the_profiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with kymograph.profile() as prof:
        pass
    events = prof.events()
    assert len(captures_in(str(tmp_path))) == 1

    del prof
    assert len(events) == 0
    del events
    assert captures_in(str(tmp_path)) == []


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_does_not_touch_the_recording_of_its_parent(tmp_path: Path) -> None:
    with kymograph.profile() as prof:
        with kymograph.record_function("before"):
            pass
        child = os.fork()
        if child == 0:
            prof.step()
            prof.stop()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        with kymograph.record_function("after"):
            pass

    assert names_of(prof, tmp_path / "trace.json") == ["before", "after"]


def test_importing_kymo_does_not_import_the_profiler(run_code: RunCode) -> None:
    code = """if True:
        import sys, kymograph
        assert "kymograph.profiler" not in sys.modules
        kymograph.profile
        assert "kymograph.profiler" in sys.modules
        assert "torch" not in sys.modules
    """
    run_code(code)


def test_torch_compat_has_the_names_of_torch_profiler() -> None:
    import kymograph.torch_compat as compat

    for name in """profile record_function schedule supported_activities ProfilerAction
        ProfilerActivity tensorboard_trace_handler _KinetoProfile itt""".split():
        assert getattr(compat, name) is getattr(profiler, name)
