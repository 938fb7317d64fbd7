"""What `events()` and `key_averages` say about an operator: shapes, values, FLOPs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# enum kymo_op_kind
_TENSOR, _INT, _BOOL, _FLOAT, _TEXT, _DEVICE, _LIST, _TUPLE, _OTHER, _COMPLEX = range(1, 11)
_UNDEFINED, _NO_TENSORS = 11, 12
_SCALARS = {_INT, _BOOL, _FLOAT, _COMPLEX}
_OPAQUE = 2  # of enum kymo_op_mark
_ASYNC = 8  # of enum kymo_op_flag
_LIST_MOST = 30  # numbers in a list that torch shows

USER_SCOPE = 7

# torch's tables leave these out.
HIDDEN = {
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
}

Shape = list[int]


class Value:
    """An argument, with those in it if it is a list."""

    __slots__ = (
        *("address", "device", "dtype", "inside", "kind", "opaque", "plain", "shape"),
        *("strided", "strides"),
    )

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.plain: Any = None
        self.inside: list[Value] = []
        self.shape: Shape = []
        self.strides: Shape = []
        self.dtype = ""
        self.opaque = False  # a tensor without a shape of its own
        self.address, self.device = 0, ""  # of a tensor
        self.strided = True

    def all_are(self, kinds: set[int]) -> bool:
        return self.kind == _LIST and all(value.kind in kinds for value in self.inside)

    @property
    def is_tensors(self) -> bool:
        return bool(self.inside) and self.all_are({_TENSOR, _UNDEFINED})

    @property
    def is_scalars(self) -> bool:
        return len(self.inside) <= _LIST_MOST and self.all_are(_SCALARS)

    @property
    def type(self) -> str:
        """As torch has it in `Input type`."""
        if self.kind == _TENSOR:
            return "" if self.opaque else self.dtype
        if self.kind in _SCALARS:
            return "Scalar"
        if self.is_scalars:
            return "ScalarList"
        tensors = self.kind == _NO_TENSORS or self.all_are({_TENSOR, _UNDEFINED})
        return "TensorList" if tensors else ""

    @property
    def number(self) -> Any:
        """None for anything else."""
        return self.plain if self.kind in _SCALARS else None

    @property
    def concrete(self) -> Any:
        """A number, or a list of numbers; None for anything else."""
        if self.kind in _SCALARS:
            return self.plain
        return [value.plain for value in self.inside] if self.is_scalars else None


def _read(note: dict[str, Any]) -> tuple[list[Value], list[str]]:
    """Return the top-level values of a note, and their keywords."""
    kinds, ints, floats = iter(note["kinds"]), iter(note["ints"]), iter(note["floats"])
    texts, dtypes = iter(note["texts"]), iter(note["dtypes"])
    shapes, strides, marks = iter(note["shapes"]), iter(note["strides"]), iter(note["marks"])
    addresses, devices = iter(note["tensors"]), iter(note["devices"])

    def one(kind: int) -> Value:
        value = Value(kind)
        if kind == _TENSOR:
            value.shape, value.strides = list(next(shapes, ())), list(next(strides, ()))
            value.dtype = next(dtypes, "")
            mark = next(marks, 0)
            value.opaque, value.strided = bool(mark & _OPAQUE), not mark
            value.address, value.device = next(addresses, 0), next(devices, "")
        elif kind in (_INT, _BOOL):
            number = next(ints, 0)
            value.plain = bool(number) if kind == _BOOL else number
        elif kind == _FLOAT:
            value.plain = next(floats, 0.0)
        elif kind == _COMPLEX:
            value.plain = complex(next(floats, 0.0), next(floats, 0.0))
        elif kind in (_TEXT, _DEVICE, _OTHER):
            value.plain = next(texts, "")
        elif kind in (_LIST, _TUPLE):
            value.inside = list(several(next(ints, 0)))
        return value

    def several(count: int) -> Iterator[Value]:
        for _ in range(count):
            kind = next(kinds, None)
            if kind is None:
                return  # the list was cut
            yield one(kind)

    return list(several(len(note["kinds"]))), list(note["names"])


class Operator:
    """One call of an operator: its numbers, and what went in if that was recorded."""

    def __init__(self, name: str, note: dict[str, Any]) -> None:
        self.name = name
        self._note = note
        self._values: list[Value] | None = None
        self.scope: int = note["scope"]
        self.sequence_nr: int = note["seq"]
        self.fwd_thread: int = note["fw_thread"]
        self.rf_id: int = note["rf_id"]
        self.thread: int = note["thread"]
        self.is_async = bool(note.get("flags", 0) & _ASYNC)
        self.kwinputs: dict[str, Any] = {}

    @property
    def overload(self) -> str:
        """Return the `Tensor` of `aten::add.Tensor`."""
        schema: str = self._note["schema"]
        full, _, _ = schema.partition("(")
        known = full.startswith(self.name + ".")
        return full[len(self.name) + 1 :] if known else ""

    @property
    def inputs(self) -> list[Value]:
        if self._values is None:
            values, names = _read(self._note)
            named = zip(values, names or [""] * len(values), strict=False)
            self._values = []
            for value, name in named:
                texts = bool(value.inside) and value.all_are({_TEXT})
                if name and name != "(unknown)" and (texts or value.kind in _SCALARS | {_TEXT}):
                    self.kwinputs[name] = (
                        [each.plain for each in value.inside] if texts else value.plain
                    )
                else:
                    self._values.append(value)
        return self._values

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each input; [] for one that is not a tensor."""
        return [value.shape for value in self.inputs]

    @property
    def structured_shapes(self) -> list[Any]:
        """The same, with the shapes of all tensors in a list."""
        return [
            [each.shape for each in value.inside] if value.is_tensors else value.shape
            for value in self.inputs
        ]

    @property
    def structured_strides(self) -> list[Any]:
        return [
            [each.strides for each in value.inside] if value.is_tensors else value.strides
            for value in self.inputs
        ]

    @property
    def dtypes(self) -> list[str]:
        return [value.type for value in self.inputs]

    @property
    def concrete(self) -> list[Any]:
        return [value.concrete for value in self.inputs]

    @property
    def flops(self) -> int:
        """Floating-point operations, for the operators that torch counts; else 0."""
        count = _FLOPS.get(self.name)
        try:
            return count(self) if count else 0
        except (IndexError, TypeError, ValueError, ZeroDivisionError):
            return 0  # not the arguments that are expected


def _product(shape: Shape) -> int:
    result = 1
    for size in shape:
        result *= size
    return result


def _elements(op: Operator) -> int:
    # A number has no shape, and torch counts nothing for it.
    first = op.inputs[0]
    return _product(first.shape) if first.kind == _TENSOR and not first.opaque else 0


def _of_product(op: Operator, first: int) -> int:
    """2 · M · K · N for the matrices at `first` and after it, for every one of a batch."""
    left, right = op.inputs[first].shape, op.inputs[first + 1].shape
    if len(left) < 2 or len(right) < 2:
        return 0
    # As torch counts, which matters if the shapes do not fit and the operator raised.
    shared = left[-1] * _product(left[:-2])
    return 2 * _product(left) // shared * _product(right) if shared else 0


def _pair(value: Any) -> tuple[int, int]:
    return (value[0], value[-1]) if isinstance(value, list) else (value, value)


def _conv2d(op: Operator) -> int:
    data, weight = op.inputs[0].shape, op.inputs[1].shape
    if len(data) != 4 or len(weight) != 4:
        return 0
    (stride_h, stride_w), (pad_h, pad_w), (step_h, step_w) = (
        _pair(op.inputs[i].concrete) for i in (3, 4, 5)
    )
    groups = op.inputs[6].concrete
    batch, channels, height, width = data
    out_channels, _, kernel_h, kernel_w = weight
    out_h = (height + 2 * pad_h - step_h * (kernel_h - 1) - 1) // stride_h + 1
    out_w = (width + 2 * pad_w - step_w * (kernel_w - 1) - 1) // stride_w + 1
    each: int = kernel_h * kernel_w * channels * out_channels // groups
    return 2 * batch * out_h * out_w * each


_FLOPS = {
    "aten::conv2d": _conv2d,
    "aten::mm": lambda op: _of_product(op, 0),
    "aten::addmm": lambda op: _of_product(op, 1),
    "aten::bmm": lambda op: _of_product(op, 0),
    "aten::baddbmm": lambda op: _of_product(op, 1),
    "aten::mul": _elements,
    "aten::add": _elements,
}
