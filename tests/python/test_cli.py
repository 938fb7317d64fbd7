"""The command `kymo`: its verbs, what it says about bad input, and how it treats its output."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from program import PROGRAM

ROOT = Path(__file__).resolve().parents[2]
VERBS = [
    "run",
    "report",
    "diff",
    "query",
    "export",
    "cut",
    "merge",
    "info",
    "dump",
    "stacks",
    "doctor",
    "completion",
    "help",
]
READERS = ["report", "export", "info", "dump"]

Maker = Callable[..., Path]


def kymo(
    *arguments: object, environment: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=60,
        check=False,
        env={**os.environ, **(environment or {})},
        **options,
    )


def good(*arguments: object, **options: Any) -> str:
    done = kymo(*arguments, **options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def bad(*arguments: object, code: int = 2, **options: Any) -> str:
    """The one line with which the program refuses."""
    done = kymo(*arguments, **options)
    assert done.returncode == code, done
    assert done.stdout == ""
    assert done.stderr.startswith("kymo: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("kymo: ").removesuffix("\n")


def start_recorder(path: Path, code: str) -> subprocess.Popen[bytes]:
    """A Python of its own that records into `path` and runs `code`."""
    prelude = (
        "import os, resource, signal, sys, threading, time, kymo\n"
        "kymo.start(sys.argv[1], calls=False)\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", prelude + code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    """`make(code)`: the capture of a process that ran `code`."""

    def maker(code: str, name: str = "trace.kymo") -> Path:
        path = tmp_path / name
        with start_recorder(path, code) as process:
            process.communicate(timeout=60)
        return path

    return maker


@contextlib.contextmanager
def recording(path: Path, code: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has run `code` and still records."""
    with start_recorder(path, code + "\nprint('ready', flush=True); sys.stdin.read()") as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        try:
            yield process
        finally:
            process.kill()


def info_of(path: Path) -> dict[str, Any]:
    return json.loads(good("info", "--json", path))


def events_of(path: Path, *options: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in good("dump", "--json", *options, path).splitlines()]


NESTED = """
with kymo.span("outer"):
    with kymo.span("inner"):
        kymo.counter("bytes", 4096.5)
    kymo.instant("moment")
kymo.flow_out("arrow", 7); kymo.flow_in("arrow", 7)
kymo.async_begin("request", 8); kymo.async_end("request", 8)
kymo.stop()
"""

WORKERS = """
def work():
    kymo.thread_name("worker")
    for i in range(10): kymo.instant("tick")
kymo.thread_name("main")
kymo.instant("first")
for i in range(2):
    thread = threading.Thread(target=work); thread.start(); thread.join()
kymo.stop()
"""


# ------------------------------------------------------------------------- help


def test_help_lists_every_verb_with_its_purpose() -> None:
    text = good("help")

    for verb in VERBS:
        assert re.search(rf"^  {verb} +\w", text, re.M), verb
    assert "python-info" not in text


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_explains_itself_in_the_same_words_everywhere(verb: str) -> None:
    text = good("help", verb)

    assert text.startswith(f"usage: kymo {verb}")
    assert "Examples" in text
    assert good(verb, "--help") == good(verb, "-h") == text


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_before_a_verb_is_the_overview(option: str) -> None:
    assert good(option) == good("help")


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version_is_printed(option: str) -> None:
    assert re.fullmatch(r"kymo \d+\.\d+\.\d+\n", good(option))


@pytest.mark.parametrize("page", ["docs/command.md", "docs/man/kymo.1"])
def test_written_pages_name_every_option_of_every_verb(page: str) -> None:
    text = (ROOT / page).read_text().replace("\\-", "-")

    for verb in VERBS:
        assert verb in text
        for option in re.findall(r"^ +(?:-\w, )?--([\w-]+)", good("help", verb), re.M):
            written = f"Fl -{option}" if page.endswith(".1") else f"--{option}"
            assert written in text, f"{verb} {option}"


# ------------------------------------------------------------------- wrong usage


def test_no_verb_is_asked_for() -> None:
    assert "kymo help" in bad()


@pytest.mark.parametrize(
    ("typed", "meant"), [("inf", "info"), ("dmup", "dump"), ("docter", "doctor"), ("dum", "dump")]
)
def test_an_unknown_verb_is_named_with_the_nearest_one(typed: str, meant: str) -> None:
    message = bad(typed)

    assert f"'{typed}'" in message and f"did you mean '{meant}'" in message


def test_nothing_is_suggested_when_nothing_is_near() -> None:
    message = bad("zzzzzz")

    assert "'zzzzzz'" in message and "did you mean" not in message and "kymo help" in message


def test_a_capture_in_place_of_a_verb_leads_to_info(tmp_path: Path) -> None:
    path = tmp_path / "trace.kymo"
    path.touch()

    assert f"kymo info {path}" in bad(path)


@pytest.mark.parametrize(
    ("arguments", "option", "meant"),
    [
        (["info", "--jsn", "x"], "--jsn", "--json"),
        (["dump", "--form", "1", "x"], "--form", "--from"),
        (["dump", "--lim", "1", "x"], "--lim", "--limit"),
        (["--versoin"], "--versoin", "--version"),
    ],
)
def test_an_unknown_option_is_named_with_the_nearest_one(
    arguments: list[str], option: str, meant: str
) -> None:
    message = bad(*arguments)

    assert f"has no option {option};" in message
    assert f"did you mean {meant}?" in message
    assert "kymo help" in message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["info"], "needs FILE"),
        (["dump"], "needs FILE"),
        (["dump", "a", "b"], "'b'"),
        (["info", "-x", "a"], "no option -x"),
        (["info", "--json=yes", "a"], "--json takes no value"),
        (["dump", "a", "--from"], "--from needs TIME"),
        (["dump", "a", "-n"], "--limit needs N"),
        (["dump", "a", "--from", "soon"], "--from soon is not a time"),
        (["dump", "a", "--to", "-1s"], "--to -1s is not a time"),
        (["dump", "a", "--to", "1e3"], "--to 1e3 is not a time"),
        (["dump", "a", "--to", "99999999h"], "--to 99999999h is not a time"),
        (["dump", "a", "--from", "2", "--to", "1"], "later"),
        (["dump", "a", "--limit", "many"], "--limit many"),
        (["dump", "a", "--limit", "99999999999999999999"], "--limit 99999999999999999999"),
        (["completion"], "bash|zsh|fish"),
        (["completion", "bsh"], "'bash'"),
        (["completion", "tcsh"], "bash, zsh and fish"),
        (["help", "inf"], "'info'"),
        (["doctor", "/nonexistent"], "/nonexistent: No such file"),
        (["doctor", "/etc/passwd"], "/etc/passwd: Not a directory"),
    ],
)
def test_wrong_usage_is_one_line_that_names_it(arguments: list[str], words: str) -> None:
    assert words in bad(*arguments)


def test_words_behind_two_dashes_are_not_options(tmp_path: Path) -> None:
    assert "--json: there is no such file" in bad("info", "--", "--json", cwd=tmp_path)


# --------------------------------------------------------------------- bad files


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"#!/bin/sh\n" * 100, "not a kymo capture"),
        (b"K", "not a kymo capture"),
        (bytes(65536), "not a kymo capture"),
    ],
)
def test_a_file_that_is_no_capture_is_named_with_a_way_out(
    tmp_path: Path, verb: str, content: bytes | None, words: str
) -> None:
    path = tmp_path / "x.kymo"
    if content is not None:
        path.write_bytes(content)

    message = bad(verb, path)

    assert message.startswith(f"{path}: ") and words in message and "; " in message


@pytest.mark.parametrize("verb", READERS)
def test_a_directory_is_no_capture(tmp_path: Path, verb: str) -> None:
    assert bad(verb, tmp_path) == f"{tmp_path}: this is a directory; name a capture in it"


@pytest.mark.parametrize("verb", READERS)
def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path, verb: str) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    assert "not a regular file" in bad(verb, path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("verb", READERS)
def test_a_file_without_permission_is_named(make: Maker, verb: str) -> None:
    path = make(NESTED)
    path.chmod(0)

    assert "permission" in bad(verb, path)


@pytest.mark.parametrize("verb", READERS)
def test_a_capture_of_a_newer_kymo_asks_for_an_update(make: Maker, verb: str) -> None:
    path = make(NESTED)
    newer = major_version_raised(path.read_bytes())
    path.write_bytes(newer)

    assert "newer kymo" in bad(verb, path)


@pytest.mark.parametrize("verb", READERS)
def test_a_capture_cut_inside_its_header_is_named(make: Maker, verb: str) -> None:
    path = make(NESTED)
    os.truncate(path, 100)

    assert "header is damaged" in bad(verb, path)


def major_version_raised(capture: bytes) -> bytes:
    """The header is the magic (8 bytes), then the major version (16 bits, little-endian)."""
    (major,) = struct.unpack_from("<H", capture, 8)
    return capture[:8] + struct.pack("<H", major + 1) + capture[10:]


def test_one_bad_file_does_not_hide_the_others(make: Maker, tmp_path: Path) -> None:
    path = make(NESTED)

    done = kymo("info", "--json", tmp_path / "none", path)

    assert done.returncode == 2
    assert json.loads(done.stdout)["file"] == str(path)
    assert done.stderr.count("\n") == 1


def test_a_message_stays_one_line_whatever_the_file_is_called() -> None:
    assert bad("info", "a\nb\x1b[31m").startswith(r"a\nb\e[31m: ")


# -------------------------------------------------------------------------- info


def test_info_tells_a_clean_end_and_the_totals(make: Maker) -> None:
    path = make("for i in range(3):\n    with kymo.span('s'): pass\nkymo.stop()")

    info = info_of(path)
    text = good("info", path)

    assert info["ending"] == "clean" and info["error"] is None
    assert info["records"] == 6 and info["recovered_records"] == 0
    assert info["gaps"] == info["lost_records"] == 0 and info["losses"] == []
    assert info["damaged_blocks"] == 0 and info["indexed"] is True
    assert info["file_bytes"] == path.stat().st_size and info["live_bytes"] == 0
    assert abs(info["wall_start_ns"] / 1e9 - time.time()) < 120
    assert info["clock"]["source"] in ("tsc", "cntvct", "monotonic")
    assert "stopped cleanly" in text and "lost      nothing" in text


def test_info_shows_threads_with_their_names(make: Maker) -> None:
    path = make(WORKERS)

    threads = info_of(path)["threads"]
    text = good("info", path)

    assert [(t["index"], t["name"], t["records"]) for t in threads] == [
        (0, "main", 1),
        (1, "worker", 10),
        (2, "worker", 10),
    ]
    assert re.search(rf"^ +1 +{threads[1]['tid']} +worker +10 +0 ", text, re.M)


def test_info_shows_metadata(make: Maker) -> None:
    path = make("kymo.metadata('größe', 'a\\nb'); kymo.instant('x'); kymo.stop()")

    assert info_of(path)["metadata"]["größe"] == "a\nb"
    assert r"größe = a\nb" in good("info", path)


def test_info_groups_large_numbers_for_people(make: Maker) -> None:
    path = make("for i in range(1234567): kymo.instant('x')\nkymo.stop()")

    assert "1 234 567 on 1 thread\n" in good("info", path)


def test_info_says_that_a_process_was_killed_and_what_was_recovered(make: Maker) -> None:
    path = make("kymo.instant('last words'); os.kill(os.getpid(), signal.SIGKILL)")

    info = info_of(path)
    text = good("info", path)

    assert info["ending"] == "killed" and info["recovered_records"] == 1
    assert f"the process was killed; 1 record was recovered from {path}.live" in text
    assert [e["name"] for e in events_of(path)] == ["last words"]


def test_info_says_that_a_recording_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "trace.kymo"
    with recording(path, "kymo.instant('so far')") as process:
        info = info_of(path)
        text = good("info", path)

    assert (info["ending"], info["pid"]) == ("running", process.pid)
    assert f"still being recorded by process {process.pid}" in text


def test_info_says_why_writing_failed(make: Maker) -> None:
    path = make(
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))\n"
        "for i in range(2000000): kymo.counter('x', i * 1.37)\n"
        "try: kymo.stop()\n"
        "except OSError: pass"
    )

    info = info_of(path)
    text = good("info", path)

    assert info["ending"] == "failed" and info["error"] == os.strerror(27)
    assert "writing failed: File too large" in text
    assert info["lost_records"] > 0
    assert sum(loss["records"] for loss in info["losses"]) == info["lost_records"]
    assert {loss["reason"] for loss in info["losses"]} == {"disk"}
    assert "the file could not be written" in text


def test_info_and_dump_read_what_is_left_of_a_cut_capture(make: Maker) -> None:
    path = make("for i in range(400000): kymo.instant('x')\nkymo.stop()")
    os.truncate(path, path.stat().st_size // 2)

    info = info_of(path)

    assert info["indexed"] is False
    assert "cut short: " in good("info", path)
    assert 0 < info["records"] < 400000
    assert len([e for e in events_of(path) if e["kind"] == "instant"]) == info["records"]


def test_verify_finds_a_flipped_byte_and_says_no(make: Maker) -> None:
    path = make("for i in range(400000): kymo.instant('x')\nkymo.stop()")
    whole = kymo("info", "--verify", path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)

    done = kymo("info", "--verify", "--json", path)
    info = json.loads(done.stdout)

    assert whole.returncode == 0 and "none; every block was read" in whole.stdout
    assert done.returncode == 1
    assert info["verified"] is True and info["damaged_blocks"] == 1
    assert 0 < info["records"] < 400000
    (loss,) = info["losses"]
    assert (loss["reason"], loss["records"]) == ("damaged", 400000 - info["records"])
    assert "1 block cannot be read" in kymo("info", "--verify", path).stdout
    assert len([e for e in events_of(path) if e["kind"] == "instant"]) == info["records"]


# -------------------------------------------------------------------------- dump


def test_dump_prints_records_in_order_with_their_values(make: Maker) -> None:
    events = events_of(make(NESTED))

    assert [(e["kind"], e["name"]) for e in events] == [
        ("enter", "outer"),
        ("enter", "inner"),
        ("counter", "bytes"),
        ("leave", "inner"),
        ("instant", "moment"),
        ("leave", "outer"),
        ("flow_out", "arrow"),
        ("flow_in", "arrow"),
        ("async_begin", "request"),
        ("async_end", "request"),
    ]
    assert events[0]["time_ns"] == 0
    assert [e["time_ns"] for e in events] == sorted(e["time_ns"] for e in events)
    assert events[2]["value"] == 4096.5
    assert [e["id"] for e in events[6:]] == [7, 7, 8, 8]


def test_dump_indents_names_by_the_spans_open(make: Maker) -> None:
    lines = good("dump", make(NESTED)).splitlines()

    column = lines[0].index("NAME")
    names = [line[column:] for line in lines[1:7]]
    assert names == [
        "outer",
        "  inner",
        "    bytes = 4096.5",
        "  inner",
        "  moment",
        "outer",
    ]
    assert lines[1].split()[0] == "0.000us"


def test_dump_columns_stay_aligned_with_wide_names(make: Maker) -> None:
    path = make("kymo.thread_name('日本語'); kymo.instant('a'); kymo.instant('b'); kymo.stop()")

    header, first, second = good("dump", path).splitlines()

    assert first.rindex("a") == second.rindex("b")
    assert header.index("KIND") == first.index("instant") + 3  # three characters of two cells


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("zeile\nzwei", r"zeile\nzwei"),
        ("\x1b[2Jrot", r"\e[2Jrot"),
        ("a\u202eb", r"a\u202eb"),
        ('"quoted\\"', '"quoted\\"'),
        ("関数 😀", "関数 😀"),
    ],
)
def test_any_name_survives_in_json_and_is_harmless_as_text(
    make: Maker, name: str, shown: str
) -> None:
    path = make(f"kymo.instant({name!r}); kymo.stop()")

    assert [e["name"] for e in events_of(path)] == [name]
    text = good("dump", path)
    assert text.endswith(f"{shown}\n") and text.count("\n") == 2


def test_invalid_bytes_in_a_name_become_replacement_characters(make: Maker) -> None:
    path = make(
        "import ctypes, kymo._core\n"
        "library = ctypes.CDLL(kymo._core.library())\n"
        "name = ctypes.c_char_p(b'a\\xff\\xed\\xa0\\x80z')\n"
        "library.kymo__instant(name)\n"
        "kymo.stop()"
    )

    (event,) = events_of(path)

    assert re.fullmatch("a\ufffd+z", event["name"])
    assert re.search("a\ufffd+z\n", good("dump", path))


def test_values_json_has_no_number_for_are_strings(make: Maker) -> None:
    path = make(
        "for x in ('nan', 'inf', '-inf', '1e300', '0.1'): kymo.counter('x', float(x))\nkymo.stop()"
    )

    assert [e["value"] for e in events_of(path)] == ["NaN", "Infinity", "-Infinity", 1e300, 0.1]


def test_dump_shows_only_the_thread_asked_for(make: Maker) -> None:
    path = make(WORKERS)
    tid = info_of(path)["threads"][2]["tid"]

    def threads(wanted: object) -> set[int]:
        return {event["thread"] for event in events_of(path, "--thread", wanted)}

    assert threads("main") == threads(0) == {0}
    assert threads("worker") == {1, 2}
    assert threads(f"tid:{tid}") == {2}


@pytest.mark.parametrize("thread", ["nobody", "3", "tid:1", "tid:x", ""])
def test_a_thread_that_is_not_there_is_named_with_those_that_are(make: Maker, thread: str) -> None:
    message = bad("dump", "-t", thread, make(WORKERS))

    assert f"no thread '{thread}'" in message and "0 main, 1 worker, 2 worker" in message


def test_dump_shows_only_the_time_asked_for(make: Maker) -> None:
    path = make("for i in range(1000): kymo.instant(f'{i}')\nkymo.stop()")
    times = [event["time_ns"] for event in events_of(path)]
    begin, end = times[300], times[700]

    events = events_of(path, "--from", f"{begin}ns", "--to", f"{end / 1000:.3f}us")

    assert [e["time_ns"] for e in events] == [t for t in times if begin <= t < end]


@pytest.mark.parametrize("text", ["0.0005", "0.0005s", "0.5ms", "500us", "500µs", "500000ns"])
def test_a_time_can_be_written_in_any_unit(make: Maker, text: str) -> None:
    path = make("kymo.instant('a'); time.sleep(0.001); kymo.instant('b'); kymo.stop()")

    assert [e["name"] for e in events_of(path, "--from", text)] == ["b"]
    assert [e["name"] for e in events_of(path, "--to", text)] == ["a"]


def test_times_that_dump_prints_can_be_given_back_to_it(make: Maker) -> None:
    path = make("for i in range(10): kymo.instant(f'{i}')\nkymo.stop()")
    line = good("dump", path).splitlines()[5]

    events = events_of(path, "--from", line.split()[0])

    assert events[0]["name"] == line.split()[-1]


def test_limit_stops_and_says_that_there_is_more(make: Maker) -> None:
    path = make(NESTED)

    done = kymo("dump", "-n", 3, path)

    assert done.returncode == 0
    assert done.stdout.count("\n") == 4
    assert done.stderr == f"kymo: {path}: there is more; --limit 3 was reached\n"
    assert len(events_of(path, "--limit", 10)) == 10


def test_a_window_without_records_says_so(make: Maker) -> None:
    done = kymo("dump", "--json", "--from", "1h", make(NESTED))

    assert (done.returncode, done.stdout) == (0, "")
    assert re.search(r"no records there; the capture has \d+ records and lasts ", done.stderr)


def test_absolute_times_are_those_of_the_wall_clock(make: Maker) -> None:
    path = make(NESTED)
    start = info_of(path)["wall_start_ns"]

    events = events_of(path, "--absolute")
    text = good("dump", "--absolute", path, environment={"TZ": "Asia/Kolkata"})

    assert [e["wall_ns"] - e["time_ns"] for e in events] == [start] * len(events)
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}\+05:30 ", text.splitlines()[1])


def test_gaps_are_dumped_with_their_reason(make: Maker) -> None:
    path = make(  # the highest level makes the writer slow enough to fall behind
        "kymo.stop(); kymo.start(sys.argv[1], budget='1M', policy='drop', level=19, calls=False)\n"
        "end = time.monotonic() + 20\n"
        "while kymo.stats().dropped_records == 0 and time.monotonic() < end:\n"
        "    for i in range(50000): kymo.instant(str(i % 1000))\n"
        "kymo.stop()"
    )
    info = info_of(path)
    if info["lost_records"] == 0:
        pytest.skip("the writer of this machine never fell behind")

    gaps = [event for event in events_of(path) if event["kind"] == "gap"]

    assert sum(gap["lost_records"] for gap in gaps) == info["lost_records"]
    assert {gap["reason"] for gap in gaps} == {"budget"}
    assert info["losses"] == [
        {"reason": "budget", "gaps": info["gaps"], "records": info["lost_records"]}
    ]
    assert "the memory budget was used up" in good("info", path)


# ------------------------------------------------------------------------ output


def test_output_that_cannot_be_written_is_an_error(make: Maker) -> None:
    path = make(NESTED)

    for arguments in (["info", path], ["dump", path], ["help"], ["completion", "bash"]):
        with open("/dev/full", "w") as full:
            done = kymo(*arguments, stdout=full)
        assert done.returncode == 2
        assert done.stderr == "kymo: the output could not be written: No space left on device\n"


def forbid_long_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))


def test_output_beyond_the_size_limit_of_files_is_an_error(make: Maker, tmp_path: Path) -> None:
    path = make(NESTED)

    with open(tmp_path / "out", "w") as out:
        done = kymo("dump", path, stdout=out, preexec_fn=forbid_long_files)

    assert done.returncode == 2
    assert done.stderr == "kymo: the output could not be written: File too large\n"


def test_a_closed_output_never_reaches_another_file(make: Maker, tmp_path: Path) -> None:
    before = make(NESTED).read_bytes()

    done = kymo("doctor", tmp_path, stdout=None, preexec_fn=lambda: os.close(1))

    assert done.returncode == 2 and "could not be written" in done.stderr
    assert (tmp_path / "trace.kymo").read_bytes() == before


@pytest.mark.parametrize("ignore", [False, True])
def test_a_reader_that_goes_away_ends_it_quietly(make: Maker, ignore: bool) -> None:
    path = make("for i in range(200000): kymo.instant('x')\nkymo.stop()")
    process = subprocess.Popen(
        [PROGRAM, "dump", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        restore_signals=not ignore,
    )
    assert process.stdout and process.stderr

    process.stdout.readline()
    process.stdout.close()

    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=30) == -signal.SIGPIPE


def on_terminal(*arguments: object, **environment: str) -> str:
    """What the program prints on a terminal 60 cells wide."""
    master, slave = pty.openpty()
    with os.fdopen(master, "rb", closefd=True) as screen:
        process = subprocess.Popen(
            [PROGRAM, *map(str, arguments)],
            stdout=slave,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "60", "NO_COLOR": "", **environment},
        )
        os.close(slave)
        text = b""
        with contextlib.suppress(OSError):  # EIO: the program has gone
            while block := screen.read1(4096):
                text += block
        assert process.wait(timeout=30) == 0
    return text.decode().replace("\r\n", "\n")


def test_colours_are_for_terminals_only(make: Maker) -> None:
    path = make(NESTED)

    assert "\x1b[" in on_terminal("info", path)
    assert "\x1b" not in on_terminal("info", path, NO_COLOR="1")
    assert "\x1b" not in on_terminal("info", path, TERM="dumb")
    assert "\x1b" not in good("info", path)


def test_tables_fit_the_terminal_and_are_whole_in_a_pipe(make: Maker) -> None:
    name = "a thread with a very long name indeed, longer than any terminal is wide"
    path = make(f"kymo.thread_name({name!r}); kymo.instant('x'); kymo.stop()")
    stored = info_of(path)["threads"][0]["name"]

    table = on_terminal("info", path, NO_COLOR="1").split("\n\n")[1]

    assert all(len(line) <= 60 for line in table.splitlines())
    assert "…" in table
    assert stored in good("info", path)


# ------------------------------------------------------------------------ doctor


def test_doctor_finds_that_this_machine_can_record(tmp_path: Path) -> None:
    text = good("doctor", tmp_path)

    assert re.search(r"^ok +recording ", text, re.M)
    assert list(tmp_path.iterdir()) == []


def test_doctor_tells_programs_every_check(tmp_path: Path) -> None:
    report = json.loads(good("doctor", "--json", tmp_path))

    checks = {check["name"]: check for check in report["checks"]}
    assert report["ok"] is True
    assert {"system", "cores", "memory", "disk", "recording", "python", "package"} <= set(checks)
    assert {check["status"] for check in report["checks"]} <= {"ok", "warn"}
    for check in report["checks"]:
        assert (check["way_out"] is None) == (check["status"] == "ok"), check


def test_doctor_says_no_where_nothing_can_be_recorded() -> None:
    done = kymo("doctor", "/proc")

    assert done.returncode == 1
    assert re.search(r"^fail +recording +no capture can be recorded in /proc", done.stdout, re.M)
    assert "-> " in done.stdout and "cannot record here" in done.stdout


def test_doctor_shows_the_python_it_would_use(tmp_path: Path) -> None:
    report = json.loads(good("--python", sys.executable, "doctor", "--json", tmp_path))

    checks = {check["name"]: check for check in report["checks"]}
    version = ".".join(map(str, sys.version_info[:3]))
    assert checks["python"]["found"] == f"{version} at {sys.executable} (--python)"
    assert checks["package"]["status"] == "ok"


def test_doctor_warns_of_a_python_that_does_not_run(tmp_path: Path) -> None:
    broken = script(tmp_path / "python", "echo 'no such version' >&2; exit 127")

    report = json.loads(good("--python", broken, "doctor", "--json", tmp_path))

    (check,) = (check for check in report["checks"] if check["name"] == "python")
    assert check["status"] == "warn" and "no such version" in check["found"]
    assert "--python" in check["way_out"]


# -------------------------------------------------------------- verbs in Python


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def fake_python(path: Path) -> Path:
    """Has the package, and shows how it was called."""
    return script(path, 'test "$1" = -c && exit 0; printf "%s\\n" "$0" "$@"; exit 7')


def test_a_python_verb_becomes_a_python_process(tmp_path: Path) -> None:
    python = fake_python(tmp_path / "python")

    done = kymo("--python", python, "python-info", "--odd", "two words", "--", "-x")

    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout.splitlines() == [
        str(python),
        "-m",
        "kymo",
        "python-info",
        "--odd",
        "two words",
        "--",
        "-x",
    ]


def test_the_python_is_chosen_in_the_documented_order(tmp_path: Path) -> None:
    option, variable, beside, path = (
        fake_python(tmp_path / f"python{i}") for i in ("-option", "-variable", "-beside", "-path")
    )
    program = tmp_path / "bin" / "kymo"
    program.parent.mkdir()
    shutil.copy(PROGRAM, program)
    search = tmp_path / "search"
    search.mkdir()
    shutil.copy(path, search / "python3")

    def chosen(*arguments: object, **environment: str) -> str:
        done = subprocess.run(
            [program, *map(str, arguments), "python-info"],
            env={"PATH": f"{search}:/usr/bin:/bin", **environment},
            capture_output=True,
            text=True,
            timeout=30,
        )
        return done.stdout.splitlines()[0]

    assert chosen() == str(search / "python3")
    shutil.copy(beside, program.parent / "python")
    assert chosen() == str(program.parent / "python")
    assert chosen(KYMO_PYTHON=str(variable)) == str(variable)
    assert chosen("--python", option, KYMO_PYTHON=str(variable)) == str(option)


def test_a_python_without_the_package_is_one_line_with_a_way_out(tmp_path: Path) -> None:
    bare = script(tmp_path / "python", f'exec "{sys.executable}" -I -S "$@"')

    message = bad("--python", bare, "python-info", cwd=tmp_path)

    assert f"{bare} (--python) has no package kymo" in message
    assert "pip install" in message and "KYMO_PYTHON" in message


@pytest.mark.parametrize("verb", ["python-info", "help"])
def test_a_python_that_is_not_there_is_named(tmp_path: Path, verb: str) -> None:
    arguments = ["help", "python-info"] if verb == "help" else [verb]

    message = bad(*arguments, environment={"KYMO_PYTHON": str(tmp_path / "none")})

    assert f"KYMO_PYTHON names {tmp_path / 'none'}" in message


def test_no_python_at_all_is_said(tmp_path: Path) -> None:
    program = tmp_path / "kymo"
    shutil.copy(PROGRAM, program)

    done = subprocess.run(
        [program, "python-info"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )

    assert done.returncode == 2 and done.stdout == ""
    assert "no python3 in PATH" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.skipif(
    not Path(PROGRAM).with_name("python").exists(), reason="no python beside the program"
)
def test_the_installed_program_hands_over_to_the_python_beside_it() -> None:
    report = json.loads(good("python-info", environment={"KYMO_PYTHON": ""}))

    assert report["executable"].startswith(str(Path(PROGRAM).parent))


# -------------------------------------------------------------------- completion


def offers(shell: str, line: str, directory: Path) -> list[str]:
    """What SHELL offers at the end of LINE."""
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine")
    words = line.split(" ")
    if shell == "bash":
        quoted = " ".join(f"'{word}'" for word in words)
        code = (
            f'source <("{PROGRAM}" completion bash); COMP_WORDS=({quoted}); '
            f"COMP_CWORD={len(words) - 1}; _kymo 2>/dev/null; "
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
    else:
        code = f'"{PROGRAM}" completion fish | source; complete -C "{line}"'
    done = subprocess.run(
        [shell, "-c", code], capture_output=True, text=True, cwd=directory, timeout=30
    )
    return sorted(word.split("\t")[0] for word in done.stdout.split("\n") if word)


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completion_offers_verbs_options_and_captures(shell: str, tmp_path: Path) -> None:
    (tmp_path / "trace.kymo").touch()

    assert offers(shell, "kymo ", tmp_path) == sorted(VERBS)
    assert offers(shell, "kymo d", tmp_path) == ["diff", "doctor", "dump"]
    assert offers(shell, "kymo info tr", tmp_path) == ["trace.kymo"]
    assert offers(shell, "kymo completion ", tmp_path) == ["bash", "fish", "zsh"]
    options = re.findall(r"^ +(?:-\w, )?(--[\w-]+)", good("help", "dump"), re.M)
    assert offers(shell, "kymo dump --", tmp_path) == sorted(options)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_valid_for_its_shell(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine")
    path = tmp_path / "completion"
    path.write_text(good("completion", shell))

    done = subprocess.run([shell, "-n", path], capture_output=True, text=True, timeout=30)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
