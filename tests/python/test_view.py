"""`kymograph view` says what `kymograph query` and `report` say."""

from __future__ import annotations

import bisect
import collections
import itertools
import json
import math
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import good
from viewed import (
    AFTER,
    BEFORE,
    CALL,
    SUMMARY,
    Part,
    Server,
    Slice,
    capture_of,
    served,
    slices_of,
    view_captures,
)

import kymograph

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return view_captures(tmp_path_factory.mktemp("view"))


def joined_part(depth: int, calls: list[Slice]) -> Part:
    """Several short calls that began in one column."""
    times: collections.Counter[int] = collections.Counter()
    for call in calls:
        times[call.function] += call.end_ns - call.start_ns
    most = max(times.values())
    name = min(name for name, spent in times.items() if spent == most)
    end = max(call.end_ns for call in calls)
    alone = len(calls) == 1
    number = calls[0].id & (1 << 40) - 1 if alone else 0
    total = sum(times.values())
    return Part(depth, calls[0].start_ns, end, name, len(calls), total, alone * CALL, number)


def long_part(call: Slice, start: int, end: int) -> Part:
    """A call of its own, cut to the tile."""
    first, last = max(call.start_ns, start), min(call.end_ns, end)
    flags = CALL
    flags |= BEFORE if call.start_ns < start else 0
    flags |= AFTER if call.end_ns > end else 0
    begun, number = int(call.start_ns >= start), call.id & (1 << 40) - 1
    return Part(call.depth, first, last, call.function, begun, last - first, flags, number)


def row_expected(row: list[Slice], level: int, start: int, end: int) -> Iterator[Part]:
    joined: list[Slice] = []
    for call in sorted(row, key=lambda call: (call.start_ns, call.id)):
        if call.end_ns - call.start_ns >= 1 << level:
            if call.start_ns >= end or (call.start_ns < start and call.end_ns <= start):
                continue
        elif not start <= call.start_ns < end:
            continue
        elif not joined or joined[0].start_ns >> level == call.start_ns >> level:
            joined.append(call)
            continue
        if joined:
            yield joined_part(call.depth, joined)
            joined = []
        if call.end_ns - call.start_ns >= 1 << level:
            yield long_part(call, start, end)
        else:
            joined = [call]
    if joined:
        yield joined_part(joined[0].depth, joined)


def parts_expected(calls: list[Slice], level: int, start: int, length: int) -> list[Part]:
    """What a tile made from CALLS of one thread must hold."""
    rows: dict[int, list[Slice]] = collections.defaultdict(list)
    for call in calls:
        rows[call.depth].append(call)
    end = start + length
    return sorted(part for row in rows.values() for part in row_expected(row, level, start, end))


def places(server: Server, count: int, seed: int) -> Iterator[tuple[int, int, int]]:
    """Random tiles: thread, level, index."""
    capture = server.good("overview")["captures"][0]
    chance = random.Random(seed)
    highest = max(1, (capture["duration"] // 512).bit_length() + 1)
    threads = [thread["thread"] for thread in capture["threads"] if thread["records"]]
    for _ in range(count):
        level = chance.randrange(highest + 1)
        index = chance.randrange(max(1, capture["duration"] >> level + 9) + 1)
        yield chance.choice(threads), level, index


def test_tiles_say_what_query_says(captures: list[Path]) -> None:
    """For 200 random places: each call, and each group of calls, with its count and its time."""
    compared = 0
    for number, path in enumerate(captures):
        calls: dict[int, list[Slice]] = collections.defaultdict(list)
        for call in slices_of(path):
            calls[call.thread].append(call)
        with served(path) as server:
            for thread, level, index in places(server, 40, number):
                tile = server.tile(thread=thread, level=level, index=index)
                expected = parts_expected(calls[thread], level, tile.start, tile.length)
                known = CALL | BEFORE | AFTER
                got = sorted(part._replace(flags=part.flags & known) for part in tile.parts)
                assert tile.unit == 1 and not tile.summaries
                assert got == expected, (path, thread, level, index)
                compared += len(got)
    assert compared > 5000


def overlap(call: Slice, part: Part) -> int:
    return max(0, min(call.end_ns, part.end) - max(call.start_ns, part.start))


def check_summary(part: Part, row: list[Slice]) -> None:
    """A column of a summary: its count is right, its time nearly, its name one of the longest."""
    # Calls of one depth do not overlap: their ends are in order like their starts.
    first = bisect.bisect_left(row, part.start, key=lambda call: call.end_ns)
    last = bisect.bisect_left(row, part.end, key=lambda call: call.start_ns)
    inside = row[first:last]
    begun = sum(part.start <= call.start_ns < part.end for call in inside)
    times: collections.Counter[int] = collections.Counter()
    for call in inside:
        times[call.function] += overlap(call, part)
    length = part.end - part.start
    # Borders are rounded to nanoseconds: a call that begins there may count on either side.
    beside = row[max(first - 1, 0) : last + 1]
    near = sum(abs(call.start_ns - edge) <= 1 for call in beside for edge in (part.start, part.end))
    assert abs(begun - part.count) <= near, (part, begun)
    assert abs(sum(times.values()) - part.busy) <= 0.02 * length + 2, (part, times)
    best = max(times.values(), default=0)
    assert times[part.name] >= 0.5 * best - 0.02 * length - 2, (part, times)


def test_tiles_from_summaries_say_about_what_query_says(captures: list[Path]) -> None:
    columns = 0
    for number, path in enumerate(captures):
        rows: dict[tuple[int, int], list[Slice]] = collections.defaultdict(list)
        for call in sorted(slices_of(path), key=lambda call: (call.start_ns, call.id)):
            rows[call.thread, call.depth].append(call)
        with served(path) as server:
            duration = server.good("overview")["captures"][0]["duration"]
            highest = max(1, (duration // 512).bit_length())
            chosen = {thread for thread, _, _ in places(server, 12, number)}
            # Also from far away: how wide summaries' columns are depends on the machine's speed.
            tiles = [(shift, i) for shift in range(-3, 4) for i in range(1 << max(shift, 0))]
            for thread, (shift, index) in itertools.product(sorted(chosen), tiles):
                tile = server.tile(thread=thread, level=highest - shift, index=index, events=0)
                for part in tile.parts:
                    if part.flags & SUMMARY:
                        check_summary(part, rows[thread, part.depth])
                        columns += 1
    assert columns > 100, "too little was compared"


def test_a_call_is_what_query_says(captures: list[Path]) -> None:
    path = captures[0]
    sql = "SELECT id, thread, depth, start_ns, dur_ns, self_ns, function, parent FROM slices"
    rows = [json.loads(line) for line in good("query", "--json", path, sql).splitlines()]
    by_id = {row["id"]: row for row in rows}
    chance = random.Random(5)
    with served(path) as server:
        for row in [*chance.sample(rows, 60), max(rows, key=lambda row: row["dur_ns"])]:
            call = server.good(
                "call", thread=row["thread"], start=row["start_ns"], depth=row["depth"]
            )
            if call["id"] != row["id"]:  # another one began at the same moment
                assert call["start"] == row["start_ns"]
                continue
            assert (call["duration"], call["self"], call["name"]) == (
                row["dur_ns"],
                row["self_ns"],
                row["function"],
            )
            callers, parent = [], by_id.get(row["parent"])
            while parent:
                callers.insert(0, [parent["function"], parent["start_ns"], parent["depth"]])
                parent = by_id.get(parent["parent"])
            assert call["callers"] == callers


def test_a_long_call_is_found_without_reading_it(captures: list[Path]) -> None:
    """Its end comes from checkpoints: also where it is asked for in the middle."""
    path = captures[2]
    sql = "SELECT * FROM slices WHERE name = 'g' ORDER BY start_ns"
    rows = [json.loads(line) for line in good("query", "--json", path, sql).splitlines()]
    with served(path) as server:
        for row in rows:
            middle = row["start_ns"] + row["dur_ns"] // 2
            call = server.good("call", thread=row["thread"], start=middle, depth=row["depth"])
            assert (call["id"], call["start"]) == (row["id"], row["start_ns"])
            assert call["duration"] == row["dur_ns"]
            assert abs(call["self"] - row["self_ns"]) <= 0.02 * row["dur_ns"]


def test_source_is_shown_while_it_is_unchanged(tmp_path: Path) -> None:
    path = capture_of(tmp_path / "a.kymo", "def here():\n    return 'a line'\nhere()\n")
    script = tmp_path / "a.py"
    sql = "SELECT thread, start_ns AS start, depth FROM slices WHERE name = 'here'"
    place = json.loads(good("query", "--json", path, sql))
    os.utime(script, (1, 1))
    with served(path) as server:
        assert "    return 'a line'" in server.good("call", **place)["source"]["lines"]
        os.utime(script)
        script.write_text("something else\n")
        os.utime(script, (time.time() + 100, time.time() + 100))
        assert "source" not in server.good("call", **place)


def test_figures_of_a_range_are_those_of_the_report(captures: list[Path]) -> None:
    path = captures[0]
    report = json.loads(good("report", "--json", "--from", "1ms", "--to", "9ms", path))
    with served(path) as server:
        stats = server.good("stats", **{"from": 1000000, "to": 9000000})
        names = server.good("overview")["captures"][0]["names"]
    # A name and a line are not enough: every module's `<module>` is at line 1.
    ours = {tuple(names[f["name"]][:3]): f["self"] for f in stats["functions"]}
    theirs = {
        (f["name"], f.get("file") or "", f.get("line") or 0): f["self_ns"]
        for f in report["functions"]
    }
    assert theirs
    for key, value in theirs.items():
        assert key not in ours or ours[key] == value
    assert len(theirs.keys() & ours.keys()) > 5
    roots = [node for node in stats["tree"] if node[1] < 0]
    assert sum(node[4] for node in roots) == stats["busy"]


def test_find_walks_through_all_calls_of_a_name(captures: list[Path]) -> None:
    path = captures[1]
    sql = "SELECT start_ns FROM slices WHERE name = 'other' ORDER BY start_ns"
    starts = [
        json.loads(line)["start_ns"] for line in good("query", "--json", path, sql).split("\n")[:-1]
    ]
    with served(path) as server:
        names = server.good("overview")["captures"][0]["names"]
        wanted = ",".join(str(i) for i, name in enumerate(names) if name[0] == "other")
        found, time_ns = [], -1
        while (answer := server.good("find", names=wanted, time=time_ns))["found"]:
            found.append(time_ns := answer["time"])
        assert answer["done"] and found == starts
        back = server.good("find", names=wanted, time=starts[5], back=1)
        assert back["time"] == starts[4]
        counts = dict(server.good("counts")["counts"])
        assert sum(counts.get(int(name), 0) for name in wanted.split(",")) == len(starts)


def bar_of(duration: int) -> tuple[int, int]:
    """The durations that are counted together with this one: four bars for every power of two."""
    if duration < 4:
        return duration, duration + 1
    step = 1 << duration.bit_length() - 3
    return duration // step * step, (duration // step + 1) * step


def check_durations(answer: dict[str, Any], calls: list[Slice]) -> None:
    """ANSWER counts exactly these calls."""
    lengths = sorted(call.end_ns - call.start_ns for call in calls)
    assert answer["complete"] and answer["open"] == 0
    assert answer["calls"] == len(calls)
    bars: dict[tuple[int, int], list[int]] = collections.defaultdict(list)
    for length in lengths:
        bars[bar_of(length)].append(length)
    assert {(bar["from"], bar["to"]): bar["calls"] for bar in answer["bars"]} == {
        bar: len(inside) for bar, inside in bars.items()
    }
    known = {(c.thread, c.start_ns, c.depth, c.end_ns - c.start_ns) for c in calls}
    for bar in answer["bars"]:
        longest = [tuple(call) for call in bar["longest"]]
        assert len(set(longest)) == len(longest) and known.issuperset(longest)
        inside = bars[bar["from"], bar["to"]]
        assert [call[3] for call in longest] == inside[::-1][:16]
    if lengths:
        assert answer["longest"] == lengths[-1]
        for field, fraction in (("median", 0.5), ("p99", 0.99)):
            exact = lengths[max(1, math.ceil(fraction * len(lengths))) - 1]
            assert answer[field] == pytest.approx(exact, rel=0.02, abs=1)


def test_durations_are_those_of_query(captures: list[Path]) -> None:
    """For every much called function: in all, in ranges, on some threads."""
    compared = 0
    for number, path in enumerate(captures):
        slices = slices_of(path)
        most = collections.Counter(call.function for call in slices).most_common(8)
        chance = random.Random(number)
        with served(path) as server:
            duration = server.good("overview")["captures"][0]["duration"]
            for name, _ in most:
                calls = [call for call in slices if call.function == name]
                check_durations(server.good("durations", name=name), calls)
                compared += len(calls)
                start, end = sorted(chance.sample(range(1, duration + 1), 2))
                inside = [call for call in calls if start <= call.start_ns < end]
                values = {"name": name, "from": start, "to": end}
                check_durations(server.good("durations", **values), inside)
                thread = chance.choice(calls).thread
                inside = [call for call in inside if call.thread == thread]
                check_durations(server.good("durations", threads=thread, **values), inside)
    assert compared > 100000


def test_durations_stop_early_and_say_so(captures: list[Path]) -> None:
    path = captures[2]  # LONG
    slices = slices_of(path)
    names = collections.Counter(call.function for call in slices)
    shortest = names.most_common(1)[0][0]
    longest = max((call for call in slices if call.depth > 0), key=lambda c: c.end_ns - c.start_ns)
    with served(path) as server:
        some = server.good("durations", name=shortest, events=50000)
        assert not some["complete"] and 0 < some["calls"] < names[shortest]
        assert some["events"] < 60000
        starts = sorted(call.start_ns for call in slices if call.function == shortest)
        before = bisect.bisect_left(starts, some["until"])
        until = bisect.bisect_right(starts, some["until"])
        assert before <= some["calls"] + some["open"] <= until
        # A call that goes on after the events that were read is there with its real duration.
        one = server.good("durations", name=longest.function, events=50000)
        assert not one["complete"] and one["open"] == 0
        assert one["longest"] == longest.end_ns - longest.start_ns or one["calls"] == 1
        first = min(c.start_ns for c in slices if c.function == longest.function)
        assert any(call[1] == first for bar in one["bars"] for call in bar["longest"])
        ends = {(c.thread, c.start_ns, c.depth, c.end_ns - c.start_ns) for c in slices}
        assert ends.issuperset(tuple(c) for bar in one["bars"] for c in bar["longest"])


def test_sql_is_that_of_query(captures: list[Path]) -> None:
    sql = "SELECT name, count(*) AS n FROM slices GROUP BY name ORDER BY n DESC, name LIMIT 5"
    with served(captures[0]) as server:
        answer = server.ask("query", sql=sql)
        assert answer.body.decode() == good("query", "--json", captures[0], sql)
        refused = server.ask("query", sql="DELETE FROM slices")
        assert refused.status == 400 and "may not be modified" in refused.json()["error"]


def test_marks_are_the_events_that_are_no_calls(tmp_path: Path) -> None:
    path = tmp_path / "marks.kymo"
    kymograph.start(path, calls=False)
    for i in range(20):
        kymograph.counter("level", i / 2)
    kymograph.instant("moment")
    kymograph.async_begin("request", 1 << 60)
    kymograph.async_end("request", 1 << 60)
    kymograph.stop()
    sql = "SELECT kind, thread, time_ns, name, value, id FROM events WHERE kind NOT IN ('arg')"
    rows = [json.loads(line) for line in good("query", "--json", path, sql).splitlines()]
    with served(path) as server:
        names = server.good("overview")["captures"][0]["names"]
        marks = server.good("marks")
    assert not marks["more"] and len(marks["marks"]) == 23
    for (kind, thread, name, moment, value), row in zip(marks["marks"], rows, strict=True):
        assert (kind, thread, names[name][0]) == (row["kind"], row["thread"], row["name"])
        assert moment == row["time_ns"]
        if kind == "counter":
            assert value == row["value"]
        elif kind.startswith("async"):
            assert value == str(1 << 60)


def test_a_piece_can_be_cut_out(captures: list[Path], tmp_path: Path) -> None:
    with served(captures[0]) as server:
        answer = server.ask("cut", **{"from": 1000000, "to": 3000000})
    assert answer.status == 200 and "attachment" in answer.headers["Content-Disposition"]
    cut = tmp_path / "cut.kymo"
    cut.write_bytes(answer.body)
    expected = tmp_path / "expected.kymo"
    good("cut", "--from", "1ms", "--to", "3ms", "-o", expected, captures[0])
    assert slices_of(cut) == slices_of(expected)
