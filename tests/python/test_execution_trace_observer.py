"""ExecutionTraceObserver: torch's API for execution traces, with operators of plain Python."""

from __future__ import annotations

import gc
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from program import good

import kymograph
from kymograph import ExecutionTraceObserver

PROCESS = "[pytorch|profiler|execution_trace|process]"
THREAD = "[pytorch|profiler|execution_trace|thread]"
VARIABLES = (
    *("ENABLE_PYTORCH_EXECUTION_TRACE", "ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS"),
    *("KYMO_EXECUTION_TRACE", "KYMO_EXECUTION_TRACE_EXTRAS"),
)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def loop(number: int) -> None:
    with kymograph.record_function(f"## LOOP {number} ##"):
        data = memoryview(bytearray(8))
        with kymograph.op("scale", inputs=(data, 0.5, float("inf"))) as op:
            op.outputs = (data,)


def read(path: Path) -> dict[str, Any]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def loops(path: Path) -> list[str]:
    names = [node["name"] for node in read(path)["nodes"]]
    assert names[-1] == PROCESS
    return [name for name in names if "LOOP" in name]


def attributes(node: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in node["attrs"]}


def test_it_works_alone(tmp_path):
    path = tmp_path / "alone.et.json.gz"
    observer = ExecutionTraceObserver().register_callback(str(path))
    assert observer.is_registered
    assert observer.get_output_file_path() == str(path)

    observer.start()
    assert observer.is_running()
    for i in range(5):
        loop(i)
    observer.stop()
    observer.unregister_callback()

    assert not observer.is_registered
    assert observer.get_output_file_path() == str(path)  # as torch's does
    assert loops(path) == [f"## LOOP {i} ##" for i in range(5)]
    scale = next(node for node in read(path)["nodes"] if node["name"] == "scale")
    assert len(scale["inputs"]["values"][0]) == 6
    assert scale["inputs"]["values"][1:] == [0.5, "inf"]
    assert scale["outputs"]["values"] == scale["inputs"]["values"][:1]
    assert "no mistakes" in good("check", "et", path)
    assert not kymograph.running()


def test_only_what_runs_between_start_and_stop_is_written(tmp_path):
    path = tmp_path / "windows.json"
    observer = ExecutionTraceObserver().register_callback(path)

    for i in range(10):
        if i in (3, 8):
            observer.start()
        if i in (5, 9):
            observer.stop()
        loop(i)
    observer.unregister_callback()

    assert loops(path) == ["## LOOP 3 ##", "## LOOP 4 ##", "## LOOP 8 ##"]
    assert "no mistakes" in good("check", "et", path)


def test_windows_of_one_capture_agree_about_tensors(tmp_path):
    path = tmp_path / "windows.json"
    data = memoryview(bytearray(8))
    observer = ExecutionTraceObserver().register_callback(path)

    with kymograph.trace(tmp_path / "trace.kymo"):
        for _ in range(2):
            observer.start()
            with kymograph.op("use", inputs=(data,)):
                pass
            observer.stop()
    observer.unregister_callback()

    used = [node["inputs"]["values"][0] for node in read(path)["nodes"] if node["name"] == "use"]
    assert len(used) == 2
    assert used[0] == used[1]
    assert "no mistakes" in good("check", "et", path)


def test_it_can_be_registered_again(tmp_path):
    observer = ExecutionTraceObserver()
    for i in range(4):
        path = tmp_path / f"{i}.json"
        observer.register_callback(path)
        observer.start()
        loop(i)
        observer.stop()
        observer.unregister_callback()

        assert loops(path) == [f"## LOOP {i} ##"]
        assert read(path)["nodes"][-1]["id"] == 1


def test_without_a_start_there_is_the_process_alone(tmp_path):
    path = tmp_path / "nothing.json"
    observer = ExecutionTraceObserver().register_callback(path)
    loop(0)

    observer.unregister_callback()

    assert [node["name"] for node in read(path)["nodes"]] == [PROCESS]


def test_a_profiler_starts_and_stops_it(tmp_path):
    path, chrome = tmp_path / "et.json", tmp_path / "trace.json"
    observer = ExecutionTraceObserver().register_callback(path)
    ready = []
    schedule = kymograph.schedule(skip_first=3, wait=1, warmup=1, active=2, repeat=1)

    with kymograph.profile(
        schedule=schedule, on_trace_ready=ready.append, execution_trace_observer=observer
    ) as prof:
        for i in range(10):
            loop(i)
            prof.step()
    prof.export_chrome_trace(str(chrome))

    assert len(ready) == 1
    assert len(loops(path)) == 2
    events = json.loads(chrome.read_text())["traceEvents"]
    nodes = [node for node in read(path)["nodes"] if node["name"] not in (PROCESS, THREAD)]
    assert sorted(attributes(node)["rf_id"] for node in nodes) == sorted(
        event["args"]["Record function id"]
        for event in events
        if event.get("cat") in ("cpu_op", "user_annotation")
    )
    assert "no mistakes" in good("check", "et", path, chrome)


def test_each_cycle_of_a_schedule_is_in_the_file(tmp_path):
    path = tmp_path / "cycles.json"
    observer = ExecutionTraceObserver().register_callback(path)
    schedule = kymograph.schedule(wait=1, warmup=1, active=1, repeat=2)

    with kymograph.profile(schedule=schedule, execution_trace_observer=observer) as prof:
        for i in range(6):
            loop(i)
            prof.step()

    assert loops(path) == ["## LOOP 2 ##", "## LOOP 5 ##"]
    assert "no mistakes" in good("check", "et", path)


@pytest.mark.parametrize("name", ["ENABLE_PYTORCH_EXECUTION_TRACE", "KYMO_EXECUTION_TRACE"])
def test_the_environment_switches_it(name, monkeypatch):
    monkeypatch.setenv(name, "0")
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "0")
    assert kymograph.profile().execution_trace_observer is None

    monkeypatch.setenv(name, "1")
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "1")
    with kymograph.profile() as prof:
        observer = prof.execution_trace_observer
        path = Path(observer.get_output_file_path())
        resources = Path(observer.get_resources_dir())
        loop(1)

    assert path.name.endswith(".et.json")
    assert loops(path) == ["## LOOP 1 ##"]
    assert list(resources.iterdir()) == []
    path.unlink()
    resources.rmdir()


def test_the_environment_may_name_the_file(tmp_path, monkeypatch):
    path = tmp_path / "named.json.gz"
    monkeypatch.setenv("KYMO_EXECUTION_TRACE", str(path))

    with kymograph.profile():
        loop(1)

    assert loops(path) == ["## LOOP 1 ##"]


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("ENABLE_PYTORCH_EXECUTION_TRACE", "yes", "1 or 0$"),
        ("ENABLE_PYTORCH_EXECUTION_TRACE", "et.json", "1 or 0$"),  # only ours may be a file
        ("KYMO_EXECUTION_TRACE", "et.txt", "1, 0 or a file that ends in .json or .json.gz$"),
    ],
)
def test_a_value_that_has_no_meaning_is_off_with_a_warning(monkeypatch, name, value, allowed):
    monkeypatch.setenv(name, value)

    with pytest.warns(UserWarning, match=f"{name} is '{value}'; set it to {allowed}"):
        assert ExecutionTraceObserver.build_execution_trace_obs_from_env() is None


@pytest.mark.parametrize("name", ["a.et.json", "a.et.json.gz"])
def test_resources_are_beside_the_trace(tmp_path, name):
    path, beside = tmp_path / name, str(tmp_path / "a.et_resources")
    observer = ExecutionTraceObserver().register_callback(path)
    assert observer.get_resources_dir(can_create=True) is None

    observer.set_extra_resource_collection(True)

    assert observer.get_resources_dir() == beside
    assert ExecutionTraceObserver.get_resources_dir_for_et_path(path) == beside
    assert os.path.isdir(beside)
    observer.cleanup()


def test_a_directory_that_does_not_exist_is_an_error_at_once(tmp_path):
    with pytest.raises(FileNotFoundError):
        ExecutionTraceObserver().register_callback(tmp_path / "no" / "et.json")


def test_an_observer_that_cannot_start_leaves_no_recording():
    class Broken:
        def start(self):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        kymograph.profile(execution_trace_observer=Broken()).start()

    assert not kymograph.running()


def test_an_observer_that_is_dropped_writes_its_file(tmp_path):
    path = tmp_path / "dropped.json"
    observer = ExecutionTraceObserver().register_callback(path)
    observer.start()
    loop(0)

    del observer
    gc.collect()

    assert loops(path) == ["## LOOP 0 ##"]
    assert not kymograph.running()


def test_a_program_that_ends_writes_its_file(tmp_path):
    path = tmp_path / "ended.json"
    code = (
        "import sys, kymograph\n"
        "observer = kymograph.ExecutionTraceObserver().register_callback(sys.argv[1])\n"
        "observer.start()\n"
        "with kymograph.record_function('## LOOP ##'): pass\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert loops(path) == ["## LOOP ##"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_leaves_the_trace_to_its_parent(tmp_path):
    path = tmp_path / "forked.json"
    observer = ExecutionTraceObserver().register_callback(path)
    observer.start()
    loop(0)

    child = os.fork()
    if child == 0:
        observer.unregister_callback()
        os._exit(0)
    os.waitpid(child, 0)
    assert not path.exists()
    loop(1)
    observer.unregister_callback()

    assert loops(path) == ["## LOOP 0 ##", "## LOOP 1 ##"]
