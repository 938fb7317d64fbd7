"""The categories of export_memory_timeline beside torch's."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from memory_programs import ASKED, PROGRAMS, momentum, training
from torch import nn

import kymograph

BEFORE, CREATE, CHANGE, DESTROY = 1, 2, 3, 4
PARAMETER, STATE, INPUT, TEMPORARY, ACTIVATION, GRADIENT, DETAIL, UNKNOWN = range(8)

Row = tuple[int, int, int, int]

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.skipif(
        not hasattr(torch.profiler.profile, "export_memory_timeline"),
        reason="this torch has no export_memory_timeline any more",
    ),
]


every_program = pytest.mark.parametrize("program", PROGRAMS)
every_part = pytest.mark.parametrize("which", ["first", "later"])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run all programs."""
    out = tmp_path_factory.mktemp("found")
    command = [sys.executable, str(Path(__file__).with_name("memory_programs.py")), str(out)]
    subprocess.run(command, check=True, timeout=900)
    return out


def read(path: Path) -> dict[str, Any]:
    parts: dict[str, Any] = json.loads(path.read_text())
    return {name: rows if name == "sizes" else with_bytes(rows) for name, rows in parts.items()}


def with_bytes(rows: list[list[int]]) -> list[Row]:
    """Drop rows of zero bytes: torch writes some, we write none."""
    return [tuple(row) for row in rows if row[2]]


def raw(prof: Any, path: Path) -> list[Row]:
    file = path / f"{id(prof)}.raw.json.gz"
    prof.export_memory_timeline(str(file), "cpu")
    return with_bytes(json.loads(gzip.decompress(file.read_bytes())))


def split(rows: list[Row]) -> tuple[Counter[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the blocks that were there before, and what happened then, without times."""
    return (
        Counter(row[2:] for row in rows if row[1] == BEFORE),
        [row[1:] for row in rows if row[1] != BEFORE],
    )


@every_program
@every_part
def test_every_block_has_the_categories_of_torch(found: Path, program: str, which: str) -> None:
    rows = read(found / f"{program}-{which}.json")
    assert len(rows["theirs"]) > 30
    assert split(rows["ours"]) == split(rows["theirs"])


@every_program
def test_a_profiler_alone_has_the_same(found: Path, program: str) -> None:
    """torch's keeps every tensor that it has seen, so that in the test above no address of one is
    used again."""
    rows = read(found / f"{program}-later.json")
    assert split(rows["alone"]) == split(rows["theirs"])


@every_program
@every_part
def test_sizes_over_time_are_those_of_the_rows(found: Path, program: str, which: str) -> None:
    rows = read(found / f"{program}-{which}.json")
    now, states = [0] * 9, []
    for _, _, size, category in rows["ours"]:
        now[category + 1] += size
        states.append(list(now))

    times, sizes = rows["sizes"]

    assert len(times) == len(sizes) > 10
    assert times[1:] == sorted(set(times[1:])) and times[0] == times[1]
    assert sizes[-1] == states[-1]
    later = iter(states)
    assert all(any(row == state for state in later) for row in sizes)  # in this order


def categories(prof: Any, path: Path) -> set[int]:
    return {row[3] for row in raw(prof, path)}


def test_a_step_has_every_category(tmp_path: Path) -> None:
    with kymograph.profile(**ASKED) as prof:
        training(torch.optim.Adam)()
    assert categories(prof, tmp_path) == set(range(8))


@every_part
def test_a_block_changes_its_category(found: Path, which: str) -> None:
    changes = [row for row in read(found / f"mixture-{which}.json")["ours"] if row[1] == CHANGE]
    pairs = list(zip(changes[::2], changes[1::2], strict=True))
    assert all(old[0] == new[0] and old[2] == -new[2] < 0 for old, new in pairs)
    assert {(old[3], new[3]) for old, new in pairs} >= {(ACTIVATION, UNKNOWN)}


def test_a_gradient_from_before_is_freed(tmp_path: Path) -> None:
    """torch does not see that on the CPU."""
    model = nn.Linear(20, 30)
    model(torch.ones(3, 20)).sum().backward()
    with kymograph.profile(**ASKED) as prof:
        model(torch.ones(3, 20))
        model.zero_grad()

    rows = raw(prof, tmp_path)
    sizes = {4 * 20 * 30, 4 * 30}
    assert {row[2] for row in rows if row[1] == BEFORE and row[3] == GRADIENT} == sizes
    assert {-row[2] for row in rows if row[1] == DESTROY and row[3] == GRADIENT} == sizes


def test_modules_called_in_the_warm_up_are_known(tmp_path: Path) -> None:
    work = training(momentum)
    plan = kymograph.schedule(wait=0, warmup=1, active=1, repeat=1)
    with kymograph.profile(**ASKED, schedule=plan) as prof:
        for _ in range(2):
            work()
            prof.step()

    rows = raw(prof, tmp_path)
    held = Counter(row[3] for row in rows if row[1] == BEFORE)
    assert held[PARAMETER] == held[STATE] == held[GRADIENT] == 4
    freed = [row[3] for row in rows if row[1] == DESTROY]
    assert freed.count(GRADIENT) >= 12  # those of the warm-up, and of two of three steps


def test_a_profiler_inside_another_knows_modules_and_optimizers(tmp_path: Path) -> None:
    work = training(momentum)
    with kymograph.profile(**ASKED):
        work()
        with kymograph.profile(**ASKED) as inner:
            work()

    held = Counter(row[3] for row in raw(inner, tmp_path) if row[1] == BEFORE)
    assert held[PARAMETER] == held[STATE] == 4


def test_without_modules_and_optimizers_the_rest_is_known(tmp_path: Path) -> None:
    """In a session that records no calls nobody says what they hold."""
    work = training(momentum)
    with kymograph.trace(tmp_path / "outer.kymo", calls=False, ops="full"):
        with kymograph.profile(**ASKED) as inner:
            work()
        found = categories(inner, tmp_path)
    assert {PARAMETER, GRADIENT, ACTIVATION, INPUT, DETAIL} <= found
    assert STATE not in found


@pytest.mark.parametrize("missing", ["record_shapes", "profile_memory", "with_stack"])
def test_nothing_is_noted_for_those_who_do_not_ask(missing: str) -> None:
    with kymograph.profile(**{**ASKED, missing: False}) as prof:
        training(momentum)()
    names = {event.name for event in prof.capture.events() if event.kind == "payload"}
    assert "operator.in" in names
    assert not names & {"operator.memory", "operator.holder", "operator.freed"}


def test_a_trace_does_not_show_what_is_noted_about_memory(tmp_path: Path) -> None:
    work = training(momentum, to_none=False)
    work()
    with kymograph.profile(**ASKED) as prof:
        work()
        del work
    names = {event.name for event in prof.capture.events() if event.kind == "payload"}
    assert names >= {"operator.memory", "operator.holder", "operator.freed"}

    prof.export_chrome_trace(tmp_path / "trace.json")
    prof.capture.export(tmp_path / "et.json", "et")
    for file in ("trace.json", "et.json"):
        data = (tmp_path / file).read_bytes()
        assert b"aten::addmm" in data
        assert not any(name.encode() in data for name in names if name.startswith("operator."))


def test_asking_for_a_module_runs_no_code_of_the_program() -> None:
    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            called.append(str(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            called.append(str(func))
            return func(*args, **(kwargs or {}))

    class Curious(nn.Linear):
        def __getattr__(self, name: str) -> Any:
            called.append(name)
            return super().__getattr__(name)

    called: list[str] = []
    model = Curious(3, 4)
    model.weight = nn.Parameter(torch.ones(4, 3).as_subclass(Sub))
    sgd = momentum(model.parameters())

    def work() -> list[str]:
        called.clear()
        with Mode():
            model(torch.ones(2, 3)).sum().backward()
            sgd.step()
        return list(called)

    work()
    alone = work()
    with kymograph.profile(**ASKED):
        watched = work()
    assert watched == alone != []
