"""Programs in the style of torch.profiler's tutorials, with the import changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).resolve().parent.parent / "programs" / "profiler").glob("*.py"))


def test_there_are_enough_of_them() -> None:
    assert len(PROGRAMS) >= 40


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_it_runs_with_the_import_changed(program: Path, tmp_path: Path) -> None:
    changed = tmp_path / program.name
    changed.write_text(program.read_text().replace("torch.profiler", "kymograph.profiler"))

    done = subprocess.run(
        [sys.executable, changed], cwd=tmp_path, capture_output=True, text=True, timeout=400
    )

    assert done.returncode == 0, done.stdout + done.stderr
