"""Figures of a capture as tables of columns, made when they are first looked at."""

from __future__ import annotations

from kymograph import _core

TYPE_CHECKING = False  # typing is not imported for it
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

_KINDS = ("span", "function", "native", "method", "type", "callable", "gc")
_PATHS = 1 << 20
_LAST = (1 << 63) - 1


class Table:
    """A table whose columns are had one by one: `table["self_ns"]`.

    A column of numbers is a memoryview of 64-bit integers, which `numpy.asarray` takes
    without copying; one of words is a list of str. Nothing is read from the capture
    before the first column, or the length, is asked for; then the capture must be open.
    """

    __slots__ = ("_cache", "_data", "_make", "columns")

    def __init__(
        self,
        columns: Sequence[str],
        make: Callable[[], dict[str, Any]],
    ) -> None:
        self.columns = tuple(columns)
        self._make = make
        self._data: dict[str, Any] | None = None
        self._cache: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """The column called `name`. Raises KeyError when there is none."""
        if name not in self._cache:
            if name not in self.columns:
                raise KeyError(name)
            if self._data is None:
                self._data = self._make()
            column = self._data[name]
            if callable(column):
                column = column()
            elif isinstance(column, bytes):
                column = memoryview(column).cast("q")
            self._cache[name] = column
        return self._cache[name]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self[self.columns[-1]])

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows, as tuples in the order of `columns`."""
        return zip(*(self[name] for name in self.columns), strict=True)

    def keys(self) -> tuple[str, ...]:
        """The names of the columns, so that `dict(table)` has them all."""
        return self.columns

    def __repr__(self) -> str:
        return f"<kymograph.Table of {', '.join(self.columns)}>"


def _thread_of(thread: Any) -> int:
    if thread is None:
        return -1
    index = thread[0] if isinstance(thread, _core.Thread) else thread
    if not isinstance(index, int):
        raise TypeError(f"a thread is an index or one of Capture.threads, not {thread!r}")
    if index < 0:
        raise IndexError(f"the capture has no thread {index}")
    return index


def _read(
    capture: _core.Capture, thread: Any, start: int | None, end: int | None, paths: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    index = _thread_of(thread)
    if index >= len(capture.threads):
        raise IndexError(f"the capture has no thread {index}")
    from_ = 0 if start is None else start
    to = _LAST if end is None else end
    functions, tree = _core.figures(capture, index, from_, to, paths)
    numbers = memoryview(functions["kind"]).cast("q")
    functions["kind"] = [_KINDS[n] if n < len(_KINDS) else "unknown" for n in numbers]
    return functions, tree


def functions(
    capture: _core.Capture,
    thread: Any = None,
    start: int | None = None,
    end: int | None = None,
) -> Table:
    """What each function cost, the greatest self time first: what `kymograph report` shows."""
    columns = (
        "name",
        "file",
        "line",
        "kind",
        "calls",
        "resumes",
        "self_ns",
        "total_ns",
        "mean_ns",
        "min_ns",
        "max_ns",
        "p50_ns",
        "p99_ns",
    )
    return Table(columns, lambda: _read(capture, thread, start, end, 0)[0])


def call_tree(
    capture: _core.Capture,
    thread: Any = None,
    start: int | None = None,
    end: int | None = None,
) -> Table:
    """What each function cost on each path of callers. `parent` is the row of the caller,
    which stands before, or -1; `function` is the row in the table of functions."""

    def make() -> dict[str, Any]:
        functions, tree = _read(capture, thread, start, end, _PATHS)
        rows = memoryview(tree["function"]).cast("q")

        def named(column: str) -> Callable[[], list[Any]]:
            return lambda: [functions[column][row] for row in rows]

        return {**tree, "name": named("name"), "file": named("file"), "kind": named("kind")}

    columns = (
        "parent",
        "function",
        "name",
        "file",
        "kind",
        "calls",
        "resumes",
        "self_ns",
        "total_ns",
    )
    return Table(columns, make)


def samples(
    capture: _core.Capture,
    thread: Any = None,
    start: int | None = None,
    end: int | None = None,
) -> Table:
    """Every sample in the order of time; Capture.stacks() tells what their stacks are."""

    def make() -> dict[str, Any]:
        index = _thread_of(thread)
        if index >= len(capture.threads):
            raise IndexError(f"the capture has no thread {index}")
        from_ = 0 if start is None else start
        rows = _core.samples(capture, index, from_, _LAST if end is None else end)
        clocks = memoryview(rows["clock"]).cast("q")
        return {**rows, "clock": ["wall" if n else "cpu" for n in clocks]}

    return Table(("time", "thread", "stack", "periods", "clock"), make)
