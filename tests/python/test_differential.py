"""Real programs, counted by kymograph, by cProfile and by a profile function: they agree.

The programs are tests of the standard library and the scripts in tests/programs, chosen for
calling the same each time they run. KYMO_DIFFERENTIAL=sample takes a part of them.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from counted import NOT_FOR

HERE = Path(__file__).parent
COUNTED = HERE / "counted.py"

SCRIPTS = sorted(path.name for path in (HERE.parent / "programs").glob("*.py"))

MODULES = """
test__colorize test__locale test__opcode test__osx_support test_abc test_abstract_numbers
test_augassign test_baseexception test_binascii test_binop test_bool
test_charmapcodec test_cmath test_codeccallbacks test_codeop test_colorsys test_compare
test_contains test_copy test_copyreg test_csv test_dbm_dumb test_decorators test_defaultdict
test_dictcomps test_dictviews test_dynamic test_dynamicclassattribute test_errno
test_except_star test_exception_group test_exception_hierarchy test_exception_variations
test_extcall test_file test_fileinput test_float test_flufl test_fnmatch
test_format test_funcattrs test_generator_stop test_genericalias test_genericclass
test_genericpath test_genexps test_getopt test_getpass test_gettext test_global test_grammar
test_grp test_hmac test_html test_index test_int_literal test_iter test_iterlen test_keyword
test_keywordonlyarg test_linecache test_list test_listcomps test_longexp
test_math_property test_memoryio test_memoryview test_metaclass test_mimetypes test_minidom
test_named_expressions test_netrc test_opcodes test_operator test_ordered_dict test_patma
test_pep646_syntax test_picklebuffer test_positional_only_arg test_print test_property
test_pulldom test_pwd test_pyexpat test_quopri test_raise test_rlcompleter test_scope
test_setcomps test_shlex test_stat test_string test_stringprep test_subclassinit test_sundry
test_symtable test_textwrap test_tuple test_type_aliases test_type_annotations
test_type_comments test_type_params test_typechecks test_types test_unary
test_unicode_identifiers test_univnewlines test_unpack test_unpack_ex test_urllib_response
test_wave test_weakset test_with test_xml_dom_minicompat test_zipapp
test_bisect test_contextlib test_dict test_fractions test_generators test_htmlparser
test_modulefinder test_optparse test_reprlib test_slice test_yield_from
""".split()

# Not among them, though short:
# test_pstats     has cProfile measure, and sorts by the times: no two runs are alike
# test_pprint     sorts values without an order by their addresses, which no two runs share
# test_tabnanny   reads a folder of two files with random names until the one with the error,
#                 and the output of processes in as many pieces as it comes
# test_asyncgen, test_coroutines   wait, and look again as often as it takes
# test_contextlib_async   has asyncio complain of what took longer than 0.1 s
# test_gc         has collections run, which the allocations of a profile function begin as
#                 well: then it does not see what they call

PROGRAMS = [*SCRIPTS, *MODULES]
SAMPLED = os.environ.get("KYMO_DIFFERENTIAL", "all") == "sample"
BATCH = 12  # programs for one process

Counts = dict[str, int]


def there_is(program: str) -> bool:
    if program in SCRIPTS:
        return True
    return bool(importlib.util.find_spec("test")) and bool(
        importlib.util.find_spec(f"test.{program}")
    )


CHOSEN = PROGRAMS[::6] if SAMPLED else PROGRAMS
HERE_NOW = [program for program in CHOSEN if there_is(program)]


# Copied here because pytest changes the environment while the pool's threads start programs.
ENVIRONMENT = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def execute(folder: Path, *command: object) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=400,
        check=False,
    )
    said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{said}"


def count(folder: Path, number: int, tool: str) -> list[dict[str, Any]]:
    """What TOOL says of each program of a batch; `run` is `kymograph run`, which counts nothing."""
    programs = HERE_NOW[number * BATCH : (number + 1) * BATCH]
    place = folder / f"{tool}-{number}"
    place.mkdir()
    results = place / "results.json"
    if tool == "run":
        capture = place / "run.kymo"
        record = [sys.executable, "-m", "kymograph", "run", "-q", "-o", capture]
        execute(place, *record, COUNTED, "none", results, *programs)
        assert capture.stat().st_size > 1000, "nothing was recorded"
        capture.unlink()
    else:
        execute(place, sys.executable, COUNTED, tool, results, *programs)
    return list(json.loads(results.read_text()))


class Tools:
    """What each tool says of each program; batches are run two at a time, when first asked."""

    def __init__(self, folder: Path) -> None:
        self.pool = ThreadPoolExecutor(2)
        self.batches: dict[tuple[int, str], Future[list[dict[str, Any]]]] = {}
        for number in range((len(HERE_NOW) + BATCH - 1) // BATCH):
            for tool in ("none", "run", "kymograph", "setprofile", "cprofile"):
                job = functools.partial(count, folder, number, tool)
                self.batches[number, tool] = self.pool.submit(job)

    def ask(self, tool: str, program: str) -> dict[str, Any]:
        if program not in HERE_NOW:
            pytest.skip(f"{sys.executable} has no test.{program}: IT IS NOT COMPARED")
        at = HERE_NOW.index(program)
        return self.batches[at // BATCH, tool].result()[at % BATCH]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    tools = Tools(tmp_path_factory.mktemp("differential"))
    yield tools
    tools.pool.shutdown(cancel_futures=True)


def differences(theirs: Counts, ours: Counts) -> dict[str, tuple[int, int]]:
    names = theirs.keys() | ours.keys()
    pairs = {name: (theirs.get(name, 0), ours.get(name, 0)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def reported_differences(theirs: Counts, ours: Counts) -> dict[str, tuple[int, int]]:
    """The same for C functions, of which we know more than the others.

    They do not report calls of types, of instances and of slots (`dict.__init__`), so that
    only what they report is compared, and special methods may be called more often.
    """
    return {
        name: (there, here)
        for name, (there, here) in differences(theirs, ours).items()
        if there and not (name.startswith("__") and here > there)
    }


def plain(name: str) -> str:
    """What cProfile calls a C function, as `counted.c_key` does."""
    method = re.match(r"<[\w -]+ '?(\w+)'? of .*>", name)
    if method:
        return method[1]
    function = re.match(r"<(?:built-in method )?([\w.]+)>", name)
    if function:
        return function[1]
    overridden = re.match(r"<function ([\w.<>]+) at 0x\w+>", name)
    assert overridden, name
    return overridden[1].rpartition(".")[2]


# ---- what the others do not report, by name and reason

# A thread gets its profile function in the middle of its beginning: what threading does
# before is not reported.
THREADED = {"threads.py"}

# Calls of C functions that others do not report, by program.
UNREPORTED: dict[str, set[str]] = {
    # The types have the names of the functions that make them, and are called too.
    "test_csv": {"_csv.reader", "_csv.writer"},
    # Called as a method, which 3.12 reports and they do not take for a C function.
    "test_funcattrs": {"builtins.id"},
    # It is called without an object, which is an error, and no call to them.
    "test_ordered_dict": {"update"},
}

# Before 3.12, a generator that is closed where the profile function lets go of it runs inside that
# function, to which nothing is reported meanwhile.
CLOSED_INSIDE = {"test_yield_from": {"one", "outer"}} if sys.version_info < (3, 12) else {}

# On 3.10 a profile function written in Python keeps the variables of every frame alive, so
# that finalizers run later, or inside it, and tests of them fail. cProfile does not.
DISTURBED = set(
    """
    test_contextlib test_copy test_dbm_dumb test_file test_fileinput test_iter test_memoryio
    test_patma
    test_positional_only_arg test_raise test_wave test_weakset test_yield_from
    """.split()
    if sys.version_info < (3, 11)
    else ()
)

# A method around a C function: its end is reported and its beginning is not, and cProfile
# takes that for the end of something else.
MISTAKEN_BY_CPROFILE = {"test_funcattrs": {"builtins.id", "program"}}
if sys.version_info >= (3, 13):
    # A signal handler raises where a frame begins: its end is reported and its beginning is
    # not, and cProfile takes that for the end of its caller.
    MISTAKEN_BY_CPROFILE["test_generators"] = {"program"}


def without(
    known: dict[str, set[str]], program: str, differences: dict[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """Leave out what we count more often and KNOWN names."""
    names = known.get(program, set())
    return {
        name: (there, here)
        for name, (there, here) in differences.items()
        if here < there or name.rpartition(":")[2] not in names
    }


def without_threading(differences: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Leave out what the module threading was seen to do more often by us."""
    c = {"builtins.len", "acquire", "release", "__enter__", "__exit__", "get_ident", "add"}
    c |= {"_thread.get_ident", "_thread.get_native_id", "_thread._set_sentinel", "append"}
    c |= {"locked", "difference_update"}
    return {
        name: (there, here)
        for name, (there, here) in differences.items()
        if here < there or ("threading.py" not in name and name not in c)
    }


@pytest.mark.parametrize("tool", ["run", "kymograph"])
@pytest.mark.parametrize("program", CHOSEN)
def test_the_program_ends_as_it_would(tools: Tools, program: str, tool: str) -> None:
    alone, traced = tools.ask("none", program), tools.ask(tool, program)

    assert {name: traced[name] for name in alone} == alone
    assert not alone.get("errors"), "a program that fails tests little"


@pytest.mark.parametrize("program", CHOSEN)
def test_calls_are_those_that_a_profile_function_sees(tools: Tools, program: str) -> None:
    ours, theirs = tools.ask("kymograph", program), tools.ask("setprofile", program)
    if program in NOT_FOR["setprofile"]:
        pytest.skip(f"there is no profile function: {NOT_FOR['setprofile'][program]}")
    if program in DISTURBED:
        pytest.skip("3.10's profile functions change when its finalizers run")
    if ours.get("run") == 0:
        pytest.skip(f"there are only doctests in test.{program} of this version")

    python = without(CLOSED_INSIDE, program, differences(theirs["python"], ours["python"]))
    c = without(UNREPORTED, program, reported_differences(theirs["c"], ours["c"]))

    if program in THREADED:
        python, c = without_threading(python), without_threading(c)
    assert (python, c) == ({}, {})
    assert sum(theirs["python"].values()) > 10, "nothing was compared"


@pytest.mark.parametrize("program", CHOSEN)
def test_calls_are_those_that_cprofile_sees(tools: Tools, program: str) -> None:
    ours, theirs = tools.ask("kymograph", program), tools.ask("cprofile", program)
    if program in NOT_FOR["cprofile"]:
        pytest.skip(f"cProfile is not asked: {NOT_FOR['cprofile'][program]}")
    their_c: Counts = {}
    for name, calls in theirs["c"].items():
        their_c[plain(name)] = their_c.get(plain(name), 0) + calls

    python = differences(theirs["python"], ours["python"])
    c = without(UNREPORTED, program, reported_differences(their_c, ours["c"]))

    python = without(MISTAKEN_BY_CPROFILE, program, python)
    c = without(MISTAKEN_BY_CPROFILE, program, c)
    assert (python, c) == ({}, {})
