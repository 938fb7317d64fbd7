"""What kymograph.profile says, and when; its options."""

from __future__ import annotations

import enum
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import RunCode
from profiled import branch, leaf, names_of, trace_of

import kymograph
from kymograph import profiler

# ---- warnings and errors, and when they come


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
    assert [event.name for event in prof.events()] == ["ProfilerStep*", "step 2"]
    assert [event.trace_name for event in prof.events()] == ["ProfilerStep#2", "step 2"]
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


def test_stacks_need_with_stack_and_a_known_metric(tmp_path: Path) -> None:
    with kymograph.profile() as prof:
        pass
    with pytest.raises(AssertionError, match="requires with_stack=True"):
        prof.export_stacks(tmp_path / "stacks.txt")
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "stacks.txt", "self_time")
