"""What functions and annotations a trace holds, said so that two profilers can agree.

Left out: what the profilers themselves do, by Python's own account of who called whom; and
what torch does not record at all: calls of types, of slots and of other objects.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

PROFILERS = re.compile(r"(^torch/profiler/|^torch/autograd/profiler\.py|^kymograph/|^runner\.py\()")
NATIVE = re.compile(r"<built-in (?:method|function) (.*?)(?: of .*)?>$")
# The last kind: Python functions that an older torch records a second time, as if they were native.
OTHER_CALLABLE = re.compile(r"<class '|<.* object>$|<function .* at 0x[0-9a-f]+>$")


def load(path: Path) -> list[dict[str, Any]]:
    text = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    events: list[dict[str, Any]] = json.loads(text)["traceEvents"]
    return events


def plain(name: str) -> str | None:
    """The name without what differs by design; None when only one of the two has it."""
    native = NATIVE.match(name)
    if native:
        last = native[1].rpartition(".")[2]
        return None if last == "__init__" else "C " + last
    if OTHER_CALLABLE.match(name):
        return None
    return name


Call = tuple[str, "str | None"]


def calls(events: list[dict[str, Any]]) -> list[tuple[dict[str, Any], Call, int | None]]:
    """Every call that both may have, in the order of their ids: the event, its name and the line
    that it was made from, and the id of the nearest such call around it."""
    found = [e for e in events if e.get("cat") == "python_function"]
    by_id = {e["args"]["Python id"]: e for e in found}
    inside: dict[int, bool] = {}

    def of_profiler(event: dict[str, Any]) -> bool:
        number = event["args"]["Python id"]
        if number not in inside:
            parent = by_id.get(event["args"].get("Python parent id"))
            own = PROFILERS.search(event["name"]) is not None
            # The runner is below everything.
            above = parent is not None and "runner.py(" not in parent["name"]
            inside[number] = own or (above and parent is not None and of_profiler(parent))
        return inside[number]

    def counts(event: dict[str, Any]) -> bool:
        return plain(event["name"]) is not None and not of_profiler(event)

    def around(event: dict[str, Any]) -> int | None:
        parent = by_id.get(event["args"].get("Python parent id"))
        while parent is not None and not counts(parent):
            parent = by_id.get(parent["args"].get("Python parent id"))
        return parent["args"]["Python id"] if parent is not None else None

    return [
        (e, (plain(e["name"]) or "", e["args"].get("CallFrom")), around(e))
        for e in sorted(found, key=lambda e: e["args"]["Python id"])
        if counts(e)
    ]


def known_to(theirs: list[dict[str, Any]], ours: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`ours`, without the lines of calls if torch, before 2.15, did not write them."""
    if not any("CallFrom" in event.get("args", {}) for event in theirs):
        for event in ours:
            event.get("args", {}).pop("CallFrom", None)
    return ours


def functions(events: list[dict[str, Any]]) -> Counter[Call]:
    """Each function and the line that it was called from."""
    return Counter(call for _, call, _ in calls(events))


def numbered(events: list[dict[str, Any]]) -> list[list[tuple[Call, int | None]]]:
    """The calls of each thread in the order of their ids, with the place of the caller among
    them. Ids themselves also count what only one of the two has."""
    threads: dict[int, list[tuple[Call, int | None]]] = {}
    places: dict[int, int] = {}
    for event, call, parent in calls(events):
        own = threads.setdefault(event["tid"], [])
        places[event["args"]["Python id"]] = len(own)
        own.append((call, None if parent is None else places[parent]))
    return sorted(threads.values(), key=repr)


def indexed(events: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """Operators and annotations by their number."""
    found = [e for e in events if e.get("cat") in ("cpu_op", "user_annotation")]
    return sorted((e["args"]["Ev Idx"], e["name"].replace('"', "'")) for e in found)


def annotations(events: list[dict[str, Any]]) -> Counter[str]:
    # torch writes ' for ".
    return Counter(e["name"].replace('"', "'") for e in events if e.get("cat") == "user_annotation")
