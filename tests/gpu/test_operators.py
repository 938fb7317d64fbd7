"""Operators of a program that uses a GPU, beside torch's own profiler in the same process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.profiler

import kymograph

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def perceptron() -> Callable[[], object]:
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    inputs, labels = torch.randn(32, 64).cuda(), torch.randint(10, (32,)).cuda()

    def run() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        torch.cuda.synchronize()

    return run


def convolution() -> Callable[[], object]:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten()
    ).cuda()
    inputs = torch.randn(2, 3, 16, 16, device="cuda")
    return lambda: model(inputs).sum().backward()


def attention() -> Callable[[], object]:
    parts = [torch.randn(2, 4, 16, 32, device="cuda", requires_grad=True) for _ in range(3)]
    return lambda: torch.nn.functional.scaled_dot_product_attention(*parts).sum().backward()


def recurrent() -> Callable[[], object]:
    model = torch.nn.LSTM(16, 32, 2).cuda()
    inputs = torch.randn(5, 3, 16, device="cuda")
    return lambda: model(inputs)[0].sum().backward()


def facts(events: Any) -> list[tuple[str, str]]:
    """Names and shapes of operators; runtime calls and kernels are none."""
    return sorted(
        (event.name, str(event.input_shapes))
        for event in events
        if "::" in event.name and str(event.device_type).endswith("CPU")
    )


@pytest.mark.parametrize("make", [perceptron, convolution, attention, recurrent])
def test_operators_are_those_of_torch(make: Callable[[], Callable[[], object]]) -> None:
    run = make()
    run()  # the first run chooses kernels and allocates
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True
    ) as theirs:
        run()
    with kymograph.profile(record_shapes=True) as ours:
        run()

    expected = facts(theirs.events())
    assert expected
    assert facts(ours.events()) == expected
