"""`prof.profiler.kineto_results`: events and their tree with the names that torch gives them.

Programs compare `tag` with torch's `_EventType`, and ask `isinstance(node.extra_fields, …)`. If
torch is imported, tags are torch's, and the fields pass for torch's classes, which cannot be
created from Python.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from kymograph._torch.tensors import TYPES
from kymograph.profiler import _devices, _memory
from kymograph.profiler._devices import DeviceType
from kymograph.profiler._identities import UNKNOWN, Identities, Identity
from kymograph.profiler._names import FUNCTION, Callee, display, is_marked

if TYPE_CHECKING:
    from kymograph.profiler._events import FunctionEvent, Part
    from kymograph.profiler._memory import Allocation
    from kymograph.profiler._operators import Value
    from kymograph.profiler._recording import Recording


class EventType(enum.Enum):
    """Used when torch is not there, or has no such name."""

    TorchOp = 0
    Backend = 1
    Vulkan = 2
    Allocation = 3
    OutOfMemory = 4
    PyCall = 5
    PyCCall = 6
    Kineto = 7


def _torchs(name: str) -> Any:
    """Return a name of torch._C._profiler, or None."""
    return getattr(sys.modules.get("torch._C._profiler"), name, None)


class _Fields:
    """Passes for torch's class `_ExtraFields_…` of the same name."""

    torchs = ""

    def _seen_as(self) -> Any:
        return _torchs(self.torchs) or type(self)

    locals()["__class__"] = property(_seen_as)  # mypy knows no other way


def _torch_name(name: str) -> Any:
    """Return `name` of torch, or the name itself if torch has no such thing."""
    return getattr(sys.modules.get("torch"), name, name)


class TensorMetadata(_Fields):
    """A tensor that went into an operator."""

    torchs = "_TensorMetadata"

    def __init__(self, value: Value, identity: Identity) -> None:
        self.impl_ptr = value.address
        self.id, self.allocation_id, self.storage_data_ptr = identity
        self.sizes, self.strides = value.shape, value.strides
        self._value = value

    @property
    def dtype(self) -> Any:
        """torch's type, or its name in the capture."""
        return _torch_name(TYPES.get(self._value.dtype, self._value.dtype))

    @property
    def device(self) -> Any:
        return _device(self._value.device)

    @property
    def layout(self) -> Any:
        """torch.strided; None for any other."""
        return _torch_name("strided") if self._value.strided else None

    def __repr__(self) -> str:
        return f"<tensor {self.id} of {self.dtype}, {self.sizes}>"


class PyFrameState(NamedTuple):
    line_number: int
    function_name: str
    file_name: str


class NNModuleInfo(NamedTuple):
    cls_name: str


def _frame(callee: Callee | None, line: int = 0) -> PyFrameState:
    """What torch says about a function: `line` instead of its own, if it is known."""
    if callee is None:
        return PyFrameState(0, "", "")
    return PyFrameState(line or callee[2], callee[0], callee[1])


def _device(name: str) -> Any:
    torch = sys.modules.get("torch")
    return torch.device(name) if torch else name


def _input(value: Value, identities: Iterator[Identity]) -> Any:
    """Return what torch has for an input: tensors, lists of them, and numbers; None for others."""
    if value.dtype:
        return TensorMetadata(value, next(identities, UNKNOWN))
    inside = [_input(each, identities) for each in value.inside]
    return inside if value.is_tensors else value.number


class TorchOpFields(_Fields):
    """An operator or an annotation."""

    torchs = "_ExtraFields_TorchOp"
    allow_tf32_cublas = False

    def __init__(self, event: FunctionEvent, identities: Identities) -> None:
        self._event = event
        self._identities = identities
        self.name = event.trace_name
        self.sequence_number = event.sequence_nr

    @property
    def scope(self) -> Any:
        known = _torchs("RecordScope")
        return known(self._event.scope) if known else self._event.scope

    @property
    def inputs(self) -> list[Any]:
        op = self._event._operator
        if op is None:
            return []
        identities = self._identities.of_inputs(op.rf_id)
        return [_input(value, identities) for value in op.inputs]


class AllocationFields(_Fields):
    """A block that was allocated or freed."""

    torchs = "_ExtraFields_Allocation"

    def __init__(self, block: Allocation, identity: Identity) -> None:
        self.ptr = block.address
        self.id, self.allocation_id, _ = identity
        self.alloc_size = block.bytes
        self.total_allocated = block.total_allocated
        self.total_reserved = block.total_reserved
        self.device = _device(_devices.name_of(block.device_type, block.device_index))


class OutOfMemoryFields(_Fields):
    """A block that could not be allocated."""

    torchs = "_ExtraFields_OutOfMemory"


class PyCallFields(_Fields):
    """A call of a Python function."""

    torchs = "_ExtraFields_PyCall"
    optimizer = None

    def __init__(self, callee: Callee, caller: Callee | None, line: int) -> None:
        self.callsite, self.caller = _frame(callee), _frame(caller, line)
        name = display(callee)
        known = name.startswith("nn.Module: ")
        self.module = NNModuleInfo(name[11:].rpartition("_")[0]) if known else None


class PyCCallFields(_Fields):
    """A call of a function written in C."""

    torchs = "_ExtraFields_PyCCall"

    def __init__(self, caller: Callee | None, line: int) -> None:
        self.caller = _frame(caller, line)


class Node:
    """A call, an operator or a block of memory, with those inside it."""

    def __init__(
        self, tag: str, name: str, fields: Any, event: FunctionEvent, start: int, end: int
    ) -> None:
        known = _torchs("_EventType")
        self.tag = getattr(known, tag, EventType[tag])  # torch's has no OutOfMemory
        self.name = name
        self.extra_fields = fields
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.start_tid = event.thread
        self.start_time_ns, self.end_time_ns = start, end
        self.correlation_id = event.external_id
        self.overload_name = event.overload_name
        self.finished = event.finished

    @property
    def id(self) -> int:
        return id(self)

    @property
    def typed(self) -> tuple[Any, Any]:
        return self.tag, self.extra_fields

    @property
    def duration_time_ns(self) -> int:
        return self.end_time_ns - self.start_time_ns

    def __repr__(self) -> str:
        return f"<{self.name}, {len(self.children)} children>"


def _node(
    part: Part, number: int, caller: Callee | None, shift: int, identities: Identities
) -> Node:
    from kymograph.profiler._events import FunctionEvent

    event = FunctionEvent(part, number)
    callee, start, end, *_, line, _ = part.entry(number)
    if number < 0:
        assert part.usages is not None
        return _block(part.usages.block(number), event, shift, identities)
    fields: Any
    if is_marked(callee):
        tag, fields = "TorchOp", TorchOpFields(event, identities)
    elif callee[3] == FUNCTION:
        tag, fields = "PyCall", PyCallFields(callee, caller, line)
    else:
        tag, fields = "PyCCall", PyCCallFields(caller, line)
    return Node(tag, display(callee), fields, event, start + shift, end + shift)


def _block(block: Allocation, event: FunctionEvent, shift: int, identities: Identities) -> Node:
    """A node for `block`, which was allocated or freed during `event`, or could not be."""
    at = block.time + shift
    if block.name == _memory.OUT_OF_MEMORY:
        return Node("OutOfMemory", block.name, OutOfMemoryFields(), event, at, at)
    fields = AllocationFields(block, identities.of_block(block))
    return Node("Allocation", _memory.NAME, fields, event, at, at)


def _add_blocks(part: Part, known: dict[int, Node], shift: int, identities: Identities) -> None:
    """Add the blocks of memory to the calls that they were in."""
    from kymograph.profiler._events import FunctionEvent

    changed: dict[int, Node] = {}
    for number in part.usages.numbers() if part.usages else ():
        assert part.usages is not None
        block = part.usages.block(number)
        parent = known.get(block.parent) if number not in known else None
        if parent is None:
            continue
        node = _block(block, FunctionEvent(part, number), shift, identities)
        node.parent = parent
        parent.children.append(node)
        changed[block.parent] = parent
    for parent in changed.values():
        parent.children.sort(key=lambda node: node.start_time_ns)


def tree_of(part: Part, shift: int, identities: Identities) -> list[Node]:
    """Return the outermost calls of `part`. `shift` leads from its clock to that of the day."""
    roots: list[Node] = []
    known: dict[int, Node] = {}
    callers: dict[int, Callee | None] = {}  # the innermost function of each call, itself included
    for number in part.shown:
        callee, _, _, _, above, *_ = part.entry(number)
        caller = callers.get(above) if above >= 0 else None
        node = known[number] = _node(part, number, caller, shift, identities)
        callers[number] = callee if callee[3] == FUNCTION else caller
        parent = node.parent = known.get(above) if above >= 0 else None
        (parent.children if parent else roots).append(node)
    _add_blocks(part, known, shift, identities)
    return roots


class KinetoEvent:
    """An event as torch's results of a trace have it: with methods instead of fields."""

    def __init__(self, event: FunctionEvent, shift: int) -> None:
        self._event, self._shift = event, shift

    def name(self) -> str:
        return self._event.trace_name

    def overload_name(self) -> str:
        return self._event.overload_name

    def start_ns(self) -> int:
        return self._event._part.entry(self._event.id)[1] + self._shift

    def end_ns(self) -> int:
        return self._event._part.entry(self._event.id)[2] + self._shift

    def duration_ns(self) -> int:
        return self.end_ns() - self.start_ns()

    def correlation_id(self) -> int:
        return self._event.external_id

    external_id = correlation_id

    def linked_correlation_id(self) -> int:
        return self._event.linked_correlation_id

    def flow_id(self) -> int:
        return self._event.flow_id

    def flow_type(self) -> int:
        return self._event.flow_type

    def flow_start(self) -> bool:
        return self._event.flow_start

    def start_thread_id(self) -> int:
        return self._event.thread

    end_thread_id = device_resource_id = start_thread_id

    def fwd_thread_id(self) -> int:
        return self._event.fwd_thread

    def sequence_nr(self) -> int:
        return self._event.sequence_nr

    def scope(self) -> int:
        return self._event.scope

    def shapes(self) -> list[Any]:
        return self._event.input_shapes

    def structured_input_shapes(self) -> list[Any]:
        return self._event.structured_input_shapes

    structured_shapes = structured_input_shapes

    def structured_input_strides(self) -> list[Any]:
        return self._event.structured_input_strides

    def dtypes(self) -> list[str]:
        return self._event.input_dtypes

    def concrete_inputs(self) -> list[Any]:
        return self._event.concrete_inputs

    def kwinputs(self) -> dict[str, Any]:
        return self._event.kwinputs

    def stack(self) -> list[str]:
        return self._event.stack

    def nbytes(self) -> int:
        block = self._event._block
        return block.bytes if block else 0

    def flops(self) -> int:
        return self._event.flops

    def device_type(self) -> Any:
        known = getattr(sys.modules.get("torch._C._autograd"), "DeviceType", DeviceType)
        block = self._event._block
        return known(block.device_type if block else DeviceType.CPU.value)

    def device_index(self) -> int:
        block = self._event._block
        return block.device_index if block else self._event.device_index

    def cuda_elapsed_us(self) -> int:
        return -1

    privateuse1_elapsed_us = cuda_elapsed_us

    def is_async(self) -> bool:
        return self._event.is_async

    def is_user_annotation(self) -> bool:
        return self._event.is_user_annotation

    def is_python_function(self) -> bool:
        return self._event.is_python_function

    def is_hidden_event(self) -> bool:
        return False

    def python_id(self) -> int:
        return self._event.python_id

    def python_parent_id(self) -> int:
        return self._event.python_parent_id

    def python_module_id(self) -> int:
        return self._event.python_module_id

    def activity_type(self) -> str:
        return self._event.activity_type

    def extra_meta(self) -> dict[str, str]:
        return {}

    def typed_metadata(self) -> dict[str, Any]:
        return {}

    def metadata_json(self) -> str:
        return ""


class KinetoResults:
    """What torch calls `kineto_results`."""

    def __init__(
        self,
        part: Part,
        shift: int,
        save: Callable[[str], None],
        of_memory: Recording | None,
    ) -> None:
        self._part, self._shift, self._save = part, shift, save
        self._of_memory = of_memory  # if everything is known about it

    def events(self) -> list[KinetoEvent]:
        """Every operator, call, annotation and block of memory."""
        from kymograph.profiler._events import FunctionEvent

        part = self._part
        return [KinetoEvent(FunctionEvent(part, i), self._shift) for i in part.with_blocks()]

    def save(self, path: str) -> None:
        """Write the trace, as `profile.export_chrome_trace`, without metadata."""
        self._save(path)

    def experimental_event_tree(self) -> list[Node]:
        """The outermost of them, each with those inside it as `children`."""
        return tree_of(self._part, self._shift, Identities(self._of_memory))

    def trace_start_ns(self) -> int:
        return self._part.first + self._shift
