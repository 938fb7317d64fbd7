"""Tables of a capture's figures, by column, computed on first access."""

from __future__ import annotations

from kymograph import _core

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

_KINDS = _core.words()["class"]
_PATHS = 1 << 20
_LAST = (1 << 63) - 1


class Table:
    """A table accessed by column: `table["self_ns"]`.

    A column of numbers is a memoryview of 64-bit integers, which `numpy.asarray` takes without
    copying; a column of words is a list of str. The capture is read on the first access to a
    column or to the length, and must be open then.
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
        """Return the column `name`. Raises KeyError when there is none."""
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
        """The number of rows."""
        return len(self[self.columns[-1]])

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows, as tuples in the order of `columns`."""
        return zip(*(self[name] for name in self.columns), strict=True)

    def keys(self) -> tuple[str, ...]:
        """The names of the columns, so that `dict(table)` works."""
        return self.columns

    def __repr__(self) -> str:
        return f"<kymograph.Table of {', '.join(self.columns)}>"


def _thread_of(thread: Any) -> int:
    if thread is None:
        return -1
    index = thread[0] if isinstance(thread, _core.Thread) else thread
    if not isinstance(index, int):
        raise TypeError(f"a thread must be an index or one of Capture.threads, not {thread!r}")
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
    """The cost of each function, largest self time first, as in `kymograph report`."""
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
    """The cost of each function on each call path. `parent` is the row of the caller, which comes
    earlier, or -1; `function` is the row in the table of functions."""

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
    """Every sample in time order; Capture.stacks() has their stacks."""

    def make() -> dict[str, Any]:
        index = _thread_of(thread)
        if index >= len(capture.threads):
            raise IndexError(f"the capture has no thread {index}")
        from_ = 0 if start is None else start
        rows = _core.samples(capture, index, from_, _LAST if end is None else end)
        clocks = memoryview(rows["clock"]).cast("q")
        return {**rows, "clock": ["wall" if n else "cpu" for n in clocks]}

    return Table(("time", "thread", "stack", "periods", "clock"), make)


_SETS = {"peak": 0, "end": 1, "allocated": 4, "temporary": 5}
_AT_TIME, _OLD = 2, 3


def memory(
    capture: _core.Capture,
    of: str = "peak",
    *,
    at: int | None = None,
    older_than: int = 0,
) -> Table:
    """Who held memory, by stack and allocating function, the largest first."""
    if of not in _SETS:
        raise ValueError(f"of must be one of {', '.join(_SETS)}, not {of!r}")
    if older_than and (of != "end" or at is not None):
        raise ValueError("older_than works only with of='end' and without at")
    number = _OLD if older_than else _SETS[of] if at is None else _AT_TIME
    return Table(
        ("bytes", "blocks", "error", "function", "category", "stack"),
        lambda: _core.allocations(capture, number, _LAST if at is None else at, older_than),
    )
