"""`kymograph diff`: what changed between two captures, and who did it."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import program
import pytest
from conftest import RunCode

import kymograph

pytestmark = pytest.mark.native

run = functools.partial(program.run, "diff")
text_of = functools.partial(program.good, "diff")
bad = functools.partial(program.refused, "diff")


def diff(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of("--json", *arguments))
    return found


PROGRAM_TEXT = """
import time
{filler}
def same(): pass
def changed(): time.sleep({sleep})
def {other}(): same()
def main():
    for _ in range({times}): same()
    changed()
    {other}()
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Captures of a program before and after an edit that also moved every line."""
    folder = tmp_path_factory.mktemp("diff")
    paths = []
    for name, sleep, times, other in [("a", 0.01, 10, "removed"), ("b", 0.06, 30, "added")]:
        (folder / name).mkdir()
        source = folder / name / "program.py"
        text = PROGRAM_TEXT.format(
            filler="\n" * 7 if name == "b" else "", sleep=sleep, times=times, other=other
        )
        source.write_text(text)
        space: dict[str, Any] = {}
        exec(compile(text, str(source), "exec"), space)
        path = folder / f"{name}.kymo"
        kymograph.start(path)
        space["main"]()
        kymograph.stop()
        paths.append(path)
    return paths[0], paths[1]


def test_functions_are_matched_and_changes_reported(pair: tuple[Path, Path]) -> None:
    found = diff(*pair)
    by_name = {row["name"]: row for row in found["functions"]}

    assert by_name["same"]["before"]["calls"] == 11
    assert by_name["same"]["after"]["calls"] == 31
    assert by_name["added"]["what"] == "new" and by_name["added"]["before"] is None
    assert by_name["removed"]["what"] == "gone" and by_name["removed"]["after"] is None
    assert by_name["sleep"]["what"] == "slower"
    assert by_name["sleep"]["ratio"] > 2
    assert found["functions"][0]["name"] == "sleep", "the greatest change comes first"
    assert found["explained"]["functions"][0] == "sleep"
    assert found["change_ns"] > 20_000_000
    assert (found["new"], found["gone"]) == (1, 1)


def test_figures_are_those_of_the_reports(pair: tuple[Path, Path]) -> None:
    found = diff(*pair)

    for side, path in zip(("before", "after"), pair, strict=True):
        rows = json.loads(program.good("report", "--json", path))["functions"]
        wanted = {(r["name"], r["calls"], r["self_ns"], r["total_ns"], r["mean_ns"]) for r in rows}
        got = {
            (r["name"], s["calls"], s["self_ns"], s["total_ns"], s["mean_ns"])
            for r in found["functions"]
            if (s := r[side])
        }
        assert got == wanted
        assert found[side]["time_in_calls_ns"] == sum(row["self_ns"] for row in rows)


def test_changes_add_up(pair: tuple[Path, Path]) -> None:
    found = diff(*pair)

    assert sum(row["change_ns"] for row in found["functions"]) == found["change_ns"]
    assert sum(row["change_ns"] for row in found["paths"]) == found["change_ns"]


def test_paths_name_every_call_on_them(pair: tuple[Path, Path]) -> None:
    paths = [row["path"][-3:] for row in diff(*pair)["paths"]]  # before it comes pytest

    assert paths[0] == ["main", "changed", "sleep"]
    assert ["main", "removed", "same"] in paths and ["main", "added", "same"] in paths


def test_the_text_begins_with_the_answer(pair: tuple[Path, Path]) -> None:
    lines = text_of(*pair).splitlines()

    assert lines[0] == f"{pair[0]} → {pair[1]}"
    assert re.search(r"^  time +[\d.]+ \w+ → [\d.]+ \w+ of work, ", lines[1])
    assert any(re.search(r"^  waiting +[\d.]+ ms → .*, \+.* ms; sleep \+", line) for line in lines)
    assert any(" new " in line and "added" in line for line in lines)
    assert any(" gone " in line and "removed" in line for line in lines)


LIBRARY_USER = """
import sys, kymograph, textwrap

def compute():
    for _ in range(int(sys.argv[2])):
        textwrap.wrap("some words that do not fit on a line", 10)

kymograph.start(sys.argv[1])
compute()
kymograph.stop()
"""


def test_libraries_are_folded_unless_asked_for(tmp_path: Path) -> None:
    script, paths = tmp_path / "user.py", [tmp_path / "a.kymo", tmp_path / "b.kymo"]
    script.write_text(LIBRARY_USER)
    for path, count in zip(paths, ("10", "200"), strict=True):
        subprocess.run([sys.executable, script, path, count], check=True)

    folded, unfolded = text_of(*paths), text_of("--unfold", *paths)
    everything = " ".join(row["name"] for row in diff(*paths)["functions"])

    inside = "_wrap_chunks"  # the program calls only wrap
    assert "Time inside libraries" in folded and "Time inside libraries" not in unfolded
    assert inside not in folded and inside in unfolded and inside in everything
    assert re.search(r"because +wrap \+", folded)
    work = [re.search(r"time .* of work", text) for text in (folded, unfolded)]
    assert work[0] and work[1] and work[0][0] == work[1][0]
    assert "user.py" in folded and "compute" in folded


def test_a_capture_does_not_differ_from_itself(pair: tuple[Path, Path]) -> None:
    found = diff(pair[0], pair[0])

    assert found["change_ns"] == 0
    assert {row["what"] for row in found["functions"]} == {"same"}
    assert found["paths"] == []
    assert "no change overall" in text_of(pair[0], pair[0])


def test_a_comparison_fits_the_terminal(pair: tuple[Path, Path]) -> None:
    lines = program.on_terminal("diff", *pair).splitlines()

    assert [line for line in lines[1:] if len(line) > 80] == []
    assert any(line.split()[:2] == ["CHANGE", "RATIO"] and "FUNCTION" in line for line in lines)


def test_sort_limit_and_min(pair: tuple[Path, Path]) -> None:
    assert diff(*pair, "--sort", "calls")["functions"][0]["name"] == "same"
    names = [row["name"] for row in diff(*pair, "--sort", "name")["functions"]]
    assert names == sorted(names)
    ratios = [row["ratio"] for row in diff(*pair, "--sort", "ratio")["functions"]]
    known = [max(r, 1 / r) for r in ratios if r]
    assert known == sorted(known, reverse=True)
    assert len(diff(*pair, "-n", "2")["functions"]) == 2
    few = diff(*pair, "--min", "20ms")["functions"]
    assert [row["name"] for row in few] == ["sleep"]
    for key in ("self", "total", "mean"):
        assert diff(*pair, "--sort", key)["functions"]


def test_a_thread_can_be_chosen(pair: tuple[Path, Path]) -> None:
    assert diff(*pair, "--thread", "0")["change_ns"] == diff(*pair)["change_ns"]
    assert "no thread 'nobody'" in bad(*pair, "--thread", "nobody")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sort", "size"], "--sort size"),
        (["--limit", "many"], "--limit many"),
        (["--min", "much"], "--min much"),
    ],
)
def test_bad_options_are_refused(pair: tuple[Path, Path], arguments: list[str], words: str) -> None:
    assert words in bad(*pair, *arguments)


def test_a_file_that_cannot_be_read_is_named(pair: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "text.kymo"
    other.write_text("not a capture")

    assert "nowhere.kymo: no such file" in bad(pair[0], tmp_path / "nowhere.kymo")
    assert "nowhere.kymo: no such file" in bad(tmp_path / "nowhere.kymo", pair[0])
    assert "text.kymo: this is not a kymograph capture" in bad(pair[0], other)
    assert "one more" in bad(pair[0]) or "B" in bad(pair[0])


def test_awkward_captures_are_compared(
    pair: tuple[Path, Path], tmp_path: Path, run_code: RunCode
) -> None:
    killed, empty = tmp_path / "killed.kymo", tmp_path / "empty.kymo"
    run_code(
        "import os, signal, sys, kymograph\n"
        f"kymograph.start({str(killed)!r}, calls=False)\n"
        "span = kymograph.span('evil \\x1b[31m\\n name'); span.__enter__()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n",
        check=False,
    )
    kymograph.start(empty, calls=False)
    kymograph.stop()

    text = text_of(pair[0], killed, "--limit", "1000")
    assert "evil \\e[31m\\n name" in text and "\x1b" not in text
    done = run(empty, killed)
    assert done.returncode == 0
    assert done.stderr == f"kymograph: {empty}: no calls or spans\n"


# ---- the page


def page_data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_page_holds_the_figures_of_the_json(pair: tuple[Path, Path], tmp_path: Path) -> None:
    wanted = diff(*pair)
    assert text_of(*pair, "--html", tmp_path / "diff.html") == ""

    data = page_data((tmp_path / "diff.html").read_text("utf-8"))

    rows = data["functions"][: data["listed"]]
    assert [row[0] for row in rows] == [row["name"] for row in wanted["functions"]]
    for row, other in zip(rows, wanted["functions"], strict=True):
        for figures, cost in ((row[4:10], other["before"]), (row[10:16], other["after"])):
            keys = ("calls", "resumes", "self_ns", "total_ns", "mean_ns")
            assert figures == ([1, *(cost[key] for key in keys)] if cost else [0] * 6)
    names = [data["functions"][i][0] for i in data["explained"]["functions"]]
    assert names == wanted["explained"]["functions"][: len(names)] and names[0] == "sleep"
    for side, key in ((0, "before"), (1, "after")):
        nodes = data["trees"][side]["nodes"]
        assert (
            sum(nodes[3::10]) == data["captures"][side]["busy"] == wanted[key]["time_in_calls_ns"]
        )
    own, other = (data["trees"][side]["nodes"] for side in (0, 1))
    # Each tree says of every path both captures have what the other one says.
    both = {tuple(own[i + 2 : i + 10]) for i in range(0, len(own), 10) if own[i + 8]}
    assert both == {
        (*other[i + 6 : i + 10], *other[i + 2 : i + 6])
        for i in range(0, len(other), 10)
        if other[i + 8]
    }


def test_options_choose_what_is_on_the_page(pair: tuple[Path, Path]) -> None:
    few = page_data(text_of(*pair, "--html", "-", "--min", "20ms"))
    assert [row[0] for row in few["functions"][: few["listed"]]] == ["sleep"]
    assert few["least"] == 20_000_000
    assert page_data(text_of(*pair, "--html", "-", "-s", "calls"))["functions"][0][0] == "same"
    assert page_data(text_of(*pair, "--html", "-", "-n", "2"))["listed"] == 2


def test_hostile_names_stay_data(tmp_path: Path) -> None:
    path = tmp_path / "<script>.kymo"
    kymograph.start(path, calls=False)
    with kymograph.span("</script><script>alert(1)</script><!--"):
        pass
    kymograph.stop()

    page = text_of(path, path, "--html", "-")

    assert page.count("<script") == 2 and page.count("</script>") == 2
    assert "default-src 'none'; script-src 'sha256-" in page
    assert not re.search(r"https?://|@import|\bfetch\(|XMLHttpRequest", page)
    names = [row[0] for row in page_data(page)["functions"]]
    assert "</script><script>alert(1)</script><!--" in names


def test_a_page_that_cannot_be_written_is_one_line(pair: tuple[Path, Path], tmp_path: Path) -> None:
    assert "no such directory" in bad(*pair, "--html", tmp_path / "no" / "diff.html")
    assert "this is a directory" in bad(*pair, "--html", tmp_path)
    assert "is one of the captures" in bad(*pair, "--html", pair[1])
    assert "--html and --json" in bad(*pair, "--json", "--html", tmp_path / "diff.html")
    full = run(*pair, "--html", "/dev/full")
    assert (full.returncode, full.stdout) == (2, "") and full.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
