"""Convert a directory of captures into a Parquet dataset as a Spark job.

    spark-submit examples/export_with_spark.py /shared/run7 /data/run7 [parts]

Both directories must be reachable from all workers under these names, and `kymograph` with pyarrow
must be installed there. Each task exports its part of the captures; if one is lost, Spark runs
it again, and it continues where it was. At the end, the slowest functions are printed.
"""

from __future__ import annotations

import subprocess
import sys

from pyspark.sql import SparkSession

QUESTION = """
    select rank, name, count(*) as calls, sum(self_ns) / 1e6 as self_ms
    from slices group by rank, name order by self_ms desc, rank, name limit 10
"""


def main(captures: str, dataset: str, parts: int = 16) -> None:
    def convert(part: int) -> None:
        command = [sys.executable, "-m", "kymograph", "export", "--to", "parquet", "-o", dataset]
        done = subprocess.run(
            [*command, "--part", f"{part}/{parts}", captures],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip())

    spark = SparkSession.builder.appName("kymograph").getOrCreate()
    spark.sparkContext.parallelize(range(parts), parts).foreach(convert)
    spark.read.parquet(f"{dataset}/slices").createOrReplaceTempView("slices")
    spark.sql(QUESTION).show(truncate=False)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
