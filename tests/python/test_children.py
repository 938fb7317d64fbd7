"""Child processes of a recorded program are recorded, however they are started and end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from family import family_calls, processes, same_as_python
from ran import RUN, execute, recorded, write

pytestmark = [
    pytest.mark.usefixtures("folder"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
]


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
        print(fork(lambda: os._exit(3)), flush=True)
        print(fork(lambda: sys.exit(4)), flush=True)
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


@pytest.mark.parametrize("kind", ["isolated", "legacy"])
def test_a_subinterpreter_is_no_child(kind: str) -> None:
    pytest.importorskip("_interpreters", reason="this Python has no such module")
    write(
        "script.py",
        """
        import _interpreters, subprocess, sys
        made = _interpreters.create(sys.argv[1])
        _interpreters.run_string(made, "pass")
        _interpreters.destroy(made)
        subprocess.run([sys.executable, "-c", ""], check=True)
        """,
    )

    same_as_python("script.py", kind)

    assert len(processes()) == 2


def test_a_killed_child_shows_nothing_of_the_one_whose_live_file_it_got() -> None:
    write(
        "script.py",
        """
        import os, signal
        def of_the_first(): pass
        def of_the_second(): pass
        def fork(work, times, end):
            child = os.fork()
            if child == 0:
                for _ in range(times):
                    work()
                end()
            os.waitpid(child, 0)
        spare = "trace.kymo.d/0-0.spare"
        for _ in range(3):
            fork(of_the_first, 500, lambda: os._exit(0))
            left = os.stat(spare).st_ino if os.path.exists(spare) else None
            fork(of_the_second, 10, lambda: os.kill(os.getpid(), signal.SIGKILL))
            got = [os.stat(each.path).st_ino for each in os.scandir("trace.kymo.d")]
            print(left in got, not os.path.exists(spare))
        """,
    )

    assert recorded("script.py").stdout == "True True\n" * 3

    listed = processes()[1:]
    assert [each["ending"] for each in listed] == ["clean", "killed"] * 3
    for each in listed:
        calls = family_calls(process=each["pid"])
        times = {"clean": (500, 0), "killed": (0, 10)}[each["ending"]]
        assert (calls["of_the_first"], calls["of_the_second"]) == times


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
        "subprocess.run(shlex.quote(sys.executable) + ' child.py a', check=True, shell=True)",
        "os.system(shlex.quote(sys.executable) + ' child.py a')",
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
        import asyncio, os, shlex, subprocess, sys
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


def test_a_child_with_preexec_fn_is_recorded_once() -> None:
    write(
        "script.py",
        """
        import os, subprocess, sys
        subprocess.run([sys.executable, "-c", "pass"], preexec_fn=lambda: None)
        try:
            subprocess.run(["/does/not/exist"], preexec_fn=lambda: None)
        except OSError as error:
            print(error.errno)
        if os.fork() == 0: os._exit(0)
        os.wait()
        """,
    )

    same_as_python("script.py")

    assert [(each["ending"], each["status"]) for each in processes()[1:]] == [
        ("clean", "exit code 0"),
        ("clean", "exit code 0"),
    ]


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
