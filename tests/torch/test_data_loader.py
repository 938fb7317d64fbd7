"""Workers of a DataLoader are processes of the program: they are recorded like others."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import kymograph

PROGRAM = """
import sys
import torch


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return load_item(index)


def load_item(index):
    return torch.tensor(index * index)


if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(
        Squares(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1]
    )
    print(sorted(int(x) for batch in loader for x in batch))
"""


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_data_loader_are_recorded(start: str, tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(PROGRAM)
    run = ["-m", "kymograph", "run", "-q", "-o", "trace.kymo", "load.py", start]

    done = subprocess.run(
        [sys.executable, *run],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )

    squares = sorted(n * n for n in range(24))
    assert (done.returncode, done.stdout) == (0, f"{squares}\n"), done.stderr
    with kymograph.open(tmp_path / "trace.kymo") as capture:
        pid_of = {thread.index: thread.pid for thread in capture.threads}
        enters = [e for e in capture.events() if e.kind == "enter" and e.name == "load_item"]
        first = capture.info.pid
    by_process = Counter(pid_of[event.thread] for event in enters)
    assert sum(by_process.values()) == 24
    assert len(by_process) == 2 and first not in by_process
