"""`kymograph diff --memory`: which places are the same, and which ones are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from program import good

pytestmark = pytest.mark.native

# Two packages, each with a views.py that has a function `get`.
SHOP = """
import sys
import orders.views, users.views
kept = orders.views.get(10), users.views.get(int(sys.argv[1]))
"""
SIDES = ["before", "after"]
VIEWS = "def get(count):\n    return [bytes(1000) for _ in range(count)]\n"


def record(folder: Path, capture: Path, count: int) -> Path:
    for package in ("orders", "users"):
        (folder / package).mkdir(parents=True, exist_ok=True)
        (folder / package / "__init__.py").write_text("")
        (folder / package / "views.py").write_text(VIEWS)
    (folder / "shop.py").write_text(SHOP)
    good("run", "-q", "--memory", "--calls", "off", "-o", capture, folder / "shop.py", count)
    return capture


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The second has more in users/views.py, and is in another folder."""
    folder = tmp_path_factory.mktemp("diff-memory")
    before = record(folder / "old", folder / "before.kymo", 10)
    return before, record(folder / "new", folder / "after.kymo", 1000)


def test_functions_of_one_name_are_told_apart_by_their_files(pair: tuple[Path, Path]) -> None:
    found = json.loads(good("diff", "--memory", "--json", *pair))
    held = {
        Path(row["file"]).parent.name: [row[side]["end_bytes"] // 1033 for side in SIDES]
        for row in found["functions"]
        if row["name"] == "get"
    }
    assert held["orders"] == [10, 10]
    assert held["users"][0] == 10 and held["users"][1] in (1008, 1024)  # the list is the rest


def test_places_of_a_program_that_was_moved_match(pair: tuple[Path, Path]) -> None:
    found = json.loads(good("diff", "--memory", "--json", *pair))
    for rows in found["functions"], found["lines"]:
        own = [row for row in rows if row["file"].endswith(("views.py", "shop.py"))]
        assert own and all("/new/" in row["file"] for row in own)
        assert all(row[side]["allocated_bytes"] for row in own for side in SIDES)


def test_unfold_counts_memory_for_the_innermost_line(tmp_path: Path) -> None:
    script, captures = tmp_path / "texts.py", [tmp_path / "a.kymo", tmp_path / "b.kymo"]
    script.write_text("import json, sys\nkept = json.loads(str(list(range(int(sys.argv[1])))))\n")
    for capture, count in zip(captures, (1000, 100_000), strict=True):
        good("run", "-q", "--memory", "--calls", "off", "-o", capture, script, count)
    for options, place in ((), "texts.py"), (("--unfold",), "json/decoder.py"):
        found = json.loads(good("diff", "--memory", "--json", *options, *captures))
        for rows in found["functions"], found["lines"]:
            grown = max(
                rows, key=lambda row: row["after"]["end_bytes"] - row["before"]["end_bytes"]
            )
            assert grown["file"].endswith(place), grown


def test_a_short_table_keeps_what_shrank_most(pair: tuple[Path, Path]) -> None:
    for limit in 1, 2, 5:
        text = good("diff", "--memory", "-n", limit, *reversed(pair))
        for table in text.split("\n\n")[1:]:  # after the summary
            rows = [line for line in table.splitlines() if line.lstrip().startswith(("+", "-"))]
            assert len(rows) <= limit and "users/views.py" in rows[-1], table
            assert rows[-1].lstrip().startswith(("-10", "-1.0 MiB"))
