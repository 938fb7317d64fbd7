"""Programs that use the memory of tensors in different ways, for test_memory_categories.py.

    memory_programs.py OUT

runs each twice, its first steps and later ones, and writes the rows of export_memory_timeline to
OUT/NAME-first.json and OUT/NAME-later.json: `ours` and `theirs`, of kymograph and torch while both
record at once, `sizes` of kymograph, and of later steps `alone`, of kymograph without torch.

Each runs in a child of a process that has torch already: a profiler of torch takes the sizes of
blocks from before from an earlier one in the process, and they may be those of other blocks.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # some profilers of torch import it when they start; it runs operators
from torch import nn

import kymograph

TORCH = torch.profiler
ASKED: dict[str, Any] = {
    "activities": [TORCH.ProfilerActivity.CPU],
    "record_shapes": True,
    "profile_memory": True,
    "with_stack": True,
}

Work = Callable[[], None]


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 7))


def training(optimizer: Callable[[Any], Any], to_none: bool = True) -> Work:
    model = mlp()
    steps = optimizer(model.parameters())

    def work() -> None:
        for _ in range(3):
            steps.zero_grad(set_to_none=to_none)
            model(torch.ones(11, 20)).pow(2).sum().backward()
            steps.step()

    return work


def convolution() -> Work:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(196, 5),
    )
    adam, loss = torch.optim.AdamW(model.parameters()), nn.CrossEntropyLoss()

    def work() -> None:
        for _ in range(2):
            loss(model(torch.ones(2, 3, 16, 16)), torch.zeros(2, dtype=torch.long)).backward()
            adam.step()
            adam.zero_grad()

    return work


def accumulation() -> Work:
    model = mlp()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def work() -> None:
        for _ in range(2):
            for _ in range(3):
                model(torch.ones(4, 20)).sum().backward()
            sgd.step()
            sgd.zero_grad()

    return work


def in_place() -> Work:
    """Without modules and optimizers: parameters are found by what is done with them."""
    weight = torch.ones(20, 20, requires_grad=True)

    def work() -> None:
        for _ in range(2):
            x = torch.ones(5, 20)
            x.mul_(2).add_(1)
            h = (x @ weight).relu_() + 1
            h.mul_(2)
            h.sum().backward()
            with torch.no_grad():
                assert weight.grad is not None
                weight.sub_(weight.grad, alpha=0.1)
                weight.grad.zero_()

    return work


def inference() -> Work:
    model = mlp()

    def work() -> None:
        with torch.no_grad():
            for _ in range(3):
                model(torch.ones(3, 20)).softmax(-1).argmax()

    return work


def attention() -> Work:
    model = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    adam = torch.optim.Adam(model.parameters())

    def work() -> None:
        for _ in range(2):
            model(torch.ones(2, 5, 16)).sum().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            adam.step()
            adam.zero_grad()

    return work


def recurrence() -> Work:
    table, model = nn.Embedding(10, 8), nn.LSTM(8, 8, 2)
    adam = torch.optim.Adam([*table.parameters(), *model.parameters()])

    def work() -> None:
        for _ in range(2):
            model(table(torch.arange(6).view(3, 2)))[0].mean().backward()
            adam.step()
            adam.zero_grad()

    return work


def other_memory() -> Work:
    """Tensors whose memory is exchanged for other memory. What they had is kept: if it were freed,
    torch might take other blocks at its address for it, or fail."""
    model = nn.Linear(20, 30)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    kept = []

    def work() -> None:
        for _ in range(2):
            model(torch.ones(3, 20)).sum().backward()
            sgd.step()
            sgd.zero_grad()
            kept.append(model.weight.data)
            model.weight.data = torch.zeros(30, 20)
            result = torch.ones(1)
            torch.mul(torch.ones(300), 2, out=result.resize_(300))

    return work


def mixture() -> Work:
    """An activation to which the value of a gradient comes."""
    model = nn.Linear(20, 30)

    def work() -> None:
        for _ in range(2):
            model(torch.ones(3, 20)).sum().backward()
            model(torch.ones(4, 20)).detach().mul_(model.weight.grad.sum())

    return work


def momentum(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def fused(parameters: Any) -> Any:
    return torch.optim.Adam(parameters, fused=True)


def foreach(parameters: Any) -> Any:
    return torch.optim.Adam(parameters, foreach=True)


PROGRAMS: dict[str, Callable[[], Work]] = {
    "momentum": lambda: training(momentum),
    "momentum, zeroed": lambda: training(momentum, False),
    "adam": lambda: training(torch.optim.Adam),
    "adam, zeroed": lambda: training(torch.optim.Adam, False),
    "adam, foreach": lambda: training(foreach),
    "adam, fused": lambda: training(fused),
    "convolution": convolution,
    "accumulation": accumulation,
    "in place": in_place,
    "inference": inference,
    "attention": attention,
    "recurrence": recurrence,
    "other memory": other_memory,
    "mixture": mixture,
}


def export(prof: Any, name: str) -> Any:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, name)
        prof.export_memory_timeline(str(path), "cpu")
        return json.loads(gzip.decompress(path.read_bytes()))


def both(work: Work) -> tuple[Any, Any]:
    ours, theirs = kymograph.profile(**ASKED), TORCH.profile(**ASKED)
    ours.start()
    theirs.start()
    work()
    theirs.stop()
    ours.stop()
    return ours, theirs


def run(program: Callable[[], Work], which: str) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # torch sees nothing of other threads
    gc.disable()
    work = program()
    found: dict[str, Any] = {}
    if which == "later":
        work()
        with kymograph.profile(**ASKED) as alone:
            work()
        found["alone"] = export(alone, "t.raw.json.gz")
    ours, theirs = both(work)
    found["ours"] = export(ours, "t.raw.json.gz")
    found["sizes"] = export(ours, "t.json.gz")
    found["theirs"] = export(theirs, "t.raw.json.gz")
    return found


def child(name: str, which: str, path: Path) -> None:
    signal.alarm(120)
    status = 1
    try:
        path.write_text(json.dumps(run(PROGRAMS[name], which)))
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(status)


def main(out: str) -> None:
    for name in PROGRAMS:
        for which in ("first", "later"):
            pid = os.fork()
            if pid == 0:
                child(name, which, Path(out, f"{name}-{which}.json"))
            os.waitpid(pid, 0)


if __name__ == "__main__":
    main(sys.argv[1])
