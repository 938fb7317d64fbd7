"""Execution traces of ours and of torch's own observer, of the same run, node by node."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from nodes import attribute, check_same
from torch import nn

import kymograph


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(model: nn.Module, *data: torch.Tensor) -> Callable[[], None]:
    adam = torch.optim.Adam(model.parameters())

    def step() -> None:
        adam.zero_grad()
        result: Any = model(*data)
        (result[0] if isinstance(result, tuple) else result).sum().backward()
        adam.step()

    return step


def values() -> None:
    """Arguments of every kind. torch's files are no JSON if there is a quote in a name, or inf."""
    x = torch.arange(12.0).reshape(3, 4)
    torch.cat([x, x[:1]], dim=0)
    x.clamp(0.5, None).sum([0, 1], keepdim=True)
    torch.nn.functional.gelu(x, approximate="tanh")
    torch.empty(2, dtype=torch.int16, device="cpu")
    x.index_put((torch.tensor([0]), torch.tensor([1])), torch.tensor(9.0))
    x.t()[1:, ::2].contiguous()
    torch.rand(2, generator=torch.Generator().manual_seed(3))
    x.mul(1e-300)
    torch.empty(0).set_(x.untyped_storage(), 2, (2, 3), (3, 1))
    torch.broadcast_tensors()
    x.sum([])
    with torch.profiler.record_function("a range", "its text"):
        torch.ones(1).neg()


def quantized() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are deprecated
        torch.quantize_per_tensor(torch.ones(3, 4), 0.5, 1, torch.qint8).t().dequantize()
        scales, zeros = torch.ones(2), torch.zeros(2)
        torch.quantize_per_channel(torch.ones(2, 3), scales, zeros, 0, torch.quint8).int_repr()


def other_thread() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp().sum()
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()


PROGRAMS: dict[str, Callable[[], Callable[[], None]]] = {
    "mlp": lambda: trained(
        nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)), torch.ones(3, 4)
    ),
    "convolution": lambda: trained(
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), torch.ones(2, 3, 8, 8)
    ),
    "attention": lambda: trained(nn.MultiheadAttention(8, 2), *[torch.ones(5, 2, 8)] * 3),
    "lstm": lambda: trained(nn.LSTM(4, 6, num_layers=2), torch.ones(3, 2, 4)),
    "values": lambda: values,
    "quantized": lambda: quantized,
    "other thread": lambda: other_thread,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nodes_are_those_of_torch(name: str, tmp_path: Path) -> None:
    work = PROGRAMS[name]()
    work()
    theirs = torch.profiler.ExecutionTraceObserver()
    theirs.register_callback(str(tmp_path / "theirs.json"))
    ours = kymograph.ExecutionTraceObserver().register_callback(tmp_path / "ours.json")
    ours.start()
    theirs.start()
    work()
    theirs.stop()
    ours.stop()
    theirs.unregister_callback()
    ours.unregister_callback()

    mine = check_same(tmp_path / "ours.json", tmp_path / "theirs.json")
    assert len(mine) > 5
    ids = [attribute(node, "rf_id") for node in mine.values()]
    assert len(ids) == len(set(ids))
