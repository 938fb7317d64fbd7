"""What kymograph.profile does where torch.profiler is known to go wrong."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import threading
import time
from pathlib import Path

import pytest
from conftest import RunCode
from profiled import branch, captures_in, leaf, names_of, trace_of

import kymograph
from kymograph import profiler

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


# ---- captures


def test_a_second_start_begins_again() -> None:
    prof = kymograph.profile()
    prof.start()
    with kymograph.record_function("dropped"):
        pass
    prof.start()
    with kymograph.record_function("kept"):
        pass
    prof.stop()

    assert [event.name for event in prof.events()] == ["kept"]
    assert not kymograph.running()


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
