"""The same program under torch.profiler and under kymograph: the same names, as often."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import names
import pytest
import torch.profiler.profiler

HERE = Path(__file__).resolve().parent
PROGRAMS = sorted(
    [
        *(HERE.parent / "programs" / "profiler").glob("*.py"),
        *(HERE.parent / "programs" / "torch").glob("*.py"),
    ]
)
FOR_BOTH = [p for p in PROGRAMS if not p.read_text().startswith("# kymograph only")]
# Without a change to the program. The names of torch.profiler are kymograph's then.
ALSO_PATCHED = ("training_loop", "steps_of_a_loop", "module_names", "subclassed_annotation")
PATCHED = [p for p in FOR_BOTH if p.stem in ALSO_PATCHED]

# Programs about what older versions of torch do differently, and what those lack.
NEEDS = {"activities_wrong": "_parse_activities"}

Run = Callable[[str, Path], Path]


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Where a program ran in a mode. The modes run side by side, all programs of one in turn."""
    out = tmp_path_factory.mktemp("runs")
    sets = {"torch": FOR_BOTH, "kymograph": PROGRAMS, "patched": PATCHED}
    # torch calls every function "unknown" whose file's path is not ASCII.
    copies = tmp_path_factory.mktemp("programs")
    for path in [HERE / "runner.py", *PROGRAMS]:
        shutil.copy(path, copies)

    def start(mode: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(copies / "runner.py"), mode, str(out / mode)]
        with (out / f"{mode}.log").open("w") as log:
            return subprocess.Popen(
                [*command, *(str(copies / path.name) for path in sets[mode])],
                # The runner's children end without tidying up what they record.
                env={**os.environ, "KINETO_LOG_LEVEL": "5", "TMPDIR": str(out)},
                stdout=log,
                stderr=log,
            )

    runners = {mode: start(mode) for mode in sets}

    def place(mode: str, program: Path) -> Path:
        assert runners[mode].wait(900) == 0, (out / f"{mode}.log").read_text()[-2000:]
        return out / mode / program.stem

    yield place
    for runner in runners.values():
        runner.kill()
        runner.wait()


def passed(place: Path) -> None:
    assert (place / "status").read_text() == "0", (place / "output").read_text()[-2000:]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_it_runs_with_kymo_where_torch_is(results: Run, program: Path) -> None:
    passed(results("kymograph", program))


@pytest.mark.parametrize("program", FOR_BOTH, ids=lambda p: p.stem)
def test_names_and_counts_are_those_of_torch(results: Run, program: Path) -> None:
    if not hasattr(torch.profiler.profiler, NEEDS.get(program.stem, "profile")):
        pytest.skip("this torch accepts what newer ones refuse")
    of_torch, of_kymo = results("torch", program), results("kymograph", program)
    passed(of_torch)
    passed(of_kymo)
    traces = sorted(path.name for path in of_torch.glob("trace*"))

    assert sorted(path.name for path in of_kymo.glob("trace*")) == traces
    for trace in traces:
        theirs = names.load(of_torch / trace)
        ours = names.known_to(theirs, names.load(of_kymo / trace))
        assert names.annotations(ours) == names.annotations(theirs)
        assert names.functions(ours) == names.functions(theirs)


@pytest.mark.parametrize("program", FOR_BOTH, ids=lambda p: p.stem)
def test_ids_follow_the_order_of_torch(results: Run, program: Path) -> None:
    of_torch, of_kymo = results("torch", program), results("kymograph", program)
    for trace in of_torch.glob("trace*"):
        theirs = names.load(trace)
        ours = names.known_to(theirs, names.load(of_kymo / trace.name))
        assert names.numbered(ours) == names.numbered(theirs)
        ids = [e["args"]["Python id"] for e in ours if e.get("cat") == "python_function"]
        assert sorted(ids) == [i + 1 for i in range(len(ids))]
        assert names.indexed(ours) == names.indexed(theirs)


@pytest.mark.parametrize("program", PATCHED, ids=lambda p: p.stem)
def test_one_line_makes_torch_profiler_mean_kymo(results: Run, program: Path) -> None:
    patched, of_kymo = results("patched", program), results("kymograph", program)
    passed(patched)

    theirs, ours = names.load(of_kymo / "trace.json"), names.load(patched / "trace.json")
    assert names.annotations(ours) == names.annotations(theirs)
    assert names.functions(ours) == names.functions(theirs)
    assert '"kymograph":' in (patched / "trace.json").read_text()
