"""Files that `kymograph` writes: whose they replace, who may read them, and what they may hold."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import program
import pytest
from conftest import Maker

import kymograph

FORMATS = ["chrome", "perfetto", "html", "speedscope", "pprof", "collapsed", "pstats", "callgrind"]
CALLS = "with kymograph.span('outer'):\n    pass\nkymograph.stop()\n"


@pytest.fixture
def capture(make: Maker) -> Path:
    return make(CALLS)


def has_attributes(folder: Path) -> bool:
    probe = folder / "probe"
    probe.touch()
    try:
        os.setxattr(probe, "user.kymograph", b"x")
    except OSError:
        return False
    finally:
        probe.unlink()
    return True


# ---- whose files are replaced


def test_a_users_file_is_not_replaced_by_an_export(capture: Path) -> None:
    notes = capture.with_suffix(".json")
    notes.write_text('{"my": "notes"}')

    message = program.refused("export", capture, "--to", "chrome")

    assert str(notes) in message and "--force" in message
    assert notes.read_text() == '{"my": "notes"}'
    program.good("export", capture, "--to", "chrome", "--force")
    assert "traceEvents" in notes.read_text()


def test_a_users_file_is_not_replaced_by_a_comparison(capture: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>mine")

    message = program.refused("diff", capture, capture, "--html", page)

    assert str(page) in message
    assert page.read_text() == "<p>mine"
    program.good("diff", capture, capture, "--html", page, "--force")
    program.good("diff", capture, capture, "--html", page)


def test_a_capture_is_not_replaced_by_an_export(capture: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.kymo"
    shutil.copy(capture, other)

    program.refused("export", capture, "--to", "chrome", "-o", other)

    assert other.read_bytes() == capture.read_bytes()


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_is_replaced_by_the_next(form: str, capture: Path, tmp_path: Path) -> None:
    if not has_attributes(tmp_path) and form in ("pprof", "collapsed", "pstats"):
        pytest.skip("the file system has no attributes, and the format has no place for a name")
    output = tmp_path / f"out.{form}"

    for _ in range(2):
        program.good("export", capture, "--to", form, "-o", output)


@pytest.mark.parametrize("name", ["out.json", "out.json.gz", "out.html", "out.pftrace"])
def test_an_export_that_was_copied_is_known_by_its_beginning(
    name: str, capture: Path, tmp_path: Path
) -> None:
    written, copied = tmp_path / name, tmp_path / f"copied-{name}"
    program.good("export", capture, "-o", written)
    copied.write_bytes(written.read_bytes())

    program.good("export", capture, "-o", copied)


def test_an_export_that_was_changed_is_the_users(capture: Path, tmp_path: Path) -> None:
    if not has_attributes(tmp_path):
        pytest.skip("the file system has no attributes")
    output = tmp_path / "out.collapsed"
    program.good("export", capture, "-o", output)
    with output.open("a") as file:
        file.write("a line of the user's 1\n")

    program.refused("export", capture, "-o", output)


def test_an_empty_file_is_replaced(capture: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    output.touch()

    program.good("export", capture, "-o", output)


def test_python_applies_the_same_check(capture: Path, tmp_path: Path) -> None:
    notes, written = tmp_path / "notes.json", tmp_path / "out.json"
    notes.write_text("[]")
    program.good("export", capture, "-o", written)

    kymograph._core.export_check(written)
    kymograph._core.export_check(tmp_path / "nothing.json")
    with pytest.raises(FileExistsError):
        kymograph._core.export_check(notes)


def test_an_export_from_python_replaces_only_exports(capture: Path, tmp_path: Path) -> None:
    script, output = tmp_path / "train.json", tmp_path / "out.collapsed"
    script.write_text("the user's")
    with kymograph.open(capture) as opened:
        for _ in range(2):
            opened.export(output)
        for path, format in ((script, None), (capture, "chrome")):
            before = path.read_bytes()
            with pytest.raises(FileExistsError, match="was not written by kymograph") as raised:
                opened.export(path, format)
            assert raised.value.filename == str(path)
            assert path.read_bytes() == before
        opened.export(script, force=True)
    assert b"traceEvents" in script.read_bytes()


def test_a_memory_history_replaces_only_exports_and_captures(capture: Path, tmp_path: Path) -> None:
    memory = kymograph.memory
    kept = tmp_path / "kept.kymo"
    kept.write_bytes(capture.read_bytes())
    memory.start()
    for when in "running", "stopped":
        for name in "notes.html", "notes.kymo":
            notes = tmp_path / name
            notes.write_text("the user's")
            with pytest.raises(FileExistsError):
                memory.export_memory_history(notes)
            assert notes.read_text() == "the user's", when
            memory.export_memory_history(notes, force=True)
            assert notes.read_bytes() != b"the user's"
            memory.export_memory_history(notes)
        memory.export_memory_history(kept)
        with kymograph.open(kept) as copy:
            assert "memory.mode" in copy.metadata
        if when == "running":
            memory.stop()


def test_written_files_are_always_named(capture: Path, tmp_path: Path) -> None:
    output = tmp_path / "part"
    for arguments in (
        ("export", capture, "--to", "chrome", "-o", f"{output}.json"),
        ("cut", capture, "-o", f"{output}.kymo"),
        ("diff", capture, capture, "--html", f"{output}.html"),
    ):
        done = program.run(*arguments)

        assert done.stderr.startswith(f"kymograph: wrote {arguments[-1]}, "), done


# ---- who may read them


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_files_made_from_a_capture_have_its_mode(mode: int, capture: Path, tmp_path: Path) -> None:
    capture.chmod(mode)

    program.good("export", capture, "--to", "chrome", "-o", tmp_path / "out.json")
    program.good("cut", capture, "-o", tmp_path / "cut.kymo")
    program.good("merge", capture, capture, "-o", tmp_path / "merged.kymo")
    program.good("diff", capture, capture, "--html", tmp_path / "diff.html")

    for name in ("out.json", "cut.kymo", "merged.kymo", "diff.html"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode, name


def test_a_merged_capture_is_for_those_who_may_read_every_part(
    capture: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.kymo"
    shutil.copy(capture, other)
    capture.chmod(0o644)
    other.chmod(0o600)

    program.good("merge", capture, other, "-o", tmp_path / "merged.kymo")

    assert stat.S_IMODE((tmp_path / "merged.kymo").stat().st_mode) == 0o600


def test_a_users_link_is_followed(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "out.json"
    program.good("export", capture, "-o", tmp_path / "there" / "real.json")
    link.symlink_to(tmp_path / "there" / "real.json")

    program.good("export", capture, "-o", link)

    assert link.is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can plant a link for another user")
def test_a_planted_link_is_not_followed(capture: Path, tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "out.json"
    victim.write_text("precious")
    link.symlink_to(victim)
    os.lchown(link, 12345, 12345)

    program.good("export", capture, "--force", "-o", link)

    assert victim.read_text() == "precious"
    assert not link.is_symlink()


# ---- what a terminal gets to see

NASTY = "a\x1b[31mb\x9bc\x7fd\u202ee"


@pytest.fixture
def nasty(make: Maker) -> Path:
    code = f"with kymograph.span({NASTY!r}): kymograph.instant({NASTY!r})\nkymograph.stop()\n"
    return make(code)


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "--csv", "SELECT name FROM functions"),
        ("query", "--json", "SELECT name FROM functions"),
        ("query", "SELECT name FROM functions"),
        ("dump", "--json"),
        ("dump",),
        ("report", "--json"),
        ("report",),
        ("info", "--json"),
    ],
)
def test_no_control_character_reaches_the_terminal(arguments: tuple[str, ...], nasty: Path) -> None:
    verb, *rest = arguments
    options, words = [w for w in rest if w[0] == "-"], [w for w in rest if w[0] != "-"]

    text = program.good(verb, *options, nasty, *words)

    assert [c for c in text if c in "\x1b\x9b\x7f\u202e"] == []
    assert ("a" in text and "[31mb" in text) or verb == "info"


def test_a_chrome_trace_has_no_raw_control_characters(nasty: Path) -> None:
    text = program.good("export", nasty, "--to", "chrome", "-o", "-")

    assert [c for c in text if c in "\x1b\x9b\x7f"] == []


@pytest.mark.parametrize(
    "call", ["fts3_tokenizer('simple')", "fts3_tokenizer('x', x'00')", "load_extension('x')"]
)
def test_no_function_of_sql_reaches_beyond_sql(call: str, capture: Path) -> None:
    message = program.refused("query", capture, f"SELECT {call}")

    assert "not authorized" in message or "no such function" in message


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("kymograph run -o x.kymo src/shop.py 3", "shop.py"),
        ("kymograph run -m json.tool", "json.tool"),
    ],
)
def test_an_export_is_called_after_the_program(command: str, name: str, make: Maker) -> None:
    path = make(f"kymograph.metadata('command', {command!r})\n{CALLS}")

    assert f"\ncmd: {name}\n" in program.good("export", path, "--to", "callgrind", "-o", "-")
    assert f'"title":"{name}"' in program.good("export", path, "--to", "html", "-o", "-")
