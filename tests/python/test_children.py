"""Child processes of a recorded program: all kinds of them, opened under one name."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import program
import pytest
from ran import RUN, execute, recorded, write

import kymograph

pytestmark = [
    pytest.mark.usefixtures("folder"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
]


def processes(path: str = "trace.kymo") -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(program.good("info", "-j", path))["processes"]
    return listed


def family_calls(**options: Any) -> Counter[str]:
    """Calls of all processes."""
    with kymograph.open("trace.kymo", **options) as capture:
        return Counter(event.name for event in capture.events() if event.kind == "enter")


def same_as_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Record a program; what it prints and returns is what it does without us."""
    plain = execute(sys.executable, *arguments)
    done = recorded(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )
    return done


# ------------------------------------------------------------------ kinds of children


def test_a_forked_child_is_recorded_however_it_ends() -> None:
    write(
        "script.py",
        """
        import os, signal, sys
        def in_child(): pass
        def fork(end):
            child = os.fork()
            if child == 0:
                in_child()
                end()
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(fork(lambda: os._exit(3)))
        print(fork(lambda: sys.exit(4)))
        print(fork(lambda: os.kill(os.getpid(), signal.SIGTERM) or signal.pause()))
        print(fork(lambda: os.kill(os.getpid(), signal.SIGKILL)))
        """,
    )

    assert same_as_python("script.py").stdout == "3\n4\n-15\n-9\n"

    listed = processes()
    assert [each["status"] for each in listed[1:]] == [
        "exit code 3",
        "exit code 4",
        "signal 15",
        "signal 9",
    ]
    assert [each["ending"] for each in listed] == ["clean", "clean", "clean", "clean", "killed"]
    assert [each["parent"] for each in listed] == [None, 0, 0, 0, 0]
    assert family_calls()["in_child"] == 4


MULTIPROCESSING = """
import multiprocessing, sys
def work(x): return x * x
if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, range(8), chunksize=1))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_are_recorded_and_named(method: str) -> None:
    write("script.py", MULTIPROCESSING)

    same_as_python("script.py", method)

    assert family_calls()["work"] == 8
    names = {"fork": "Fork", "spawn": "Spawn", "forkserver": "ForkServer"}
    workers = [each for each in processes() if each["name"].startswith(names[method] + "Pool")]
    assert workers  # another may be told to end before it has begun
    assert family_calls(process=workers[0]["pid"])["work"] <= 8


def test_children_of_concurrent_futures_are_recorded() -> None:
    write(
        "script.py",
        """
        from concurrent.futures import ProcessPoolExecutor
        def work(x): return x + 1
        if __name__ == "__main__":
            with ProcessPoolExecutor(2) as pool:
                print(list(pool.map(work, range(10))))
        """,
    )

    same_as_python("script.py")

    assert family_calls()["work"] == 10


STARTED = "def in_child(): pass\nin_child()\nimport sys, os\nprint(sys.argv, sorted(os.environ))"


@pytest.mark.parametrize(
    "start",
    [
        "subprocess.run([sys.executable, 'child.py', 'a'], check=True)",
        "subprocess.run([sys.executable, '-I', 'child.py', 'a'], check=True)",
        "subprocess.run([sys.executable, '-E', 'child.py', 'a'], check=True)",
        "subprocess.run([sys.executable, 'child.py', 'a'], check=True, env={'ONE': '1'})",
        "subprocess.run([sys.executable, 'child.py', 'a'], check=True, close_fds=False)",
        "subprocess.run([sys.executable, 'child.py', 'a'], check=True, preexec_fn=lambda: None)",
        "subprocess.run(sys.executable + ' child.py a', check=True, shell=True)",
        "os.system(sys.executable + ' child.py a')",
        "os.waitpid(os.posix_spawn(sys.executable, [sys.executable, 'child.py'], {'ONE': '1'}), 0)",
        "os.spawnl(os.P_WAIT, sys.executable, sys.executable, 'child.py')",
        "os.spawnle(os.P_WAIT, sys.executable, sys.executable, 'child.py', {'ONE': '1'})",
        "os.execl(sys.executable, sys.executable, 'child.py')",
        "os.execvpe(os.path.basename(sys.executable), ['python', 'child.py'], dict(os.environ, "
        "PATH='/nowhere:' + os.path.dirname(sys.executable)))",
        "asyncio.run(spawn())",
    ],
)
def test_a_python_started_in_any_way_is_recorded(start: str) -> None:
    write("child.py", STARTED)
    write(
        "script.py",
        f"""
        import asyncio, os, subprocess, sys
        async def spawn():
            child = await asyncio.create_subprocess_exec(sys.executable, "child.py")
            await child.wait()
        {start}
        """,
    )

    same_as_python("script.py")

    assert family_calls()["in_child"] == 1
    child = processes()[-1]
    assert (child["name"], child["ending"]) in {("child", "clean"), ("script", "clean")}


def test_grandchildren_and_daemons_are_recorded() -> None:
    write(
        "script.py",
        """
        import os, subprocess, sys, time
        def in_daemon(): pass
        def in_grandchild(): pass
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:  # a daemon, with another parent
                in_daemon()
                os.write(writing, b"x")
                os._exit(0)
            os._exit(0)
        os.wait()
        os.read(reading, 1)
        if os.fork() == 0:
            if os.fork() == 0:
                in_grandchild()
                os._exit(0)
            os.wait()
            os._exit(0)
        os.wait()
        """,
    )

    same_as_python("script.py")

    calls = family_calls()
    assert (calls["in_daemon"], calls["in_grandchild"]) == (1, 1)
    listed = processes()
    assert len(listed) == 5
    assert listed[-1]["parent"] == 3


def test_a_failed_exec_goes_on_recording() -> None:
    write(
        "script.py",
        """
        import os
        def before(): pass
        def after(): pass
        before()
        with open("broken", "w") as file: file.write("no program")
        os.chmod("broken", 0o755)
        try:
            os.execv("./broken", ["broken"])
        except OSError as error:
            print(error.errno)
        after()
        """,
    )

    same_as_python("script.py")

    calls = family_calls()
    assert (calls["before"], calls["after"]) == (1, 1)


def test_children_off_records_one_process() -> None:
    write("script.py", "import os\nif os.fork() == 0: os._exit(0)\nos.wait()\n")

    done = execute(*RUN, "--children", "off", "script.py")

    assert "not in it: child processes (" in done.stderr
    assert [path.name for path in Path().glob("*.kymo*")] == ["script.kymo"]
    assert (
        "--children maybe is not on or off"
        in execute(*RUN, "--children", "maybe", "script.py").stderr
    )


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


def test_a_thousand_forks_from_a_threaded_parent() -> None:
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
        for _ in range(200):
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
    assert len(processes()) == 201


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
