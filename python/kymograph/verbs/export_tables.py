"""`export-tables`: writes Parquet for the native `kymograph export --to parquet`.

The extension delivers rows as columns, decoded on all cores, so no row becomes a Python object, and
they are written as row groups; memory use does not depend on the length of the capture.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import kymograph
from kymograph import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

WORDS = _core.words()
KINDS = WORDS["kind"]
COUNTER, GAP, SAMPLE = (KINDS.index(kind) for kind in ("counter", "gap", "sample"))
# enum kymo_field_type of payload.h, by column type.
NUMBERS, INT, FLOAT = [1, 6, 7, 8, 9, 10], 2, 3
LONG = [4, 5, *range(0x11, 0x1C), *range(0x21, 0x2C)]
CATEGORIES = {"function": "python", "span": "span", "gc": "gc", "operator": "operator"}

TABLES = (
    *("slices", "functions", "threads", "counters", "marks", "args", "gaps", "clock", "meta"),
    *("samples", "frames"),  # only with samples
)


class Refused(Exception):
    """Why the export is impossible; the text is the message to print."""


class Stopped(Exception):
    """A signal asked to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Writer:
    """The Parquet files of one capture in a directory that exists."""

    def __init__(self, capture: kymograph.Capture, directory: Path) -> None:
        # Imported by name: pyarrow is an optional extra.
        self.arrow: Any = import_module("pyarrow")
        self.compute: Any = import_module("pyarrow.compute")
        self.parquet: Any = import_module("pyarrow.parquet")
        arrow = self.arrow
        self.capture, self.directory = capture, directory
        self.open: dict[str, Any] = {}
        info = capture.info
        self.shift = info.wall_start - info.start
        self.facts: dict[str, str] = {}  # further rows of `meta`
        self.sampled = info.samples > 0
        functions, self.threads = capture.callables, capture.threads
        self.functions = functions
        self.names = arrow.array([clean(f.name) for f in functions], arrow.string())
        categories = sorted({CATEGORIES.get(f.kind, "c") for f in functions})
        self.categories = arrow.array(categories, arrow.string())
        self.category_of = arrow.array(
            [categories.index(CATEGORIES.get(f.kind, "c")) for f in functions], arrow.int32()
        )
        self.tids = arrow.array([t.tid for t in self.threads], arrow.int64())
        self.pids = arrow.array([t.pid for t in self.threads], arrow.int64())

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self.open.values():
            writer.close()

    def write(self, name: str, columns: dict[str, Any]) -> None:
        """Add a row group to table `name`."""
        table = self.arrow.table(columns)
        if name not in self.open:
            types = self.arrow.types
            whole = [field.name for field in table.schema if types.is_integer(field.type)]
            self.open[name] = self.parquet.ParquetWriter(
                self.directory / f"{name}.parquet",
                table.schema,
                compression="zstd",
                compression_level=3,
                use_dictionary=[
                    field.name for field in table.schema if types.is_dictionary(field.type)
                ],
                column_encoding=dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
            )
        if table.num_rows:
            self.open[name].write_table(table, row_group_size=table.num_rows)

    def array(self, view: memoryview) -> Any:
        """Return the numbers of `view` as an array, without copying."""
        kinds = {"q": "int64", "Q": "uint64", "I": "uint32", "B": "uint8", "d": "float64"}
        kind = getattr(self.arrow, kinds[view.format])()
        return self.arrow.Array.from_buffers(kind, len(view), [None, self.arrow.py_buffer(view)])

    def words(self, indices: Any, words: list[str]) -> Any:
        """Return words by number; null for unknown ones."""
        known = self.compute.if_else(self.compute.less(indices, len(words)), indices, None)
        numbers = known.cast(self.arrow.int8())
        return self.arrow.DictionaryArray.from_arrays(numbers, self.arrow.array(words))

    def name_of(self, functions: Any) -> Any:
        numbers = functions.cast(self.arrow.int32())
        return self.arrow.DictionaryArray.from_arrays(numbers, self.names)

    def place(self, columns: dict[str, Any], time: Any) -> dict[str, Any]:
        """Return the columns that every event has: time and thread."""
        return {
            "ts_ns": self.compute.add(time, self.arrow.scalar(self.shift, self.arrow.int64())),
            "monotonic_ns": time,
            "pid": self.compute.take(self.pids, columns["thread"]),
            "tid": self.compute.take(self.tids, columns["thread"]),
            "thread": columns["thread"],
        }

    def slices(self, unsorted: dict[str, Any]) -> None:
        # Slices come in the order of their ends; ids are in the order of their starts.
        order = self.compute.sort_indices(unsorted["id"])
        columns = {name: column.take(order) for name, column in unsorted.items()}
        compute, flags = self.compute, columns["flags"]
        none = self.arrow.scalar(None, self.arrow.int64())

        def clear(bit: int) -> Any:
            return compute.equal(compute.bit_wise_and(flags, self.arrow.scalar(bit, "uint8")), 0)

        category = compute.take(self.category_of, columns["function"])
        self.write(
            "slices",
            {
                "id": columns["id"].cast(self.arrow.int64()),
                "parent": compute.if_else(
                    compute.less(columns["parent"], 0), none, columns["parent"]
                ),
                **self.place(columns, columns["start"]),
                "dur_ns": columns["duration"],
                "self_ns": columns["self"],
                "depth": columns["depth"],
                "function": columns["function"],
                "name": self.name_of(columns["function"]),
                "category": self.arrow.DictionaryArray.from_arrays(category, self.categories),
                "enter": self.words(columns["enter"], WORDS["enter"]),
                "leave": self.words(columns["leave"], WORDS["leave"]),
                "generator": columns["generator"],
                "started": clear(1),
                "finished": clear(2),
                "end_known": clear(4),
            },
        )

    def marks(self, all_columns: dict[str, Any]) -> None:
        """Counters, gaps and samples have separate tables; the rest are marks."""
        compute, kind = self.compute, all_columns["kind"]

        def only(mask: Any) -> dict[str, Any]:
            return {name: column.filter(mask) for name, column in all_columns.items()}

        counters, gaps = compute.equal(kind, COUNTER), compute.equal(kind, GAP)
        samples = compute.equal(kind, SAMPLE)
        columns = only(counters)
        self.write(
            "counters",
            {
                **self.place(columns, columns["time"]),
                "function": columns["function"],
                "name": self.name_of(columns["function"]),
                "value": columns["value"],
            },
        )
        columns = only(gaps)
        self.write(
            "gaps",
            {
                **self.place(columns, columns["time"]),
                "events": columns["number"],
                "reason": self.words(columns["detail"], WORDS["gap"]),
            },
        )
        if self.sampled:
            columns = only(samples)
            low, half = (self.arrow.scalar(n, self.arrow.uint64()) for n in (0xFFFFFFFF, 32))
            periods = compute.shift_right(columns["number"], half)
            self.write(
                "samples",
                {
                    **self.place(columns, columns["time"]),
                    "stack": compute.bit_wise_and(columns["number"], low).cast("uint32"),
                    "periods": periods.cast("uint32"),
                    "clock": self.words(columns["detail"], WORDS["sample"]),
                },
            )
        columns = only(compute.invert(compute.or_(compute.or_(counters, gaps), samples)))
        self.write(
            "marks",
            {
                "id": columns["id"].cast(self.arrow.int64()),
                **self.place(columns, columns["time"]),
                "kind": self.words(columns["kind"], KINDS),
                "function": columns["function"],
                "name": self.name_of(columns["function"]),
                "number": columns["number"],
            },
        )

    def args(self, columns: dict[str, Any], texts: dict[str, Any]) -> None:
        """Numbers, texts and payload fields: two of `value`, `real` and `text` are null."""
        choose, arrow = self.compute.if_else, self.arrow
        kind, text = (
            columns["type"],
            self.name_of(choose(self.compute.less(columns["text"], 0), None, columns["text"])),
        )
        if len(texts["byte"]):
            ends = columns["end"].cast(arrow.int32())
            offsets = arrow.concat_arrays([arrow.array([0], arrow.int32()), ends])
            own = arrow.Array.from_buffers(
                arrow.string(), len(ends), [None, offsets.buffers()[1], texts["byte"].buffers()[1]]
            )
            text = choose(self.compute.is_in(kind, arrow.array(LONG, kind.type)), own, text)
        number = self.compute.is_in(kind, arrow.array(NUMBERS, kind.type))
        real = self.compute.equal(kind, FLOAT)
        bits = columns["value"]
        self.write(
            "args",
            {
                "table": self.words(columns["of"], ["slices", "marks"]),
                "id": columns["owner"].cast(self.arrow.int64()),
                "name": self.name_of(columns["function"]),
                "value": choose(number, bits, None),
                "integer": choose(self.compute.equal(kind, INT), bits.view(arrow.int64()), None),
                "real": choose(real, bits.view(arrow.float64()), None),
                "text": text,
                "schema": self.name_of(
                    choose(self.compute.equal(columns["schema"], 0), None, columns["schema"])
                ),
            },
        )

    def batch(self, tables: dict[str, dict[str, memoryview]]) -> None:
        arrays = {
            name: {column: self.array(view) for column, view in columns.items()}
            for name, columns in tables.items()
        }
        self.slices(arrays["slices"])
        self.marks(arrays["marks"])
        self.args(arrays["args"], arrays["texts"])

    def frames(self) -> None:
        """The functions of every stack, innermost first."""
        arrow = self.arrow
        stacks = self.capture.stacks()
        rows = [(stack, i, f) for stack, frames in stacks.items() for i, f in enumerate(frames)]

        def column(field: str, type_: Any) -> Any:
            values = [getattr(frame, field) for _, _, frame in rows]
            texts = [clean(v) if isinstance(v, str) else v for v in values]
            return arrow.array(texts, type_)

        text, number = arrow.string(), arrow.uint32()
        self.write(
            "frames",
            {
                "stack": arrow.array([stack for stack, _, _ in rows], number),
                "depth": arrow.array([depth for _, depth, _ in rows], number),
                **{name: column(name, text) for name in ("name", "file", "kind")},
                **{name: column(name, number) for name in ("line", "first_line")},
                "inlined": column("inlined", arrow.bool_()),
                **{name: column(name, text) for name in ("module", "build_id")},
                "address": column("address", arrow.uint64()),
            },
        )

    def small(self) -> None:
        """The tables that describe the others."""
        arrow, functions, threads = self.arrow, self.functions, self.threads
        self.write(
            "functions",
            {
                "function": arrow.array(range(len(functions)), arrow.uint32()),
                "name": self.names,
                "file": arrow.array([clean(f.file) for f in functions], arrow.string()),
                "line": arrow.array([f.line for f in functions], arrow.uint32()),
                "kind": arrow.array([f.kind for f in functions], arrow.string()),
            },
        )
        self.write(
            "threads",
            {
                "thread": arrow.array([t.index for t in threads], arrow.uint32()),
                "tid": self.tids,
                "name": arrow.array([clean(t.name) for t in threads], arrow.string()),
                "records": arrow.array([t.records for t in threads], arrow.uint64()),
                "lost": arrow.array([t.lost for t in threads], arrow.uint64()),
            },
        )
        if self.sampled:
            self.frames()
        snapshots = self.capture.snapshots
        self.write(
            "clock",
            {
                "monotonic_ns": arrow.array([s.monotonic for s in snapshots], arrow.int64()),
                "wall_ns": arrow.array([s.wall for s in snapshots], arrow.int64()),
            },
        )
        info, metadata = self.capture.info, self.capture.metadata
        facts = {
            "pid": info.pid,
            "start_ns": info.start,
            "wall_start_ns": info.wall_start,
            "ending": info.ending,
            "records": info.records,
            "lost_records": info.lost_records,
            "damaged_blocks": info.damaged_blocks,
            "unknown_parts": info.unknown_parts,
        }
        pairs = [(f"kymograph.{key}", str(value)) for key, value in facts.items()]
        pairs += self.facts.items()
        pairs += [(clean(key), clean(value)) for key, value in metadata.items()]
        self.write(
            "meta",
            {
                "key": arrow.array([key for key, _ in pairs], arrow.string()),
                "value": arrow.array([value for _, value in pairs], arrow.string()),
            },
        )


def clean(text: str) -> str:
    """Return text that is valid UTF-8: U+FFFD for lone surrogates."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def write_tables(
    path: str, directory: Path, thread: int, start: int, end: int, process: str | None
) -> None:
    """Write the part of the capture at `path` into `directory`, which exists."""
    with kymograph.open(path, process=process) as capture, Writer(capture, directory) as writer:
        writer.small()
        write_rows(writer, thread, start, end)


def write_rows(writer: Writer, thread: int, start: int, end: int) -> None:
    """Write the events of that part of the capture."""
    part = writer.capture.columns(thread=None if thread < 0 else thread, start=start, end=end)
    # Decode the next rows, on all cores and without the GIL, while these are written.
    with ThreadPoolExecutor(1, "kymograph") as reader:
        coming = reader.submit(next, part, None)
        while batch := coming.result():
            coming = reader.submit(next, part, None)
            writer.batch(batch)


def check_place(output: Path) -> None:
    """Raise Refused unless `output` does not exist or is an older export that may be replaced."""
    if str(output) == "-" or output.name.endswith(".gz"):
        raise Refused(f"-o {output}: parquet is a directory of compressed files; name a directory")
    if not output.is_symlink() and not output.exists():
        if not output.absolute().parent.is_dir():
            raise Refused(f"{output}: no such directory")
        return
    if not output.is_dir() or output.is_symlink():
        raise Refused(f"{output} exists and is not a directory; name another with -o")
    others = {entry.name for entry in output.iterdir()} - {f"{name}.parquet" for name in TABLES}
    if others:
        raise Refused(f"{output} has other files in it ({min(others)}); name another with -o")


def export(path: str, output: Path, thread: int, start: int, end: int, process: str | None) -> None:
    """Write next to `output`, then move the complete result into place."""
    part = output.with_name(f"{output.name}.part-{os.getpid()}")
    old = output.with_name(f"{output.name}.old-{os.getpid()}")
    try:
        part.mkdir()  # in here, because a signal may end the export right after it
        write_tables(path, part, thread, start, end, process)
        if output.exists():
            output.rename(old)
        part.rename(output)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if old.exists() and not output.exists():
            old.rename(output)
        shutil.rmtree(old, ignore_errors=True)


def stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


def catch_signals() -> None:
    """Have signals that ask to stop raise Stopped."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)


def die_of(stopped: Stopped) -> int:
    """End by the signal, so that the shell sees it."""
    signal.signal(stopped.number, signal.SIG_DFL)
    os.kill(os.getpid(), stopped.number)
    return 0


def run(arguments: list[str]) -> int:
    """Run with `parquet CAPTURE OUTPUT THREAD FROM TO [PROCESS]`; returns the exit code."""
    if len(arguments) not in (6, 7) or arguments[0] != "parquet":
        return complain("export-tables is internal; use kymograph export --to parquet")
    path, output, *numbers = arguments[1:6]
    process = arguments[6] if len(arguments) > 6 else None
    thread, start, end = map(int, numbers)
    try:
        check_place(Path(output))
        import_module("pyarrow.parquet")
    except Refused as error:
        return complain(str(error))
    except ImportError:
        return complain(needs_pyarrow())
    catch_signals()
    try:
        export(path, Path(output), thread, start, end, process)
    except OSError as error:
        return complain(f"cannot write {output}: {error.strerror or error}")
    except MemoryError:
        return complain("not enough memory to export it")
    except kymograph.CaptureError as error:
        return complain(str(error))
    except Stopped as stopped:
        return die_of(stopped)
    return 0


def needs_pyarrow() -> str:
    return (
        "--to parquet needs pyarrow, which this Python does not have; "
        f"run: {sys.executable} -m pip install pyarrow"
    )


def complain(message: str) -> int:
    print(f"kymograph: {message}", file=sys.stderr)
    return 2
