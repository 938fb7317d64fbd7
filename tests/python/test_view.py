"""`kymograph view` serves what `kymograph query` says, and nothing to anybody else."""

from __future__ import annotations

import base64
import bisect
import collections
import itertools
import json
import math
import os
import random
import re
import signal
import socket
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command import bad, good, start_recorder
from command import kymograph as kymograph_run
from viewed import AFTER, BEFORE, CALL, SUMMARY, Part, Server, capture_of, read_tile, served

import kymograph

pytestmark = pytest.mark.native

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"

CALLS = """
import difflib, json, threading
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def numbers(n):
    for i in range(n): yield i * i
def fail(): raise ValueError
def work():
    fib(13); sum(numbers(300)); json.dumps(list(range(200)))
    for i in range(50):
        try: fail()
        except ValueError: pass
    list(difflib.unified_diff([str(i % 7) for i in range(60)], [str(i % 5) for i in range(60)]))
threads = [threading.Thread(target=work, name=f"worker {i}") for i in range(2)]
for thread in threads: thread.start()
work()
for thread in threads: thread.join()
"""
SPANS = """
import kymograph, time
for i in range(400):
    with kymograph.span("outer"):
        with kymograph.span("inner" if i % 3 else "other"):
            pass
    if i % 50 == 0: time.sleep(0.002)
"""
LONG = "def f(): pass\ndef g():\n    for i in range(60000): f()\ng(); g()\n"


class Slice(NamedTuple):
    thread: int
    depth: int
    start_ns: int
    end_ns: int
    id: int
    function: int


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("view")
    made = [capture_of(folder / f"{i}.kymo", code) for i, code in enumerate((CALLS, SPANS, LONG))]
    return [*made, GOLDEN / "v1.4-summaries.kymo", GOLDEN / "v1.1-merged.kymo"]


def slices_of(path: Path) -> list[Slice]:
    sql = f"SELECT {', '.join(Slice._fields)} FROM slices"
    return [Slice(**json.loads(line)) for line in good("query", "--json", path, sql).splitlines()]


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
    inside = row[first : bisect.bisect_left(row, part.end, key=lambda call: call.start_ns)]
    begun = sum(part.start <= call.start_ns < part.end for call in inside)
    times: collections.Counter[int] = collections.Counter()
    for call in inside:
        times[call.function] += overlap(call, part)
    length = part.end - part.start
    # Borders are rounded to nanoseconds: a call that begins there may count on either side.
    near = sum(abs(call.start_ns - edge) <= 1 for call in inside for edge in (part.start, part.end))
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
            tiles = [(shift, index) for shift in range(4) for index in range(1 << shift)]
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


# ----------------------------------------------------------------- who is answered


@pytest.fixture(scope="module")
def server(captures: list[Path]) -> Iterator[Server]:
    with served(captures[1]) as server:
        yield server


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "localhost.evil.example:{port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_other_hosts_and_origins_are_refused(server: Server, headers: dict[str, str]) -> None:
    sent = {key: value.format(port=server.port) for key, value in headers.items()}
    for name in ("", "overview", "tile?thread=0&level=20&index=0", "query?sql=SELECT+1", "news"):
        answer = server.send(server.root + name, sent)
        assert answer.status == 403 and b"refused" in answer.body


def test_the_page_itself_is_answered(server: Server) -> None:
    for host in ("127.0.0.1", "localhost"):
        here = f"{host}:{server.port}"
        answer = server.send(server.root, {"Host": here, "Origin": f"http://{here}"})
        assert answer.status == 200 and answer.body.startswith(b"<!doctype html>")


def test_a_wrong_token_is_refused(server: Server) -> None:
    token = server.root.strip("/")
    wrong = ("0" if token[-1] != "0" else "1").join((token[:-1], ""))
    for path in (
        "/",
        "/overview",
        f"/{wrong}/",
        f"/{wrong}/overview",
        f"/{token}",
        f"/{token[:-1]}/",
    ):
        assert server.send(path).status == 403, path


@pytest.mark.parametrize(
    "name",
    [
        "../etc/passwd",
        "%2e%2e/etc/passwd",
        "/etc/passwd",
        "overview/..",
        "tile%00",
        "a.kymo",
        "OVERVIEW",
    ],
)
def test_no_path_leads_to_a_file(server: Server, name: str) -> None:
    answer = server.send(server.root + name)
    assert answer.status in (400, 403, 404) and b"root:" not in answer.body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_only_get_is_served(server: Server, method: str) -> None:
    assert server.send(server.root + "overview", method=method).status in (400, 405)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("tile", {}),
        ("tile", {"thread": 0, "level": 99, "index": 0}),
        ("tile", {"thread": -1, "level": 1, "index": 0}),
        ("tile", {"thread": 0, "level": 47, "index": 1 << 40}),
        ("tile", {"thread": 10**6, "level": 1, "index": 0}),
        ("tile", {"thread": "0;", "level": 1, "index": 0}),
        ("call", {"thread": 0, "start": "x", "depth": 0}),
        ("call", {"thread": 0, "start": 1 << 60, "depth": 0}),
        ("stats", {"from": 5, "to": 5}),
        ("stats", {"threads": "0,x"}),
        ("stats", {"capture": 1}),
        ("durations", {}),
        ("durations", {"name": 10**9}),
        ("durations", {"name": 0, "threads": "x"}),
        ("durations", {"name": 0, "events": 0}),
        ("durations", {"name": 0, "from": 2, "to": 2}),
        ("durations", {"name": 0, "capture": 1}),
        ("find", {"names": 10**9}),
        ("query", {}),
        ("cut", {"from": 3, "to": 1}),
    ],
    ids=str,
)
def test_bad_requests_are_refused_in_words(
    server: Server, name: str, values: dict[str, Any]
) -> None:
    answer = server.ask(name, **values)
    assert answer.status in (400, 404) and answer.json()["error"]


def test_garbage_does_not_end_it(server: Server) -> None:
    chance = random.Random(1)
    words = [
        b"GET",
        b"/",
        server.root.encode(),
        b"tile?",
        b"thread=",
        b"%",
        b"\r\n",
        b"Host:",
        b"\0",
        b"\xff",
        b"A" * 9000,
    ]
    for _ in range(200):
        with socket.create_connection(("127.0.0.1", server.port)) as plain:
            plain.sendall(b" ".join(chance.choices(words, k=chance.randrange(1, 12))))
    assert server.good("overview")["captures"]


def test_everything_has_a_strict_policy(server: Server) -> None:
    for name in ("", "overview", "tile?thread=0&level=20&index=0", "nothing"):
        headers = server.send(server.root + name).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy and "*" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert not any(key.lower().startswith("access-control") for key in headers)


def test_only_loopback_listens(server: Server) -> None:
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    port = f"{server.port:04X}"
    bound = {line.split()[1] for line in lines if line.split()[1].endswith(f":{port}")}
    listening = [line for line in lines if line.split()[3] == "0A" and line.split()[1] in bound]
    assert [line.split()[1] for line in listening] == [f"0100007F:{port}"]


# ------------------------------------------------------------------------ its life


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(captures: list[Path], number: int) -> None:
    with served(captures[1]) as server:
        server.process.send_signal(number)
        assert server.process.wait(400) == 0


def test_it_ends_when_the_page_has_gone(captures: list[Path]) -> None:
    with served("--linger", "0.2s", captures[1]) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as page:
            request = f"GET {server.root}news HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
            page.sendall(request.encode())
            assert page.recv(100).startswith(b"HTTP/1.1 200")
            assert server.process.poll() is None
        assert server.process.wait(400) == 0


def test_a_running_capture_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "live.kymo"
    code = """
for line in sys.stdin:
    for i in range(20000):
        with kymograph.span("again"): pass
    kymograph.flush() if hasattr(kymograph, "flush") else None
    print(flush=True)
"""
    recorder = start_recorder(path, code)
    assert recorder.stdin and recorder.stdout
    try:
        recorder.stdin.write(b"go\n")
        recorder.stdin.flush()
        recorder.stdout.readline()
        with served(path) as server:
            before = server.good("overview")["captures"][0]
            assert before["ending"] == "running"
            recorder.stdin.write(b"go\n")
            recorder.stdin.flush()
            recorder.stdout.readline()
            recorder.stdin.close()
            assert recorder.wait(400) == 0
            while (after := server.good("overview")["captures"][0])["ending"] == "running":
                time.sleep(0.05)
            assert after["records"] > before["records"]
            assert after["generation"] > before["generation"]
            assert after["duration"] > before["duration"]
    finally:
        recorder.kill()
        recorder.wait()
        recorder.stdout.close()


def test_two_captures_are_served_together(captures: list[Path]) -> None:
    with served(captures[0], captures[1]) as server:
        names = [capture["file"] for capture in server.good("overview")["captures"]]
        assert names == [captures[0].name, captures[1].name]
        assert server.tile(capture=1, thread=0, level=20, index=0).parts


def test_what_cannot_be_served_is_refused(tmp_path: Path, captures: list[Path]) -> None:
    assert "no such file" in bad("view", tmp_path / "none.kymo")
    assert "--port takes a number" in bad("view", "--port", "many", captures[0])
    assert "--linger takes a duration" in bad("view", "--linger", "long", captures[0])
    with served(captures[1]) as server:
        assert "is in use" in bad("view", "--no-browser", "--port", server.port, captures[0])


def test_hostile_names_arrive_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "evil.kymo"
    kymograph.start(path, calls=False)
    evil = "</script><img src=x onerror=alert(1)>\u202e\x1b[31m"
    with kymograph.span(evil):
        pass
    kymograph.stop()
    with served(path) as server:
        names = [name[0] for name in server.good("overview")["captures"][0]["names"]]
        assert evil in names


def test_damaged_captures_are_served(tmp_path: Path, captures: list[Path]) -> None:
    """Any byte may be wrong: the server answers, and goes on."""
    data = captures[0].read_bytes()
    chance = random.Random(3)
    for number in range(6):
        wrong = bytearray(data)
        for _ in range(20):
            wrong[chance.randrange(200, len(wrong))] ^= 1 << chance.randrange(8)
        path = tmp_path / f"{number}.kymo"
        path.write_bytes(wrong)
        with served(path) as server:
            capture = server.good("overview")["captures"][0]
            highest = (capture["duration"] // 512).bit_length()
            for thread in capture["threads"]:
                for level in (highest, max(0, highest - 4)):
                    values = {"thread": thread["thread"], "level": min(47, level), "index": 0}
                    assert server.ask("tile", **values).status in (200, 500)
                    assert server.ask("tile", **values, events=0).status in (200, 500)
            server.good("stats")
            server.ask("call", thread=0, start=1000, depth=0)
            for name in range(min(8, len(capture["names"]))):
                for events in (5000, 10**9):
                    asked = server.ask("durations", name=name, events=events)
                    assert asked.status in (200, 500)
            assert server.process.poll() is None


# --------------------------------------------------------------- a page to be sent


def data_of(page: Path) -> dict[str, Any]:
    """What is in a saved page; `stream` inflated."""
    found = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S
    )
    data = json.loads(found[0])
    data["stream"] = zlib.decompress(base64.b64decode(data["stream"]), wbits=-15)
    return data


def test_a_saved_page_has_every_call(captures: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    kymograph_view("--save", page, captures[0])
    data = data_of(page)
    assert data["shortest"] == 0
    numbers, at = set(), 0
    for _, thread, _, _, length, full in data["tiles"]:
        if full:
            for part in read_tile(data["stream"][at : at + length]).parts:
                if part.count:
                    assert part.flags & CALL or part.start == part.end
                    numbers.add((thread, part.number))
        at += length
    assert at == len(data["stream"])
    mask = (1 << 40) - 1
    calls = [call for call in slices_of(captures[0]) if call.end_ns > call.start_ns]
    assert {(call.thread, call.id & mask) for call in calls} <= numbers
    assert data["stats"][0]["calls"] and data["stats"][0]["counts"]


def kymograph_view(*arguments: object) -> str:
    done = kymograph_run("view", *arguments)
    assert done.returncode == 0, done
    return done.stderr


def test_a_page_keeps_to_its_size_and_says_what_it_left_out(tmp_path: Path) -> None:
    code = "def f(): pass\nfor i in range(500000): f()\n"
    path, page = capture_of(tmp_path / "many.kymo", code), tmp_path / "page.html"
    said = kymograph_view("--save", page, "--size", "1", path)
    assert page.stat().st_size <= 1 << 20
    assert "only together; --size makes it larger" in said
    assert data_of(page)["shortest"] > 0
    kymograph_view("--save", page, "--size", "1", "--from", "10ms", "--to", "11ms", path)
    data = data_of(page)
    assert page.stat().st_size <= 1 << 20 and data["shortest"] == 0
    assert data["stats"][0]["to"] - data["stats"][0]["from"] == 1000000


def test_markup_in_a_saved_page_is_escaped(tmp_path: Path) -> None:
    path, page = tmp_path / "evil.kymo", tmp_path / "page.html"
    kymograph.start(path, calls=False)
    with kymograph.span("</script><script>alert(1)</script><!--"):
        kymograph.counter("<!--<script>", 1)
    kymograph.stop()
    kymograph_view("--save", page, path)
    assert page.read_text().count("</script>") == 2
    names = data_of(page)["overview"]["captures"][0]["names"]
    assert any("</script><script>alert(1)" in name[0] for name in names)


def test_what_cannot_be_saved_is_refused(tmp_path: Path, captures: list[Path]) -> None:
    other = tmp_path / "notes.html"
    other.write_text("mine")
    assert "notes.html" in bad("view", "--save", other, captures[1])
    assert other.read_text() == "mine"
    assert "would overwrite the capture" in bad("view", "--save", captures[1], captures[1])
    assert "--size takes a number" in bad("view", "--save", other, "--size", "big", captures[1])
    assert "only with --save" in bad("view", "--from", "1ms", captures[1])
    assert "no such file" in bad("view", "--save", other, tmp_path / "none.kymo").lower()
