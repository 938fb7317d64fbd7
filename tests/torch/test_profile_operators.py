"""kymograph.profile beside torch.profiler, both recording the same code in the same process."""

from __future__ import annotations

import contextlib
import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import kymograph

TORCH = torch.profiler
CPU = [TORCH.ProfilerActivity.CPU]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def mlp() -> Callable[[], None]:
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4), nn.Dropout(0.1))
    data, target = torch.ones(5, 8), torch.zeros(5, 4)
    return lambda: nn.functional.mse_loss(model(data), target).backward()


def convolution() -> Callable[[], None]:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, stride=2), nn.BatchNorm2d(4), nn.ReLU())
    data = torch.ones(2, 3, 8, 8)
    return lambda: model(data).sum().backward()


def attention() -> Callable[[], None]:
    model = nn.MultiheadAttention(8, 2, batch_first=True)
    data = torch.ones(2, 5, 8)
    return lambda: model(data, data, data)[0].sum().backward()


def lstm() -> Callable[[], None]:
    model = nn.LSTM(4, 6, num_layers=2)
    data = torch.ones(3, 2, 4)
    return lambda: model(data)[0].sum().backward()


def optimizer() -> Callable[[], None]:
    model = nn.Linear(4, 4)
    adam = torch.optim.Adam(model.parameters())

    def step() -> None:
        adam.zero_grad()
        with TORCH.record_function("forward", "of a model"):
            loss = model(torch.ones(2, 4)).sum()
        loss.backward()
        adam.step()

    return step


def loader() -> Callable[[], None]:
    data = torch.utils.data.DataLoader(torch.arange(24.0).reshape(8, 3), batch_size=2)
    return lambda: [batch.sum() for batch in data] and None


PROGRAMS = [mlp, convolution, attention, lstm, optimizer, loader]


def both(work: Callable[[], None], **options: Any) -> tuple[Any, Any]:
    """Record one run of `work` with kymograph and with torch."""
    work()  # lazy initialisation
    theirs = TORCH.profile(activities=CPU, acc_events=True, **options)
    ours = kymograph.profile(activities=CPU, with_stack=False, **options)
    ours.start()
    theirs.start()
    work()
    theirs.stop()
    ours.stop()
    return ours, theirs


def counts(rows: Any) -> dict[tuple[str, bool, str], int]:
    found = {(row.key, row.is_user_annotation, str(row.input_shapes)): row.count for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_averages_have_the_names_and_counts_of_torch(program: Callable[[], Any]) -> None:
    ours, theirs = both(program(), record_shapes=True, with_flops=True)

    assert counts(ours.key_averages()) == counts(theirs.key_averages())
    assert counts(ours.key_averages(group_by_input_shape=True)) == counts(
        theirs.key_averages(group_by_input_shape=True)
    )
    flops = {row.key: row.flops for row in ours.key_averages()}
    assert flops == {row.key: row.flops for row in theirs.key_averages()}


def test_a_tensor_without_a_shape_has_no_operations() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    ours, theirs = both(lambda: nested + nested, record_shapes=True, with_flops=True)

    rows = [{row.key: row.flops for row in prof.key_averages()} for prof in (ours, theirs)]
    assert rows[0] == rows[1]  # not 1 for each, as for a tensor of no dimensions


def test_an_empty_list_of_tensors_is_known_from_one_of_numbers(tmp_path: Path) -> None:
    def work() -> None:
        torch.broadcast_tensors()
        torch.ones(()).sum([])

    ours, theirs = both(work, record_shapes=True)

    def said(prof: Any) -> list[Any]:
        return [(e.name, e.input_shapes, e.input_dtypes, e.concrete_inputs) for e in prof.events()]

    def written(prof: Any, name: str) -> Counter[str]:
        prof.export_chrome_trace(str(tmp_path / name))
        events = json.loads((tmp_path / name).read_text())["traceEvents"]
        keys = ("Input Dims", "Input Strides", "Input type", "Concrete Inputs")
        operators = (event for event in events if event.get("cat") == "cpu_op")
        return Counter(str([e["name"], *map(e["args"].get, keys)]) for e in operators)

    names = ["input_dtypes"] if hasattr(theirs.events()[0], "input_dtypes") else []
    assert not names or said(ours) == said(theirs)
    assert said(ours)[0] == ("aten::broadcast_tensors", [[]], ["TensorList"], [None])
    assert written(ours, "ours.json") == written(theirs, "theirs.json")


def test_products_have_the_operations_of_torch() -> None:
    sizes = [((2, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 3), (5, 7)), ((0, 3), (3, 4))]
    sizes += [((2, 3, 4), (2, 4, 5)), ((0, 3, 4), (0, 4, 5))]

    def work() -> None:
        for left, right in sizes:
            with contextlib.suppress(RuntimeError):  # some do not fit
                (torch.mm if len(left) == 2 else torch.bmm)(torch.ones(left), torch.ones(right))

    ours, theirs = both(work, record_shapes=True, with_flops=True)
    rows = [
        {
            (row.key, str(row.input_shapes)): row.flops
            for row in prof.key_averages(group_by_input_shape=True)
        }
        for prof in (ours, theirs)
    ]
    assert rows[0] == rows[1]
    assert rows[0]["aten::mm", "[[2, 3], [3, 4]]"] == 48
    assert rows[0]["aten::bmm", "[[2, 3, 4], [2, 4, 5]]"] == 240


def test_steps_and_blocks_of_memory_have_the_names_and_shapes_of_torch() -> None:
    found = []
    for module in (kymograph, TORCH):
        plan = module.schedule(wait=0, warmup=1, active=2, repeat=1)
        with module.profile(
            activities=[module.ProfilerActivity.CPU],
            schedule=plan,
            record_shapes=True,
            profile_memory=True,
        ) as prof:
            for _ in range(3):
                held = torch.ones(3)
                prof.step()
                del held
        events = [(e.name, e.key, e.trace_name) for e in prof.events() if "Step" in e.name]
        rows = prof.key_averages(group_by_input_shape=True)
        found.append((events, {(row.key, str(row.input_shapes)) for row in rows}))

    assert found[0] == found[1]
    assert found[0][0][0] == ("ProfilerStep*", "ProfilerStep*", "ProfilerStep#1")


def test_events_say_what_those_of_torch_say() -> None:
    config = torch._C._profiler._ExperimentalConfig(capture_overload_names=True)
    ours, theirs = both(convolution(), record_shapes=True, experimental_config=config)

    fields = """name input_shapes structured_input_shapes structured_input_strides input_dtypes
        concrete_inputs kwinputs overload_name scope sequence_nr fwd_thread is_user_annotation
        is_python_function activity_type count device_index device_resource_id flow_type flow_start
        linked_correlation_id metadata node_id total_cpu_percent total_device_percent""".split()
    mine, wanted = ours.events(), theirs.events()
    assert [event.name for event in mine] == [event.name for event in wanted]
    for event, other in zip(mine, wanted, strict=True):
        for field in fields:
            if not hasattr(other, field):
                continue  # an older torch
            assert getattr(event, field) == getattr(other, field), (event.name, field)
        above, other_above = event.cpu_parent, other.cpu_parent
        assert (above and above.name) == (other_above and other_above.name)
        assert len(event.cpu_children) == len(other.cpu_children)

    def grouped(prof: Any) -> dict[tuple[str, str], int]:
        rows = prof.key_averages(group_by_overload_name=True)
        return {(row.key, row.overload_name): row.count for row in rows}

    assert grouped(ours) == grouped(theirs)


def test_tables_have_the_columns_of_torch() -> None:
    ours, theirs = both(mlp(), record_shapes=True, with_flops=True)

    def heads(prof: Any) -> list[str]:
        lines = prof.key_averages(group_by_input_shape=True).table().splitlines()
        return [word.strip() for word in lines[1].split("  ") if word.strip()]

    assert heads(ours) == heads(theirs)


def test_shapes_are_recorded_only_if_asked_for(tmp_path: Path) -> None:
    ours, _ = both(mlp())

    addmm = next(event for event in ours.events() if event.name == "aten::addmm")
    assert addmm.input_shapes == []
    assert addmm.flops == 0
    ours.export_chrome_trace(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    (first, *_) = [event for event in events if event["name"] == "aten::addmm"]
    assert first["cat"] == "cpu_op"
    assert "Input Dims" not in first["args"]


def test_traces_have_the_events_and_arguments_of_torch(tmp_path: Path) -> None:
    ours, theirs = both(optimizer(), record_shapes=True)
    ours.export_chrome_trace(tmp_path / "ours.json")
    theirs.export_chrome_trace(str(tmp_path / "theirs.json"))

    def load(name: str) -> Counter[str]:
        events = json.loads((tmp_path / name).read_text())["traceEvents"]
        wanted = ("Input Dims", "Input type", "Record function id")
        return Counter(
            json.dumps([e["cat"], e["name"], *(e["args"].get(key) for key in wanted)])
            for e in events
            if e.get("cat") in ("cpu_op", "user_annotation")
        )

    assert load("ours.json") == load("theirs.json")


def test_an_annotation_with_calls_around_it_is_one_event_with_the_id_of_its_node(
    tmp_path: Path,
) -> None:
    observer = kymograph.ExecutionTraceObserver().register_callback(str(tmp_path / "et.json"))
    work = optimizer()
    work()
    with kymograph.profile(with_stack=True, execution_trace_observer=observer) as prof:
        work()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))

    nodes = json.loads((tmp_path / "et.json").read_text("utf-8"))["nodes"]
    events = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    names = {"Optimizer.step#Adam.step", "Optimizer.zero_grad#Adam.zero_grad", "forward"}
    found = [event for event in events if event.get("name") in names]
    assert {(e["name"], e["cat"]) for e in found} == {(name, "user_annotation") for name in names}
    assert len(found) == 3
    ids = {
        node["name"]: attribute["value"]
        for node in nodes
        for attribute in node["attrs"]
        if attribute["name"] == "rf_id"
    }
    assert {e["name"]: e["args"]["Record function id"] for e in found} == {
        name: ids[name] for name in names
    }


def test_activities_without_operators_record_none() -> None:
    with kymograph.profile(activities={TORCH.ProfilerActivity.CPU: ["USER_ANNOTATION"]}) as prof:
        with TORCH.record_function("annotated", "its text"):
            torch.ones(2)

    assert [event.name for event in prof.events()] == ["annotated"]


def test_an_execution_trace_has_the_operators_of_the_profiler(tmp_path: Path) -> None:
    observer = kymograph.ExecutionTraceObserver().register_callback(tmp_path / "et.json")
    with kymograph.profile(activities=CPU, execution_trace_observer=observer) as prof:
        torch.ones(2) + 1

    nodes = json.loads((tmp_path / "et.json").read_text())["nodes"]
    add = next(node for node in nodes if node["name"] == "aten::add")
    assert add["outputs"]["shapes"] == [[2]]
    assert "aten::add" in [row.key for row in prof.key_averages()]


def test_trace_only_has_a_trace_and_no_events(tmp_path: Path) -> None:
    try:
        config = torch._C._profiler._ExperimentalConfig(trace_only=True)
    except TypeError:
        pytest.skip("this torch has no trace_only")
    with kymograph.profile(activities=CPU, experimental_config=config) as prof:
        torch.ones(2)

    with pytest.raises(RuntimeError, match="trace_only"):
        prof.events()
    prof.export_chrome_trace(tmp_path / "t.json")
    assert "aten::ones" in (tmp_path / "t.json").read_text()


def test_overloads_are_in_the_names_of_a_trace_if_asked_for(tmp_path: Path) -> None:
    config = torch._C._profiler._ExperimentalConfig(capture_overload_names=True)
    ours, theirs = both(mlp(), experimental_config=config)
    ours.export_chrome_trace(tmp_path / "ours.json")
    theirs.export_chrome_trace(str(tmp_path / "theirs.json"))

    def names(file: str) -> Counter[str]:
        events = json.loads((tmp_path / file).read_text())["traceEvents"]
        return Counter(event["name"] for event in events if event.get("cat") == "cpu_op")

    assert names("ours.json") == names("theirs.json")
    assert names("ours.json")["aten::sum.dim_IntList"] > 0


def test_pickled_events_say_the_same_of_operators() -> None:
    work = optimizer()
    work()
    with kymograph.profile(
        activities=CPU, record_shapes=True, profile_memory=True, with_flops=True, with_stack=False
    ) as prof:
        work()
    events = prof.events()
    pickled = pickle.loads(pickle.dumps(events))

    fields = """name input_shapes structured_input_shapes structured_input_strides input_dtypes
        concrete_inputs scope sequence_nr fwd_thread is_user_annotation flops flow_id flow_start
        external_id cpu_memory_usage self_cpu_memory_usage cpu_time_total outermost""".split()
    assert [[getattr(event, field) for field in fields] for event in pickled] == [
        [getattr(event, field) for field in fields] for event in events
    ]
    said = """key count flops input_shapes cpu_memory_usage self_cpu_memory_usage scope outermost
        is_user_annotation overload_name""".split()
    for asked in ({}, {"group_by_input_shapes": True}, {"group_by_overload_name": True}):
        rows = [
            sorted(str([getattr(row, name) for name in said]) for row in each.key_averages(**asked))
            for each in (events, pickled)
        ]
        assert rows[0] == rows[1]


class Wrapper(torch.Tensor):
    """A tensor whose operators Python handles. If `asked`, Python gives its sizes, too."""

    inner: torch.Tensor
    asked: bool

    @staticmethod
    def __new__(cls, inner: torch.Tensor, asked: bool) -> Any:
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            (7,) if asked else inner.size(),
            strides=None if asked else inner.stride(),
            dtype=inner.dtype,
            device=inner.device,
            dispatch_sizes_strides_policy="sizes" if asked else None,
        )
        made.inner, made.asked = inner, asked
        return made

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        first = args[0]
        if function is torch.ops.aten.sym_size.default:
            return first.inner.size()
        if function is torch.ops.aten.sym_stride.default:
            return first.inner.stride()
        if function in (torch.ops.aten.dim.default, torch.ops.aten.sym_numel.default):
            return function(first.inner)
        return Wrapper(function(first.inner), first.asked)


def tensors_without_memory() -> dict[str, Callable[[], object]]:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    fake = FakeTensorMode().from_tensor(torch.ones(4, 3).t())
    symbolic = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(5, 3))
    wrapper = Wrapper(torch.ones(2, 3).t(), False)
    parts = [torch.ones(2, 3), torch.ones(4, 3)]
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged)
    return {
        "fake": lambda: fake + fake,
        "symbolic": lambda: symbolic.sin(),
        "wrapper": lambda: wrapper.exp(),
        "nested": lambda: nested.cos(),
        "vmap": lambda: torch.vmap(lambda x: x.sigmoid())(torch.ones(4, 3)),
        "grad": lambda: torch.func.grad(lambda x: x.tanh().sum())(torch.ones(4, 3)),
        "meta": lambda: torch.ones(2, 5, device="meta").neg(),
    }


@pytest.mark.parametrize("name", tensors_without_memory())
def test_tensors_without_memory_have_the_shapes_of_torch(name: str) -> None:
    work = tensors_without_memory()[name]
    ours, theirs = both(lambda: [work()] and None, record_shapes=True, with_flops=True)

    def said(prof: Any) -> list[Any]:
        return [
            (e.name, e.input_shapes, e.structured_input_strides, e.input_dtypes, e.flops)
            for e in prof.events()
            if "SymInt" not in e.name
            and all("List" not in dtype for dtype in e.input_dtypes)
            and e.name != "aten::empty_strided"  # numbers that are symbols
        ]

    assert said(ours) == said(theirs)
    if name in ("fake", "wrapper", "vmap", "grad", "meta"):
        assert any(e[1][0] for e in said(ours) if e[1])


def test_sizes_that_only_python_knows_are_not_shown(tmp_path: Path) -> None:
    wrapper = Wrapper(torch.ones(2, 5), True)
    observer = kymograph.ExecutionTraceObserver().register_callback(tmp_path / "et.json")
    with kymograph.profile(record_shapes=True, execution_trace_observer=observer) as prof:
        wrapper.exp()

    found = [(event.input_shapes, event.input_dtypes) for event in prof.events()]
    assert ([[]], [""]) in found
    assert ([[2, 5]], ["float"]) in found  # what it has inside
    assert "7" not in str(found)
    nodes = json.loads((tmp_path / "et.json").read_text())["nodes"]
    inputs = [node["inputs"] for node in nodes if node["name"] == "aten::exp"]
    shapeless = [each["values"][0][1:] for each in inputs if each["shapes"] == [[]]]
    assert shapeless == [[0, 0, 0, 0, ""]]
