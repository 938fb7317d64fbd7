"""`events()`: every recorded call as an object, made when it is looked at."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from kymograph import _core
from kymograph.profiler import _memory
from kymograph.profiler._deadline import Deadline
from kymograph.profiler._flows import NONE as NO_FLOW
from kymograph.profiler._flows import Flow, flows_of
from kymograph.profiler._memory import Allocation, Usage, Usages
from kymograph.profiler._names import (
    CALLABLE,
    FUNCTION,
    NAME,
    OPERATOR,
    Callee,
    display,
    is_marked,
    key_of,
)
from kymograph.profiler._operators import HIDDEN, USER_SCOPE, Operator
from kymograph.profiler._table import Rows, table
from kymograph.profiler._times import Times

if TYPE_CHECKING:
    from kymograph.profiler._averages import FunctionEventAvg
    from kymograph.profiler._kept import KeptResults, KeptTimeline
    from kymograph.profiler._recording import Recording
    from kymograph.profiler._results import Results


_EVALUATE = "autograd::engine::evaluate_function"


class Interval(NamedTuple):
    """Microseconds after the beginning of the trace."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


class FunctionEvent(Times):
    """One call of an operator or a function, or one pass through an annotation."""

    __slots__ = ("_described", "_part", "id")

    count = 1
    kernels: tuple[()] = ()
    linked_correlation_id = 0  # joins work of devices with what started it
    metadata = event_metadata = None  # what Kineto adds about work of devices

    def __init__(self, part: Part, number: int) -> None:
        self._part = part
        self.id = number
        self._described: Operator | Literal[False] | None = False  # False: not asked yet

    @property
    def _operator(self) -> Operator | None:
        """What is known about it if it is an operator."""
        if self._described is False:
            self._described = self._part.operator(self.id)
        return self._described

    @property
    def _block(self) -> Allocation | None:
        """The block that it is, if it is one."""
        return self._part.usages.block(self.id) if self._part.usages and self.id < 0 else None

    @property
    def name(self) -> str:
        """The same for all steps of a profiler, `ProfilerStep*`."""
        return key_of(self._part.entry(self.id)[0])

    @property
    def key(self) -> str:
        return self.name

    @property
    def trace_name(self) -> str:
        """Its name in the trace, such as `ProfilerStep#3`."""
        return display(self._part.entry(self.id)[0])

    # ---- operators

    @property
    def scope(self) -> int:
        """torch's RecordScope: 0 operator, 1 backward, 7 annotation."""
        op = self._operator
        return op.scope if op else USER_SCOPE if self.is_user_annotation else 0

    @property
    def is_async(self) -> bool:  # type: ignore[override]
        """May it end on another thread?"""
        op = self._operator
        return op.is_async if op else False

    @property
    def _node(self) -> Operator | None:
        """The operator that has the numbers of this one: the engine's own have those of the node
        they evaluate."""
        op = self._operator
        if op is None or op.sequence_nr >= 0 or not op.name.startswith(_EVALUATE):
            return op
        inside = (self._part.operator(child) for child in self._part.children(self.id))
        return next((each for each in inside if each and each.sequence_nr >= 0), op)

    @property
    def sequence_nr(self) -> int:
        op = self._node
        return op.sequence_nr if op else -1

    @property
    def fwd_thread(self) -> int:
        """torch's number of the thread of the forward operator, or 0."""
        op = self._node
        return op.fwd_thread if op and op.sequence_nr >= 0 else 0

    @property
    def external_id(self) -> int:
        """Its `External id` in the trace, or 0."""
        op = self._operator
        return op.rf_id if op else 0

    @property
    def overload_name(self) -> str:  # type: ignore[override]
        op = self._operator if self._part.options.overloads else None
        return op.overload if op else ""

    @property
    def input_shapes(self) -> list[Any]:
        """The shape of each input, [] for one that is not a tensor."""
        op = self._operator
        return op.shapes if op else []

    @property
    def structured_input_shapes(self) -> list[Any]:
        """The same, with the shapes of all tensors in a list."""
        op = self._operator
        return op.structured_shapes if op else []

    @property
    def structured_input_strides(self) -> list[Any]:
        op = self._operator
        return op.structured_strides if op else []

    @property
    def input_dtypes(self) -> list[str]:
        op = self._operator
        return op.dtypes if op else []

    @property
    def concrete_inputs(self) -> list[Any]:
        """The numbers and lists of numbers among the inputs; None in place of others."""
        op = self._operator
        return op.concrete if op else []

    @property
    def kwinputs(self) -> dict[str, Any]:
        op = self._operator
        return dict(op.kwinputs) if op and op.inputs is not None else {}

    @property
    def flops(self) -> int:  # type: ignore[override]
        op = self._operator if self._part.options.flops else None
        return op.flops if op else 0

    @property
    def flow_id(self) -> int:
        """The number that a forward operator and its backward operator have in common, or 0."""
        return self._part.flow(self.id).number

    @property
    def flow_type(self) -> int:
        """1 if there is a flow_id, else 0."""
        return self._part.flow(self.id).kind

    @property
    def flow_start(self) -> bool:
        """Is it the forward operator of the two?"""
        return self._part.flow(self.id).begins

    # ---- times and places

    @property
    def time_range(self) -> Interval:
        _, start, end, *_ = self._part.entry(self.id)
        first = self._part.first
        return Interval((start - first) / 1000, (end - first) / 1000)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        _, start, end, *_ = self._part.entry(self.id)
        return (end - start) / 1000

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self._part.entry(self.id)[3] / 1000

    # ---- memory

    @property
    def cpu_memory_usage(self) -> int:  # type: ignore[override]
        """Bytes allocated for tensors less bytes freed, in it and in what it called."""
        return self._part.usage(self.id).cpu

    @property
    def self_cpu_memory_usage(self) -> int:  # type: ignore[override]
        """The same, without what it called."""
        return self._part.own_usage(self.id).cpu

    @property
    def device_memory_usage(self) -> int:  # type: ignore[override]
        return self._part.usage(self.id).device

    @property
    def self_device_memory_usage(self) -> int:  # type: ignore[override]
        return self._part.own_usage(self.id).device

    @property
    def thread(self) -> int:
        """The system's id of the thread."""
        return self._part.tids[self._part.entry(self.id)[5]]

    device_resource_id = thread

    @property
    def device_index(self) -> int:
        """The process, as Kineto has it for what runs on the CPU; 0 for a block of memory."""
        return self._part.pid if self.id >= 0 else 0

    @property
    def is_user_annotation(self) -> bool:
        return self._part.is_annotation(self.id)

    @property
    def is_python_function(self) -> bool:
        return not is_marked(self._part.entry(self.id)[0])

    @property
    def python_id(self) -> int:
        """Its `Python id` in the trace if it is a Python function, else -1."""
        return self._part.python_id(self.id) if self.is_python_function else -1

    @property
    def python_parent_id(self) -> int:
        """The python_id of the function that called it, or -1."""
        at = self._part.entry(self.id)[4]
        while at >= 0 and (is_marked(self._part.entry(at)[0]) or self._part.is_hidden(at)):
            at = self._part.entry(at)[4]
        return self._part.python_id(at) if at >= 0 and self.is_python_function else -1

    @property
    def python_module_id(self) -> int:
        """The 0 of `nn.Module: Linear_0`; -1 if it is not a call of a module."""
        number = self.name.rpartition("_")[2] if self.name.startswith("nn.Module: ") else ""
        return int(number) if number.isdigit() else -1

    @property
    def activity_type(self) -> str:
        if self.is_python_function:
            return "python_function"
        if self.id < 0:
            return "cpu_instant_event"
        return "user_annotation" if self.is_user_annotation else "cpu_op"

    @property
    def finished(self) -> bool:
        """False when it had not ended by the end of the recording."""
        return not self._part.entry(self.id)[9] & 2

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        parent = self._part.entry(self.id)[4]
        return None if parent < 0 else FunctionEvent(self._part, parent)

    @property
    def cpu_children(self) -> list[FunctionEvent]:
        return [FunctionEvent(self._part, child) for child in self._part.children(self.id)]

    @property
    def stack(self) -> list[str]:
        """The functions it was called by, the nearest first."""
        callers = []
        at = self._part.entry(self.id)[4]
        while at >= 0:
            callee, _, _, _, above, *_ = self._part.entry(at)
            if not is_marked(callee):
                callers.append(display(callee))
            at = above
        return callers

    @property
    def outermost(self) -> bool:
        """Is it outside every annotation and operator?"""
        at = self._part.entry(self.id)[4]
        while at >= 0:
            callee, _, _, _, above, *_ = self._part.entry(at)
            if is_marked(callee):
                return False
            at = above
        return True

    def __getstate__(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.__dict__, {"_part": self._part, "id": self.id, "_described": False}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionEvent):
            return NotImplemented
        return self._part is other._part and self.id == other.id

    def __hash__(self) -> int:
        return hash((id(self._part), self.id))

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} thread={self.thread} "
            f"cpu_time={self.cpu_time_str} cpu_start_us={self.time_range.start:.3f}>"
        )


class Grouping(NamedTuple):
    """What `key_averages` groups calls by, besides their names."""

    shapes: bool = False
    overloads: bool = False


class Options(NamedTuple):
    """What the profiler was asked for."""

    flops: bool = False
    overloads: bool = False
    memory: bool = False


# Shares of the time that is left, by what takes how long: to read calls, if memory is read after
# them, or only their names are looked at; and to read the memory, which is then given to them.
_FOR_MEMORY_TOO, _FOR_CALLS, _FOR_BLOCKS = 0.25, 0.5, 0.75

Entry = tuple[Callee, int, int, int, int, int, int, int, int, int, int, int, int]


def has_operators(recording: Recording) -> bool:
    """May there be operators in it?"""
    return any(each.kind == "operator" for each in recording.capture.callables)


class Part:
    """The calls of one recording; if `whole`, with operators that only call another of their name.
    They have numbers from 0 in order of their begin. If memory was
    recorded, blocks have -1, -2, …: first those allocated or freed outside every call and those for
    which there was no memory, which are events too. Calls that there is no time for, before
    `deadline`, are left out.
    first_lines: the lines of functions are always their first ones."""

    def __init__(
        self,
        recording: Recording,
        functions: bool,
        options: Options | None = None,
        whole: bool = False,
        deadline: Deadline | None = None,
        first_lines: bool = False,
    ) -> None:
        capture = recording.capture
        deadline = deadline or Deadline()
        self.options = options or Options()
        self.timeline: _core.Timeline | KeptTimeline = _core.timeline(
            capture,
            recording.start,
            recording.end,
            functions,
            whole,
            deadline.early(_FOR_MEMORY_TOO if self.options.memory else _FOR_CALLS).until,
            first_lines or not recording.lines_known,
        )
        if self.timeline.is_cut:
            deadline.miss()
        self.first = recording.first
        self.pid = capture.info.pid
        self.tids = [thread.tid for thread in capture.threads]
        self._flows: dict[int, Flow] | None = None
        self._children: dict[int, list[int]] | None = None
        self._annotations: dict[Callee, bool] = {}
        self.shown: Sequence[int] = range(len(self.timeline))
        kinds = {(each.name, each.kind) for each in capture.callables}
        if any((name, "operator") in kinds for name in HIDDEN):
            shown = deadline.within(self.shown)
            self.shown = [i for i in shown if self.timeline[i][0][0] not in HIDDEN]
        self.calls = self.shown
        self.usages: Usages | None = None
        if self.options.memory:
            in_time = deadline.early(_FOR_BLOCKS)
            blocks = _memory.allocations(recording, in_time)
            if in_time.missed:
                # Of the others it is not known what they allocated.
                last = blocks[-1].time if blocks else self.first
                known = bisect_right(self.calls, last, key=lambda i: self.timeline[i][1])
                self.calls = self.shown = self.calls[:known]
            self.usages = Usages(self, blocks)
            self.shown = self._with(self.usages.numbers()[: len(self.usages.outside)])

    def __getstate__(self) -> dict[str, Any]:
        from kymograph.profiler._kept import KeptTimeline

        found: dict[str, Any] = {"_flows": None, "_children": None, "_annotations": {}}
        return {**vars(self), **found, "timeline": KeptTimeline(self.timeline)}

    def __deepcopy__(self, known: object) -> Part:
        return self  # it does not change

    def _with(self, blocks: Sequence[int]) -> Sequence[int]:
        """Return the numbers of calls and of `blocks`, in order of time."""
        if not blocks:
            return self.calls
        return sorted([*self.calls, *blocks], key=lambda number: self.entry(number)[1])

    def with_blocks(self) -> Sequence[int]:
        """Return the numbers of calls and of all blocks, in order of time."""
        return self._with(self.usages.numbers()) if self.usages else self.calls

    def entry(self, number: int) -> Entry:
        if number >= 0:
            return self.timeline[number]
        assert self.usages is not None
        block = self.usages.block(number)
        callee = (block.name, "", 0, OPERATOR)
        return callee, block.time, block.time, 0, block.parent, block.thread, 0, 0, 0, 0, 0, 0, 0

    def python_id(self, number: int) -> int:
        """Return the id that the trace gives to a Python function."""
        return self.timeline[number][12]

    def is_hidden(self, number: int) -> bool:
        """Is it the call of an object that the trace shows only as the function that this is?"""
        entry = self.timeline[number]
        inside = self.children(number) if entry[0][3] == CALLABLE else []
        if not inside or self.timeline[inside[0]][10] != entry[10] + 1:
            return False
        name, file, _, kind = self.timeline[inside[0]][0]
        return kind == FUNCTION and (not file or name.rpartition(".")[2] == "__call__")

    def usage(self, number: int) -> Usage:
        """Return the bytes of a call and of those in it."""
        if self.usages is None:
            return Usage()
        if number < 0:
            return self.usages.block(number).usage
        return self.usages.total.get(number, Usage())

    def own_usage(self, number: int) -> Usage:
        """The same, without those in it."""
        if self.usages is None or number < 0:
            return self.usage(number)
        return self.usages.own.get(number, Usage())

    def operator(self, number: int) -> Operator | None:
        """Return what is known about an operator; None for anything else."""
        if number < 0:
            return None
        callee = self.timeline[number][0]
        note = self.timeline.operator(number) if callee[3] == OPERATOR else None
        return Operator(callee[0], note) if note else None

    def flow(self, number: int) -> Flow:
        """Return the end of an arrow that an operator is."""
        if self._flows is None:
            self._flows = flows_of([FunctionEvent(self, call) for call in self.calls])
        return self._flows.get(number, NO_FLOW)

    def is_annotation(self, number: int) -> bool:
        """Did the program mark it itself?"""
        if number < 0:
            return False
        callee = self.timeline[number][0]
        if callee[3] != OPERATOR:
            return callee[3] == NAME
        known = self._annotations.get(callee)
        if known is None:
            note = self.timeline.operator(number)
            known = note is not None and note["scope"] == USER_SCOPE
            if note:
                self._annotations[callee] = known
        return known

    def children(self, number: int) -> list[int]:
        if number < 0:
            return []  # a block; -1 is also the parent of the outermost calls
        if self._children is None:
            self._children = {}
            for i in self.calls:
                self._children.setdefault(self.timeline[i][4], []).append(i)
        return self._children.get(number, [])


class EventList(Sequence[FunctionEvent]):
    """Every recorded call, in the order in which they began."""

    def __init__(self, results: Results | KeptResults, parts: list[Part]) -> None:
        self._results = results
        self._parts = parts
        self._starts = [0]
        for part in parts:
            self._starts.append(self._starts[-1] + len(part.shown))

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> FunctionEvent: ...
    @overload
    def __getitem__(self, index: slice) -> list[FunctionEvent]: ...

    def __getitem__(self, index: int | slice) -> FunctionEvent | list[FunctionEvent]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"there is no event {index}")
        at = bisect_right(self._starts, number) - 1
        part = self._parts[at]
        return FunctionEvent(part, part.shown[number - self._starts[at]])

    def __iter__(self) -> Iterator[FunctionEvent]:
        for part in self._parts:
            for number in part.shown:
                yield FunctionEvent(part, number)

    def __getstate__(self) -> dict[str, Any]:
        from kymograph.profiler._kept import KeptResults

        return {**vars(self), "_results": KeptResults(self._results, self._parts)}

    def __copy__(self) -> EventList:
        return EventList(self._results, self._parts)

    def __deepcopy__(self, known: object) -> EventList:
        return EventList(self._results, self._parts)

    def __repr__(self) -> str:
        return f"<EventList of {len(self)} events>"

    def __str__(self) -> str:
        return self.table()

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool | None = None,
    ) -> Rows:
        """As `profile.key_averages`."""
        return self._results.key_averages(
            group_by_stack_n,
            include_python_functions,
            Grouping(group_by_input_shapes, group_by_overload_name),
        )

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """One row for each event; see `key_averages().table`."""
        return table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
            memory=self._results.options.memory,
        )

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds spent in all of them."""
        return sum(event.self_cpu_time_total for event in self)

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        return self._results.key_averages(0, True).total_average()

    @staticmethod
    def supported_export_stacks_metrics() -> list[str]:
        """Return what torch knows as metrics of `export_stacks`; without a device only the first
        is recorded."""
        devices = ("cpu", "cuda", "xpu", "privateuse1")
        return [f"self_{device}_time_total" for device in devices]

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """As `profile.export_chrome_trace`."""
        self._results.export_chrome_trace(path, {})

    def export_stacks(self, path: str | os.PathLike[str], metric: str) -> None:
        """As `profile.export_stacks`."""
        self._results.export_stacks(path, metric)
