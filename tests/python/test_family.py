"""A program and its child processes under one name: what is shown, and that no harm is done."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import program
import pytest
from family import family_calls, processes, same_as_python
from ran import RUN, execute, recorded, write

import kymograph
from kymograph import _spawn

pytestmark = [
    pytest.mark.usefixtures("folder"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
]


# ---------------------------------------------------------------------- what is shown


def test_the_summary_counts_processes() -> None:
    write(
        "script.py",
        """
        import os, subprocess
        for _ in range(3):
            if os.fork() == 0: os._exit(0)
            os.wait()
        subprocess.run(["true"])
        """,
    )

    said = execute(*RUN, "script.py").stderr

    assert re.search(r"recorded .* on 1 thread, and 3 child processes, in ", said), said
    assert "; not in it: 1 child process (true)\n" in said


def test_a_forked_child_that_is_not_recorded_has_no_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_spawn, "_others", {})
    monkeypatch.setattr(_spawn, "_children", {1: ("process (fork)", 0)})
    assert _spawn.unrecorded() == "1 child process (fork)"


def test_a_child_that_is_not_python_is_a_span_with_its_command_pid_and_status() -> None:
    write(
        "script.py",
        """
        import subprocess
        print(subprocess.Popen(["sh", "-c", "exit 3"]).wait())
        """,
    )

    same_as_python("script.py")

    with kymograph.open("trace.kymo") as capture:
        events = list(capture.events())
    begin = next(i for i, e in enumerate(events) if e.kind == "async_begin")
    end = next(i for i, e in enumerate(events) if e.kind == "async_end")
    assert events[begin].name == events[end].name == "process sh"
    assert (events[begin + 1].name, events[begin + 1].id > 1) == ("pid", True)
    assert (events[begin + 2].name, events[begin + 2].text) == ("command", "sh -c exit 3")
    assert (events[end + 1].name, events[end + 1].text) == ("status", "exit code 3")


def test_arrows_lead_to_a_child_and_back() -> None:
    write(
        "script.py",
        """
        import os, subprocess, sys
        if os.fork() == 0: os._exit(0)
        os.wait()
        subprocess.run([sys.executable, "-c", "pass"])
        """,
    )

    same_as_python("script.py")

    with kymograph.open("trace.kymo") as capture:
        of_thread = {thread.index: thread.pid for thread in capture.threads}
        arrows = [e for e in capture.events() if e.kind in ("flow_in", "flow_out")]
    parent, *children = [each["pid"] for each in processes()]
    for child in children:
        ids = {arrow.id for arrow in arrows if of_thread[arrow.thread] == child}
        found = [
            (arrow.name, arrow.kind, of_thread[arrow.thread]) for arrow in arrows if arrow.id in ids
        ]
        assert found == [
            ("process start", "flow_out", parent),
            ("process start", "flow_in", child),
            ("process end", "flow_out", child),
            ("process end", "flow_in", parent),
        ]


def test_a_forked_child_begins_inside_fork() -> None:
    write("script.py", "import os\nif os.fork() == 0: os._exit(0)\nos.wait()\n")

    recorded("script.py")

    child = program.good("dump", "-p", "1", "trace.kymo")
    reported = sys.version_info >= (3, 12)
    assert bool(re.search(r"enter +fork \[open\]  posix\n", child)) == reported, child
    assert bool(re.search(r"leave +fork\n", child)) == reported
    assert "whose start was not recorded" not in program.good("report", "trace.kymo")


FAMILY = """
import os
def in_parent(): pass
def in_child(): pass
in_parent()
if os.fork() == 0:
    in_child()
    os._exit(0)
os.wait()
"""


def test_every_verb_takes_a_family() -> None:
    write("script.py", FAMILY)
    recorded("script.py")
    pid = processes()[1]["pid"]

    for verb, *more in (["report"], ["dump"], ["query", "SELECT name FROM functions"]):
        whole = program.good(verb, "trace.kymo", *more)
        child = program.good(verb, "--process", f"pid:{pid}", "trace.kymo", *more)
        assert "in_parent" in whole and "in_child" in whole, verb
        assert "in_parent" not in child and "in_child" in child, verb
    program.good("merge", "trace.kymo", "-o", "merged.kymo")
    program.good("cut", "-p", "0", "trace.kymo", "-o", "first.kymo")
    program.good("export", "trace.kymo", "--to", "chrome", "-o", "all.json")
    program.good("export", "-p", "1", "trace.kymo", "--to", "collapsed", "-o", "child.txt")
    program.good("diff", "trace.kymo", "merged.kymo")
    assert {
        e["pid"] for e in json.loads(program.good("info", "-j", "merged.kymo"))["processes"]
    } == {each["pid"] for each in processes()}
    assert (
        "in_child" in Path("all.json").read_text() and "in_parent" in Path("all.json").read_text()
    )
    assert "in_parent" not in Path("child.txt").read_text()
    assert "no process '77777777'" in program.refused("report", "-p", "77777777", "trace.kymo")
    with pytest.raises(ProcessLookupError):
        kymograph.open("trace.kymo", process="nobody")


def test_a_family_exported_at_once_leaves_only_the_export() -> None:
    write("script.py", FAMILY)

    assert execute(*RUN, "-o", "trace.json", "script.py").returncode == 0

    assert sorted(path.name for path in Path().iterdir()) == ["script.py", "trace.json"]
    text = Path("trace.json").read_text()
    assert "in_parent" in text and "in_child" in text


def test_children_of_an_earlier_run_are_not_mixed_in() -> None:
    write("script.py", FAMILY)
    recorded("script.py")
    old = next(Path("trace.kymo.d").glob("*.kymo"))
    kept = old.read_bytes()

    recorded("script.py")
    assert len(processes()) == 2
    Path("trace.kymo.d/1-1.kymo").write_bytes(kept)

    assert len(processes()) == 2


def test_a_damaged_child_costs_only_itself() -> None:
    write("script.py", FAMILY)
    recorded("script.py")
    next(Path("trace.kymo.d").glob("*.kymo")).write_bytes(b"nonsense")

    assert family_calls()["in_parent"] == 1
    assert "1 child whose capture cannot be read" in program.good("info", "trace.kymo")


# -------------------------------------------------------------------- doing no harm


def test_many_forks_from_a_threaded_parent() -> None:
    write(
        "script.py",
        """
        import os, threading
        stop = False
        def busy():
            while not stop: sum(range(50))
        threads = [threading.Thread(target=busy) for _ in range(2)]
        for thread in threads: thread.start()
        bad = 0
        import warnings
        warnings.simplefilter("ignore")
        for _ in range(60):
            child = os.fork()
            if child == 0:
                os._exit(0)
            bad += os.waitpid(child, 0)[1] != 0
        stop = True
        for thread in threads: thread.join()
        print(bad)
        """,
    )

    assert same_as_python("script.py").stdout == "0\n"
    assert len(processes()) == 61


def test_a_child_that_cannot_be_recorded_runs() -> None:
    write("script.py", FAMILY + "print('done')\n")
    Path("trace.kymo.d").write_text("a file where the folder should be")

    assert same_as_python("script.py").stdout == "done\n"
    assert family_calls()["in_child"] == 0


def test_the_environment_of_the_program_does_not_change() -> None:
    write("script.py", "import os; print(sorted(os.environ))")

    same_as_python("script.py")


def test_a_package_in_pythonpath_follows_its_children(tmp_path: Path) -> None:
    package = Path(kymograph.__file__).parent
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kymograph").symlink_to(package)
    (elsewhere / "sitecustomize.py").write_text("import sys; sys.customized = True\n")
    write(
        "script.py",
        """
        import subprocess, sys
        code = "import os, sys; print(sys.customized, os.environ['PYTHONPATH']); (lambda: 0)()"
        subprocess.run([sys.executable, "-c", code])
        """,
    )
    environment = {**os.environ, "PYTHONPATH": str(elsewhere)}

    done = recorded("script.py", env=environment)

    assert (done.returncode, done.stdout) == (0, f"True {elsewhere}\n"), done.stderr
    assert len(processes()) == 2


def test_a_package_in_pythonpath_leaves_no_trace_in_children(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kymograph").symlink_to(Path(kymograph.__file__).parent)
    write("child.py", "import sys; print('sitecustomize' in sys.modules, sys.path)")
    write("script.py", "import subprocess, sys; subprocess.run([sys.executable, 'child.py'])")
    environment = {**os.environ, "PYTHONPATH": str(elsewhere)}
    plain = execute(sys.executable, "child.py", env=environment)

    done = recorded("script.py", env=environment)

    assert (done.stdout, done.stderr) == (plain.stdout, "")
    assert len(processes()) == 2


def test_os_system_is_a_span_with_its_command_and_status() -> None:
    write(
        "script.py",
        """
        import os
        print(os.system("exit 3"), os.system("kill -9 $$"))
        try:
            os.system("a\\0b")
        except ValueError as error:
            print(error)
        """,
    )

    assert same_as_python("script.py").stdout.startswith("768 9\n")

    with kymograph.open("trace.kymo") as capture:
        events = list(capture.events())
    kinds = ("async_begin", "async_end")
    at = [i for i, e in enumerate(events) if e.kind in kinds and e.name == "process sh"]
    told = [(events[i].kind, events[i + 1].name, events[i + 1].text) for i in at]
    assert told == [
        ("async_begin", "command", "exit 3"),
        ("async_end", "status", "exit code 3"),
        ("async_begin", "command", "kill -9 $$"),
        ("async_end", "status", "signal 9"),
        ("async_begin", "command", "a"),
        ("async_end", "status", "not started"),
    ]


def test_sigterm_ends_a_family() -> None:
    write(
        "script.py",
        """
        import os, signal, sys, time
        child = os.fork()
        if child == 0:
            print("ready", flush=True)
            time.sleep(300)
        os.waitpid(child, 0)
        """,
    )
    with subprocess.Popen(
        [*RUN, "-q", "-o", "trace.kymo", "script.py"], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        os.kill(processes()[1]["pid"], signal.SIGTERM)
        assert parent.wait(timeout=400) == 0

    assert [each["ending"] for each in processes()] == ["clean", "clean"]
