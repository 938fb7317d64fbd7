"""`kymograph export --to parquet` of a directory of captures, as DuckDB and pyarrow read it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from program import PROGRAM
from ran import RUN, execute, write

ROOT = Path(__file__).parents[2]
Analysis = tuple[str, dict[str, str]]

JUDGE = """
import json, os, sys
import duckdb, pyarrow.dataset
root, *queries = sys.argv[1:]
base = duckdb.connect()
counts = {}
for table in sorted(os.listdir(root)):
    files = f"{root}/{table}/**/*.parquet"
    base.execute(f"create view {table} as from read_parquet('{files}', hive_partitioning = true)")
    rows = pyarrow.dataset.dataset(f"{root}/{table}", partitioning="hive").to_table()
    counts[table] = base.execute(f"select count(*) from {table}").fetchall()[0][0]
    assert rows.num_rows == counts[table]
    assert {"run", "host", "rank", "capture"} <= set(rows.column_names)
print(json.dumps([counts] + [base.execute(query).fetchall() for query in queries]))
"""

PROGRAM_CODE = """
import os, time
import kymograph
rank = os.environ.get("RANK")
def train_step():
    time.sleep(0.05 if rank == "2" else 0.001)
for _ in range(4):
    train_step()
if rank == "1":
    with kymograph.span("text", note="n" * 5000):
        pass
    if os.fork() == 0:
        train_step()
        os._exit(0)
    os.wait()
"""


@pytest.fixture
def runs(folder: Path) -> Path:
    """A directory with the captures of three ranks, one of which forked, and of no rank."""
    write("train.py", PROGRAM_CODE)
    for rank in ("0", "1", "2", ""):
        environment = {**os.environ, "RANK": rank, "WORLD_SIZE": "3"}
        assert execute(*RUN, "-q", "--dir", "run7", "train.py", env=environment).returncode == 0
    return folder / "run7"


def export(analysis: Analysis, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "export", *map(str, arguments)],
        env=analysis[1],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )


def ask(analysis: Analysis, root: Path, *queries: str) -> list[Any]:
    """Return the rows of each table, and DuckDB's answers."""
    told = subprocess.run(
        [analysis[0], "-c", JUDGE, root, *queries],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    answers: list[Any] = json.loads(told.stdout)
    return answers


def documented_queries() -> list[str]:
    text = (ROOT / "docs" / "formats" / "parquet.md").read_text()
    return re.findall(r"```sql\n(.*?)```", text, re.DOTALL)


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
