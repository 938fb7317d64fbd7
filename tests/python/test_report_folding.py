"""`kymograph report` for people: the program's own functions first, waiting apart from work."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import program
import pytest
from conftest import RunCode
from traced import QUALIFIED

text_of = functools.partial(program.good, "report")
on_terminal = functools.partial(program.on_terminal, "report")

SHOP = """
import kymograph, sys
kymograph.start(sys.argv[1])
import json, queue, threading, time
import colorsys  # imported by nobody before

def parse_order(line):
    return json.loads(line)["n"]

def worker(todo):
    while (line := todo.get()) is not None:
        parse_order(line)

def called_from_a_library_and_named_at_length(pairs):
    return sum(i for i in range(100)) and dict(pairs)

def main():
    todo = queue.Queue()
    threads = [threading.Thread(target=worker, args=(todo,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    for n in range(300):
        todo.put(json.dumps({"n": n, "rest": list(range(50))}))
    for n in range(50):
        json.loads('{"a": 1}', object_pairs_hook=called_from_a_library_and_named_at_length)
    for thread in threads:
        todo.put(None)
    for thread in threads:
        thread.join()

main()
kymograph.stop()
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Imports, libraries that call the program, threads that wait most of the time."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(textwrap.dedent(SHOP), "utf-8")
    path = folder / "trace.kymo"
    subprocess.run([sys.executable, folder / "shop.py", path], check=True, timeout=400)
    return path


def section(text: str, title: str) -> list[str]:
    """The lines of the section that begins with `title`."""
    (found,) = re.findall(rf"^{title}.*\n((?:  .*\n)+)", text, re.M)
    return found.splitlines()


def names(lines: list[str], column: str = "FUNCTION") -> list[str]:
    at = lines[0].index(column)
    return [line[at:].split("  ")[0] for line in lines[1:] if "…" not in line[:3]]


def all_functions(path: Path) -> dict[str, Any]:
    rows = json.loads(text_of("--json", path))["functions"]
    return {row["name"]: row for row in rows}


def known_as(*qualified: str) -> set[str]:
    """The names in a capture of functions that have these qualified names."""
    return {name if QUALIFIED else name.rpartition(".")[2] for name in qualified}


def test_calls_inside_libraries_count_for_the_call_that_led_there(shop: Path) -> None:
    listed = names(section(text_of("-n", 1000, shop), "Functions by self time"))

    everything = all_functions(shop)
    inner = known_as("JSONDecoder.decode", "JSONEncoder.encode", "Condition.wait")
    assert {"parse_order", "worker", "main", "loads", "dumps"} <= set(listed)
    assert known_as("Queue.get") <= set(listed)
    assert inner <= set(everything)
    assert not inner & set(listed)


def test_program_functions_called_by_a_library_are_shown_below_it(shop: Path) -> None:
    tree = section(text_of("--tree", "--threshold", 0, "-n", 1000, shop), "Call tree")

    lines = "\n".join(tree)
    assert re.search(r"(.*)loads  json.*\n.*called_from_a_library", lines), lines


def test_an_operator_begun_inside_a_library_is_called_where_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "trace.kymo"
    script = tmp_path / "steps.py"
    script.write_text(
        "import contextlib, kymograph, sys, time\n"
        "def work(): time.sleep(0.002)\n"
        "def train():\n"
        "    with contextlib.ExitStack() as stack:\n"
        "        stack.enter_context(kymograph.op('step'))\n"
        "        work()\n"
        "kymograph.start(sys.argv[1])\n"
        "for _ in range(5): train()\n"
        "kymograph.stop()\n",
        "utf-8",
    )
    subprocess.run([sys.executable, script, path], check=True, timeout=400)

    table = section(text_of("-n", 1000, path), "Functions by self time")

    (row,) = [line for line in table if line.endswith("(operator)")]
    end = table[0].index("CALLS") + len("CALLS")
    assert row[:end].split()[-1] == "5", row
    # Its parts are no calls of it.
    rows = json.loads(text_of("--json", path))["functions"]
    (step,) = [row for row in rows if row["class"] == "operator"]
    assert step["mean_ns"] == step["total_ns"] // 5 >= 2_000_000
    rows = json.loads(program.good("diff", "--json", path, path))["functions"]
    (found,) = [row["after"] for row in rows if row["class"] == "operator"]
    assert found["mean_ns"] == step["mean_ns"]
    query = "SELECT mean_ns FROM functions WHERE kind = 'operator'"
    assert str(step["mean_ns"]) in program.good("query", path, query)


def test_imports_are_one_row(shop: Path) -> None:
    text = text_of("-n", 1000, shop)

    assert names(section(text, "Functions by self time")).count("(imports)") == 1
    assert "importlib" not in text
    assert "importlib" in text_of("-n", 1000, "--unfold", shop)


def test_unfold_shows_every_function(shop: Path) -> None:
    listed = set(names(section(text_of("-n", 10000, "--unfold", shop), "Functions by self time")))

    waiting = {name for name, row in all_functions(shop).items() if row["waits"]}
    assert listed == set(all_functions(shop)) - waiting


def test_a_filter_finds_functions_that_are_folded(shop: Path) -> None:
    listed = names(section(text_of("--filter", "decode", shop), "Functions by self time"))

    assert known_as("JSONDecoder.decode") <= set(listed)


def test_a_program_that_is_installed_is_not_folded(tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "tool"
    tool.parent.mkdir()
    tool.write_text(
        "import json, kymograph, sys\n"
        "kymograph.start(sys.argv[1])\n"
        "json.loads('[1, 2]')\n"
        "kymograph.stop()\n"
    )
    path = tmp_path / "trace.kymo"
    subprocess.run([sys.executable, tool, path], check=True, timeout=400)

    listed = names(section(text_of(path), "Functions by self time"))

    assert known_as("JSONDecoder.raw_decode") <= set(listed)


def test_waiting_is_not_work(shop: Path) -> None:
    text = text_of("-n", 1000, shop)

    for title in ("Functions by self time", "Functions by total time"):
        assert not {"sleep", "lock.acquire", "lock.__enter__"} & set(names(section(text, title)))
    waits = section(text, "Waiting")
    assert {"sleep", "lock.acquire"} <= set(names(waits))
    assert re.search(r" sleep +main +", "\n".join(waits))
    work, waiting = (
        re.search(rf"^  {label} +([\d.]+) (m?s)", text, re.M) for label in ("work", "waiting")
    )
    assert work and waiting
    seconds = [float(m[1]) * (1 if m[2] == "s" else 0.001) for m in (work, waiting)]
    assert seconds[1] > 0.7  # three threads and the main one, 0.2 s each
    assert seconds[0] < seconds[1]


def test_the_shares_of_functions_are_of_the_work(shop: Path) -> None:
    rows = section(text_of("-n", 1000, shop), "Functions by self time")[1:]

    shares = [float(m[1]) for row in rows if (m := re.match(r" +[\d.]+ \w+ +([\d.]+) ", row))]
    assert 97 < sum(shares) < 103


def test_json_has_every_function_with_its_origin_and_whether_it_waits(shop: Path) -> None:
    functions = all_functions(shop)
    (decode,) = known_as("JSONDecoder.decode")

    expected = {
        "parse_order": ("own", False),
        decode: ("library", False),
        "_find_and_load": ("import", False),
        "sleep": ("builtin", True),
        "lock.acquire": ("builtin", True),
        "isinstance": ("builtin", False),
    }
    found = {name: (functions[name]["origin"], functions[name]["waits"]) for name in expected}
    assert found == expected
    report = json.loads(text_of("--json", shop))
    waiting = sum(row["self_ns"] for row in report["functions"] if row["waits"])
    assert report["waiting_ns"] == sum(t["waiting_ns"] for t in report["threads"]) == waiting > 0


# ---------------------------------------------------------------- how much fits


@pytest.mark.parametrize("options", [(), ("--tree",), ("--callers", "loads"), ("--unfold",)])
def test_nothing_is_wider_than_the_terminal(options: tuple[str, ...], shop: Path) -> None:
    lines = on_terminal(*options, shop).splitlines()

    assert [line for line in lines[1:] if len(line) > 80] == []


def test_lesser_columns_give_way_before_names_do(shop: Path) -> None:
    lines = section(on_terminal("-n", 1000, shop), "Functions by self time")

    assert lines[0].split() == ["SELF", "%", "TOTAL", "CALLS", "FUNCTION", "WHERE"]
    (row,) = [line for line in lines if "named_at_length" in line]
    assert re.search(r"  …\w+named_at_length  ", row)
    assert re.search(r"shop\.py:\d+$", row)
    assert re.search(r"  parse_order +\S*shop\.py:\d+$", "\n".join(lines), re.M)


def test_a_path_that_is_too_long_keeps_its_end(tmp_path: Path, run_code: RunCode) -> None:
    path = tmp_path / "trace.kymo"
    depth = 6
    functions = "".join(
        f"def a_function_with_a_long_name_{i}():\n    a_function_with_a_long_name_{i + 1}()\n"
        for i in range(depth)
    )
    run_code(
        f"import kymograph, sys\n{functions}"
        f"def a_function_with_a_long_name_{depth}():\n    for i in range(100000): pass\n"
        "kymograph.start(sys.argv[1])\n"
        "a_function_with_a_long_name_0()\n"
        "kymograph.stop()\n",
        path,
    )

    hottest = section(on_terminal(path), "Hottest call paths")[0]

    assert hottest.endswith(f" > a_function_with_a_long_name_{depth}")
    assert "…" in hottest and len(hottest) <= 80


def test_a_limit_holds_for_the_tree_and_for_callers(shop: Path) -> None:
    tree = section(text_of("--tree", "--threshold", 0, "-n", 4, shop), "Call tree")
    callers = text_of("--callers", "isinstance", "-n", 2, shop)

    assert len([line for line in tree[1:] if re.match(r" +[\d.]+ ", line)]) == 4
    assert any("more lines; --limit" in line for line in tree)
    assert len(re.findall(r"^ +[\d.]+ \w+ ", callers.split("CALLED BY")[1], re.M)) == 2
    assert "more; --limit" in callers


def record_sampled(run_code: RunCode, path: Path, work: str) -> Path:
    run_code(
        "import kymograph, sys\n"
        f"kymograph.start(sys.argv[1], calls=False, sample=1000)\n{work}\nkymograph.stop()\n",
        path,
    )
    return path


@pytest.mark.timing
def test_samples_name_python_garbage_collections_and_lines(
    tmp_path: Path, run_code: RunCode
) -> None:
    work = """
import gc, json, time
kept = [[i] for i in range(100000)]
end = time.process_time() + 0.4
while time.process_time() < end:
    gc.collect()
end = time.process_time() + 0.4
while time.process_time() < end:
    json.dumps(list(range(1000)))
"""
    path = record_sampled(run_code, tmp_path / "trace.kymo", work)

    text = text_of(path)

    listed = names(text.split("Functions by own samples\n")[1].split("\n\n")[0].splitlines())
    assert {"<module>", "dumps"} <= set(listed)
    assert not [
        name
        for name in listed
        if name.startswith(("_Py", "Py", "pymalloc", "list_")) and name != "Python GC"
    ]
    lines = text.split("Lines by own samples\n")[1].split("\n\n")[0]
    assert re.search(r" <string>:\d+ +<module>", lines)
    native = text_of("--native", "all", path)
    if "gc_collect" in native or "Python GC" in native:  # the interpreter has its symbols
        assert "Python GC" in listed
    assert all(len(line) <= 80 for line in on_terminal(path).splitlines()[1:])


def test_the_lines_of_samples_are_folded(tmp_path: Path, run_code: RunCode) -> None:
    work = """
import importlib, json, sys, time
end = time.process_time() + 0.3
while time.process_time() < end:
    sys.modules.pop("_pydecimal", None)
    import _pydecimal
end = time.process_time() + 0.3
while time.process_time() < end:
    json.dumps(list(range(1000)), indent=1)
"""
    path = record_sampled(run_code, tmp_path / "trace.kymo", work)

    def lines(*options: str) -> str:
        return text_of(*options, path).split("Lines by own samples\n")[1].split("\n\n")[0]

    folded, unfolded = lines(), lines("--unfold")

    assert folded.count("(imports)") == 1 and "importlib" not in folded
    assert re.search(r"json/__init__\.py:\d+ +dumps", folded)
    assert "json/encoder.py" not in folded and "_pydecimal" not in folded
    assert "importlib._bootstrap" in unfolded and "json/encoder.py" in unfolded


# ---------------------------------------------------------------- what is not there


def test_children_that_were_not_recorded_are_named(tmp_path: Path, run_code: RunCode) -> None:
    path = tmp_path / "trace.kymo"
    run_code(
        "import kymograph, subprocess, sys\n"
        "kymograph.start(sys.argv[1])\n"
        "subprocess.run(['true'])\n"
        "subprocess.run(['true'])\n"
        "kymograph.stop()\n",
        path,
    )

    assert re.search(r"^  absent +2 child processes: .*not in this capture$", text_of(path), re.M)


def test_a_capture_with_almost_nothing_in_it_says_so(tmp_path: Path, run_code: RunCode) -> None:
    path = tmp_path / "trace.kymo"
    run_code(
        "import kymograph, sys, time\n"
        "kymograph.start(sys.argv[1], calls=False)\n"
        "with kymograph.span('alone'): pass\n"
        "time.sleep(0.15)\n"
        "kymograph.stop()\n",
        path,
    )

    for verb in ("report", "info"):
        assert re.search(r"^  absent +almost everything: ", program.good(verb, path), re.M)


def test_child_processes_are_named_by_info_too(tmp_path: Path) -> None:
    path = tmp_path / "trace.kymo"
    code = "import subprocess; subprocess.run(['true'])"

    subprocess.run(
        [sys.executable, "-m", "kymograph", "run", "-q", "-o", path, "-c", code], check=True
    )

    assert re.search(r"^  absent +1 child process \(.* of CPU time\): ", text_of(path), re.M)
    shown = program.good("info", path)
    assert re.search(r"^  absent +child processes \(.* of CPU time\): ", shown, re.M)


def test_arguments_over_the_limit_are_counted(tmp_path: Path, run_code: RunCode) -> None:
    path = tmp_path / "trace.kymo"
    run_code(
        "import ctypes, kymograph, sys\n"
        "from kymograph import _core\n"
        "add = ctypes.CDLL(_core.library()).kymo__arg_text\n"
        "kymograph.start(sys.argv[1], calls=False)\n"
        "with kymograph.span('x'):\n"
        "    for _ in range(65535 + 7): add(b'name', b'value')\n"
        "kymograph.stop()\n",
        path,
    )

    assert "absent    7 arguments of events that have more than 65535\n" in text_of(path)
    assert json.loads(text_of("--json", path))["lost_args"] == 7


def test_a_session_lasts_until_it_is_stopped(tmp_path: Path, run_code: RunCode) -> None:
    path = tmp_path / "trace.kymo"
    run_code(
        "import kymograph, sys, time\n"
        "kymograph.start(sys.argv[1], calls=False)\n"
        "for i in range(20): kymograph.instant('now')\n"
        "time.sleep(0.3)\n"
        "kymograph.stop()\n",
        path,
    )

    for verb in ("report", "info"):
        (lasted,) = re.findall(r"^  lasted +([\d.]+) ms", program.run(verb, path).stdout, re.M)
        assert float(lasted) >= 300, verb


def test_report_and_info_describe_the_ending_in_the_same_words(
    tmp_path: Path, run_code: RunCode
) -> None:
    path = tmp_path / "trace.kymo"
    run_code(
        "import kymograph, os, sys, json\n"
        "kymograph.start(sys.argv[1])\n"
        "for i in range(1000): json.loads('[1]')\n"
        "os._exit(0)\n",
        path,
    )

    ended = [
        re.findall(r"^  ended +(.*)$", program.run(verb, path).stdout, re.M)
        for verb in ("report", "info")
    ]
    assert ended[0] == ended[1] and len(ended[0]) == 1
