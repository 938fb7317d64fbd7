"""Samples as every verb of the command and every format shows them, from golden captures."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from judges import Browser
from program import PROGRAM, without_written
from test_export_formats import export, pprof, pprof_top
from test_export_pages import browser, import_into_speedscope, table_of
from test_export_perfetto import Query, ask, engine

import kymograph

pytestmark = pytest.mark.native

__all__ = ["ask", "browser", "engine"]  # fixtures

GOLDEN = Path(__file__).parents[1] / "golden"

# What the golden captures hold, as shown by default: milliseconds in it itself, with what it
# called, and samples with it on the stack.
FIGURES = {
    "[libwork.so.1]": (11, 12, 10),
    "work": (3, 11, 9),
    "fib": (2, 2, 2),
    "(unknown)": (1, 1, 1),
    "<module>": (1, 14, 12),
    "[generated code]": (1, 1, 1),
    "[libc.so.6]": (0, 4, 4),
}
MS = 1_000_000


@pytest.fixture
def sampled(tmp_path: Path) -> Path:
    """A capture that has samples and nothing else."""
    return Path(shutil.copy(GOLDEN / "v1.2-sampled.kymo", tmp_path / "sampled.kymo"))


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """One that has the same samples, and calls."""
    return Path(shutil.copy(GOLDEN / "v1.2-sampled-calls.kymo", tmp_path / "both.kymo"))


def kymo_command(*arguments: object, fails: bool = False) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done


def said(*arguments: object) -> str:
    done = kymo_command(*arguments)
    assert without_written(done.stderr) == ""
    return done.stdout


# ---- report


def figures(report: dict[str, Any]) -> dict[str, tuple[int, int, int]]:
    return {
        f["name"]: (f["self_ns"] // MS, f["total_ns"] // MS, f["samples"])
        for f in report["samples"]["functions"]
    }


def test_a_report_has_samples_apart_from_calls(both: Path) -> None:
    report = json.loads(said("report", "--json", both))
    assert figures(report) == FIGURES
    samples = report["samples"]
    assert samples["count"] == samples["cpu"] == 17
    assert samples["wall"] == 0
    assert samples["periods"] == 19
    assert samples["period_ns"] == MS
    assert samples["time_ns"] == 19 * MS
    assert {t["index"]: t["time_ns"] // MS for t in samples["threads"]} == {0: 15, 1: 4}
    # What was traced is what it would be without them.
    assert report["calls"] == 1
    assert report["time_in_calls_ns"] == 12 * MS - 1000
    assert [f["name"] for f in report["functions"]] == ["work"]


def test_a_report_on_samples_alone_has_no_tables_of_calls(sampled: Path) -> None:
    text = said("report", sampled)
    assert "17 samples, one every 1.000 ms of CPU time: 19.000 ms in all" in text
    assert "Functions by own samples" in text
    assert "Functions by self time" not in text
    assert "calls  " not in text
    assert "CALLS" not in text
    assert "none" not in text
    brief = said("report", "--native", "brief", sampled)
    rows = [line.split() for line in brief.splitlines() if "libwork" in line]
    assert rows[0][:9] == ["11.000", "ms", "57.9", "12.000", "ms", "63.2", "10", *rows[0][7:9]]


def test_a_report_without_samples_does_not_mention_them(tmp_path: Path) -> None:
    capture = shutil.copy(GOLDEN / "v1.kymo", tmp_path)
    assert "samples" not in said("report", capture).split("\n", 1)[1]  # the first is its path
    assert json.loads(said("report", "--json", capture))["samples"] is None


def test_native_frames_can_be_chosen(sampled: Path) -> None:
    every = json.loads(said("report", "--json", "--native", "all", sampled))
    assert figures(every)["[python3.13]"] == (3, 14, 12)
    assert figures(every)["work"] == (0, 11, 9)
    none = json.loads(said("report", "--json", "--native", "none", sampled))
    assert figures(none) == {
        "work": (11, 11, 9),
        "(native)": (4, 4, 4),
        "fib": (2, 2, 2),
        "(unknown)": (1, 1, 1),
        "<module>": (1, 14, 12),
    }
    wrong = kymo_command("report", "--native", "some", sampled, fails=True)
    assert wrong.stderr.count("\n") == 1
    assert "--native some" in wrong.stderr


def test_the_tree_and_callers_are_of_samples_too(sampled: Path, both: Path) -> None:
    text = said("report", "--tree", sampled)
    assert "Sample tree" in text
    assert "Call tree" not in text
    mixed = said("report", "--tree", both)
    assert mixed.index("Call tree") < mixed.index("Sample tree")
    report = json.loads(said("report", "--json", "--tree", "--callers", "libwork", sampled))
    callers = {c["caller"]["name"]: c["total_ns"] // MS for c in report["samples"]["callers"]}
    assert callers == {"work": 8, "[libc.so.6]": 4}
    tree = report["samples"]["tree"]
    assert sum(node["self_ns"] for node in tree) == 19 * MS
    outermost = [node["name"] for node in tree if node["parent"] is None]
    assert outermost == ["<module>", "[libc.so.6]", "(unknown)"]


def test_a_part_and_a_thread_can_be_chosen(sampled: Path) -> None:
    report = json.loads(said("report", "--json", "-t", "worker", "--from", "2ms", sampled))
    assert figures(report) == {
        "[libwork.so.1]": (2, 3, 3),
        "[libc.so.6]": (0, 3, 3),
        "[generated code]": (1, 1, 1),
    }


# ---- formats


def collapsed(path: Path, *arguments: object) -> dict[tuple[str, ...], int]:
    lines = export(path, "out.collapsed", *arguments).read_text("utf-8").splitlines()
    return {
        tuple(line.rpartition(" ")[0].split(";")): int(line.rpartition(" ")[2]) for line in lines
    }


def test_collapsed_stacks_of_samples_are_paths_of_functions(sampled: Path, both: Path) -> None:
    stacks = collapsed(sampled)
    assert sum(stacks.values()) == 19 * MS
    assert (
        stacks[
            "main",
            "<module> (/srv/app/été.py:1)",
            "work (/srv/app/été.py:10)",
            "[libwork.so.1] (/opt/golden/lib/libwork.so.1)",
        ]
        == 8 * MS
    )
    assert collapsed(both, "--of", "samples") == stacks
    assert collapsed(both) == {("main", "work (/srv/app/été.py:10)"): 12 * MS - 1000}


def test_pprof_has_samples_with_mappings_and_lines(sampled: Path) -> None:
    path = export(sampled, "out.pb.gz")
    assert pprof_top(path, "cpu", "ns") == {
        name: (own * MS, total * MS) for name, (own, total, _) in FIGURES.items()
    }
    # A sample may stand for several periods, so that counts and times are not proportional.
    assert pprof_top(path, "samples", "")["[libwork.so.1]"] == (9, 10)
    raw = pprof(path, "-raw")
    assert "Period: 1000000" in raw
    assert "/opt/golden/lib/libwork.so.1 fedcba9876543210" in raw
    assert "0x7f0000001500 M=3 [libwork.so.1]" in raw
    assert "fib /srv/app/fib.py:5" in raw
    assert "fib /srv/app/fib.py:4" in raw


def test_speedscope_shows_samples_in_their_order(browser: Browser, both: Path) -> None:
    path = export(both, "out.speedscope.json", "--of", "samples")
    data = json.loads(path.read_text("utf-8"))
    main, worker = data["profiles"]
    assert [p["name"] for p in (main, worker)] == ["main (samples)", "worker (samples)"]
    assert sum(main["weights"]) == main["endValue"] == 15 * MS
    names = [f["name"] for f in data["shared"]["frames"]]
    assert [names[frame] for frame in main["samples"][-2]] == ["<module>", "fib", "fib", "fib"]
    shown = table_of(import_into_speedscope(browser, path, "[libwork.so.1]"))
    assert ("8.00ms", "[libwork.so.1]") in shown
    assert ("3.00ms", "work") in shown


def test_speedscope_has_calls_and_samples_side_by_side(both: Path) -> None:
    data = json.loads(export(both, "out.speedscope.json").read_text("utf-8"))
    assert [(p["type"], p["name"]) for p in data["profiles"]] == [
        ("evented", "main"),
        ("sampled", "main (samples)"),
        ("sampled", "worker (samples)"),
    ]


STACKS = """
with recursive up(sample, callsite, outer_by) as (
  select id, callsite_id, 0 from {table}
  union all
  select sample, c.parent_id, outer_by + 1 from up join stack_profile_callsite c on c.id = callsite
  where c.parent_id is not null
)
select sample, group_concat(name, ' < ') from (
  select sample, f.name from up join stack_profile_callsite c on c.id = callsite
  join stack_profile_frame f on f.id = c.frame_id order by sample, outer_by
) group by sample order by sample
"""
INNERMOST = "[libwork.so.1] < work < <module>"


def test_perfetto_reads_samples_with_stacks_and_mappings(ask: Query, both: Path) -> None:
    samples, stacks, mappings, slices = ask(
        both,
        "select ts, t.tid, t.name, cpu_mode from perf_sample join thread t using (utid) order by 1",
        STACKS.format(table="perf_sample"),
        "select distinct name, build_id, start from stack_profile_mapping where build_id != ''",
        "select count(*) from slice where name = 'work'",
    )
    assert len(samples) == 17
    assert samples[0] in (
        [1_001_000_000, 4321, "main", "user"],
        [1_001_000_000, 4322, "worker", "user"],
    )
    assert sum(row[1] == INNERMOST for row in stacks) == 6
    assert sum(row[1] == "fib < fib < fib < <module>" for row in stacks) == 2
    assert ["/opt/golden/lib/libwork.so.1", "fedcba9876543210", 0x7F0000001000] in mappings
    assert slices == [[1]]


def test_perfetto_reads_the_samples_of_chrome_traces(
    ask: Query, both: Path, tmp_path: Path
) -> None:
    trace = export(both, "out.json", "--to", "chrome")
    times, stacks, slices = ask(
        trace,
        "select ts from cpu_profile_stack_sample order by ts",
        STACKS.format(table="cpu_profile_stack_sample"),
        "select count(*) from slice where name glob 'work*'",
    )
    assert [row[0] - times[0][0] for row in times][-1] == 14 * MS
    assert sum(row[1] == INNERMOST for row in stacks) == 6
    assert len(stacks) == 17
    assert slices == [[1]]


def test_the_flame_graph_of_samples_says_so(browser: Browser, both: Path) -> None:
    page = export(both, "out.html", "--of", "samples")
    browser.open(f"file://{page}#view=functions&all=1")
    browser.wait(lambda: browser.ask("document.documentElement.dataset.ready") is not None)
    text = browser.ask("document.body.innerText")
    assert "17 samples" in text
    assert "Times are estimates" in text
    assert "Total per call" not in text
    heads = browser.ask(
        "[...document.querySelectorAll('#heads th')].map((th) => th.innerText).join()"
    )
    assert "Samples" in heads
    assert "Calls" not in heads
    first = browser.ask("document.querySelector('#rows tr').innerText")
    assert first.split()[0] == "11.0"
    assert "libwork" in first
    assert browser.messages == []


@pytest.mark.parametrize("name", ["pstats", "callgrind"])
def test_formats_of_calls_refuse_samples(sampled: Path, both: Path, name: str) -> None:
    for capture, options in ((sampled, ()), (both, ("--of", "samples"))):
        output = capture.with_name("refused")
        done = kymo_command("export", "--to", name, *options, "-o", output, capture, fails=True)
        assert done.stderr.count("\n") == 1
        assert f"{name} cannot hold samples" in done.stderr
        assert not output.exists()
    export(both, f"calls.{name}")


def test_samples_of_a_capture_without_any_are_refused(tmp_path: Path) -> None:
    capture = shutil.copy(GOLDEN / "v1.kymo", tmp_path)
    for name in ("collapsed", "speedscope", "pprof", "html"):
        output = tmp_path / "refused"
        done = kymo_command(
            "export", "--to", name, "--of", "samples", "-o", output, capture, fails=True
        )
        assert done.stderr.count("\n") == 1
        assert "has no samples" in done.stderr
        assert not output.exists()


# ---- other verbs


def test_dump_and_info_show_samples(both: Path) -> None:
    text = said("dump", both)
    assert "stack 11, 3 periods: libwork.so.1+0x1501 < python3.13+0x2051 < work:12" in text
    assert "stack 999, 1 period: (unknown) [cpu]" in text
    events = [json.loads(line) for line in said("dump", "--json", both).splitlines()]
    samples = [event for event in events if event["kind"] == "sample"]
    assert len(samples) == 17
    assert samples[0]["stack"] == 11
    assert [f.get("name") for f in samples[0]["frames"]][2] == "work"
    info = json.loads(said("info", "--json", both))
    assert (info["samples"], info["stacks"]) == (17, 6)
    assert "17 of the records, with 6 different stacks" in said("info", both)


def rows(capture: Path, query: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said("query", "--json", capture, query).splitlines()]


def test_samples_and_frames_can_be_queried(both: Path) -> None:
    (count,) = rows(both, "SELECT count(*) n, sum(weight_ns) ns, min(clock) clock FROM samples")
    assert count == {"n": 17, "ns": 19 * MS, "clock": "cpu"}
    (one,) = rows(both, "SELECT * FROM samples WHERE time_ns = 8000000 AND thread = 0")
    assert one == {
        "time_ns": 8 * MS,
        "thread": 0,
        "stack": 11,
        "periods": 3,
        "weight_ns": 3 * MS,
        "clock": "cpu",
        "name": "[libwork.so.1]",
    }
    frames = rows(both, "SELECT name, kind, line, address, shown FROM frames WHERE stack = 11")
    assert [f["name"] for f in frames if f["shown"]] == ["[libwork.so.1]", "work", "<module>"]
    assert frames[2] == {"name": "work", "kind": "python", "line": 12, "address": None, "shown": 1}
    assert frames[0]["address"] == 0x1501
    totals = rows(
        both,
        "WITH once AS (SELECT DISTINCT stack, name FROM frames WHERE shown) "
        "SELECT once.name, sum(weight_ns) / 1000000 AS ms FROM samples JOIN once USING (stack) "
        "GROUP BY 1",
    )
    expected = {name: total for name, (_, total, _) in FIGURES.items() if name != "(unknown)"}
    assert {row["name"]: row["ms"] for row in totals} == expected


def test_cut_and_merge_keep_samples(sampled: Path, both: Path, tmp_path: Path) -> None:
    part = tmp_path / "part.kymo"
    said("cut", sampled, "--from", "5ms", "--to", "12ms", "-o", part)
    whole = said("report", "--json", "--from", "5ms", "--to", "12ms", sampled)
    assert figures(json.loads(said("report", "--json", part))) == figures(json.loads(whole))
    merged = tmp_path / "merged.kymo"
    kymo_command("merge", sampled, both, part, "--align", "start", "-o", merged)
    report = json.loads(said("report", "--json", merged))
    assert report["samples"]["count"] == 17 + 17 + 6
    assert figures(report)["work"] == (3 + 3 + 3, 11 + 11 + 6, 9 + 9 + 4)
    assert report["samples"]["period_ns"] == MS


def test_diff_compares_samples(sampled: Path, both: Path, tmp_path: Path) -> None:
    part = tmp_path / "part.kymo"
    said("cut", sampled, "--from", "5ms", "--to", "12ms", "-o", part)
    diff = json.loads(said("diff", "--json", sampled, part))
    assert diff["of"] == "samples"
    assert (diff["before"]["samples"], diff["after"]["samples"]) == (17, 6)
    assert diff["change_ns"] == -11 * MS
    changes = {f["name"]: f["change_ns"] // MS for f in diff["functions"]}
    assert changes["[libwork.so.1]"] == -8
    assert changes["fib"] == -2
    text = said("diff", sampled, part)
    assert "19.000 ms → 8.000 ms of work" in text
    assert "CALLS" not in text
    assert "MEAN" not in text
    assert json.loads(said("diff", "--json", both, both))["of"] == "calls"
    same = json.loads(said("diff", "--json", "--of", "samples", sampled, both))
    assert same["change_ns"] == 0
    mixed = kymo_command("diff", sampled, both)
    assert "--of samples" in mixed.stderr


def test_the_page_of_a_comparison_is_about_samples(browser: Browser, sampled: Path) -> None:
    part, page = sampled.with_name("part.kymo"), sampled.with_name("diff.html")
    said("cut", sampled, "--from", "5ms", "--to", "12ms", "-o", part)
    said("diff", "--html", page, sampled, part)
    browser.open(f"file://{page}#view=functions")
    browser.wait(lambda: browser.ask("document.documentElement.dataset.ready") is not None)
    text = browser.ask("document.body.innerText")
    assert "17 → 6 samples" in text
    assert "time in samples" in text
    assert "calls" not in text.lower()
    assert browser.messages == []


# ---- Python


def test_samples_are_columns_and_stacks_are_frames(both: Path) -> None:
    with kymograph.open(both) as capture:
        assert (capture.info.samples, capture.info.stacks) == (17, 6)
        table = capture.samples()
        assert table.columns == ("time", "thread", "stack", "periods", "clock")
        assert len(table) == 17
        assert sum(table["periods"]) == 19
        assert set(table["clock"]) == {"cpu"}
        assert list(table["time"]) == sorted(table["time"])
        worker = capture.samples(thread=1)
        assert list(worker["stack"]) == [70000, 70000, 70000, 70001]
        middle = capture.samples(start=1_005_000_000, end=1_012_000_000)
        assert len(middle) == 7
        stacks = capture.stacks()
        assert set(stacks) == {11, 12, 13, 14, 70000, 70001}
        innermost, loop, work = stacks[11][:3]
        assert innermost == kymograph.Frame(
            (
                "[libwork.so.1]",
                "",
                None,
                "native",
                0,
                False,
                "/opt/golden/lib/libwork.so.1",
                "fedcba9876543210",
                0x1501,
            )
        )
        assert (loop.kind, loop.name) == ("native", "[python3.13]")
        assert (work.name, work.file, work.line, work.first_line) == (
            "work",
            "/srv/app/été.py",
            12,
            10,
        )
        assert capture.stacks(symbols=False).keys() == stacks.keys()
        samples = [event for event in capture.events() if event.kind == "sample"]
        assert {event.detail for event in samples} == {"cpu"}
        with pytest.raises(IndexError):
            len(capture.samples(thread=7))


def test_python_exports_samples(both: Path, tmp_path: Path) -> None:
    with kymograph.open(both) as capture:
        capture.export(tmp_path / "a.collapsed", of="samples", native="none")
        with pytest.raises(ValueError, match="hold only calls"):
            capture.export(tmp_path / "a.pstats", of="samples")
        with pytest.raises(ValueError, match="'either', 'calls', 'samples' or 'memory'"):
            capture.export(tmp_path / "a.collapsed", of="everything")  # type: ignore[arg-type]
    assert "worker;(native) 4000000" in (tmp_path / "a.collapsed").read_text("utf-8")
    assert not (tmp_path / "a.pstats").exists()
    with (
        kymograph.open(GOLDEN / "v1.kymo") as capture,
        pytest.raises(ValueError, match="no samples"),
    ):
        capture.export(tmp_path / "b.collapsed", of="samples")
