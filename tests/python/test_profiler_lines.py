"""Lines in traces of `kymograph.profile(with_stack=True)`: where calls were made, and where
functions were when the recording began."""

from __future__ import annotations

import gc
import json
import re
import sys
import sysconfig
import threading
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from profiled import trace_of

import kymograph
from kymograph import _core

Line = tuple[str, "str | None"]


def functions_in(trace: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls, in the order in which they began on each thread."""
    found = [e for e in trace["traceEvents"] if e.get("cat") == "python_function"]
    return sorted(found, key=lambda event: event["args"]["Python id"])


def calls_of(prof: kymograph.profile, folder: Path, program: str = "p.py") -> list[Line]:
    """The calls with something of the program in their name or line, without its folder."""
    events = functions_in(trace_of(prof, folder / "t.json"))
    here = f"{folder}/"
    lines = [
        (e["name"].replace(here, ""), e["args"].get("CallFrom", "").replace(here, ""))
        for e in events
    ]
    return [(name, line) for name, line in lines if program in name + line]


def profiled(folder: Path, text: str, **names: Any) -> list[Line]:
    """Run a program under a profiler; its calls, without those of types, which not every version
    reports, and of itself."""
    code = compile(dedent(text).lstrip("\n"), str(folder / "p.py"), "exec")
    with kymograph.profile(with_stack=True) as prof:
        exec(code, {"__name__": "p", **names})
    return [
        (name, line)
        for name, line in calls_of(prof, folder)
        if "<module>" not in name and "<class" not in name
    ]


def test_a_call_has_the_line_that_it_was_made_from(tmp_path: Path) -> None:
    text = """
        def f(x):
            return len(
                x)
        def g():
            f("")
            return [
                f("a"),
                f("b")]
        g()
    """
    assert profiled(tmp_path, text) == [
        ("p.py(4): g", "p.py:9"),
        ("p.py(1): f", "p.py:5"),
        ("<built-in function len>", "p.py:2"),
        ("p.py(1): f", "p.py:7"),
        ("<built-in function len>", "p.py:2"),
        ("p.py(1): f", "p.py:8"),
        ("<built-in function len>", "p.py:2"),
    ]


def test_recursion_is_called_from_itself(tmp_path: Path) -> None:
    text = """
        def f(n):
            if n:
                f(n - 1)
        f(2)
    """
    assert profiled(tmp_path, text) == [
        ("p.py(1): f", "p.py:4"),
        ("p.py(1): f", "p.py:3"),
        ("p.py(1): f", "p.py:3"),
    ]


def test_a_generator_is_called_from_where_it_is_resumed(tmp_path: Path) -> None:
    text = """
        def g():
            yield 1
            yield 2
        made = g()
        next(made)
        for _ in made:
            pass
    """
    assert profiled(tmp_path, text) == [
        ("<built-in function next>", "p.py:5"),
        ("p.py(1): g", "p.py:5"),
        ("p.py(2): g", "p.py:6"),
        ("p.py(3): g", "p.py:6"),
    ]


def test_an_exception_thrown_into_a_generator_resumes_it_at_its_yield(tmp_path: Path) -> None:
    text = """
        def g():
            try:
                yield 1
            except KeyError:
                yield 2
        made = g()
        next(made)
        made.throw(KeyError())
    """
    assert profiled(tmp_path, text)[2:] == [
        ("<built-in method throw of generator object>", "p.py:8"),
        ("p.py(3): g", "p.py:8"),
    ]


def test_coroutines_are_called_from_where_they_are_awaited(tmp_path: Path) -> None:
    text = """
        async def inner():
            return 1
        async def outer():
            await inner()
            return await inner()
        made = outer()
        try:
            made.send(None)
        except StopIteration:
            pass
    """
    assert profiled(tmp_path, text) == [
        ("<built-in method send of coroutine object>", "p.py:8"),
        ("p.py(3): outer", "p.py:8"),
        ("p.py(1): inner", "p.py:4"),
        ("p.py(1): inner", "p.py:5"),
    ]


def test_a_lambda_on_several_lines(tmp_path: Path) -> None:
    text = """
        f = (lambda
             x:
             abs(x))
        sorted([1],
               key=f)
    """
    assert profiled(tmp_path, text) == [
        ("<built-in function sorted>", "p.py:4"),
        ("p.py(1): <lambda>", "p.py:4"),
        ("<built-in function abs>", "p.py:3"),
    ]


def test_calls_in_an_exception_handler(tmp_path: Path) -> None:
    text = """
        def fail():
            raise ValueError
        def handle():
            try:
                fail()
            except ValueError:
                fail2()
            finally:
                done()
        def fail2(): pass
        def done(): pass
        handle()
    """
    assert profiled(tmp_path, text) == [
        ("p.py(3): handle", "p.py:12"),
        ("p.py(1): fail", "p.py:5"),
        ("p.py(10): fail2", "p.py:7"),
        ("p.py(11): done", "p.py:9"),
    ]


def test_decorated_functions_begin_with_their_decorators(tmp_path: Path) -> None:
    text = """
        def twice(f):
            def both():
                f()
                f()
            return both
        @twice
        def f():
            pass
        f()
    """
    assert profiled(tmp_path, text) == [
        ("p.py(1): twice", "p.py:6" if sys.version_info >= (3, 11) else "p.py:7"),
        ("p.py(2): both", "p.py:9"),
        ("p.py(6): f", "p.py:3"),
        ("p.py(6): f", "p.py:4"),
    ]


def test_code_without_a_file_has_lines_too(tmp_path: Path) -> None:
    text = r"""
        exec("def f(): return len('')\n\nf()")
    """
    assert profiled(tmp_path, text)[:1] == [("<built-in function exec>", "p.py:1")]
    with kymograph.profile(with_stack=True) as prof:
        exec("def f():\n  return len('')\n\nf()")
    assert calls_of(prof, tmp_path, "<string>")[1:] == [
        ("<string>(1): f", "<string>:4"),
        ("<built-in function len>", "<string>:2"),
    ]


def test_code_that_dies_leaves_its_lines_to_nobody(tmp_path: Path) -> None:
    """Code objects at the address of a dead one, with other lines at the same instructions."""
    seen = []
    with kymograph.profile(with_stack=True) as prof:
        for number in range(300):
            code = compile("\n" * number + "f()", f"p{number % 7}.py", "exec")
            seen.append(id(code))
            exec(code, {"f": lambda: None})
            del code
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # it reuses memory later
        assert len(set(seen)) < len(seen)  # or this is not tested
    lines = [
        line
        for _, line in calls_of(prof, tmp_path, ": <lambda>p")
        if re.match(r"p\d\.py", line or "")
    ]
    assert lines == [f"p{number % 7}.py:{number + 1}" for number in range(300)]


def test_code_in_cycles_may_die_at_any_time(tmp_path: Path) -> None:
    with kymograph.profile(with_stack=True) as prof:
        for number in range(50):
            names: dict[str, Any] = {"g": lambda: None}
            exec(compile("\n" * number + "def f(): g()\nf()", "p.py", "exec"), names)
            del names
            gc.collect()
    lines = [line for name, line in calls_of(prof, tmp_path) if "<lambda>" in name]
    assert lines == [f"p.py:{number + 1}" for number in range(50)]


def test_a_long_function_has_all_its_lines(tmp_path: Path) -> None:
    count = 5000
    text = "def f(): pass\n" + "f()\n" * count
    calls = [line for name, line in profiled(tmp_path, text) if name.endswith(": f")]
    assert calls == [f"p.py:{number + 2}" for number in range(count)]


def test_deep_stacks_have_lines(tmp_path: Path) -> None:
    depth = min(sys.getrecursionlimit() - 200, 700)
    text = """
        def f(n):
            return n and f(
                n - 1)
        f(depth)
    """
    calls = profiled(tmp_path, text, depth=depth)
    assert calls == [("p.py(1): f", "p.py:4")] + [("p.py(1): f", "p.py:2")] * depth


def test_functions_that_were_running_have_the_line_they_were_at(tmp_path: Path) -> None:
    prof = kymograph.profile(with_stack=True)
    text = """
        def outer():
            x = 1
            inner()
            after()
        def inner():
            x = 2
            prof.start()
        def after():
            pass
        outer()
    """
    code = compile(dedent(text).lstrip("\n"), str(tmp_path / "p.py"), "exec")
    exec(code, {"prof": prof})
    prof.stop()
    assert calls_of(prof, tmp_path)[1:] == [
        ("p.py(3): outer", "p.py:10"),
        ("p.py(7): inner", "p.py:3"),
        ("p.py(8): after", "p.py:4"),
    ]


def test_the_outermost_function_is_called_from_its_own_line(tmp_path: Path) -> None:
    with kymograph.profile(with_stack=True) as prof:
        len("")
    outermost = functions_in(trace_of(prof, tmp_path / "t.json"))[0]
    file, _, rest = outermost["name"].partition("(")
    assert outermost["args"]["CallFrom"] == f"{file}:{rest.partition(')')[0]}"


def test_threads_that_were_running_have_lines(tmp_path: Path) -> None:
    ready, end = threading.Event(), threading.Event()
    text = """
        def f():
            pass
        def work():
            ready.set()
            end.wait()
            f()
    """
    names: dict[str, Any] = {"ready": ready, "end": end}
    exec(compile(dedent(text).lstrip("\n"), str(tmp_path / "p.py"), "exec"), names)
    thread = threading.Thread(target=names["work"])
    thread.start()
    ready.wait()
    with kymograph.profile(with_stack=True) as prof:
        end.set()
        thread.join()
    calls = calls_of(prof, tmp_path)
    (work,) = [call for call in calls if call[0].endswith("work")]
    # Without a GIL it says where it is with its next call, which it may make a little later.
    assert work[0] in ("p.py(5): work", "p.py(6): work")
    assert work[1] is not None
    assert work[1].startswith("threading.py:") or "/threading.py:" in work[1]
    assert ("p.py(1): f", "p.py:6") in calls


def test_threads_that_start_have_lines(tmp_path: Path) -> None:
    text = """
        def f():
            pass
        def work():
            f()
        thread = Thread(target=work)
        thread.start()
        thread.join()
    """
    calls = profiled(tmp_path, text, Thread=threading.Thread)
    assert ("p.py(1): f", "p.py:4") in calls
    with kymograph.profile(with_stack=True) as prof:
        exec(dedent(text), {"Thread": threading.Thread})
    events = functions_in(trace_of(prof, tmp_path / "t.json"))
    assert all("CallFrom" in event["args"] for event in events)


def test_a_window_that_opens_later_has_the_lines_of_then(tmp_path: Path) -> None:
    prof = kymograph.profile(
        with_stack=True, schedule=kymograph.schedule(wait=0, warmup=1, active=1, repeat=1)
    )
    text = """
        def outer():
            inner()
            inner()
        def inner():
            pass
            prof.step()
            pass
        with prof:
            outer()
    """
    code = compile(dedent(text).lstrip("\n"), str(tmp_path / "p.py"), "exec")
    exec(code, {"prof": prof})
    assert calls_of(prof, tmp_path)[1:] == [
        ("p.py(2): outer", "p.py:9"),
        ("p.py(6): inner", "p.py:2"),
        ("p.py(4): inner", "p.py:3"),
    ]


def test_a_profiler_in_another_one_does_not_guess_lines(tmp_path: Path) -> None:
    inside = kymograph.profile(with_stack=True)
    text = """
        def outer():
            pass
            inside.start()
            f()
            inside.stop()
        def f():
            pass
        with kymograph.profile(with_stack=True):
            outer()
    """
    code = compile(dedent(text).lstrip("\n"), str(tmp_path / "p.py"), "exec")
    exec(code, {"inside": inside, "kymograph": kymograph})
    assert calls_of(inside, tmp_path)[-2:] == [
        ("p.py(1): outer", "p.py:9"),
        ("p.py(6): f", "p.py:4"),
    ]


def test_a_caller_that_filters_leave_out_is_still_told(tmp_path: Path) -> None:
    def hidden() -> None:
        shown()

    def shown() -> None:
        pass

    path = tmp_path / "t.kymo"
    with kymograph._start_named(path, None, lines=True, exclude=["*hidden*"]):
        hidden()
    kymograph.open(path).export(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    found = {e["name"].partition(" (")[0].rpartition(".")[2]: e for e in events if "args" in e}
    assert "hidden" not in found
    line = hidden.__code__.co_firstlineno + 1
    assert found["shown"]["args"]["called from"] == f"{__file__}:{line}"


def test_sessions_record_no_lines_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "t.kymo"
    with kymograph.start(path):
        sorted([1], key=lambda x: x)
    names = {event.name for event in kymograph.open(path).events() if "arg" in event.kind}
    assert not names & {"called from", "line"}


# ---- numbers


def test_numbers_of_calls_and_events_have_no_gaps(tmp_path: Path) -> None:
    def work() -> None:
        with kymograph.record_function("span"):
            sorted([1, 2], key=lambda x: -x)

    with kymograph.profile(with_stack=True) as prof:
        thread = threading.Thread(target=work)
        thread.start()
        work()
        thread.join()
        work()
    trace = trace_of(prof, tmp_path / "t.json")
    calls = functions_in(trace)
    marked = [e for e in trace["traceEvents"] if e.get("cat") == "user_annotation" and "args" in e]
    assert [e["args"]["Python id"] for e in calls] == [i + 1 for i in range(len(calls))]
    assert sorted(e["args"]["Ev Idx"] for e in marked) == [0, 1, 2]
    assert [e["args"]["Ev Idx"] for e in calls] == [i + 3 for i in range(len(calls))]
    # In the order of their begin on each thread, and the parent is the one that encloses it.
    by_id = {e["args"]["Python id"]: e for e in calls}
    for event in calls:
        parent = by_id.get(event["args"].get("Python parent id"))
        if parent is not None:
            assert parent["tid"] == event["tid"]
            assert parent["ts"] <= event["ts"]
            assert parent["args"]["Python id"] < event["args"]["Python id"]
    events = [event for event in prof.events() if event.is_python_function]
    assert sorted((e.python_id, e.python_parent_id, e.name) for e in events) == [
        (e["args"]["Python id"], e["args"].get("Python parent id", -1), e["name"]) for e in calls
    ]


def test_numbers_do_not_depend_on_how_many_write(tmp_path: Path) -> None:
    """Long enough to be written in pieces."""
    with kymograph.profile(with_stack=True) as prof:
        for _ in range(60_000):
            sorted([], key=None)
            len("")
    calls = functions_in(trace_of(prof, tmp_path / "t.json"))
    assert len(calls) > 120_000
    assert [e["args"]["Python id"] for e in calls] == [i + 1 for i in range(len(calls))]
    parents = {e["args"].get("Python parent id") for e in calls[-1000:]}
    assert len(parents) <= 2


# ---- other results


def test_the_tree_of_events_has_lines(tmp_path: Path) -> None:
    def outer() -> None:
        len("")
        inner()

    def inner() -> None:
        pass

    with kymograph.profile(with_stack=True) as prof:
        outer()
    nodes = []
    assert prof.profiler is not None
    rest = list(prof.profiler.kineto_results.experimental_event_tree())
    while rest:
        nodes.append(rest.pop())
        rest += nodes[-1].children
    first = outer.__code__.co_firstlineno
    (found,) = [node for node in nodes if node.name.endswith(": inner")]
    assert found.extra_fields.callsite.line_number == first + 4
    assert found.extra_fields.caller.line_number == first + 2
    (length,) = [node for node in nodes if node.name == "<built-in function len>"]
    assert length.extra_fields.caller.line_number == first + 1


def test_rows_are_by_function_whatever_its_line(tmp_path: Path) -> None:
    def g() -> Any:
        yield 1
        yield 2

    with kymograph.profile(with_stack=True) as prof:
        list(g())
    first = g.__code__.co_firstlineno
    names = [event.name for event in prof.events() if event.name.endswith(": g")]
    assert [int(name.partition("(")[2].partition(")")[0]) for name in names] == [
        first,
        first + 1,
        first + 2,
    ]
    rows = [row.key for row in prof.key_averages() if row.key.endswith(": g")]
    assert len(rows) == 1
    assert f"({first})" in rows[0]


def test_renewing_without_lines_does_nothing() -> None:
    _core.trace_renew()


@pytest.mark.parametrize("to", ["perfetto", "chrome", "collapsed", "speedscope"])
def test_other_exports_of_such_a_capture_work(tmp_path: Path, to: str) -> None:
    with kymograph.profile(with_stack=True) as prof:
        sorted([1], key=lambda x: x)
    prof.save_capture(tmp_path / "t.kymo")
    kymograph.open(tmp_path / "t.kymo").export(tmp_path / "out", to)
    assert (tmp_path / "out").stat().st_size > 100
