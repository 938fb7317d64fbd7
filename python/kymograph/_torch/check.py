"""Is a layout right? Operators are observed with the reads that recording uses, and compared with
what Python knows about their arguments. A wrong layout may crash, so a forked child tries it first.
"""

from __future__ import annotations

import os
import select
import signal
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from kymograph import _children, _core
from kymograph._torch.records import record, run_backward
from kymograph._torch.tensors import wrapped
from kymograph._torch.values import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    LIST,
    NO_TENSORS,
    NONE,
    TENSOR,
    TEXT,
    TUPLE,
)

NOT_PLAIN, OPAQUE = 1, 2
SECONDS = 20  # for the child


class Observation(NamedTuple):
    end: bool
    name: str
    scope: int
    schema: str
    id: int
    sequence: int
    thread: int
    forward_thread: int
    values: list[tuple[int, Any]]


class _Checker:
    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.problems: list[str] = []
        self.seen: list[Observation] = []

    def observe(self, run: Callable[[], None]) -> None:
        if not _core.torch_observe():
            self.problems.append("torch's callbacks")
            return
        try:
            run()
        finally:
            self.seen = [Observation(*each) for each in _core.torch_observations()]

    def same(self, what: str, found: object, known: object) -> None:
        if found != known:
            self.problems.append(what)

    def one(self, name: str, end: bool = False) -> Observation | None:
        for each in self.seen:
            if (each.name, each.end) == (name, end):
                return each
        self.problems.append(f"no {name}")
        return None

    def tensor(self, tensor: Any) -> tuple[int, tuple[Any, ...]]:
        """What an observation says about `tensor`, a plain one of floats on the CPU."""
        return TENSOR, (
            tensor._cdata,
            tensor.untyped_storage()._cdata,
            tensor.storage_offset(),
            tensor.numel(),
            list(tensor.shape),
            list(tensor.stride()),
            "float",
            "cpu",
            4,
            0,
        )

    def inputs(self, name: str, known: list[Any]) -> Observation | None:
        seen = self.one(name)
        if seen is not None:
            self.same(f"inputs of {name}", seen.values[: len(known)], known)
        return seen

    def output(self, name: str, tensor: Any) -> None:
        seen = self.one(name, end=True)
        if seen is not None:
            self.same(f"output of {name}", seen.values, [self.tensor(tensor)])


def problems(torch: Any, layout: dict[str, Any], backward: bool) -> list[str]:
    """Return what is wrong with `layout`, which is set."""
    c = _Checker(torch)
    base = torch.full((5000,), 0.25, dtype=torch.float32, device="cpu")
    a = base.as_strided((3, 4), (101, 7), 23)
    b = base.as_strided((3, 4), (5, 1), 61)
    deep = base.as_strided((2, 3, 2, 2, 1, 3), (11, 3, 2, 1, 1, 1), 1)
    out = torch.full((3, 4), 0.5, dtype=torch.float32, device="cpu")
    leaf = torch.full((3, 4), 0.5, dtype=torch.float32, device="cpu").requires_grad_()
    short = torch.zeros((2, 2), dtype=torch.int16, device="cpu")
    sparse = leaf.detach().to_sparse()
    results: dict[str, Any] = {}

    def run() -> None:
        with torch.no_grad():
            torch.add(a, b, alpha=5, out=out)
            results["cat"] = torch.cat([a, b, a], 1)
            torch.nn.functional.gelu(b, approximate="tanh")
            torch.clamp(b, 0.125, None)
            results["sum"] = deep.sum([0, 2], keepdim=True)
            torch.broadcast_tensors()
            torch.empty((2, 9), dtype=torch.int32, device="cpu")
            torch.abs(short)
            torch.empty((2, 7), device="meta").t()
            sparse.neg()
        with torch.enable_grad():
            results["next"] = _core.torch_sequence()
            results["sinh"] = leaf.sinh()
        record(torch, "kymograph check", (a, b, a, b), "x" * 40, 1 + 2j)
        if layout["policy"] >= 0:
            record(torch, "kymograph policy", wrapped(torch, None), wrapped(torch, "sizes"))
        if backward:
            run_backward(torch, results["sinh"], b)

    c.observe(run)
    if c.problems:
        return c.problems
    _arguments(c, a, b, deep, out, results)
    c.inputs(
        "aten::broadcast_tensors",
        [(NO_TENSORS, None) if layout["element"] >= 0 else (LIST, 0)],
    )
    policy = c.one("kymograph policy") if layout["policy"] >= 0 else None
    if policy is not None:
        c.same("policy", [value[1][9] for value in policy.values], [0, NOT_PLAIN | OPAQUE])
    _odd_tensors(c, short, sparse)
    _numbers(c, results, backward)
    return c.problems


def _arguments(c: _Checker, a: Any, b: Any, deep: Any, out: Any, results: dict[str, Any]) -> None:
    add = c.inputs("aten::add", [c.tensor(a), c.tensor(b), (INT, 5), c.tensor(out)])
    if add is not None:
        c.same("schema", add.schema, "aten::add.out")
        c.same("sequence", add.sequence, -1)
    c.output("aten::add", out)
    c.inputs("aten::cat", [(LIST, 3), c.tensor(a), c.tensor(b), c.tensor(a), (INT, 1)])
    c.output("aten::cat", results["cat"])
    c.inputs("aten::gelu", [c.tensor(b), (TEXT, b"tanh")])
    c.inputs("aten::clamp", [c.tensor(b), (FLOAT, 0.125), (NONE, None)])
    c.inputs("aten::sum", [c.tensor(deep), (LIST, 2), (INT, 0), (INT, 2), (BOOL, 1)])
    c.output("aten::sum", results["sum"])
    four = [c.tensor(a), c.tensor(b), c.tensor(a), c.tensor(b)]
    check = c.inputs(
        "kymograph check", [(TUPLE, 4), *four, (TEXT, b"x" * 40), (COMPLEX, (1.0, 2.0))]
    )
    if check is not None:
        c.same("scope", check.scope, 7)
    empties = [seen.values for seen in c.seen if seen.name == "aten::empty" and not seen.end]
    sizes = [(LIST, 2), (INT, 2), (INT, 9)]
    devices = [v[5] for v in empties if v[:3] == sizes and len(v) > 5]
    c.same("device", devices, [(DEVICE, b"cpu")])


def _odd_tensors(c: _Checker, short: Any, sparse: Any) -> None:
    seen = c.one("aten::abs")
    if seen is not None and seen.values and seen.values[0][0] == TENSOR:
        c.same("type", seen.values[0][1][6:9], ("short int", "cpu", 2))
    metas = [s.values[0] for s in c.seen if s.name == "aten::t" and not s.end and s.values]
    c.same("meta", [m[1][7] for m in metas if m[0] == TENSOR], ["meta"])
    seen = c.one("aten::neg")
    if seen is not None and seen.values and seen.values[0][0] == TENSOR:
        value = seen.values[0][1]
        c.same("sparse", (value[0], value[1], value[9]), (sparse._cdata, 0, NOT_PLAIN))


def _numbers(c: _Checker, results: dict[str, Any], backward: bool) -> None:
    thread = _core.torch_thread()
    starts = [seen for seen in c.seen if not seen.end]
    sinh = c.one("aten::sinh")
    if sinh is not None:
        c.same("sequence", sinh.sequence, results["next"])
    c.same("thread", {seen.thread for seen in starts}, {thread})
    ids = [seen.id for seen in starts]
    c.same("id", ids, sorted(set(ids)))
    c.same("id", bool(ids) and ids[0] > 0, True)
    if backward:
        node = c.one("SinhBackward0")
        if node is not None and sinh is not None:
            found = (node.sequence, node.forward_thread, node.scope)
            c.same("backward", found, (sinh.sequence, thread, 1))
    else:
        c.same("forward thread", {seen.forward_thread for seen in starts}, {0})


# ---- in a child


def _child(torch: Any, layout: dict[str, Any], answer: int) -> None:
    """Write the problems to `answer`. A crash must be quiet."""
    import resource

    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    torch.set_num_threads(1)  # OpenMP's other threads are not in the child
    _core.torch_layout_set(layout)
    found = problems(torch, layout, backward=False)  # torch's engine refuses to run after a fork
    os.write(answer, ("\n".join(found) + "\0").encode()[:4096])


def _answer_from(reading: int) -> bytes:
    got, end = b"", time.monotonic() + SECONDS
    while not got.endswith(b"\0"):
        left = end - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            break
        piece = os.read(reading, 4096)
        if not piece:
            break
        got += piece
    return got


def in_child(torch: Any, layout: dict[str, Any]) -> list[str]:
    """Return what is wrong with `layout`, found out by a child that may crash."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads: none of it is used
        _core.fork_apart(True)
        try:
            child = os.fork()
        finally:
            _core.fork_apart(False)
    if child == 0:
        try:
            _child(torch, layout, writing)
        finally:
            os._exit(0)
    os.close(writing)
    got = _answer_from(reading)
    os.close(reading)
    if not got.endswith(b"\0"):
        os.kill(child, signal.SIGKILL)
    try:
        _children.forked_by_us(os.wait4(child, 0)[2])
    except ChildProcessError:  # the program waits for any child
        pass
    if not got.endswith(b"\0"):
        return ["reading crashed"]
    return [line for line in got[:-1].decode().split("\n") if line]
