"""`kymograph report --memory`, `diff --memory` and `info` on captures of a made-up web application:
tests/programs/heap_story.c, which keeps a session for each of a hundred requests."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command import NESTED, bad, good, info_of, kymograph, start_recorder

import kymograph as library

pytestmark = pytest.mark.native

KIB, MIB = 1024, 1024 * 1024
STORIES = ["exact", "fixed", "sampled", "live", "disorder", "missed", "killed"]


def program() -> Path:
    built = Path(__file__).parents[2].glob("build/*/tests/programs/heap_story")
    found = max(built, key=lambda path: path.stat().st_mtime, default=None)
    if not found:
        pytest.skip("heap_story is not built")
    return found


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("heap")
    paths = {story: folder / f"{story}.kymo" for story in STORIES}
    for story, path in paths.items():
        done = subprocess.run([program(), path, story], check=False, timeout=400)
        assert done.returncode == (-signal.SIGKILL if story == "killed" else 0)
    return paths


def of(path: Path, *options: str) -> dict[str, Any]:
    return json.loads(good("report", "--memory", "--json", *options, path))


def lines_of(report: dict[str, Any], figure: str) -> dict[tuple[str, int], int]:
    return {
        (line["name"], line["line"]): line[figure]["bytes"]
        for line in report["lines"]
        if figure in line
    }


def test_the_peak_is_held_by_the_lines_that_allocated(stories: dict[str, Path]):
    report = of(stories["exact"])
    assert report["mode"] == "exact"
    assert lines_of(report, "at_peak") == {
        ("worker", 71): 3 * MIB,
        ("setup", 52): 2 * MIB,
        ("handle", 14): 1 * MIB,
        ("<module>", 60): 600 * KIB,
        ("Session.__init__", 23): 600 * KIB,
        ("Cache.add", 33): 512 * KIB,
    }
    assert report["at_peak"]["bytes"] == sum(lines_of(report, "at_peak").values())
    assert report["peak_by_category"] == {
        "objects": 1200 * KIB,
        "python": 512 * KIB,
        "tracked": 0,
        "native": 4 * MIB,
        "mappings": 2 * MIB,
        "arenas": 1 * MIB,
    }
    assert report["unknown_frees"] == 1
    assert report["disorder"] == report["lost"] == 0


def test_no_rows_are_no_tables(stories: dict[str, Path]) -> None:
    text = good("report", "--memory", "--limit", "0", stories["exact"])
    assert "… and " in text and "  none" not in text
    assert "LIBRARY" not in text and "LINE" not in text


def test_unfold_counts_memory_for_the_innermost_line(stories: dict[str, Path]):
    assert lines_of(of(stories["exact"], "--unfold"), "at_peak")["loads", 9] == MIB


def test_what_is_alive_at_the_end_is_listed(stories: dict[str, Path]):
    report = of(stories["exact"])
    assert lines_of(report, "at_end")["Session.__init__", 23] == 1000 * KIB
    assert ("handle", 14) not in lines_of(report, "at_end")
    session = next(s for s in report["stacks_at_end"] if s["blocks"] == 100)
    assert [frame["name"] for frame in session["frames"]] == ["Session.__init__", "serve"]
    assert session["function"] == "PyObject_Malloc"


def test_older_than_leaves_out_young_blocks(stories: dict[str, Path]):
    old = lines_of(of(stories["exact"], "--older-than", "500ms"), "old")
    assert old["setup", 52] == 2 * MIB
    assert 490 * KIB <= old["Session.__init__", 23] <= 520 * KIB
    assert ("Cache.add", 33) not in old


def test_temporary_blocks_are_churn(stories: dict[str, Path]):
    report = of(stories["exact"])
    assert lines_of(report, "temporary") == {("handle", 14): 100 * MIB, ("worker", 71): 3 * MIB}
    assert lines_of(report, "allocated")["handle", 14] == 100 * MIB


def test_at_shows_the_live_set_at_that_time(stories: dict[str, Path]):
    at = lines_of(of(stories["exact"], "--at", "300ms"), "at_time")
    assert ("worker", 71) not in at
    assert 28 <= at["Session.__init__", 23] / (10 * KIB) <= 32


def test_the_timeline_has_the_peak(stories: dict[str, Path]):
    report = of(stories["exact"])
    totals = [
        sum(size for name, size in point["bytes"].items() if name != "arenas")
        for point in report["timeline"]
    ]
    assert max(totals) == report["at_peak"]["bytes"]
    assert len(totals) <= 512


def test_libraries_are_where_the_allocating_code_is(stories: dict[str, Path]):
    libraries = {
        one["name"]: one["allocated"]["bytes"] for one in of(stories["exact"])["libraries"]
    }
    assert libraries["fastjson"] == 100 * MIB
    assert libraries["(the program)"] < 20 * MIB


def test_surviving_objects_say_what_keeps_them_alive(stories: dict[str, Path]):
    (survivor,) = of(stories["exact"])["objects"]
    assert (survivor["type"], survivor["count"]) == ("Session", 100)
    assert (survivor["bytes"], survivor["owned"]) == (200 * KIB, 800 * KIB)
    assert survivor["path"] == "module app → sessions: dict → Session"
    assert survivor["frames"][0]["line"] == 23


def test_the_text_says_the_kind_of_every_figure(stories: dict[str, Path]):
    text = good("report", "--memory", stories["exact"], environment={"COLUMNS": "80"})
    assert "7.7 MiB requested and mapped in 1 271 blocks" in text
    assert "Python objects 1.2 MiB requested" in text
    assert "mappings 2.0 MiB mapped" in text
    assert "resident  30.0 MiB at most" in text
    assert "explains 29.5 %" in text
    assert "1.0 MiB mapped since the start; small objects use 58.6 % at the peak" in text
    assert "100 Session objects, 1000.0 KiB, made at shop/app.py:23" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_tree_shows_call_paths(stories: dict[str, Path]):
    text = good("report", "--memory", "--tree", stories["exact"])
    tree = [line.split("  ")[-2].strip(" │├└") for line in text.splitlines() if "app.py:" in line]
    assert tree[2:5] == ["serve", "Session.__init__", "Cache.add"]


def test_samples_are_estimates_with_an_error(stories: dict[str, Path]):
    report = of(stories["sampled"])
    assert (report["mode"], report["rate"]) == ("sampled", 512 * KIB)
    parsed = next(line for line in report["lines"] if line["name"] == "handle")["allocated"]
    # Each of the 100 blocks of 1 MiB stands for 1 / (1 - e^-2) of them.
    assert abs(parsed["bytes"] / MIB - 115.65) < 0.01
    assert abs(parsed["error"] / MIB - 4.25) < 0.05
    assert "±" in good("report", "--memory", stories["sampled"])


def test_temporary_blocks_are_known_only_if_every_allocation_is(stories: dict[str, Path]):
    for story in ("sampled", "live"):
        report = of(stories[story])
        assert report["temporary"] is None
        assert not any("temporary" in line for line in report["lines"])
        assert "TEMPORARY" not in good("report", "--memory", stories[story])
    assert of(stories["exact"])["temporary"]["bytes"] == 103 * MIB


def test_the_live_set_alone_gives_peak_and_end(stories: dict[str, Path]):
    report = of(stories["live"])
    assert report["mode"] == "live"
    assert lines_of(report, "at_peak") == {("handle", 14): 7 * MIB}
    assert lines_of(report, "at_end") == {
        ("Session.__init__", 23): 1 * MIB,
        ("Cache.add", 33): 512 * KIB,
    }
    assert "so --at does not apply" in bad("report", "--memory", "--at", "1s", stories["live"])


@pytest.mark.parametrize(
    ("story", "words"),
    [
        ("disorder", "out of order: 1 allocation at an address that was in use"),
        ("missed", "could not see everything: 1 library allocates by itself: libown.so"),
        ("killed", "the process ended before the recording stopped"),
    ],
)
def test_check_fails_and_says_why(stories: dict[str, Path], story: str, words: str):
    done = kymograph("report", "--memory", "--check", stories[story])
    assert done.returncode == 1
    assert words in done.stderr
    assert "Who held memory at the peak" in done.stdout


def test_check_passes_for_a_complete_capture(stories: dict[str, Path]):
    good("report", "--memory", "--check", stories["exact"])


def test_a_killed_program_keeps_its_memory_events(stories: dict[str, Path]):
    whole, killed = of(stories["exact"]), of(stories["killed"])
    assert killed["events"] == whole["events"]
    for figure in ["at_peak", "at_end", "allocated", "temporary", "end_by_category"]:
        assert killed[figure] == whole[figure], figure
    # Lines need the stacks, which the recorder may not have written by then.
    assert sum(lines_of(killed, "at_end").values()) == whole["at_end"]["bytes"]


def test_a_capture_without_memory_events_is_refused(tmp_path: Path):
    path = tmp_path / "calls.kymo"
    assert start_recorder(path, NESTED).wait(60) == 0
    for words in [("report", "--memory", path), ("diff", "--memory", path, path)]:
        assert bad(*words).endswith("has no memory events; record with 'kymograph run --memory'")


def test_a_capture_that_was_cut_off_before_its_memory_events_says_so(
    stories: dict[str, Path], tmp_path: Path
):
    cut = tmp_path / "cut.kymo"
    cut.write_bytes(stories["exact"].read_bytes()[:200])
    said = "is incomplete, and what is left of it has no memory events"
    assert bad("report", "--memory", cut).endswith(said)
    assert bad("diff", "--memory", cut, stories["exact"]).endswith(said)
    assert bad("export", "--to", "snapshot", cut).endswith(said)


def test_options_of_time_and_of_memory_do_not_mix(stories: dict[str, Path]):
    path = stories["exact"]
    assert bad("report", "--memory", "--sort", "self", path) == (
        "--sort works only without --memory"
    )
    assert bad("report", "--at", "end", path) == "--at works only with --memory"
    assert bad("diff", "--memory", "--of", "calls", path, path) == (
        "--of calls works only without --memory"
    )
    assert "is not a time" in bad("report", "--memory", "--at", "noon", path)


def test_diff_puts_growth_first(stories: dict[str, Path]):
    found = json.loads(good("diff", "--memory", "--json", stories["fixed"], stories["exact"]))
    first = found["functions"][0]
    assert first["name"] == "Session.__init__"
    assert first["before"]["end_bytes"] == 0
    assert first["after"]["end_bytes"] == 1000 * KIB
    assert found["after"]["end_bytes"] - found["before"]["end_bytes"] == 1000 * KIB
    text = good("diff", "--memory", stories["fixed"], stories["exact"])
    assert "+1000.0 KiB" in text and "Session.__init__" in text
    same = good("diff", "--memory", stories["exact"], stories["exact"])
    assert same.count("no change") == 3


def test_diff_of_samples_has_errors(stories: dict[str, Path]):
    pair = (stories["exact"], stories["sampled"])
    text = good("diff", "--memory", *pair)
    assert "sampled.kymo, one sample every " in text
    (peak,) = (line for line in text.splitlines() if line.startswith("  peak "))
    assert peak.split(": ")[1].count(" ± ") == 1
    found = json.loads(good("diff", "--memory", "--json", *pair))
    assert (found["before"]["mode"], found["after"]["mode"]) == ("exact", "sampled")
    assert "peak_error" not in found["before"]
    assert found["after"]["peak_error"] == of(stories["sampled"])["at_peak"]["error"] > 0
    assert any("end_error" in place["after"] for place in found["functions"])


def test_info_names_the_mode(stories: dict[str, Path]):
    assert "memory    every allocation: native,mappings,python" in good("info", stories["exact"])
    assert info_of(stories["live"])["memory"] == "live"


def test_python_reads_who_held_memory(stories: dict[str, Path]):
    with library.open(stories["exact"]) as capture:
        peak, end, start = capture.memory(), capture.memory("end"), capture.info.start
        stacks = capture.stacks()
        assert sum(peak["bytes"]) == of(stories["exact"])["at_peak"]["bytes"]
        assert peak["bytes"][0] == 3 * MIB
        held = {
            stacks[stack][0].name: size
            for size, stack in zip(end["bytes"], end["stack"], strict=True)
        }
        assert held["Session.__init__"] == 1000 * KIB
        (arrays,) = [row for row in capture.memory("temporary") if row[0] == 100 * MIB]
        assert arrays[:5] == (100 * MIB, 100, 0, "malloc", "native")
        early = capture.memory(at=start + 1)
        assert sum(early["bytes"]) == 0
        old = capture.memory("end", older_than=500_000_000)
        assert 2 * MIB < sum(old["bytes"]) < sum(end["bytes"])
        with pytest.raises(ValueError, match="of must be one of"):
            capture.memory("somewhere")
        with pytest.raises(ValueError, match="older_than works only"):
            capture.memory(older_than=5)


def test_python_sees_no_memory_in_other_captures(tmp_path: Path):
    path = tmp_path / "calls.kymo"
    assert start_recorder(path, NESTED).wait(60) == 0
    with library.open(path) as capture:
        assert len(capture.memory()) == 0


def test_at_also_takes_the_peak_and_the_end(stories: dict[str, Path]):
    text = good("report", "--memory", "--at", "end", stories["exact"])
    assert "Who held memory at the peak" not in text
    assert text.count("Alive at the end, in bytes") == 1
    tree = good("report", "--memory", "--at", "end", "--tree", stories["exact"])
    assert "setup" in tree and "worker" not in tree
    assert good("report", "--memory", "--at", "peak", stories["exact"]) == good(
        "report", "--memory", stories["exact"]
    )
    assert of(stories["exact"], "--at", "end") == of(stories["exact"])


def test_a_tree_says_that_memory_is_folded(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text("import json\nkept = json.loads('[' + '1.5,' * 100000 + '1]')\n")
    capture = tmp_path / "program.kymo"
    good("run", "-q", "--memory", "--calls", "off", "-o", capture, program)
    text = good("report", "--memory", "--tree", capture)
    assert "Memory inside libraries is counted for the call into them" in text


def test_a_report_of_calls_points_to_memory(stories: dict[str, Path]):
    done = kymograph("report", stories["exact"])
    assert "memory    every allocation; --memory shows it" in done.stdout
    assert "were calls switched off" not in done.stdout
    assert "has no calls; 'kymograph report --memory' shows its memory" in done.stderr


def test_sizes_that_are_not_shown_are_counted(tmp_path: Path):
    capture = tmp_path / "sizes.kymo"
    code = "kept = [bytearray(1 << i) for i in range(20)]"
    good("run", "-q", "--memory", "--calls", "off", "-o", capture, "-c", code)
    sizes = of(capture)["sizes"]
    text = good("report", "--memory", capture)
    table = text[text.index("By size of blocks") :].partition("\n\n")[0].splitlines()[2:]
    (left,) = (line for line in table if "more; --json has them all" in line)
    assert len(sizes) == len(table) - 1 + int(left.split()[2])
