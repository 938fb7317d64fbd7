"""`export-dataset`: writes a directory of captures as one partitioned Parquet dataset.

Every table is a directory with a file for each process:
TABLE/run=RUN/host=HOST/rank=RANK/capture=NAME/part-0.parquet. Engines make columns of run, host,
rank and capture. The files of a process are written aside and moved into place; that of `meta` is
the last, so a process that has one is complete, and the next export of the same directory skips it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from urllib.parse import quote

import kymograph
from kymograph import _core
from kymograph.verbs.export_tables import (
    TABLES,
    Refused,
    Stopped,
    Writer,
    catch_signals,
    complain,
    die_of,
    needs_pyarrow,
    write_rows,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UNKNOWN = "__HIVE_DEFAULT_PARTITION__"  # engines read it as null
PART = "part-0.parquet"
_ALL = (1 << 63) - 1  # of time
_BUSY = 4  # captures at a time, at most: each is decoded on all cores already


class Source:
    """The capture of one process. path: its file. name: unique among the sources."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name

    def mark(self) -> dict[str, str]:
        """Return what changes when the capture does."""
        state = self.path.stat()
        return {
            "kymograph.source_bytes": str(state.st_size),
            "kymograph.source_mtime_ns": str(state.st_mtime_ns),
        }


def read_part(text: str) -> tuple[int, int]:
    """Return K and N of "K/N". Raises Refused."""
    first, _, step = text.partition("/")
    if first.isdecimal() and step.isdecimal() and int(first) < int(step):
        return int(first), int(step)
    raise Refused(f"--part {text}: give K/N, such as 0/4 to 3/4")


def sources_of(folder: Path, part: tuple[int, int] = (0, 1)) -> list[Source]:
    """Return the captures in `folder`, and those of their child processes: every `part[1]`th, from
    `part[0]` on. Raises Refused."""
    try:
        paths = sorted(p for p in folder.glob("*.kymo") if p.is_file() and p.name[0] != ".")
    except OSError as error:
        raise Refused(f"{folder}: {error.strerror}") from None
    if not paths:
        raise Refused(
            f"{folder}: no captures (.kymo) in this directory; 'kymograph run --dir {folder}' "
            "records into it"
        )
    found = []
    for path in paths[part[0] :: part[1]]:
        found.append(Source(path, path.stem))
        children = sorted(path.with_name(path.name + ".d").glob("*.kymo"))
        if children:
            family = family_of(path)
            found += [
                Source(child, f"{path.stem}.{child.stem}")
                for child in children
                if family and family_of(child) in (family, None)
            ]
    return found


def family_of(path: Path) -> str | None:
    """Return which run the process belongs to; "" for none, None if the file cannot be read."""
    try:
        with _core.open(path) as capture:
            return capture.metadata.get("family", "")
    except (OSError, kymograph.CaptureError):
        return None


class Dataset:
    """A partitioned dataset at `root`; its partition run=`run` is being written."""

    def __init__(self, root: Path, run: str) -> None:
        self.root, self.run = root, run
        self.parquet: Any = import_module("pyarrow.parquet")
        # Engines do not look into names with _; other hosts may be writing into the same dataset.
        self.aside = Path(tempfile.mkdtemp(prefix="_part-", dir=root))
        # Where processes were written before, by the name of their capture.
        self.known: dict[str, list[Path]] = {}
        for file in sorted(root.glob(f"meta/run={encode(run)}/*/*/*/{PART}")):
            place = file.parent.relative_to(root / "meta")
            self.known.setdefault(file.parent.name, []).append(place)

    def is_current(self, source: Source) -> bool:
        """Has this capture been written, and not changed since?"""
        places = self.known.get(f"capture={encode(source.name)}", [])
        if len(places) != 1:
            return False
        try:
            table = self.parquet.ParquetFile(self.root / "meta" / places[0] / PART).read()
        except (OSError, ValueError):  # of pyarrow: not a Parquet file
            return False
        rows = dict(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))
        return source.mark().items() <= rows.items()

    def forget(self, place: Path) -> None:
        """Remove the files of a process, that of `meta` first."""
        for table in ("meta", *TABLES):
            shutil.rmtree(self.root / table / place, ignore_errors=True)

    def add(self, source: Source) -> None:
        """Write one process. Raises OSError, CaptureError and MemoryError."""
        mark = source.mark()  # before reading it: it may be being recorded
        staged = self.aside / encode(source.name)
        staged.mkdir()
        with _core.open(source.path) as capture:
            place = self.place_of(source, capture.metadata)
            with Writer(capture, staged) as writer:
                writer.facts |= mark
                writer.small()
                write_rows(writer, -1, 0, _ALL)
        for old in {*self.known.get(f"capture={encode(source.name)}", []), place}:
            self.forget(old)
        for file in sorted(staged.iterdir(), key=lambda file: file.name == "meta.parquet"):
            target = self.root / file.stem / place
            target.mkdir(parents=True, exist_ok=True)
            file.replace(target / PART)
        shutil.rmtree(staged)

    def place_of(self, source: Source, metadata: dict[str, str]) -> Path:
        keys = {
            "run": self.run,
            "host": metadata.get("host", ""),
            "rank": metadata.get("rank", ""),
            "capture": source.name,
        }
        return Path(*(f"{key}={encode(value) or UNKNOWN}" for key, value in keys.items()))


def encode(value: str) -> str:
    """Return `value` as Hive writes it into a path."""
    return quote(value, safe=" +,-.@_~").replace("~", "%7E")


def check_root(root: Path) -> None:
    """Raise Refused unless `root` does not exist or is a dataset of ours."""
    if str(root) == "-" or root.name.endswith(".gz"):
        raise Refused(f"-o {root}: parquet is a directory of compressed files; name a directory")
    if not root.exists():
        if not root.absolute().parent.is_dir():
            raise Refused(f"{root}: no such directory")
        return
    if not root.is_dir():
        raise Refused(f"{root} exists and is not a directory; name another with -o")
    others = {
        entry.name
        for entry in root.iterdir()
        if not (entry.name.startswith("_part-") or (entry.name in TABLES and entry.is_dir()))
    }
    if others:
        raise Refused(f"{root} has other files in it ({min(others)}); name another with -o")


def restrict_to(sources: list[Source]) -> None:
    """Let only those read new files who may read every capture."""
    mode = 0o777
    for source in sources:
        mode &= source.path.stat().st_mode
    os.umask((0o020 if mode & 0o040 else 0o070) | (0o002 if mode & 0o004 else 0o007))


def write_all(folder: Path, root: Path, part: tuple[int, int]) -> int:
    """Write what is not there yet; returns how many captures could not be read."""
    sources = sources_of(folder, part)
    restrict_to(sources)
    root.mkdir(exist_ok=True)
    dataset = Dataset(root, folder.resolve().name)
    failed = 0

    def add(source: Source) -> str:
        try:
            if not dataset.is_current(source):
                dataset.add(source)
        except kymograph.CaptureError as error:
            return f"{error}; left out"
        return ""

    pool = ThreadPoolExecutor(min(_BUSY, os.cpu_count() or 1), "kymograph")
    try:
        for problem in pool.map(add, sources):
            if problem:
                failed += 1
                print(f"kymograph: {problem}", file=sys.stderr)
    finally:
        pool.shutdown(cancel_futures=True)
        shutil.rmtree(dataset.aside, ignore_errors=True)
    return failed


def run(arguments: list[str]) -> int:
    """Run with `parquet FOLDER OUTPUT [PART]`; returns the exit code."""
    if len(arguments) not in (3, 4) or arguments[0] != "parquet":
        return complain("export-dataset is internal; use kymograph export --to parquet")
    folder, root = map(Path, arguments[1:3])
    try:
        part = read_part(arguments[3]) if len(arguments) > 3 else (0, 1)
        check_root(root)
        import_module("pyarrow.parquet")
        catch_signals()
        return 1 if write_all(folder, root, part) else 0
    except Refused as error:
        return complain(str(error))
    except ImportError:
        return complain(needs_pyarrow())
    except OSError as error:
        return complain(f"cannot write {root}: {error.strerror or error}")
    except MemoryError:
        return complain("not enough memory to export it")
    except Stopped as stopped:
        return die_of(stopped)
