"""What is said at the end of a recording."""

from __future__ import annotations

import os
import sys

from kymograph import _core

# Counting calls takes a pass over the events: a second for every twenty million or so.
_COUNTED_EVENTS = 20_000_000


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
    """Print one line about ourselves to the standard error that we were started with."""
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
        pass  # nobody can hear us


def _lost(info: _core.Info) -> str:
    if info.lost_records:
        lost = f"{counted(info.lost_records, 'record', 'records')} lost, 'kymograph info' says why"
    else:
        lost = "nothing lost"
    if info.expired_records:
        lost += f"; {counted(info.expired_records, 'older event', 'older events')} not kept"
    return lost


def recorded(capture: str, output: str, shown: str, seconds: float) -> str:
    """The line for a recording of `seconds` into `capture`, kept as `output`, called `shown`."""
    try:
        with _core.open(capture) as opened:
            info = opened.info
            samples = int(opened.metadata.get("sample.count", 0))
        calls = _core.count_calls(capture) if info.records <= _COUNTED_EVENTS else None
        if calls is None:
            what = counted(info.records, "event", "events")
        else:
            what = counted(calls, "call", "calls")
        if samples and not calls:
            what = counted(samples, "sample", "samples")
        elif samples:
            what += f" and {counted(samples, 'sample', 'samples')}"
        return (
            f"recorded {what} on {counted(info.threads, 'thread', 'threads')} "
            f"in {duration(seconds)} → {shown} ({size(os.path.getsize(output))}); {_lost(info)}"
        )
    except (_core.CaptureError, OSError) as error:
        return f"recorded into {shown}, which cannot be summarised: {error}"
