"""The summary printed at the end of a recording."""

from __future__ import annotations

import os
import sys

from kymograph import _core

# Counting calls takes a pass over the events: about a second per twenty million.
_COUNTED_EVENTS = 20_000_000

_OWN_THREAD = "kymo memory"  # which measures resident memory


def grouped(number: int) -> str:
    """48212334 as "48 212 334"."""
    return f"{number:,}".replace(",", " ")


def counted(number: int, one: str, many: str) -> str:
    return f"{grouped(number)} {one if number == 1 else many}"


def size(number: int) -> str:
    """Bytes for people: "121 MB"."""
    amount, units = float(number), ["bytes", "kB", "MB", "GB", "TB"]
    while amount >= 999.5 and len(units) > 1:
        amount /= 1000
        del units[0]
    decimals = 1 if amount < 9.95 and units[0] != "bytes" else 0
    return f"{amount:.{decimals}f} {units[0]}"


def duration(seconds: float) -> str:
    """ "31.4 s", "12 min 05 s", "3 h 20 min"; short ones in milliseconds."""
    if seconds < 0.9995:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def say(line: str) -> None:
    """Print a one-line message to the standard error that we were started with."""
    stream = sys.__stderr__
    if stream is None:
        return
    text = f"kymograph: {line}\n"
    try:
        text.encode(stream.encoding)
    except UnicodeError:
        text = text.replace("→", "->").replace("·", "|")
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        pass  # stderr is gone


def _lost(info: _core.Info, missing: list[str]) -> str:
    """Return what is not in a capture: lost records, and `missing`."""
    parts = []
    if info.lost_records:
        lost = counted(info.lost_records, "record", "records")
        parts.append(f"{lost} lost, see 'kymograph info'")
    elif not missing:
        parts.append("nothing lost")
    if info.expired_records:
        parts.append(f"{counted(info.expired_records, 'older event', 'older events')} not kept")
    if missing:
        parts.append(f"not in it: {', '.join(missing)}")
    return "; ".join(parts)


def _size_of(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0  # removed meanwhile


def recorded(
    capture: str,
    output: str,
    shown: str,
    seconds: float,
    missing: list[str] | None = None,
    members: list[str] | None = None,
) -> str:
    """Return the summary of a recording of `seconds` into `capture`, stored as `output` and shown
    as `shown`.

    missing: what the program did that is not in the capture. members: captures of its children.
    """
    try:
        missing = list(missing or ())
        with _core.open(capture) as opened:
            info = opened.info
            samples = int(opened.metadata.get("sample.count", 0))
            memory = "memory.mode" in opened.metadata
            threads = sum(thread.name != _OWN_THREAD for thread in opened.threads)
            interpreters = int(opened.metadata.get("python.subinterpreters", 0))
        if interpreters:
            missing.append(f"calls in {counted(interpreters, 'subinterpreter', 'subinterpreters')}")
        calls = None
        if info.records <= _COUNTED_EVENTS:
            calls, off = _core.count_calls(capture)
            if off:
                switched = counted(off, "function or place", "functions and places")
                missing.append(f"calls of {switched} switched off by the overhead budget")
        if calls is None:
            what = counted(info.records, "event", "events")
        else:
            what = counted(calls, "call", "calls")
        if samples and not calls:
            what = counted(samples, "sample", "samples")
        elif samples:
            what += f" and {counted(samples, 'sample', 'samples')}"
        if memory:
            what = f"{what} and memory" if calls or samples else "memory"
        where = counted(threads, "thread", "threads")
        if members:
            processes = len({os.path.basename(path).partition("-")[0] for path in members})
            where += f", and {counted(processes, 'child process', 'child processes')},"
        stored = os.path.getsize(output)
        if output == capture:
            stored += sum(map(_size_of, members or ()))
        return (
            f"recorded {what} on {where} in {duration(seconds)} → {shown} ({size(stored)}); "
            f"{_lost(info, missing)}"
        )
    except (_core.CaptureError, OSError) as error:
        return f"recorded into {shown}, but cannot read it: {error}"
