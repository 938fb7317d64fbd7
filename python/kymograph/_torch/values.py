"""How torch stores a value: its tag, and the objects that lists, tuples and texts are."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator

from kymograph._torch.records import (
    MINUS_ONE,
    Field,
    NotFound,
    Records,
    Snapshot,
    record,
    snapshots,
)

NONE, TENSOR, INT, BOOL, FLOAT, TEXT, DEVICE, LIST, TUPLE, OTHER, COMPLEX = range(11)
NO_TENSORS = 12
TAGS = 64

# torch's names of the tags, in the order of their numbers. Older versions do not have all of them.
NAMES = (
    *("None", "Tensor", "Storage", "Double", "ComplexDouble", "Int", "UInt", "SymInt", "SymFloat"),
    *("SymBool", "Bool", "Tuple", "String", "Blob", "GenericList", "GenericDict", "Future"),
    *("Await", "Device", "Stream", "Object", "PyObject", "Uninitialized", "Capsule", "RRef"),
    *("Quantizer", "Generator", "Enum"),
)
NEW = ("UInt",)  # names that older versions may lack
KINDS = {
    "None": NONE,
    "Tensor": TENSOR,
    "Int": INT,
    "Bool": BOOL,
    "Double": FLOAT,
    "String": TEXT,
    "Device": DEVICE,
    "GenericList": LIST,
    "Tuple": TUPLE,
    "ComplexDouble": COMPLEX,
}


def _double(value: float) -> int:
    (word,) = struct.unpack("<Q", struct.pack("<d", value))
    return int(word)


def names_of(known: dict[str, int]) -> dict[int, str]:
    """Return the names of tags by number. Of those between two that are known, there must be as
    many as there are numbers."""
    found = {tag: name for name, tag in known.items()}
    for first, last in itertools.pairwise(sorted(known, key=NAMES.index)):
        numbers = range(known[first] + 1, known[last])
        between = NAMES[NAMES.index(first) + 1 : NAMES.index(last)]
        for names in (between, [name for name in between if name not in NEW]):
            if len(names) == len(numbers):
                found.update(zip(numbers, names, strict=True))
                break
    return found


class Values:
    """The tags of values, and the objects that they point to."""

    def __init__(self, records: Records) -> None:
        self.torch = records.torch
        self.full = records.full
        self.inputs = records.fields["inputs"].offset()
        self.kinds = bytearray([OTHER] * TAGS)
        self.tags: dict[str, int] = {}  # by torch's name
        self.objects = {name: Field(name) for name in ("list", "tuple", "text", "complex")}

    def see(self, tag_name: str, value: object) -> tuple[Snapshot, int, tuple[int, ...]]:
        """Record `value`; return the snapshot, the payload and the words of its object."""
        kind = KINDS.get(tag_name, OTHER)
        tensor = self.full(2, 3)
        name = "kymograph values"
        start = snapshots(name, lambda: record(self.torch, name, tensor, value), deep=True)[0]
        array = start.words_at(start.words()[self.inputs // 8], 4)
        if start.inputs != 2 or len(array) != 4 or array[0] != tensor._cdata:
            raise NotFound("the inputs of a range")
        tag = array[3] & 0xFFFFFFFF
        if tag >= TAGS or self.kinds[tag] not in (OTHER, kind):
            raise NotFound(f"the tag of {type(value).__name__}")
        self.kinds[tag] = kind
        self.tags[tag_name] = tag
        return start, array[2], start.words_at(array[2], 24)

    def simple(self) -> None:
        tensor = self.full(2, 3)
        for name, value, payload in (
            ("Tensor", tensor, tensor._cdata),
            ("Int", 7, 7),
            ("Int", -9, -9 & MINUS_ONE),
            ("Double", 2.5, _double(2.5)),
            ("Bool", True, None),
            ("Bool", False, None),
            ("None", None, None),
            ("Device", self.torch.device("cpu"), None),
        ):
            _, found, _ = self.see(name, value)
            if payload is not None and found != payload:
                raise NotFound(f"a value of type {type(value).__name__}")
            if name == "Bool" and found & 0xFF != value:
                raise NotFound("a value of type bool")

    def _vectors(self, start: Snapshot, words: tuple[int, ...], want: list[int]) -> Iterator[int]:
        """Where two pointers enclose the values `want`."""
        for i, word in enumerate(words[:-1]):
            if words[i + 1] == word + 16 * len(want):
                array = start.words_at(word, 2 * len(want))
                if array[::2] == tuple(want):
                    yield 8 * i

    def lists(self) -> None:
        tensors = [self.full(2, 3) for _ in range(5)]
        for values in (tensors[:3], [11, 12, 13, 14]):
            want = [v if isinstance(v, int) else v._cdata for v in values]
            start, _, words = self.see("GenericList", values)
            self.objects["list"].narrow(self._vectors(start, words, want))
        for count in (2, 5):
            start, _, words = self.see("Tuple", tuple(tensors[:count]))
            want = [tensor._cdata for tensor in tensors[:count]]
            self.objects["tuple"].narrow(
                offset - 8
                for offset in self._vectors(start, words, want)
                if offset >= 8 and words[offset // 8 - 1] == 0
            )

    def element(self) -> tuple[int, int]:
        """Return where a list has the type of its elements, -1 if that is not found, and what is
        there in a list of tensors."""
        tensor = self.full(2, 3)
        lists: list[object] = [[tensor], [tensor] * 3, [1, 2], [1.5, 2.5], [True]]
        all_words = [self.see("GenericList", values)[2] for values in lists]
        after = self.objects["list"].offset() // 8 + 3
        found = [
            i
            for i in range(after, after + 3)
            if (types := [words[i] for words in all_words if i < len(words)])
            and types[0] == types[1] != 0
            and len(set(types)) == len(lists) - 1
        ]
        return (8 * found[0], all_words[0][found[0]]) if len(found) == 1 else (-1, 0)

    def texts(self) -> None:
        for text in ("a text that is too long to be stored inside of its object", "abc"):
            start, payload, words = self.see("String", text)
            memory = start.memory.get(payload, b"")
            self.objects["text"].narrow(
                8 * i
                for i, word in enumerate(words[:-1])
                if words[i + 1] == len(text)
                and (
                    start.memory.get(word, b"")[: len(text)] == text.encode()
                    or memory[word - payload : word - payload + len(text)] == text.encode()
                )
            )
        for value in (complex(1.5, -2.5), complex(3.25, 8.0)):
            _, _, words = self.see("ComplexDouble", value)
            parts = (_double(value.real), _double(value.imag))
            self.objects["complex"].narrow(
                8 * i for i in range(len(words) - 1) if words[i : i + 2] == parts
            )

    def named(self) -> None:
        """Learn the tags of objects and generators, of which only the kind is shown. A torch that
        does not take them as values of a range shows them as unknown."""
        profiler = self.torch.ops.profiler
        try:
            handle = profiler._record_function_enter_new("kymograph object", None)
            try:
                self.see("Object", handle)
            finally:
                profiler._record_function_exit._RecordFunction(handle)
            self.see("Generator", self.torch.Generator())
        except (NotFound, AttributeError, RuntimeError, TypeError):
            pass
