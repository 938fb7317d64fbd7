"""`kineto_results`: the tree of events, and their numbers, beside torch's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import torch.utils.checkpoint
from torch import nn
from torch._C._profiler import (
    _EventType,
    _ExtraFields_PyCall,
    _ExtraFields_TorchOp,
    _TensorMetadata,
)

import kymograph
from kymograph.profiler._operators import HIDDEN

CPU = [torch.profiler.ProfilerActivity.CPU]


def shape(node: Any, tags: tuple[Any, ...]) -> Any:
    """The names in a tree, without those that have other tags, or that tables leave out."""
    inside = [each for child in node.children for each in shape(child, tags)]
    return inside if node.tag not in tags or node.name in HIDDEN else [(node.name, inside)]


def both(work: Any, **options: Any) -> tuple[Any, Any]:
    work()
    theirs = torch.profiler.profile(activities=CPU, **options)
    ours = kymograph.profile(activities=CPU, **options)
    ours.start()
    theirs.start()
    work()
    theirs.stop()
    ours.stop()
    return ours, theirs


def test_trees_of_operators_are_those_of_torch() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def work() -> None:
        with torch.profiler.record_function("step"):
            model(torch.ones(2, 4)).sum().backward()

    ours, theirs = both(work, with_stack=False, record_shapes=True)
    mine = ours.profiler.kineto_results.experimental_event_tree()
    wanted = theirs.profiler.kineto_results.experimental_event_tree()

    def names(roots: Any) -> Any:
        return [each for root in roots for each in shape(root, (_EventType.TorchOp,))]

    assert names(mine) == names(wanted)
    (root,) = [node for node in mine if node.name == "step"]
    assert isinstance(root.extra_fields, _ExtraFields_TorchOp)
    assert root.typed == (_EventType.TorchOp, root.extra_fields)
    assert root.parent is None
    assert root.children[0].parent is root
    assert root.duration_time_ns == root.end_time_ns - root.start_time_ns > 0
    (other,) = [node for node in wanted if node.name == "step"]
    assert abs(other.start_time_ns - root.start_time_ns) < 10**10  # both count from 1970
    assert str(root.extra_fields.scope) == str(other.extra_fields.scope)


def test_functions_are_in_the_tree() -> None:
    class Doubled(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + x

    model = Doubled()
    with kymograph.profile(activities=CPU, with_stack=True) as prof:
        model(torch.ones(2))

    nodes: list[Any] = []
    rest = list(prof.profiler.kineto_results.experimental_event_tree())
    while rest:
        nodes.append(rest.pop())
        rest += nodes[-1].children
    (add,) = [node for node in nodes if node.name == "aten::add"]
    forward = add.parent
    assert isinstance(forward.extra_fields, _ExtraFields_PyCall)
    assert forward.tag == _EventType.PyCall
    assert forward.extra_fields.callsite.function_name.endswith("forward")
    assert forward.extra_fields.caller.function_name.endswith("_call_impl")
    (module,) = [n for n in nodes if n.name.startswith("nn.Module: Doubled")]
    assert module.extra_fields.module.cls_name == "Doubled"


def walk(roots: Any) -> Any:
    for root in roots:
        yield root
        yield from walk(root.children)


def said_of(value: Any) -> Any:
    """What is known about an input, and the ids of tensors."""
    if isinstance(value, list):
        return [said_of(each) for each in value]
    if not isinstance(value, _TensorMetadata):
        return value
    fields = "sizes strides dtype device layout impl_ptr storage_data_ptr"
    return [getattr(value, field) for field in fields.split()]


def tensors_in(values: Any) -> Any:
    for value in values:
        if isinstance(value, list):
            yield from tensors_in(value)
        elif isinstance(value, _TensorMetadata):
            yield value


def identities(roots: Any) -> list[tuple[Any, Any]]:
    found = []
    for node in sorted(walk(roots), key=lambda node: node.start_time_ns):
        if node.tag == _EventType.Allocation:
            found.append((node.extra_fields.id, node.extra_fields.allocation_id))
        elif node.tag == _EventType.TorchOp:
            tensors = tensors_in(node.extra_fields.inputs)
            found += [(each.id, each.allocation_id) for each in tensors]
    return found


def test_inputs_in_the_tree_are_those_of_torch() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    adam = torch.optim.Adam(model.parameters())

    def work() -> None:
        x = torch.ones(3, 4)
        model(torch.cat([x, x])).sum(dim=[0, 1]).backward()
        torch.div(x, 2, rounding_mode="floor").to(torch.float16)
        adam.step()
        adam.zero_grad()

    ours, theirs = both(work, record_shapes=True, profile_memory=True, with_stack=True)
    mine, wanted = (p.profiler.kineto_results.experimental_event_tree() for p in (ours, theirs))

    def operators(roots: Any) -> list[Any]:
        return [n for n in walk(roots) if n.tag == _EventType.TorchOp and n.name not in HIDDEN]

    for node, other in zip(operators(mine), operators(wanted), strict=True):
        assert node.name == other.name
        inputs, others = node.extra_fields.inputs, other.extra_fields.inputs
        assert said_of(inputs) == said_of(others), node.name
    pairs = set(zip(identities(mine), identities(wanted), strict=True))
    for which in (0, 1):  # the same tensors and blocks, whatever their numbers
        numbers = {(one[which], other[which]) for one, other in pairs}
        assert len(numbers) > 20
        assert len({one for one, _ in numbers}) == len({other for _, other in numbers})
        assert len(numbers) == len({one for one, _ in numbers})


def test_ids_are_unknown_where_memory_is_not_recorded() -> None:
    with kymograph.profile(activities=CPU, record_shapes=True, with_stack=False) as prof:
        torch.ones(2).neg()

    (neg,) = [n for n in prof.profiler.kineto_results.experimental_event_tree() if "neg" in n.name]
    (tensor,) = neg.extra_fields.inputs
    assert (tensor.id, tensor.allocation_id, tensor.storage_data_ptr) == (None, None, None)
    assert tensor.impl_ptr != 0
    assert tensor.dtype is torch.float32


def test_blocks_of_memory_are_in_the_tree() -> None:
    with kymograph.profile(activities=CPU, profile_memory=True, with_stack=False) as prof:
        kept = torch.empty(10)
        del kept

    roots = prof.profiler.kineto_results.experimental_event_tree()
    blocks = [node for node in roots if node.tag == _EventType.Allocation]
    assert [node.extra_fields.alloc_size for node in blocks] == [-40]
    assert blocks[0].extra_fields.device == torch.device("cpu")
    (empty,) = [node for node in roots if node.name == "aten::empty"]
    assert [(n.name, n.extra_fields.alloc_size) for n in empty.children] == [("[memory]", 40)]


# What each of torch's events says, without times, and numbers that count what only one of the two
# has. Torch numbers threads from 1.
SAID = """name overload_name device_index device_resource_id is_async external_id
    linked_correlation_id shapes dtypes concrete_inputs kwinputs device_type correlation_id
    fwd_thread_id scope sequence_nr nbytes flops cuda_elapsed_us privateuse1_elapsed_us
    is_user_annotation is_python_function is_hidden_event activity_type extra_meta typed_metadata
    metadata_json structured_input_shapes structured_input_strides python_id python_parent_id
    python_module_id flow_type flow_start""".split()


def check_flows(mine: list[tuple[int, str]], wanted: list[tuple[int, str]]) -> None:
    """Numbers of arrows may differ; what they join may not."""

    def ends(all_of_them: list[tuple[int, str]]) -> list[list[str]]:
        found: dict[int, list[str]] = {}
        for number, name in all_of_them:
            if number:
                found.setdefault(number, []).append(name)
        return list(found.values())

    assert ends(mine) == ends(wanted)
    assert all(len(each) == 2 for each in ends(mine))
    assert ends(mine)


def test_events_of_the_results_say_what_those_of_torch_say() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))

    def work() -> None:
        kept = torch.empty(100)
        with torch.profiler.record_function("step", "text"):
            model(torch.ones(2, 3, 8, 8)).sum().backward()
        model.zero_grad()
        del kept

    ours, theirs = both(
        work, with_stack=False, record_shapes=True, profile_memory=True, with_flops=True
    )
    mine = ours.profiler.kineto_results.events()
    wanted = theirs.profiler.kineto_results.events()

    assert [event.name() for event in mine] == [event.name() for event in wanted]
    assert [event.nbytes() for event in mine] == [event.nbytes() for event in wanted]
    said = [name for name in SAID if hasattr(wanted[0], name)]  # an older torch has fewer
    for event, other in zip(mine, wanted, strict=True):
        for name in said:
            value, wants = getattr(event, name)(), getattr(other, name)()
            if name in ("external_id", "correlation_id"):
                value, wants = value > 0, wants > 0
            assert value == wants, (event.name(), name)
    if hasattr(wanted[0], "flow_id"):
        flows = [[(event.flow_id(), event.name()) for event in each] for each in (mine, wanted)]
        check_flows(*flows)


def test_flows_of_events_have_the_ids_of_the_arrows_in_a_trace(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def work() -> None:  # a backward pass inside another
        x = torch.ones(2, 4, requires_grad=True)
        result: Any = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=True)
        result.sum().backward()

    work()
    with kymograph.profile(activities=CPU, with_stack=False) as prof:
        work()
    prof.export_chrome_trace(tmp_path / "t.json")

    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {(e["tid"], e["ts"]): e["name"] for e in events if e.get("cat") == "cpu_op"}
    arrows = {
        (e["id"], e["ph"] == "s", names[e["tid"], e["ts"]])
        for e in events
        if e.get("cat") == "fwdbwd"
    }
    flows = {(e.flow_id, e.flow_start, e.name) for e in prof.events() if e.flow_id}
    assert flows == arrows
    assert len(flows) > 6


def test_results_have_a_table_and_save_a_trace(tmp_path: Path) -> None:
    with kymograph.profile(activities=CPU, with_stack=False) as prof:
        torch.ones(2)

    assert "aten::ones" in prof.profiler.table(sort_by="cpu_time_total", row_limit=5)
    prof.profiler.kineto_results.save(str(tmp_path / "t.json"))
    assert "aten::ones" in (tmp_path / "t.json").read_text()


def test_correlation_ids_are_never_used_twice() -> None:
    seen: list[int] = []
    for _ in range(3):
        with kymograph.profile(activities=CPU, with_stack=False) as prof:
            torch.ones(2) + 1
        events = prof.profiler.kineto_results.events()
        seen += [event.correlation_id() for event in events]
        assert {event.device_type() for event in events} == {torch.autograd.DeviceType.CPU}
    assert len(seen) == len(set(seen)) > 5


def test_sequence_numbers_in_traces_are_those_of_torch(tmp_path: Path) -> None:
    model = nn.Linear(4, 4)
    ours, theirs = both(lambda: model(torch.ones(2, 4)).sum().backward(), with_stack=False)
    ours.export_chrome_trace(tmp_path / "ours.json")
    theirs.export_chrome_trace(str(tmp_path / "theirs.json"))

    def numbers(name: str) -> list[tuple[str, Any, Any]]:
        events = json.loads((tmp_path / name).read_text())["traceEvents"]
        wanted = ("Sequence number", "Fwd thread id")
        return sorted(
            (e["name"], *(e["args"].get(key, -1) for key in wanted))
            for e in events
            if e.get("cat") == "cpu_op"
        )

    mine = numbers("ours.json")
    assert mine == numbers("theirs.json")
    assert any("evaluate_function" in name and number >= 0 for name, number, _ in mine)


def test_steps_are_told_to_the_tracker_of_torch(monkeypatch: Any) -> None:
    tracker = torch.autograd.profiler.KinetoStepTracker
    before = tracker.current_step()
    with kymograph.profile(activities=CPU) as prof:
        prof.step()
    assert tracker.current_step() == before
    monkeypatch.setenv("KINETO_USE_DAEMON", "1")
    with kymograph.profile(activities=CPU) as prof:
        for _ in range(3):
            prof.step()
    assert tracker.current_step() == before + 3
    assert "ProfilerStep" not in tracker._step_dict
