"""The fields of a tensor, and the numbers of element types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from kymograph import _core
from kymograph._torch.records import Field, NotFound, Records, equal, words_of

TENSOR_BYTES, STORAGE_BYTES, OBJECT_BYTES = 512, 64, 64

# Names of element types as torch writes them into its traces; see also _dtype_name.
DTYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "bool": "bool",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
}
TYPES = {name: dtype for dtype, name in DTYPES.items()}
# Types whose tensors warn when they are made, with their numbers, which do not change.
UNTRIED = {
    8: ("c10::complex<c10::Half>", 4),
    12: ("c10::qint8", 1),
    13: ("c10::quint8", 1),
    14: ("c10::qint32", 4),
    16: ("c10::quint4x2", 1),
    17: ("c10::quint2x4", 1),
    46: ("c10::complex<c10::BFloat16>", 4),
}
WARNS = re.compile(r"qu?int|b?complex32")

# A tensor with none but these has sizes, strides and a storage that mean what they say.
# Those without memory may have symbols for sizes.
PLAIN = (
    *("Dense", "ADInplaceOrView", "AutogradOther", "AutogradFunctionality", "BackendSelect"),
    *("Conjugate", "Negative", "ZeroTensor", "AutogradCPU", "AutogradCUDA"),
    *("AutogradXPU", "AutogradMPS", "AutogradHPU", "AutogradPrivateUse1", "CPU", "CUDA"),
    *("XPU", "MPS", "HPU", "PrivateUse1", "AutocastCPU", "AutocastCUDA", "Quantized"),
)
# The sizes of one with any of these mean nothing.
OPAQUE = ("NestedTensor", "NestedTensorCPU", "NestedTensorCUDA", "Functionalize")
# Nor do those of one with these, if it is asked for its sizes; else they are as in PLAIN.
ASKED = ("Meta", "AutogradMeta")
HANDLED = ("Python", "PythonTLSSnapshot", "FuncTorchBatched", "FuncTorchGradWrapper")

_POLICIES = {None: 0, "strides": 1, "sizes": 2}  # torch's names


def _dtype_name(name: str) -> str:
    small = re.fullmatch(r"(u?int)([1-7])", name)
    if small:
        return f"c10::dummy_{small[1]}1_7_t<{small[2]}>"
    return DTYPES.get(name, "c10::" + name.replace("float", "Float"))


def wrapped(torch: Any, policy: str | None) -> Any:
    """Return a tensor whose operators Python handles: no operator can be called with it."""

    class Wrapper(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_dispatch__(cls, *_: object) -> None:
            raise NotImplementedError

    return torch.Tensor._make_wrapper_subclass(
        Wrapper,
        (2, 3),
        dtype=torch.float32,
        device="cpu",
        dispatch_sizes_strides_policy=policy,
    )


class Tensors:
    """The fields of a tensor."""

    def __init__(self, records: Records) -> None:
        self.torch = records.torch
        self.full = records.full
        names = ("storage", "keys", "offset", "numel", "sizes", "dtype", "device", "data", "object")
        self.fields = {name: Field(name) for name in names}
        self.codes: dict[int, dict[Any, int]] = {}  # by offset: number of each type

    def probes(self) -> Iterator[Any]:
        torch = self.torch
        base = torch.full((200_000,), 0.5, dtype=torch.float32, device="cpu")
        yield base.as_strided((3, 5, 7), (1009, 101, 3), 1237)
        yield base.as_strided((11,), (13,), 4099)
        yield base.as_strided((2, 3, 4, 5, 6), (3001, 907, 211, 53, 7), 171)
        yield base.as_strided((2, 3, 2, 3, 2, 3, 2), (3001, 907, 211, 53, 17, 5, 1), 77)
        for dtype in (torch.int64, torch.uint8, torch.float64, torch.float16, torch.bool):
            zeros = torch.zeros(977, dtype=dtype, device="cpu")
            yield zeros.as_strided((17, 3), (5, 2), 43)
            yield zeros.as_strided((13, 2, 3), (7, 3, 2), 29)
        # Of most others, the owner of the memory is known by the memory's own address.
        yield torch.frombuffer(bytearray(700), dtype=torch.int16).as_strided((7, 5), (13, 2), 47)
        leaf = self.full(31, 37).requires_grad_()
        yield leaf
        with torch.enable_grad():
            yield (leaf * 2)[3:, 5:]

    def see(self, tensor: Any) -> None:
        memory = _core.torch_read(tensor._cdata, TENSOR_BYTES)
        if memory is None:
            memory = _core.torch_read(tensor._cdata, TENSOR_BYTES // 2)
        if memory is None:
            raise NotFound("the memory of a tensor")
        words = words_of(memory)
        keys = self.torch._C._dispatch_keys(tensor).raw_repr()
        for name, value in (
            ("storage", tensor.untyped_storage()._cdata),
            ("keys", keys),
            ("offset", tensor.storage_offset()),
            ("numel", tensor.numel()),
        ):
            self.fields[name].narrow(equal(words, value))
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        self.fields["sizes"].narrow(self._sizes(words, shape, strides))
        self.fields["device"].narrow(
            i for i in range(len(memory) - 2) if memory[i : i + 3] == b"\0\xff\1"
        )
        self._types(memory, tensor.dtype)
        storage = tensor.untyped_storage()
        words = words_of(_core.torch_read(storage._cdata, STORAGE_BYTES) or b"")
        self.fields["data"].narrow(equal(words, storage.data_ptr()))
        words = words_of(_core.torch_read(id(tensor), OBJECT_BYTES) or b"")
        self.fields["object"].narrow(equal(words, tensor._cdata))

    def _sizes(
        self, words: tuple[int, ...], shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Iterator[int]:
        dims = len(shape)
        for offset in equal(words[:-11], dims):
            i = offset // 8 + 1
            if dims > 5:
                outside = words_of(_core.torch_read(words[i], 16 * dims) or b"")
                found, steps = outside[:dims], outside[dims:]
            else:
                found, steps = words[i : i + dims], words[i + 5 : i + 5 + dims]
            if (found, steps) == (shape, strides):
                yield offset

    def _types(self, memory: bytes, dtype: Any) -> None:
        """Two bytes that are the same for the same type, and differ between types."""
        good = []
        for offset in range(0, len(memory) - 1, 2):
            code = int.from_bytes(memory[offset : offset + 2], "little")
            known = self.codes.setdefault(offset, {})
            others = [number for other, number in known.items() if other is not dtype]
            if code < 64 and known.setdefault(dtype, code) == code and code not in others:
                good.append(offset)
        self.fields["dtype"].narrow(good)

    def meta(self) -> None:
        """A device other than cpu, without touching one."""
        for shape in ((5, 6), (7, 2)):
            tensor = self.torch.empty(shape, dtype=self.torch.float32, device="meta")
            memory = _core.torch_read(tensor._cdata, TENSOR_BYTES // 2) or b""
            self.fields["device"].narrow(
                i
                for i in range(len(memory) - 2)
                if 0 < memory[i] < 64 and memory[i + 1 : i + 3] == b"\xff\1"
            )

    def policy(self) -> int:
        """Return which bit is the first of the two that say whether a tensor is asked for its
        strides, 1, or sizes, 2; -1 if that is not found."""
        # It is one of the bits that come between these fields, and nowhere beyond the object.
        first, last = self.fields["device"].offset() + 3, self.fields["keys"].offset()
        found = Field("policy")
        try:
            for tensor, known in (
                (self.full(2, 3), 0),
                (self.full(2, 3).to_sparse(), 1),
                *((wrapped(self.torch, word), code) for word, code in _POLICIES.items()),
            ):
                memory = _core.torch_read(tensor._cdata, TENSOR_BYTES // 2) or b""
                found.narrow(
                    8 * i + bit
                    for i in range(first, min(last, len(memory)))
                    for bit in range(7)
                    if memory[i] >> bit & 3 == known
                )
            return found.offset()
        except (NotFound, AttributeError, RuntimeError, TypeError):
            return -1

    def dtypes(self) -> dict[int, tuple[str, int]]:
        torch, found = self.torch, dict(UNTRIED)
        offset = self.fields["dtype"].offset()
        for name, dtype in sorted(vars(torch).items()):
            if (
                not isinstance(dtype, torch.dtype)
                or str(dtype) != f"torch.{name}"
                or WARNS.match(name)
            ):
                continue
            try:
                tensor = torch.empty(0, dtype=dtype, device="cpu")
            except RuntimeError:  # a type without tensors of its own
                continue
            memory = _core.torch_read(tensor._cdata, TENSOR_BYTES // 2) or b""
            code = int.from_bytes(memory[offset : offset + 2], "little")
            found[code] = _dtype_name(name), tensor.element_size()
        return found

    def mask(self, names: Iterable[str]) -> int:
        found = 0
        for name in names:
            key = getattr(self.torch._C.DispatchKey, name, None)
            if key is not None:
                found |= self.torch._C.DispatchKeySet(key).raw_repr()
        return found
