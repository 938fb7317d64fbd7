"""The same program under torch.profiler and under kymograph: the same names, as often."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import names
import pytest

HERE = Path(__file__).resolve().parent
PROGRAMS = sorted(
    [
        *(HERE.parent / "programs" / "profiler").glob("*.py"),
        *(HERE.parent / "programs" / "torch").glob("*.py"),
    ]
)
FOR_BOTH = [p for p in PROGRAMS if not p.read_text().startswith("# kymograph only")]
# Without a change to the program. The names of torch.profiler are kymograph's then.
PATCHED = [p for p in FOR_BOTH if p.stem in ("training_loop", "steps_of_a_loop", "module_names")]

Run = Callable[[str, Path], Path]


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Where a program ran in a mode. All programs of a mode run when one is asked for."""
    out = tmp_path_factory.mktemp("runs")
    sets = {"torch": FOR_BOTH, "kymograph": PROGRAMS, "patched": PATCHED}

    def place(mode: str, program: Path) -> Path:
        if not (out / mode).exists():
            command = [sys.executable, str(HERE / "runner.py"), mode, str(out / mode)]
            log = (out / f"{mode}.log").open("w")
            subprocess.run(
                [*command, *map(str, sets[mode])],
                # The runner's children end without tidying up what they record.
                env={**os.environ, "KINETO_LOG_LEVEL": "5", "TMPDIR": str(out)},
                stdout=log,
                stderr=log,
                timeout=600,
                check=True,
            )
        return out / mode / program.stem

    return place


def passed(place: Path) -> None:
    assert (place / "status").read_text() == "0", (place / "output").read_text()[-2000:]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_it_runs_with_kymo_where_torch_is(results: Run, program: Path) -> None:
    passed(results("kymograph", program))


@pytest.mark.parametrize("program", FOR_BOTH, ids=lambda p: p.stem)
def test_names_and_counts_are_those_of_torch(results: Run, program: Path) -> None:
    of_torch, of_kymo = results("torch", program), results("kymograph", program)
    passed(of_torch)
    passed(of_kymo)
    traces = sorted(path.name for path in of_torch.glob("trace*"))

    assert sorted(path.name for path in of_kymo.glob("trace*")) == traces
    for trace in traces:
        theirs, ours = names.load(of_torch / trace), names.load(of_kymo / trace)
        assert names.annotations(ours) == names.annotations(theirs)
        assert names.functions(ours) == names.functions(theirs)


@pytest.mark.parametrize("program", PATCHED, ids=lambda p: p.stem)
def test_one_line_makes_torch_profiler_mean_kymo(results: Run, program: Path) -> None:
    patched, of_kymo = results("patched", program), results("kymograph", program)
    passed(patched)

    theirs, ours = names.load(of_kymo / "trace.json"), names.load(patched / "trace.json")
    assert names.annotations(ours) == names.annotations(theirs)
    assert names.functions(ours) == names.functions(theirs)
    assert '"kymograph":' in (patched / "trace.json").read_text()
