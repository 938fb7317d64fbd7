"""`kymograph export --to parquet` of a directory of captures, as DuckDB and pyarrow read it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from datasets import Analysis, ask, documented_queries, export, record_ranks
from program import PROGRAM


@pytest.fixture
def runs(folder: Path) -> Path:
    return record_ranks(folder)


def written(root: Path) -> dict[str, int]:
    """Return the inode of every file."""
    return {str(file): file.stat().st_ino for file in root.rglob("*.parquet")}


def test_a_directory_becomes_a_dataset_that_answers_the_documented_queries(
    analysis: Analysis, runs: Path, tmp_path: Path
) -> None:
    done = export(analysis, "--to", "parquet", "-o", tmp_path / "data", runs)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list((tmp_path / "data").glob("_*"))
    queries = documented_queries()
    counts, pids, slow, own, more, ends = ask(
        analysis,
        tmp_path / "data",
        "select count(distinct pid), count(distinct capture), min(run) from slices",
        *queries,
    )
    assert pids == [[5, 5, "run7"]]
    assert counts["slices"] and counts["functions"] and counts["args"]
    assert slow[0][:2] == [2, 4] and slow[0][2] >= 50
    assert sorted((row[0] is None, row[0], row[1]) for row in slow[1:]) == [
        (False, 0, 4),
        (False, 1, 5),
        (True, None, 4),
    ]
    assert any(row[1] == "train_step" and row[2].endswith("train.py") for row in own)
    assert more[0][0] == "sleep" and more[0][1] >= 200
    assert [row[3:] for row in ends] == [["clean", "0"]] * 5
    assert sum("rank00001." in row[2] for row in ends) == 1


def test_events_of_a_family_have_the_pid_of_their_process(
    analysis: Analysis, runs: Path, tmp_path: Path
) -> None:
    capture = next(runs.glob("*rank00001.kymo"))

    assert export(analysis, "-o", tmp_path / "one.parquet", capture).returncode == 0

    query = f"select count(distinct pid) from '{tmp_path}/one.parquet/slices.parquet'"
    code = "import duckdb, sys; print(duckdb.connect().execute(sys.argv[1]).fetchall())"
    told = subprocess.run(
        [analysis[0], "-c", code, query], capture_output=True, text=True, check=True, timeout=400
    )
    assert told.stdout == "[(2,)]\n"


def test_an_export_continues_where_it_was_and_replaces_what_changed(
    analysis: Analysis, runs: Path, tmp_path: Path
) -> None:
    root = tmp_path / "data"
    assert export(analysis, "--to", "parquet", "-o", root, runs).returncode == 0
    before = written(root)
    lost = next(root.glob("meta/*/*/rank=2/*/part-0.parquet"))
    lost.unlink()  # as if the export had been killed before this
    changed = next(runs.glob("*rank00000.kymo"))
    os.utime(changed, (1, 1))
    (root / "_part-1").mkdir()

    assert export(analysis, "--to", "parquet", "-o", root, runs).returncode == 0

    after = written(root)
    assert after.keys() == before.keys()
    again = {file for file, inode in after.items() if inode != before[file]}
    assert again == {file for file in after if re.search(r"/rank=[02]/", file)}


def test_an_export_that_is_killed_leaves_only_whole_processes(
    analysis: Analysis, runs: Path, tmp_path: Path
) -> None:
    for number in range(60):
        shutil.copy(next(runs.glob("*rank00002.kymo")), runs / f"copy{number}.kymo")
    query = "select capture, count(*) from slices group by capture order by capture"
    complete = "select distinct capture from meta order by capture"
    assert export(analysis, "--to", "parquet", "-o", tmp_path / "whole", runs).returncode == 0
    whole = ask(analysis, tmp_path / "whole", query)
    root = tmp_path / "data"
    command = [PROGRAM, "export", "--to", "parquet", "-o", root, runs]

    with subprocess.Popen([*map(str, command)], env=analysis[1]) as job:
        while job.poll() is None and len(list(root.glob("meta/*/*/*/*/*.parquet"))) < 5:
            time.sleep(0.01)
        job.kill()

    _, left, ready = ask(analysis, root, query, complete)
    assert 5 <= len(ready) <= 65
    rows = dict(left)
    assert all(rows[name] == count for name, count in whole[1] if [name] in ready)
    assert export(analysis, "--to", "parquet", "-o", root, runs).returncode == 0
    assert ask(analysis, root, query) == whole


def test_several_jobs_share_the_work(analysis: Analysis, runs: Path, tmp_path: Path) -> None:
    def job(part: str) -> tuple[int, str]:
        root = tmp_path / "data"
        done = export(analysis, "--to", "parquet", "-o", root, "--part", part, runs)
        return done.returncode, done.stderr

    assert job("1/4") == (0, "")
    _, alone = ask(analysis, tmp_path / "data", "select count(distinct capture) from meta")
    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(job, ["0/4", "1/4", "2/4", "3/4"]))

    assert ended == [(0, "")] * 4
    counts, captures = ask(analysis, tmp_path / "data", "select count(distinct capture) from meta")
    assert alone in ([[1]], [[2]]) and captures == [[5]]
    assert not list((tmp_path / "data").glob("_*"))
    assert export(analysis, "--to", "parquet", "-o", tmp_path / "whole", runs).returncode == 0
    assert ask(analysis, tmp_path / "whole") == [counts]


def test_a_part_is_a_number_below_another(analysis: Analysis, runs: Path, tmp_path: Path) -> None:
    for part in ("4/4", "1", "-1/4", "a/b", "1/0"):
        done = export(analysis, "--to", "parquet", "-o", tmp_path / "data", "--part", part, runs)
        assert done.returncode == 2
        assert done.stderr == f"kymograph: --part {part}: give K/N, such as 0/4 to 3/4\n"
    done = export(analysis, "--part", "0/1", next(runs.glob("*.kymo")))
    assert (done.returncode, "--part works only with a directory" in done.stderr) == (2, True)


def test_a_capture_that_cannot_be_read_is_left_out_with_a_message(
    analysis: Analysis, runs: Path, tmp_path: Path
) -> None:
    (runs / "broken.kymo").write_text("this is no capture")

    done = export(analysis, "--to", "parquet", "-o", tmp_path / "data", runs)

    assert done.returncode == 1
    assert re.fullmatch(r"kymograph: .*broken\.kymo.*; left out\n", done.stderr)
    _, captures = ask(analysis, tmp_path / "data", "select count(distinct capture) from meta")
    assert captures == [[5]]


def test_only_a_dataset_is_continued(analysis: Analysis, runs: Path, tmp_path: Path) -> None:
    other = tmp_path / "data"
    other.mkdir()
    (other / "letter.txt").write_text("keep me")

    done = export(analysis, "--to", "parquet", "-o", other, runs)

    assert done.returncode == 2
    assert "has other files in it (letter.txt); name another with -o" in done.stderr
    assert [entry.name for entry in other.iterdir()] == ["letter.txt"]


def test_a_directory_is_exported_to_parquet_only(folder: Path) -> None:
    (folder / "empty").mkdir()
    environment = dict(os.environ)

    chrome = export(("", environment), "--to", "chrome", folder / "empty")
    thread = export(("", environment), "--to", "parquet", "--thread", "0", folder / "empty")

    assert chrome.returncode == thread.returncode == 2
    assert "this is a directory; name a capture in it" in chrome.stderr
    assert "--thread works with one capture; " in thread.stderr


def test_a_directory_without_captures_is_refused(analysis: Analysis, folder: Path) -> None:
    (folder / "empty").mkdir()

    done = export(analysis, "--to", "parquet", folder / "empty")

    assert done.returncode == 2
    assert "no captures (.kymo) in this directory" in done.stderr
    assert not (folder / "empty.parquet").exists()
