"""Operators of a real torch, beside what torch's own profiler and observer say about them."""

from __future__ import annotations

import gc
import itertools
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from recorded import Operator, operators

import kymograph
from kymograph import _core, _torch
from kymograph._torch import check, layout


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """The layout of this torch, set."""
    assert _core.torch_found()
    found = layout.find(torch)
    _core.torch_probes_end()
    return found


def mlp_step() -> Any:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4), torch.nn.Dropout(0.1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    data, target = torch.ones(5, 8), torch.zeros(5, 4)

    def step() -> None:
        optimizer.zero_grad()
        with torch.profiler.record_function("forward"):
            loss = torch.nn.functional.mse_loss(model(data), target)
        loss.backward()
        optimizer.step()

    step()  # lazy initialisation
    return step


def record(path: Path, function: Any, ops: bool | str = True) -> list[Operator]:
    with kymograph.trace(path, calls=False, ops=ops):
        function()
    return operators(path)


def test_everything_is_understood(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with kymograph.trace(tmp_path / "t.kymo", ops=True):
        torch.ones(2)

    assert capfd.readouterr().err == ""
    with kymograph.open(tmp_path / "t.kymo") as capture:
        assert capture.metadata["torch.ops"] == "full"


def test_a_training_step_is_as_torch_profiler_has_it(tmp_path: Path) -> None:
    step = mlp_step()
    kymograph.start(tmp_path / "t.kymo", calls=False, ops=True)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, acc_events=True
    ) as prof:
        step()
    kymograph.stop()
    torch_path = tmp_path / "torch.json"
    prof.export_chrome_trace(str(torch_path))

    events = json.loads(torch_path.read_text())["traceEvents"]
    theirs = sorted(
        (e for e in events if e.get("cat") in ("cpu_op", "user_annotation")),
        key=lambda e: e["args"].get("Record function id", -1),
    )
    by_id = {e["args"].get("Record function id"): e for e in theirs}
    ours = {op.note["rf_id"]: op for op in operators(tmp_path / "t.kymo")}
    shared = [number for number in by_id if number in ours]
    assert len(shared) > 100
    inside = range(min(shared), max(shared) + 1)
    assert sorted(shared) == sorted(number for number in ours if number in inside)
    for number in shared:
        event, op = by_id[number], ours[number]
        assert op.name == event["name"]
        args = event["args"]
        if "Sequence number" in args and not op.name.startswith("autograd::engine"):
            assert op.note["seq"] == args["Sequence number"]
            assert op.note["fw_thread"] == args["Fwd thread id"]
        if "Input Dims" in args:
            assert op.shapes() == args["Input Dims"], op.name
            types = [t for t in args["Input type"] if t in ("float", "long int", "bool")]
            mine = [t for t in op.note["dtypes"] if t in ("float", "long int", "bool")]
            assert [t for t in mine if t in types] == mine or "TensorList" in args["Input type"]


def test_nesting_is_as_torch_has_it(tmp_path: Path) -> None:
    step = mlp_step()
    kymograph.start(tmp_path / "t.kymo", calls=False, ops=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        step()
    kymograph.stop()

    def path_of(event: Any) -> tuple[str, ...]:
        return (*path_of(event.cpu_parent), event.name) if event.cpu_parent else (event.name,)

    def is_shown(op: Operator) -> bool:
        """torch.profiler leaves out an operator that only calls another of its name."""
        children = [each.name for each in found if each.parent is op]
        return children != [op.name]

    def my_path(op: Operator) -> tuple[str, ...]:
        above = my_path(op.parent) if op.parent else ()
        return (*above, op.name) if is_shown(op) else above

    found = operators(tmp_path / "t.kymo")
    mine = Counter(my_path(op) for op in found if is_shown(op))
    assert mine == Counter(path_of(event) for event in prof.events())


@pytest.mark.parametrize("mode", ["names", "shapes"])
def test_names_without_a_schema_are_told_apart(mode: str, tmp_path: Path) -> None:
    # Of every length, with the same beginnings and ends, and more than a thread remembers.
    texts = [f"{'x' * n}{i}{'Backward' * (n % 3)}" for n in range(120) for i in range(12)]

    def annotate() -> None:
        for text in texts * 2:
            with torch.profiler.record_function(text):
                pass
        for text in texts[:12]:
            for _ in range(2):
                with torch.profiler.record_function(text):
                    pass

    for _ in range(2):  # keys of a session are not used in the next
        found = record(tmp_path / "t.kymo", annotate, ops=mode)
        named = [op for op in found if op.note["scope"] == 7]
        assert [op.name for op in named] == texts * 2 + [t for t in texts[:12] for _ in range(2)]
        assert {(op.ended, op.note["schema"]) for op in named} == {(True, "(unknown)")}


def test_every_operator_ends_and_has_outputs(tmp_path: Path) -> None:
    found = record(tmp_path / "t.kymo", mlp_step())

    assert all(op.ended for op in found)
    assert all(op.out for op in found)
    (addmm, *_) = [op for op in found if op.name == "aten::addmm"]
    assert addmm.note["shapes"] == ((16,), (5, 8), (8, 16))
    assert addmm.out["shapes"] == ((5, 16),)
    assert addmm.note["schema"] == "aten::addmm"


def test_outputs_of_boxed_operators_are_their_own(tmp_path: Path) -> None:
    """They are on a stack, above what the caller has there."""
    x = torch.ones(3)
    found = record(tmp_path / "t.kymo", lambda: torch.func.grad(lambda t: (t * t).sum())(x))

    products = [operator for operator in found if operator.name == "aten::mul"]
    assert len(products) > 2
    assert {operator.out["kinds"] for operator in products} == {(1,)}


def test_whole_schemas_are_recorded_at_the_end(tmp_path: Path) -> None:
    record(tmp_path / "t.kymo", lambda: torch.ones(2) + torch.ones(2))

    with kymograph.open(tmp_path / "t.kymo") as capture:
        schemas = {
            event.fields["operator"]: event.fields["schema"]
            for event in capture.events()
            if event.kind == "payload" and event.name == "operator.schema"
        }
    assert schemas["aten::add.Tensor"] == str(torch._C._get_schema("aten::add", "Tensor"))


def test_values_are_exact(tmp_path: Path) -> None:
    x = torch.arange(24, dtype=torch.int64).reshape(2, 3, 4)

    def run() -> None:
        torch.clamp(x[:, 1:, ::2], -3, None)
        torch.cat([x, x], dim=-1)
        torch.full((2,), 0.1)

    found = {op.name: op.note for op in record(tmp_path / "t.kymo", run) if op.parent is None}
    clamp = found["aten::clamp"]
    assert clamp["kinds"] == (1, 2, 0)
    assert (clamp["ints"], clamp["shapes"], clamp["strides"]) == (
        (-3,),
        ((2, 2, 2),),
        ((12, 4, 2),),
    )
    assert (clamp["offsets"], clamp["numels"], clamp["itemsizes"]) == ((4,), (8,), (8,))
    assert clamp["storages"] == (x.untyped_storage()._cdata,)
    assert (clamp["dtypes"], clamp["devices"]) == (("long int",), ("cpu",))
    assert found["aten::cat"]["kinds"] == (7, 1, 1, 2)
    assert found["aten::cat"]["tensors"] == (x._cdata, x._cdata)
    assert found["aten::full"]["floats"] == (0.1,)


def test_modes_record_less(tmp_path: Path) -> None:
    step = mlp_step()
    names = record(tmp_path / "names.kymo", step, "names")
    shapes = record(tmp_path / "shapes.kymo", step, "shapes")

    assert [op.name for op in names] == [op.name for op in shapes]
    assert {op.note["flags"] for op in names} == {2}
    assert not any(op.note["kinds"] or op.out for op in names)
    assert any(op.note["seq"] >= 0 for op in names)
    assert not any(op.out for op in shapes)
    assert any(op.note["shapes"] for op in shapes)


def test_backward_finds_its_forward(tmp_path: Path) -> None:
    found = record(tmp_path / "t.kymo", mlp_step())

    forward = {
        (op.note["thread"], op.note["seq"])
        for op in found
        if op.note["scope"] == 0 and op.note["seq"] >= 0
    }
    nodes = [op for op in found if op.note["scope"] == 1 and op.note["seq"] >= 0]
    assert nodes
    lost = [op.name for op in nodes if (op.note["fw_thread"], op.note["seq"]) not in forward]
    assert set(lost) <= {"torch::autograd::AccumulateGrad"}


def test_threads_have_their_own_operators(tmp_path: Path) -> None:
    def work(size: int) -> None:
        for _ in range(30):
            (torch.ones(size, requires_grad=True) * 2).sum().backward()

    def run() -> None:
        threads = [threading.Thread(target=work, args=(3 + i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    found = record(tmp_path / "t.kymo", run)
    assert all(op.ended for op in found)
    muls = [op for op in found if op.name == "aten::mul" and op.note["scope"] == 0]
    sizes: dict[int, set[Any]] = {}
    for op in muls:
        sizes.setdefault(op.thread, set()).add(op.note["shapes"][0])
    assert sorted(len(each) for each in sizes.values()) == [1, 1, 1, 1]


def test_exceptions_end_operators(tmp_path: Path) -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise ValueError("backward")

    def run() -> None:
        for _ in range(20):
            with pytest.raises(RuntimeError):
                torch.mm(torch.ones(2, 3), torch.ones(2, 3))
        with pytest.raises(ValueError, match="backward"):
            Fails.apply(torch.ones(2, requires_grad=True)).sum().backward()

    found = record(tmp_path / "t.kymo", run)
    assert all(op.ended for op in found)
    assert sum(op.name == "aten::mm" for op in found) == 20


def test_odd_tensors_are_marked(tmp_path: Path) -> None:
    class Subclass(torch.Tensor):
        pass

    sparse = torch.eye(3).to_sparse()
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)

    def run() -> None:
        sparse.neg()
        nested * 2
        torch.vmap(torch.sinh)(torch.ones(3, 2))
        torch.ones(2).as_subclass(Subclass).cosh()

    found = record(tmp_path / "t.kymo", run)
    assert all(op.ended for op in found)
    neg = next(op for op in found if op.name == "aten::neg")
    assert neg.note["marks"] == (1,)
    assert neg.note["strides"] == ((),)
    marks = [m for op in found if op.name == "aten::mul" for m in op.note["marks"]]
    assert 3 in marks
    sinh = next(op for op in found if op.name == "aten::sinh")
    assert (sinh.note["marks"], sinh.shapes()) == ((0,), [[2]])


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    one = torch.ones(1)
    found = record(tmp_path / "t.kymo", lambda: torch.cat([one] * 100_000))

    cat = next(op for op in found if op.name == "aten::cat")
    assert cat.note["flags"] == 65_536 << 8 | 5  # in parts, and not all
    assert not cat.note["kinds"]


def test_ranges_have_their_names_and_text(tmp_path: Path) -> None:
    names = ["plain", 'é\n"quoted"', "x" * 5000, ""]

    def run() -> None:
        for name in names:
            with torch.profiler.record_function(name, "an argument"):
                torch.ones(1)

    found = [op for op in record(tmp_path / "t.kymo", run) if op.note["scope"] == 7]
    assert [op.name for op in found] == names
    assert {op.note["texts"] for op in found} == {("an argument",)}


def test_own_operators_take_tensors(tmp_path: Path) -> None:
    parameter = torch.nn.Parameter(torch.ones(2, 3))
    with kymograph.trace(tmp_path / "t.kymo", calls=False, ops=True):
        with kymograph.op("mine", (parameter, [parameter[:, 1]])):
            pass

    mine = next(op for op in operators(tmp_path / "t.kymo") if op.name == "mine")
    assert mine.note["kinds"] == (1, 7, 1)
    assert mine.note["shapes"] == ((2, 3), (2,))
    assert mine.note["offsets"] == (0, 1)
    assert mine.note["tensors"][0] == parameter._cdata
    assert len(set(mine.note["storages"])) == 1


def test_operators_stand_between_python_calls(tmp_path: Path) -> None:
    def outer() -> None:
        torch.ones(2)

    with kymograph.trace(tmp_path / "t.kymo", ops=True, c_calls=False):
        outer()

    with kymograph.open(tmp_path / "t.kymo") as capture:
        names = [(e.kind, e.name.rpartition(".")[2]) for e in capture.events()]
    begin = names.index(("enter", "outer"))
    assert begin < names.index(("enter", "aten::ones")) < names.index(("leave", "outer"))


def test_a_range_ended_on_another_thread_ends(tmp_path: Path) -> None:
    def run() -> None:
        handle = torch.autograd._record_function_with_args_enter("elsewhere", 1)
        thread = threading.Thread(
            target=torch.autograd._record_function_with_args_exit, args=(handle,)
        )
        thread.start()
        thread.join()
        torch.ones(3)

    found = record(tmp_path / "t.kymo", run)
    elsewhere = next(op for op in found if op.name == "elsewhere")
    ones = next(op for op in found if op.name == "aten::ones")
    assert elsewhere.ended
    assert ones.parent is None


def test_windows_open_and_close_while_threads_run(tmp_path: Path) -> None:
    stop = threading.Event()

    def work() -> None:
        weight = torch.ones(4, 4, requires_grad=True)
        while not stop.is_set():
            (torch.ones(2, 4) @ weight).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for i in range(20):
            with kymograph.trace(tmp_path / "t.kymo", calls=False, ops=True):
                torch.ones(i + 1)
            with kymograph.open(tmp_path / "t.kymo") as capture:
                assert capture.info.gaps == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_pausing_stops_and_resumes(tmp_path: Path) -> None:
    def run() -> None:
        torch.ones(1)
        kymograph.pause()
        torch.zeros(1)
        kymograph.resume()
        torch.full((1,), 2.0)

    found = {op.name for op in record(tmp_path / "t.kymo", run)}
    assert {"aten::ones", "aten::full"} <= found
    assert "aten::zeros" not in found


def test_a_forked_child_records_nothing_and_lives(tmp_path: Path) -> None:
    def run() -> None:
        child = os.fork()
        if child == 0:
            ok = float((torch.ones(3) + torch.ones(3)).sum()) == 6.0
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        torch.zeros(1)

    found = record(tmp_path / "t.kymo", run)
    assert {"aten::zeros"} <= {op.name for op in found}
    assert "aten::sum" not in {op.name for op in found}


def test_the_random_numbers_of_the_program_are_not_disturbed() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    layout.find(torch)
    _core.torch_probes_end()

    assert torch.equal(torch.rand(3), expected)


CODE = """
import kymograph
kymograph.start({path!r}, ops=True, calls={calls})
import torch
(torch.ones(2, requires_grad=True) * 3).sum().backward()
kymograph.stop()
"""


@pytest.mark.parametrize("calls", [False, True])
def test_torch_may_be_imported_later(tmp_path: Path, calls: bool) -> None:
    path = tmp_path / "t.kymo"
    code = CODE.format(path=str(path), calls=calls)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
    )

    assert (done.stderr, done.returncode) == ("", 0)
    found = operators(path)
    assert {"aten::ones", "aten::mul", "MulBackward0"} <= {op.name for op in found}
    assert not any(op.name.startswith(("kymograph ", "aten::sinh")) for op in found)


def test_run_has_an_option_for_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\ntorch.ones(2).sum()\n")
    path = tmp_path / "t.kymo"
    done = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-m", "kymograph", "run", "-q", "--ops=shapes"),
            *("--calls", "off", "-o", str(path), str(script)),
        ],
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    found = operators(path)
    assert "aten::sum" in {op.name for op in found}
    assert not any(op.out for op in found)


def test_run_writes_an_execution_trace(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\ntorch.ones(2, 3).mm(torch.ones(3, 4))\n")
    for _ in range(2):  # the second replaces the first
        done = subprocess.run(
            [
                *(sys.executable, "-W", "ignore", "-m", "kymograph", "run", "--calls", "off"),
                *("--execution-trace", "et.json", "script.py"),
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert "kymograph: wrote et.json, the execution trace\n" in done.stderr

    nodes = json.loads((tmp_path / "et.json").read_text())["nodes"]
    (node,) = (node for node in nodes if node["name"] == "aten::mm")
    assert node["inputs"]["shapes"] == [[2, 3], [3, 4]]
    assert node["outputs"]["shapes"] == [[2, 4]]
    assert any(op.name == "aten::mm" and op.out for op in operators(tmp_path / "script.kymo"))


# ---- wrong guesses


def offsets(layout_found: dict[str, Any]) -> list[str]:
    return [name for name, value in layout_found.items() if isinstance(value, int)]


@pytest.mark.parametrize("move", [-16, -8, 8, 16])
def test_a_wrong_offset_is_noticed_and_hurts_nobody(known: dict[str, Any], move: int) -> None:
    unnoticed = []
    for name in offsets(known):
        if name in ("plain", "strided", "opaque", "tensor_type", "data", "object"):
            continue
        wrong = {**known, name: max(0, known[name] + move)}
        if not check.in_child(torch, wrong):
            unnoticed.append(name)
    _core.torch_probes_end()
    # Nothing is read through this number; the check in the parent covers it.
    assert set(unnoticed) <= {"forward_thread"}


def test_wrong_tags_are_noticed(known: dict[str, Any]) -> None:
    kinds = known["kinds"]
    # Those from 200 on give a value only its name; nothing is read through it.
    used = [tag for tag, kind in enumerate(kinds) if kind != 9 and kind < 200]
    for first, second in itertools.pairwise(used):
        swapped = bytearray(kinds)
        swapped[first], swapped[second] = kinds[second], kinds[first]
        assert check.in_child(torch, {**known, "kinds": bytes(swapped)}), (first, second)
    _core.torch_probes_end()


def test_a_torch_that_is_not_understood_gives_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    real = layout.find

    def wrong(module: Any) -> dict[str, Any]:
        return {**real(module), "inputs": 0}

    monkeypatch.setattr(layout, "find", wrong)
    monkeypatch.setattr(_torch, "_outcome", None)
    try:
        step = mlp_step()
        found = record(tmp_path / "t.kymo", step)
        again = record(tmp_path / "u.kymo", step)
    finally:
        monkeypatch.undo()
        _torch._outcome = None
    message = capfd.readouterr().err
    assert message.count("recording only the names of torch's operators") == 1
    assert {op.note["flags"] for op in found} == {2}
    assert {op.note["scope"] for op in found} >= {0, 1, 7}
    assert all(op.ended for op in found)
    full = record(tmp_path / "v.kymo", step)
    assert [op.name for op in full] == [op.name for op in found] == [op.name for op in again]
    gc.collect()
