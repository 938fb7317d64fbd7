"""Captures of several ranks, and what engines say about the dataset that they become."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

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
for table in sorted(name for name in os.listdir(root) if name[0] != "_"):
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


def record_ranks(folder: Path) -> Path:
    """Make a directory with the captures of three ranks, one of which forked, and of no rank."""
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
