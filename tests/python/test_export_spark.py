"""The dataset of `kymograph export --to parquet` in a real Spark session, and what DuckDB says."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from datasets import ROOT, Analysis, ask, documented_queries, export, record_ranks

pytestmark = pytest.mark.native

JUDGE = """
import json, os, sys
from decimal import Decimal
from pyspark.sql import SparkSession
root, *queries = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
counts = {}
for table in sorted(os.listdir(root)):
    rows = spark.read.parquet(f"{root}/{table}")
    rows.createOrReplaceTempView(table)
    counts[table] = rows.count()
answers = [[list(row) for row in spark.sql(query).collect()] for query in queries]
print(json.dumps([counts] + answers, default=lambda d: int(d) if d == int(d) else float(d)))
spark.stop()
"""
OPTIONS = """
spark.master local[2]
spark.ui.enabled false
spark.driver.memory 600m
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.sql.shuffle.partitions 2
"""


@pytest.fixture(scope="module")
def spark() -> str:
    """The folder of pyspark."""
    done = subprocess.run(
        [ROOT / "tools" / "spark-venv.sh"],
        capture_output=True,
        text=True,
        timeout=1100,
        check=False,
    )
    if done.returncode:
        pytest.skip("no Spark: " + done.stderr.strip().splitlines()[-1])
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return str(Path(done.stdout.strip()).parents[1] / "lib" / f"python{version}" / "site-packages")


def submit(spark: str, environment: dict[str, str], *command: object) -> str:
    """Run Python with Spark; returns what it printed."""
    Path("spark").mkdir(exist_ok=True)
    Path("spark/spark-defaults.conf").write_text(OPTIONS)
    paths = [environment.get("PYTHONPATH"), spark]
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={
            **environment,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_CONF_DIR": str(Path("spark").resolve()),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "LC_ALL": "C.UTF-8",  # Java decodes paths by the locale
        },
        capture_output=True,
        encoding="utf-8",
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


def in_order(rows: list[Any]) -> list[Any]:
    """Engines order nulls as they like."""
    return sorted(rows, key=lambda row: [(cell is None, str(cell)) for cell in row])


def test_spark_and_duckdb_give_the_same_answers(
    analysis: Analysis, spark: str, folder: Path, tmp_path: Path
) -> None:
    runs, root = record_ranks(folder), tmp_path / "data"
    example = ROOT / "examples" / "export_with_spark.py"
    queries = [
        *documented_queries(),
        "select run, host, rank, capture, count(*), min(ts_ns), sum(dur_ns), max(depth) from slices"
        " group by run, host, rank, capture",
        "select name, text, value, integer from args where text is not null or value is not null",
    ]

    # The conversion is a Spark job, too.
    shown = submit(spark, analysis[1], example, runs, root, 3)
    answers = json.loads(submit(spark, analysis[1], "-c", JUDGE, root, *queries))

    assert "sleep" in shown
    expected = ask(analysis, root, *queries)
    assert answers[0] == expected[0]
    for query, found, wanted in zip(queries, answers[1:], expected[1:], strict=True):
        assert len(found) == len(wanted) > 0, query
        for one, other in zip(in_order(found), in_order(wanted), strict=True):
            assert len(one) == len(other), query
            assert all(map(alike, one, other)), (query, one, other)
    assert export(analysis, "--to", "parquet", "-o", tmp_path / "whole", runs).returncode == 0
    assert ask(analysis, tmp_path / "whole") == [expected[0]]
