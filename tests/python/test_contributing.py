"""CONTRIBUTING.md names files that exist, and walks through what people come to add."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.native

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")

# In backticks, with a slash or a suffix, but not files of the tree.
NOT_PATHS = {
    "build/",
    "build/ci",
    "build/judges",
    "build/matrix",
    "build/matrix/tarballs",
    ".venv/",
    "python3.14_*.orig.tar.xz",
    "meson.build",  # the one of whatever directory the text speaks about
    "torch.profiler",
}
LOOKS_LIKE_A_PATH = re.compile(r"[\w.*+-]*/[\w./*+-]*|[\w.*-]+\.(?:[ch]|py|md|build|map|sh|1|xz)")


def quoted() -> list[str]:
    """What stands in backticks, without code blocks."""
    text = re.sub(r"^    .*$", "", PAGE, flags=re.M)
    return re.findall(r"`([^`\n]+)`", text)


def paths(words: list[str]) -> list[str]:
    """The paths among WORDS, those of commands such as `python FILE` included."""
    parts = [part for word in words for part in word.split()]
    return sorted({p for p in parts if LOOKS_LIKE_A_PATH.fullmatch(p)} - NOT_PATHS)


@pytest.mark.parametrize("path", paths(quoted()))
def test_a_path_in_contributing_exists(path: str) -> None:
    assert list(ROOT.glob(path.rstrip("/"))), f"CONTRIBUTING.md names {path}"


@pytest.mark.parametrize(
    ("title", "files"),
    [
        ("Adding an export format", ["src/model/export/export.c", "docs/formats/speedscope.md"]),
        ("Adding a source", ["include/kymo/source.h", "tests/programs/fake_source.c"]),
        ("Adding a verb", ["src/cli/front/verbs.c", "src/cli/shared/verb.h"]),
        ("Adding a record kind", ["include/kymo/types.h", "docs/internals/trace-format.md"]),
    ],
)
def test_contributing_walks_through_an_addition(title: str, files: list[str]) -> None:
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]

    assert set(files) <= set(paths(re.findall(r"`([^`\n]+)`", section)))
    assert re.findall(r"^(\d)\.", section, re.M)[:3] == ["1", "2", "3"]


def test_the_map_names_every_room() -> None:
    rooms = {p.parent.relative_to(ROOT).as_posix() for p in ROOT.glob("src/*/meson.build")}
    rooms |= {p.parent.relative_to(ROOT).as_posix() for p in ROOT.glob("ext/*/meson.build")}
    rooms |= {p.parent.relative_to(ROOT).as_posix() for p in ROOT.glob("src/model/*/meson.build")}

    missing = rooms - {"src/model"} - set(paths(quoted()))

    assert not missing
