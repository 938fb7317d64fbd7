"""The examples in the documentation run, and print what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import RunCode

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "python.md"


def test_the_examples_of_the_python_page_run(
    run_code: RunCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)
    code = "\n".join(text for language, text in blocks if language == "python")
    printed = "".join(text for language, text in blocks if language == "text")

    done = run_code(code)

    assert printed
    assert printed in done.stdout
    captures = {"trace.kymo", "jobs.kymo", "async.kymo", "outer.kymo"}
    assert {path.name for path in tmp_path.iterdir()} == captures


def test_the_examples_of_the_torch_page_run(
    run_code: RunCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "torch-profiler.md").read_text("utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.S | re.M))

    done = run_code(code)

    assert "ProfilerStep*" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"log", "trace.json.gz", "stacks.txt"}


def test_no_hint_installs_a_package_of_somebody_else() -> None:
    """On the package index, `kymo` is not this project."""
    root = DOCS.parent
    pages = [root / "README.md", *DOCS.rglob("*"), *(root / "examples").rglob("*")]
    texts = [*pages, *(root / "src").rglob("*.[ch]"), *(root / "ext").rglob("*.[ch]")]
    texts += (root / "python").rglob("*.py")
    ours, named = {"kymograph", "kymograph[parquet]", "."}, []
    for path in texts:
        if path.suffix in (".md", ".1", ".c", ".h", ".py", ".txt"):
            # In C, a message may go on in the next string.
            text = re.sub(r'"\s+"', "", path.read_text("utf-8"))
            for name in re.findall(r"pip install\s+['\"]?([^\s'\"`;,)]+)", text):
                if name.startswith("kymo") or name == ".":
                    assert name in ours, f"{path}: pip install {name}"
                    named.append(name)
    assert len(named) >= 4
