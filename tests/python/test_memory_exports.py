"""Exports of memory, judged by what reads them; the captures are those of heap_history.c."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import snapshots
from judges import Browser
from program import good, refused, run

import kymograph

pytestmark = pytest.mark.native

MAPPED = 1 << 20


def make(path: Path, *arguments: object) -> Path:
    built = Path(__file__).parents[2].glob("build/*/tests/programs/heap_history")
    program = max(built, key=lambda one: one.stat().st_mtime, default=None)
    if not program:
        pytest.skip("heap_history is not built")
    subprocess.run([program, path, *map(str, arguments)], check=True, timeout=400)
    return path


def export(path: Path, name: str, *arguments: object) -> Path:
    output = path.with_name(name)
    good("export", "--force", "-o", output, *arguments, path)
    return output


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("few") / "few.kymo", "few")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("many") / "many.kymo", "many", 5000)


# ---- snapshots


def test_a_snapshot_has_every_allocation_with_its_stack(few: Path) -> None:
    snapshot = snapshots.check(export(few, "few.pickle"))
    (trace,) = snapshot["device_traces"]
    assert [(entry["action"], entry["addr"], entry["size"]) for entry in trace] == [
        ("segment_alloc", 0x10000, 0x11000),
        ("alloc", 0x10000, 100),
        ("alloc", 0x20000, 200),
        ("free_requested", 0x10000, 100),
        ("free_completed", 0x10000, 100),
        ("segment_alloc", 0x7F0000000000, MAPPED),
        ("alloc", 0x7F0000000000, MAPPED),
        ("free_requested", 0x7F0000000000, MAPPED),
        ("free_completed", 0x7F0000000000, MAPPED),
        ("segment_free", 0x7F0000000000, MAPPED),
        ("snapshot", 0, 0),
    ]
    assert trace[2]["frames"] == [
        {"name": "größe", "filename": "lib/parse.py", "line": 22},
        {"name": "main", "filename": "app.py", "line": 5},
    ]
    assert (trace[2]["category"], trace[2]["user_metadata"]) == ("objects", "PyObject_Malloc")
    assert 1900 <= trace[2]["time_us"] - trace[1]["time_us"] <= 2100
    (segment,) = snapshot["segments"]
    assert segment["allocated_size"] == 200
    assert not snapshot["allocator_settings"]["trace_alloc_overflowed"]
    assert snapshot["allocator_settings"]["freed_before_start"] == 1


def test_a_snapshot_of_a_long_history_is_consistent(many: Path) -> None:
    snapshot = snapshots.check(export(many, "many.pickle"))
    settings = snapshot["allocator_settings"]
    assert settings["folded_allocations"] == settings["overlapping"] == 0
    course = snapshots.replay_backwards(snapshot, 0)
    # The mapping that the tracked blocks lie in is their segment, not memory beside them.
    assert max(course) == peak_of(many) - 4096 * 4096


def peak_of(path: Path) -> int:
    return int(json.loads(export(path, "peak.timeline.json").read_text())["peak"]["bytes"])


def test_a_snapshot_keeps_what_matters_when_there_is_too_much(many: Path) -> None:
    everything = snapshots.check(export(many, "all.pickle"))
    snapshot = snapshots.check(export(many, "part.pickle", "--entries", 800), most=800)
    settings = snapshot["allocator_settings"]
    assert settings["trace_alloc_overflowed"] and settings["trace_alloc_max_entries"] == 800
    (all_entries,), (entries,) = everything["device_traces"], snapshot["device_traces"]
    assert len(entries) > 600
    kept = sum(entry["action"] == "alloc" for entry in entries)
    born = sum(entry["action"] == "alloc" for entry in all_entries)
    assert settings["folded_allocations"] + kept == born
    assert str(settings["folded_allocations"]) in entries[-1]["user_metadata"]
    whole, part = (max(snapshots.replay_backwards(s, 0)) for s in (everything, snapshot))
    assert part > 0.8 * whole


def test_a_snapshot_of_a_part_begins_with_what_was_alive(many: Path) -> None:
    whole = snapshots.check(export(many, "whole.pickle"))
    part = snapshots.check(export(many, "window.pickle", "--from", "200us", "--until", "300us"))
    course = snapshots.replay_backwards(whole, 0)
    start = whole["device_traces"][0][0]["time_us"]
    (entries,) = part["device_traces"]
    assert entries[0]["time_us"] - start >= 180
    assert entries[-2]["time_us"] - start <= 320
    assert 0 < snapshots.replay_backwards(part, 0)[0] <= max(course)


def test_a_snapshot_of_a_live_set_has_a_block_for_each_stack(tmp_path: Path) -> None:
    capture = make(tmp_path / "live.kymo", "live")
    snapshot = snapshots.check(export(capture, "live.pickle"))
    blocks = [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] != "inactive"]
    assert sorted(block["size"] for block in blocks) == [700, 5000]
    assert [entry["action"] for entry in snapshot["device_traces"][0]] == ["snapshot"]


def test_captures_without_memory_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "calls.kymo"
    kymograph.start(path)
    kymograph.stop()
    for arguments in (["--to", "snapshot"], ["--to", "timeline"], ["--memory", "--to", "html"]):
        assert "has no memory events" in refused("export", *arguments, path)


def test_options_that_do_not_fit_are_refused(few: Path) -> None:
    assert "--at works only with --memory" in refused("export", "--to", "html", "--at", "end", few)
    assert "--from works only" in refused("export", "-m", "--from", "1s", "--to", "html", few)
    assert "cannot hold memory" in refused("export", "-m", "--to", "pstats", few)
    assert "--at soon is not" in refused("export", "-m", "--at", "soon", "--to", "html", few)
    for format_ in ("snapshot", "timeline", "chrome", "perfetto"):  # the course of memory
        said = refused("export", "-m", "--at", "end", "--to", format_, few)
        assert "--at works only with --to html, collapsed or pprof" in said


# ---- who held it


@pytest.mark.parametrize(
    ("at", "lines"),
    [
        (["--at", "2700us"], {"load (app.py:10)": 100, "größe (lib/parse.py:20)": 200}),
        (["--at", "end"], {"größe (lib/parse.py:20)": 200}),
        ([], {"load (app.py:10)": MAPPED, "größe (lib/parse.py:20)": 200}),
        (["--at", "peak"], {"load (app.py:10)": MAPPED, "größe (lib/parse.py:20)": 200}),
    ],
)
def test_collapsed_stacks_are_bytes(few: Path, at: list[str], lines: dict[str, int]) -> None:
    text = export(few, "few.collapsed", "--memory", *at).read_text()
    found = dict(re.findall(r"^memory at .*;main \(app\.py:1\);(.*) (\d+)$", text, flags=re.M))
    assert {name: int(size) for name, size in found.items()} == lines
    assert len(text.splitlines()) == len(lines)


def test_python_exports_the_same(few: Path) -> None:
    for at in ("peak", "end"):
        output = few.with_name("python.collapsed")
        with kymograph.open(few) as capture:
            capture.export(output, of="memory", at=at)
        assert output.read_text() == export(few, "few.collapsed", "-m", "--at", at).read_text()
    with kymograph.open(few) as capture:
        with pytest.raises(ValueError, match="at must be 'peak' or 'end', not 'soon'"):
            capture.export(output, of="memory", at="soon")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'calls', 'samples' or 'memory'"):
            capture.export(output, of="time")  # type: ignore[arg-type]


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data: bytes) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value: Any
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        found.append((tag >> 3, value))
    return found


def packed(data: bytes) -> list[int]:
    numbers, at = [], 0
    while at < len(data):
        number, at = varint(data, at)
        numbers.append(number)
    return numbers


def test_pprof_has_what_was_allocated_and_what_was_in_use(few: Path) -> None:
    profile = fields(gzip.decompress(export(few, "few.pb.gz", "--memory").read_bytes()))
    texts = [value.decode() for field, value in profile if field == 6]
    types = [dict(fields(value)) for field, value in profile if field == 1]
    assert [(texts[one[1]], texts[one[2]]) for one in types] == [
        ("alloc_objects", "count"),
        ("alloc_space", "bytes"),
        ("inuse_objects", "count"),
        ("inuse_space", "bytes"),
    ]
    assert [texts[value] for field, value in profile if field == 14] == ["inuse_space"]
    samples = [fields(value) for field, value in profile if field == 2]
    values = sorted(packed(dict(sample)[2]) for sample in samples)
    assert values == [[1, 100, 0, 0], [1, 200, 1, 200], [1, MAPPED, 1, MAPPED]]
    labels = {
        texts[dict(fields(value))[2]] for sample in samples for field, value in sample if field == 3
    }
    assert labels == {"malloc", "native", "PyObject_Malloc", "objects", "mmap", "mappings"}


def test_a_flame_graph_is_of_bytes_and_has_a_timeline(few: Path) -> None:
    page = export(few, "few.html", "--memory").read_text()
    assert page.count('<template id="timeline">') == 1
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    data = json.loads(found[1])
    assert data["unit"] == "bytes" and data["threads"][0]["busy"] == MAPPED + 200
    assert data["threads"][0]["name"] == "memory at the peak"
    series = dict(data["memory"]["series"])
    assert {name: max(values) for name, values in series.items()} == {
        "objects": 200,
        "native": 100,
        "mappings": MAPPED,
    }
    assert max(data["memory"]["resident"]) == 8192
    assert 3_400_000 <= data["memory"]["at"] <= 3_600_000


def test_a_browser_draws_the_page_of_memory(few: Path) -> None:
    page = export(few, "few.html", "--memory")
    browser = Browser()
    try:
        browser.open(page.as_uri())
        browser.wait(lambda: browser.ask("document.documentElement.dataset.ready"))
        assert browser.messages == []
        assert browser.ask("document.querySelectorAll('#memory polygon').length") == 3
        # At the mark, half of the height is filled, by the mapping.
        filled = """(() => {
            const mark = document.querySelector('#memory line');
            const point = new DOMPoint(Number(mark.getAttribute('x1')), 45);
            const areas = [...document.querySelectorAll('#memory polygon')];
            return areas.filter(area => area.isPointInFill(point)).map(area => area.textContent);
        })()"""
        assert browser.ask(filled) == ["mappings"]
        width = browser.ask("document.querySelector('#memory svg').getBoundingClientRect().width")
        assert width > 100
        caption = browser.ask("document.querySelector('#memory').innerText")
        assert "at most 1.00 MiB" in caption and "resident (line)" in caption
        said = browser.ask("document.getElementById('summary').innerText")
        assert "2 blocks" in said and "1.00 MiB: memory at the peak" in said
    finally:
        browser.close()


# ---- over time


def test_the_timeline_has_the_peak_and_the_end(few: Path) -> None:
    timeline = json.loads(export(few, "few.timeline.json").read_text())
    live = [sum(column) for column in zip(*timeline["bytes"].values(), strict=True)]
    assert len(timeline["time_ns"]) == len(live) == len(timeline["resident"])
    assert timeline["time_ns"] == sorted(timeline["time_ns"])
    assert max(live) == MAPPED + 200 == timeline["peak"]["bytes"]
    assert live[-1] == 200 and timeline["bytes"]["objects"][-1] == 200
    assert max(filter(None, timeline["resident"])) == 8192 == timeline["resident_most"]


def test_chrome_traces_have_counters_instead_of_every_event(many: Path) -> None:
    events = json.loads(export(many, "many.json").read_text())["traceEvents"]
    assert not [event for event in events if event["name"].startswith("memory.")]
    live = [event for event in events if event["name"] == "live memory (bytes)"]
    assert 100 < len(live) <= 4097
    assert max(sum(event["args"].values()) for event in live) == peak_of(many)
    assert [event for event in events if event["name"] == "resident memory (bytes)"]


def test_counters_are_on_the_clock_of_calls(few: Path) -> None:
    events = json.loads(export(few, "few.json").read_text())["traceEvents"]
    assert [event["name"] for event in events if event["ph"] == "i"] == ["memory.snapshot"]
    (asked,) = (event["ts"] for event in events if event["ph"] == "i")  # at 6 ms
    peak = max(
        (event for event in events if event["name"] == "live memory (bytes)"),
        key=lambda event: sum(event["args"].values()),
    )
    assert 1900 <= asked - peak["ts"] <= 2100  # at 4 ms


def test_perfetto_has_the_same_counters(few: Path) -> None:
    pftrace = export(few, "few.pftrace").read_bytes()
    packets = [fields(value) for field, value in fields(pftrace) if field == 1]
    counters: dict[int, str] = {}
    values: dict[int, list[int]] = {}
    for packet in packets:
        for field, value in packet:
            if field == 60:
                track = dict(fields(value))
                if 8 in track:
                    assert dict(fields(track[8])) == {3: 3}  # bytes
                    counters[track[1]] = track[2].decode()
            elif field == 11:
                event = dict(fields(value))
                if 30 in event:
                    values.setdefault(event[11], []).append(event[30])
    assert set(counters.values()) == {
        "memory: objects (requested)",
        "memory: native (requested)",
        "memory: mappings (mapped)",
        "memory: resident",
    }
    assert {counters[track]: max(found) for track, found in values.items()} == {
        "memory: objects (requested)": 200,
        "memory: native (requested)": 100,
        "memory: mappings (mapped)": MAPPED,
        "memory: resident": 8192,
    }


def test_of_memory_is_the_same_as_memory(tmp_path: Path) -> None:
    capture = make(tmp_path / "few.kymo", "few")
    for format_ in ("collapsed", "html"):
        wanted = good("export", "--memory", "--to", format_, "-o", "-", capture)
        assert good("export", "--of", "memory", "--to", format_, "-o", "-", capture) == wanted
    wanted = good("diff", "--memory", capture, capture)
    assert good("diff", "--of", "memory", capture, capture) == wanted
    for verb in (["export", "--to", "html", "-o", tmp_path / "x.html"], ["diff", capture]):
        done = run(*verb, "--memory", "--of", "samples", capture)
        assert done.returncode == 2 and "--of samples works only without" in done.stderr


@pytest.mark.parametrize("format_", ["speedscope", "pstats", "callgrind"])
def test_formats_that_cannot_hold_memory_refuse_it(tmp_path: Path, format_: str) -> None:
    capture = tmp_path / "only.kymo"
    good("run", "-q", "--memory", "--calls", "off", "-o", capture, "-c", "kept = [1] * 1000")
    for of in ([], ["--memory"], ["--of", "memory"]):
        done = run("export", *of, "--to", format_, "-o", tmp_path / "out", capture)
        assert done.returncode == 2 and f"{format_} cannot hold memory" in done.stderr
        assert not (tmp_path / "out").exists()
    with kymograph.open(capture) as opened, pytest.raises(ValueError, match="memory"):
        opened.export(tmp_path / "out", format_)
