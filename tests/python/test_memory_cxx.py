"""`kymograph report --memory` on programs in C++, whose headers allocate for them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from program import good

pytestmark = pytest.mark.native

CODE = """
#include <string>
#include <vector>
static std::vector<char> *numbers;
static std::string *text;
__attribute__((noinline)) static void reserve() { numbers->reserve(123456); }
__attribute__((noinline)) static void write() { *text = std::string(65432, 'x'); }
int main()
{
    numbers = new std::vector<char>;
    text = new std::string;
    reserve();
    write();
}
"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cxx")
    if not shutil.which("c++"):
        pytest.skip("there is no C++ compiler")
    (folder / "shop.cpp").write_text(CODE)
    # Without optimisation each function of a header has a frame.
    subprocess.run(["c++", "-g", "-O0", "-o", "shop", "shop.cpp"], cwd=folder, check=True)
    good("run", "-q", "--memory", "-o", folder / "shop.kymo", folder / "shop")
    return folder / "shop.kymo"


def held(capture: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Return the lines that held the two large blocks, by the first word of the function."""
    report = json.loads(good("report", "--memory", "--json", *options, capture))
    large = [line for line in report["lines"] if line.get("at_end", {"bytes": 0})["bytes"] > 60_000]
    return {line["name"].split("(")[0]: line for line in large}


def test_what_headers_allocate_counts_for_the_line_that_uses_them(capture: Path) -> None:
    found = held(capture)
    assert {name: line["at_end"]["bytes"] for name, line in found.items()} == {
        "reserve": 123456,
        "write": 65433,
    }
    assert all(line["file"].endswith("shop.cpp") for line in found.values())


def test_unfolded_lines_are_those_of_headers(capture: Path) -> None:
    assert all(not line["file"].endswith("shop.cpp") for line in held(capture, "--unfold").values())
