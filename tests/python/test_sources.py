"""Sources are switched by name, and a session's options are that session's alone."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ran import RUN, calls, execute, recorded, write

import kymograph

CAN_THROTTLE = kymograph._core.trace_can_throttle()


def work(times: int = 10) -> None:
    for _ in range(times):
        pass


def names_in(path: Path) -> Counter[str]:
    with kymograph.open(path) as capture:
        return Counter(event.name for event in capture.events() if event.kind == "enter")


def sources_of(path: Path) -> str | None:
    with kymograph.open(path) as capture:
        return capture.metadata.get("sources")


@pytest.mark.parametrize(
    ("options", "traced"),
    [
        ({}, True),
        ({"calls": False}, False),
        ({"sources": {"python": False}}, False),
        ({"sources": {"python": "off"}}, False),
        ({"sources": {"Python": False}}, False),
        ({"calls": False, "sources": {"python": True}}, True),
    ],
)
def test_the_source_python_is_switched_by_name(
    capture_path: Path, options: dict[str, Any], traced: bool
) -> None:
    with kymograph.trace(capture_path, **options):
        work()

    assert names_in(capture_path)["work"] == traced
    assert sources_of(capture_path) == ("python" if traced else None)


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ({"pyhton": True}, "no source 'pyhton'; registered sources: memory, python, torch"),
        ({"": True}, "no source ''; registered sources: memory, python, torch"),
        ({"python": "yes"}, "source 'python' must be True or False, not 'yes'"),
    ],
)
def test_a_wrong_source_is_one_line_that_lists_the_names(
    capture_path: Path, sources: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refused:
        kymograph.start(capture_path, sources=sources)

    assert str(refused.value) == message
    assert not capture_path.exists()
    assert not kymograph.running()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--source", "python=off"], 0),
        (["--source=python=on"], 3),
        (["--calls", "off", "--source", "python=on"], 3),
        (["--source", "python=off", "--source", "python=on"], 3),
    ],
)
def test_run_switches_sources(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[str], expected: int
) -> None:
    monkeypatch.chdir(tmp_path)
    write("script.py", "def f(): pass\nfor _ in range(3): f()\n")

    done = recorded(*options, "script.py")

    assert done.returncode == 0, done.stderr
    assert calls()["f"] == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("gpu=on", "no source 'gpu'; registered sources: memory, python, torch"),
        ("python", "--source python is not NAME=on or NAME=off; see 'kymograph help run'"),
        ("python=yes", "--source python=yes is not NAME=on or NAME=off; see 'kymograph help run'"),
    ],
)
def test_run_refuses_a_wrong_source_with_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write("script.py", "print('it ran')\n")

    done = execute(*RUN, "--source", value, "script.py")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"kymograph: {message}\n"
    assert sorted(os.listdir()) == ["script.py"]


# ------------------------------------------------------------ options of one session


@pytest.mark.parametrize(
    ("error", "wrong"),
    [
        (ValueError, {"budget": "nonsense"}),
        (ValueError, {"policy": "nonsense"}),
        (ValueError, {"sources": {"nonsense": True}}),
        (TypeError, {"include": [3]}),
        (TypeError, {"path": 3}),
        (OSError, {"path": "/no such directory/a.kymo"}),
    ],
)
def test_a_start_that_fails_leaves_no_options_to_the_next(
    capture_path: Path, tmp_path: Path, error: type[Exception], wrong: dict[str, Any]
) -> None:
    with pytest.raises(error):
        kymograph.start(**{"path": tmp_path / "failed.kymo", "exclude": ["work"], **wrong})
    assert not (tmp_path / "failed.kymo").exists()

    kymograph._core.start(capture_path, 0, "help", 1, None, None)
    work()
    kymograph.stop()
    assert not names_in(capture_path)

    with kymograph.trace(capture_path):
        work()
    assert names_in(capture_path)["work"] == 1


def test_options_of_a_session_end_with_it(capture_path: Path) -> None:
    with kymograph.trace(capture_path, c_calls=False, gc=False, max_depth=1, exclude=["work"]):
        work()
    assert not names_in(capture_path)["work"]

    with kymograph.trace(capture_path):
        (lambda: lambda: len(""))()()
        work()
    found = names_in(capture_path)
    assert found["work"] == found["len"] == 1


def child_of(parent_options: dict[str, Any], parent: Path, child: Path) -> None:
    """Fork while a session runs; the child records calls of `work` into `child`."""
    kymograph.start(parent, **parent_options)
    work()
    pid = os.fork()
    if pid == 0:
        try:
            kymograph.start(child, c_calls=False)
            for _ in range(50_000):
                work(0)
            kymograph.stop()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    kymograph.stop()


@pytest.mark.skipif(not CAN_THROTTLE, reason="3.11.0 to 3.11.3 cannot")
def test_a_forked_child_does_not_inherit_the_overhead_budget(
    capture_path: Path, tmp_path: Path
) -> None:
    child_of({"overhead": 0.01}, capture_path, tmp_path / "child.kymo")

    assert names_in(tmp_path / "child.kymo")["work"] == 50_000


def test_a_forked_child_does_not_inherit_filters_or_depth(
    capture_path: Path, tmp_path: Path
) -> None:
    child_of({"exclude": ["work"], "max_depth": 1}, capture_path, tmp_path / "child.kymo")

    assert names_in(tmp_path / "child.kymo")["work"] == 50_000
