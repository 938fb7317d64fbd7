"""Calls named after the object they are made on: what nn.Module's calls are, without torch."""

from __future__ import annotations

import functools
import gc
import json
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kymograph
from kymograph import _core


class Module:
    """Calls like torch's: one function for all modules."""

    def __call__(self, *args: Any) -> Any:
        return self.forward(*args)

    def forward(self, *args: Any) -> Any:
        return args


class Linear(Module):
    pass


class Net(Module):
    def __init__(self) -> None:
        self.first, self.second = Linear(), Linear()

    def forward(self, *args: Any) -> Any:
        return self.second(self.first(*args))


class Failing(Module):
    def forward(self, *args: Any) -> Any:
        raise KeyError("module")


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sessions of this file name calls as those of a profile do when torch is there."""
    record = functools.partial(kymograph._record, named=Module.__call__.__code__)
    monkeypatch.setattr(kymograph, "_record", record)
    yield
    if kymograph.running():
        kymograph.stop()


def test_a_session_after_one_that_names_calls_names_none(
    capture_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Net()
    with kymograph.trace(capture_path):
        net(1)
    monkeypatch.undo()

    with kymograph.trace(capture_path):
        net(1)

    assert events_of(capture_path) == []


def events_of(path: Path) -> list[dict[str, Any]]:
    out = path.with_suffix(".json")
    with kymograph.open(path) as capture:
        capture.export(out, "chrome")
    found: list[dict[str, Any]] = json.loads(out.read_bytes())["traceEvents"]
    return [event for event in found if event["name"].startswith("nn.Module: ")]


def test_modules_are_numbered_by_class_in_the_order_of_their_first_call(capture_path: Path) -> None:
    net = Net()
    with kymograph.trace(capture_path):
        net(1)
        net(2)
        Linear()(3)

    events = events_of(capture_path)
    assert Counter(event["name"] for event in events) == {
        "nn.Module: Net_0": 2,
        "nn.Module: Linear_0": 2,
        "nn.Module: Linear_1": 2,
        "nn.Module: Linear_2": 1,
    }
    assert {event["args"]["Python module id"] for event in events} == {0, 1, 2}
    assert all(event["cat"] == "python_function" for event in events)


def test_a_module_that_dies_does_not_leave_its_name_to_the_next(capture_path: Path) -> None:
    with kymograph.trace(capture_path):
        for kind in (Linear, Module, Linear, Module):
            made = kind()
            made(1)
            del made
            gc.collect()

    names = sorted(event["name"] for event in events_of(capture_path))
    assert names == [
        "nn.Module: Linear_0",
        "nn.Module: Linear_1",
        "nn.Module: Module_0",
        "nn.Module: Module_1",
    ]


def test_nothing_is_kept_of_modules_that_died(capture_path: Path) -> None:
    def watched() -> int:
        """How many modules are waited for: each has a callback for its death."""
        found = (o for o in gc.get_objects() if isinstance(o, types.BuiltinFunctionType))
        return sum(o.__name__ == "kymo_forget" for o in found)

    alive = [Linear() for _ in range(3)]
    with kymograph.trace(capture_path):
        for _ in range(100):
            Module()(1)
        for module in alive:
            module(1)
        gc.collect()
        during = watched()
    assert during == len(alive)
    assert watched() == 0


def test_an_exception_ends_the_call_of_a_module(capture_path: Path) -> None:
    failing = Failing()
    with kymograph.trace(capture_path):
        for _ in range(3):
            with pytest.raises(KeyError):
                failing(1)

    events = events_of(capture_path)
    assert [event["name"] for event in events] == ["nn.Module: Failing_0"] * 3
    assert all(event["args"]["Leave"] == "unwind" for event in events)
    assert all("End lost" not in event["args"] for event in events)


def test_numbers_restart_with_every_session(capture_path: Path) -> None:
    net = Net()
    for _ in range(2):
        with kymograph.trace(capture_path):
            net.second(1)
        assert [event["name"] for event in events_of(capture_path)] == ["nn.Module: Linear_0"]


def test_an_object_without_weak_references_is_named_too(capture_path: Path) -> None:
    class Slim:
        __slots__ = ()
        __call__ = Module.__call__

        def forward(self, *args: Any) -> Any:
            return args

    with kymograph.trace(capture_path):
        Slim()(1)

    assert [event["name"] for event in events_of(capture_path)] == ["nn.Module: Slim_0"]


def test_a_session_inside_a_module_keeps_its_stack_straight(capture_path: Path) -> None:
    class Starting(Module):
        def forward(self, *args: Any) -> Any:
            kymograph.start(capture_path)
            return Linear()(1)

    def outer() -> None:
        Starting()(1)

    outer()
    outer_done = Linear()
    outer_done(1)
    kymograph.stop()

    names = [event["name"] for event in events_of(capture_path)]
    assert names == ["nn.Module: Linear_0", "nn.Module: Linear_1"]


class Optimizer:
    def step(self) -> None:
        pass


@pytest.fixture
def watched() -> Iterator[list[Any]]:
    told: list[Any] = []
    _core.named_watch(told.append)
    yield told
    _core.named_watch(None)


def test_a_watcher_is_told_of_an_object_when_it_is_first_seen(
    capture_path: Path, watched: list[Any]
) -> None:
    net = Net()
    with kymograph.trace(capture_path):
        for _ in range(3):
            net(1)
        assert watched == [net, net.first, net.second]
        assert sorted(map(id, _core.named_objects())) == sorted(map(id, watched))
    assert _core.named_objects() == []


def test_a_watcher_is_told_of_each_call_that_is_watched(
    capture_path: Path, watched: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = functools.partial(kymograph._record, watched=Optimizer.step.__code__)
    monkeypatch.setattr(kymograph, "_record", record)
    optimizer = Optimizer()
    with kymograph.trace(capture_path):
        optimizer.step()
        assert set(watched) == {optimizer}
        watched.clear()
        optimizer.step()
        assert set(watched) == {optimizer}
        _core.named_watch(None)
        watched.clear()
        optimizer.step()
        Net()(1)
        assert watched == []

    with kymograph.open(capture_path) as capture:
        enters = [event.name for event in capture.events() if event.kind == "enter"]
    assert sum(name.endswith("step") for name in enters) == 3  # before 3.11 without its class
    assert {event["name"] for event in events_of(capture_path)} == {
        "nn.Module: Net_0",
        "nn.Module: Linear_0",
        "nn.Module: Linear_1",
    }


def test_what_a_watcher_raises_does_not_reach_the_program(capture_path: Path) -> None:
    def fail(_: Any) -> None:
        raise KeyError("watcher")

    _core.named_watch(fail)
    try:
        with kymograph.trace(capture_path):
            assert Net()(1) == ((1,),)
            with pytest.raises(KeyError, match="module"):
                Failing()()
    finally:
        _core.named_watch(None)
    assert len(events_of(capture_path)) == 4
