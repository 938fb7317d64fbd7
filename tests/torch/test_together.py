"""kymograph and torch in one process: names, activities, actions and annotations of either."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.autograd.profiler_legacy
import torch.profiler
from torch.autograd.profiler import record_function

import kymograph
import kymograph.profiler
import kymograph.torch_compat


@pytest.fixture(autouse=True)
def everything_is_restored() -> Iterator[None]:
    before = record_function.__enter__, record_function.__exit__
    yield
    assert not kymograph.running()
    assert (record_function.__enter__, record_function.__exit__) == before


def test_there_is_every_public_name_of_torch_profiler() -> None:
    missing = {name for name in torch.profiler.__all__ if not hasattr(kymograph.profiler, name)}
    # An observer of operators, and settings of devices.
    assert missing <= {"ExecutionTraceObserver", "CuspyConfig", "PerformanceMetricsConfig"}


@pytest.mark.parametrize(
    "name",
    """__init__ start stop step events key_averages export_chrome_trace export_stacks
    export_memory_timeline add_metadata add_metadata_json preset_metadata_json get_trace_id
    set_custom_trace_id_callback toggle_collection_dynamic prepare_trace start_trace stop_trace
    wait_for_exports""".split(),
)
def test_methods_take_the_arguments_that_torch_takes(name: str) -> None:
    theirs = getattr(torch.profiler.profile, name, None)
    if theirs is None:
        pytest.skip(f"this torch has no {name}")
    ours = inspect.signature(getattr(kymograph.profile, name)).parameters
    wanted = inspect.signature(theirs).parameters
    assert [parameter for parameter in wanted if parameter not in ours] == []


def test_activities_and_schedules_of_torch_are_understood() -> None:
    plan = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1)
    ready = []
    with kymograph.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=plan,
        on_trace_ready=lambda prof: ready.append(prof.step_num),
    ) as prof:
        for _ in range(4):
            prof.step()

    assert ready == [3]


def test_an_annotation_of_torch_may_reach_beyond_the_recording() -> None:
    early = record_function("early")
    early.__enter__()
    prof = kymograph.profile()
    prof.start()
    early.__exit__(None, None, None)
    late = record_function("late")
    late.__enter__()
    prof.stop()
    late.__exit__(None, None, None)

    assert [event.name for event in prof.events()] == ["late"]


def test_a_recording_inside_one_of_torch_sees_the_same_annotations() -> None:
    with torch.profiler.profile() as theirs:
        with kymograph.profile() as ours:
            with record_function("shared"):
                torch.ones(2) + 1

    assert [event.name for event in ours.events() if event.is_user_annotation] == ["shared"]
    assert "shared" in [row.key for row in theirs.key_averages()]


def test_the_text_of_an_annotation_of_torch_is_recorded(tmp_path: Path) -> None:
    with kymograph.profile() as prof, record_function("told", "its text"):
        pass
    prof.export_chrome_trace(str(tmp_path / "trace.json"))

    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["args"]["args"] for e in events if e["name"] == "told"] == ["its text"]


def test_what_install_replaces_uninstall_restores() -> None:
    before = torch.profiler.profile, torch.profiler.schedule
    kymograph.torch_compat.install()
    try:
        assert torch.profiler.profile is kymograph.profile
        assert torch.profiler.record_function is kymograph.record_function
    finally:
        kymograph.torch_compat.uninstall()
    assert (torch.profiler.profile, torch.profiler.schedule) == before


def test_install_makes_torch_say_that_a_profiler_runs() -> None:
    kinds = torch._C._profiler.ActiveProfilerType
    before = torch._C._autograd._profiler_type
    kymograph.torch_compat.install()
    try:
        ask = torch._C._autograd._profiler_type
        assert ask() == kinds.NONE
        with torch.profiler.profile():
            assert ask() == kinds.KINETO
        assert ask() == kinds.NONE
        with torch.autograd.profiler_legacy.profile():
            assert ask() == kinds.LEGACY
    finally:
        kymograph.torch_compat.uninstall()
    assert torch._C._autograd._profiler_type is before


def test_ranges_reach_collectors_of_itt_through_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    from kymograph.profiler import itt

    assert itt.is_available() == torch.profiler.itt.is_available()
    got = []
    collector = types.SimpleNamespace(
        is_available=lambda: True,
        rangePush=lambda msg: got.append(f"push {msg}"),
        rangePop=lambda: got.append("pop"),
        mark=lambda msg: got.append(f"mark {msg}"),
    )
    monkeypatch.setattr(torch._C, "_itt", collector, raising=False)

    with kymograph.profile() as prof, itt.range("block {}", 1):
        itt.mark("here")

    assert got == ["push block 1", "mark here", "pop"]
    assert [event.name for event in prof.events()] == ["block 1"]
