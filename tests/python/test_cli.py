"""The command: what it offers, what it says about bad input, how it treats its output."""

from __future__ import annotations

import functools
import json
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

import program
import pytest
from command import NESTED, bad, good, info_of, kymograph
from conftest import Maker
from program import PROGRAM

pytestmark = pytest.mark.native

ROOT = Path(__file__).resolve().parents[2]
VERBS = [
    "run",
    "report",
    "view",
    "diff",
    "query",
    "export",
    "cut",
    "merge",
    "check",
    "index",
    "info",
    "dump",
    "stacks",
    "doctor",
    "completion",
    "help",
]
READERS = ["report", "export", "info", "dump"]


# ------------------------------------------------------------------------- help


def test_help_lists_every_verb_with_its_purpose() -> None:
    text = good("help")

    for verb in VERBS:
        assert re.search(rf"^  {verb} +\w", text, re.M), verb
    assert "python-info" not in text


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_explains_itself_in_the_same_words_everywhere(verb: str) -> None:
    text = good("help", verb)

    assert text.startswith(f"usage: kymograph {verb}")
    assert "Examples" in text
    assert good(verb, "--help") == good(verb, "-h") == text


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_before_a_verb_is_the_overview(option: str) -> None:
    assert good(option) == good("help")


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version_is_printed(option: str) -> None:
    assert re.fullmatch(r"kymograph \d+\.\d+\.\d+\n", good(option))


@pytest.mark.parametrize("page", ["docs/command.md", "docs/man/kymograph.1"])
def test_written_pages_name_every_option_of_every_verb(page: str) -> None:
    text = (ROOT / page).read_text().replace("\\-", "-")

    for verb in VERBS:
        assert verb in text
        for option in re.findall(r"^ +(?:-\w, )?--([\w-]+)", good("help", verb), re.M):
            written = f"Fl -{option}" if page.endswith(".1") else f"--{option}"
            assert written in text, f"{verb} {option}"


# ------------------------------------------------------------------- wrong usage


def test_no_verb_is_asked_for() -> None:
    done = kymograph()

    assert done.returncode == 2
    assert all(re.search(rf"^  {verb} ", done.stdout, re.M) for verb in VERBS)
    assert "kymograph run script.py" in done.stdout


@pytest.mark.parametrize(
    ("typed", "meant"), [("inf", "info"), ("dmup", "dump"), ("docter", "doctor"), ("dum", "dump")]
)
def test_an_unknown_verb_is_named_with_the_nearest_one(typed: str, meant: str) -> None:
    message = bad(typed)

    assert f"'{typed}'" in message and f"did you mean '{meant}'" in message


def test_nothing_is_suggested_when_nothing_is_near() -> None:
    message = bad("zzzzzz")

    assert "'zzzzzz'" in message and "did you mean" not in message and "kymograph help" in message


def test_a_capture_in_place_of_a_verb_leads_to_its_report(tmp_path: Path) -> None:
    path = tmp_path / "trace.kymo"
    path.touch()

    assert f"kymograph report {path}" in bad(path)


def test_a_script_in_place_of_a_verb_leads_to_run(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.touch()

    assert f"kymograph run {path}" in bad(path)


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
    assert "kymograph help" in message


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
        (["completion", "tcsh"], "bash, zsh or fish"),
        (["help", "inf"], "'info'"),
        (["doctor", "/nonexistent"], "/nonexistent: No such file"),
        (["doctor", "/etc/passwd"], "/etc/passwd: Not a directory"),
    ],
)
def test_wrong_usage_is_one_line_that_names_it(arguments: list[str], words: str) -> None:
    assert words in bad(*arguments)


def test_words_after_two_dashes_are_not_options(tmp_path: Path) -> None:
    assert "--json: no such file" in bad("info", "--", "--json", cwd=tmp_path)


# --------------------------------------------------------------------- bad files


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"#!/bin/sh\n" * 100, "not a kymograph capture"),
        (b"K", "not a kymograph capture"),
        (bytes(65536), "not a kymograph capture"),
    ],
)
def test_a_file_that_is_not_a_capture_is_named_with_a_hint(
    tmp_path: Path, verb: str, content: bytes | None, words: str
) -> None:
    path = tmp_path / "x.kymo"
    if content is not None:
        path.write_bytes(content)

    message = bad(verb, path)

    assert message.startswith(f"{path}: ") and words in message and "; " in message


@pytest.mark.parametrize("verb", READERS)
def test_a_directory_is_not_a_capture(tmp_path: Path, verb: str) -> None:
    said = bad(verb, tmp_path)

    if verb == "report":
        assert said.startswith(f"{tmp_path}: no captures (.kymo) in this directory; ")
    else:
        assert said == f"{tmp_path}: this is a directory; name a capture in it"


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
def test_a_capture_of_a_newer_version_is_named_with_an_update_hint(make: Maker, verb: str) -> None:
    path = make(NESTED)
    newer = major_version_raised(path.read_bytes())
    path.write_bytes(newer)

    assert "newer kymograph" in bad(verb, path)


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

    done = kymograph("info", "--json", tmp_path / "none", path)

    assert done.returncode == 2
    assert json.loads(done.stdout)["file"] == str(path)
    assert done.stderr.count("\n") == 1


def test_a_message_stays_one_line_whatever_the_file_is_called() -> None:
    assert bad("info", "a\nb\x1b[31m").startswith(r"a\nb\e[31m: ")


# ------------------------------------------------------------------------ output


def test_output_that_cannot_be_written_is_an_error(make: Maker) -> None:
    path = make(NESTED)

    for arguments in (["info", path], ["dump", path], ["help"], ["completion", "bash"]):
        with open("/dev/full", "w") as full:
            done = kymograph(*arguments, stdout=full)
        assert done.returncode == 2
        assert done.stderr == "kymograph: cannot write the output: No space left on device\n"


def forbid_long_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))


def test_output_beyond_the_size_limit_of_files_is_an_error(make: Maker, tmp_path: Path) -> None:
    path = make(NESTED)

    with open(tmp_path / "out", "w") as out:
        done = kymograph("dump", path, stdout=out, preexec_fn=forbid_long_files)

    assert done.returncode == 2
    assert done.stderr == "kymograph: cannot write the output: File too large\n"


def test_a_closed_output_never_reaches_another_file(make: Maker, tmp_path: Path) -> None:
    before = make(NESTED).read_bytes()

    done = kymograph("doctor", tmp_path, stdout=None, preexec_fn=lambda: os.close(1))

    assert done.returncode == 2 and "cannot write the output" in done.stderr
    assert (tmp_path / "trace.kymo").read_bytes() == before


@pytest.mark.parametrize("ignore", [False, True])
def test_a_reader_that_goes_away_ends_it_quietly(make: Maker, ignore: bool) -> None:
    path = make("for i in range(200000): kymograph.instant('x')\nkymograph.stop()")
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
    assert process.wait(timeout=400) == -signal.SIGPIPE


on_terminal = functools.partial(program.on_terminal, width=60, NO_COLOR="")


def test_colours_are_for_terminals_only(make: Maker) -> None:
    path = make(NESTED)

    assert "\x1b[" in on_terminal("info", path)
    assert "\x1b" not in on_terminal("info", path, NO_COLOR="1")
    assert "\x1b" not in on_terminal("info", path, TERM="dumb")
    assert "\x1b" not in good("info", path)


def test_tables_fit_the_terminal_and_are_whole_in_a_pipe(make: Maker) -> None:
    name = "a thread with a very long name indeed, longer than any terminal is wide"
    path = make(f"kymograph.thread_name({name!r}); kymograph.instant('x'); kymograph.stop()")
    stored = info_of(path)["threads"][0]["name"]

    table = on_terminal("info", path, NO_COLOR="1").split("\n\n")[1]

    assert all(len(line) <= 60 for line in table.splitlines())
    assert "…" in table
    assert stored in good("info", path)


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
            f"COMP_CWORD={len(words) - 1}; _kymograph 2>/dev/null; "
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
    else:
        code = f'"{PROGRAM}" completion fish | source; complete -C "{line}"'
    done = subprocess.run(
        [shell, "-c", code], capture_output=True, text=True, cwd=directory, timeout=400
    )
    return sorted(word.split("\t")[0] for word in done.stdout.split("\n") if word)


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completion_offers_verbs_options_and_captures(shell: str, tmp_path: Path) -> None:
    (tmp_path / "trace.kymo").touch()

    assert offers(shell, "kymograph ", tmp_path) == sorted(VERBS)
    assert offers(shell, "kymograph d", tmp_path) == ["diff", "doctor", "dump"]
    assert offers(shell, "kymograph info tr", tmp_path) == ["trace.kymo"]
    assert offers(shell, "kymograph completion ", tmp_path) == ["bash", "fish", "zsh"]
    options = re.findall(r"^ +(?:-\w, )?(--[\w-]+)", good("help", "dump"), re.M)
    assert offers(shell, "kymograph dump --", tmp_path) == sorted(options)


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completion_offers_the_values_of_an_option(shell: str, tmp_path: Path) -> None:
    formats = re.findall(r"^  (\w+)  ", good("help", "export").split("Formats\n")[1], re.M)
    sorts = ["calls", "mean", "name", "p99", "self", "total"]

    assert offers(shell, "kymograph export --to ", tmp_path) == sorted(formats)
    assert offers(shell, "kymograph export --to per", tmp_path) == ["perfetto"]
    assert offers(shell, "kymograph report --sort ", tmp_path) == sorts
    assert offers(shell, "kymograph report -s p", tmp_path) == ["p99"]
    assert offers(shell, "kymograph report --native ", tmp_path) == ["all", "brief", "none"]
    assert offers(shell, "kymograph diff --of ", tmp_path) == ["calls", "memory", "samples"]
    assert offers(shell, "kymograph run --c-calls ", tmp_path) == ["off", "on"]
    assert offers(shell, "kymograph run --source ", tmp_path) == []
    assert offers(shell, "kymograph help ex", tmp_path) == ["export"]


def completed_by_zsh(lines: Iterable[str], directory: Path) -> list[str]:
    """LINES after the tab key, as zsh's line editor completes them."""
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("no zsh on this machine")
    (directory / "_kymograph").write_text(good("completion", "zsh"))
    keys = (
        "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D\nbindkey '^I' complete-word\n"
    )
    for line in lines:
        keys += f"{line}\t\x01print -r -- 'the line:' \n"
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [zsh, "-f", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        cwd=directory,
        env={"TERM": "dumb", "PS1": "", "HOME": str(directory), "PATH": os.environ["PATH"]},
    ):
        os.close(theirs)
        os.write(ours, f"{keys}exit\n".encode())
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:
            pass  # zsh has ended
    os.close(ours)
    text = shown.decode(errors="replace").replace("\r\n", "\n")
    return re.findall("^the line: (.*?)\r?$", text, re.M)


def test_zsh_completes_verbs_options_values_and_captures(tmp_path: Path) -> None:
    (tmp_path / "trace.kymo").touch()
    (tmp_path / "trouble.txt").touch()
    completed = {
        "kymograph rep": "kymograph report",
        "kymograph info tr": "kymograph info trace.kymo",
        "kymograph stacks tro": "kymograph stacks trouble.txt",
        "kymograph report --unf": "kymograph report --unfold",
        "kymograph export --to per": "kymograph export --to perfetto",
        "kymograph report -s p": "kymograph report -s p99",
        "kymograph run --c-calls of": "kymograph run --c-calls off",
        "kymograph run --source NAM": "kymograph run --source NAM",
        "kymograph help ex": "kymograph help export",
    }

    assert completed_by_zsh(completed, tmp_path) == list(completed.values())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_valid_for_its_shell(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine")
    path = tmp_path / "completion"
    path.write_text(good("completion", shell))

    done = subprocess.run([shell, "-n", path], capture_output=True, text=True, timeout=400)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
