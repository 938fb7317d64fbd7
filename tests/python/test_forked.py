"""Forked children begin and end their recording without Python code; nobody notices."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter

import pytest
from family import family_calls, processes, same_as_python
from ran import RUN, execute, recorded, write

import kymograph

pytestmark = [
    pytest.mark.usefixtures("folder"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
]

FORK = """
import os, signal, sys
def fork(do):
    child = os.fork()
    if child == 0:
        do()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def test_what_a_child_recorded_before_sigkill_is_kept() -> None:
    write(
        "script.py",
        FORK
        + """
def in_child(): pass
def killed():
    in_child()
    os.kill(os.getpid(), signal.SIGKILL)
print([fork(killed) for _ in range(5)])
""",
    )

    assert same_as_python("script.py").stdout == "[-9, -9, -9, -9, -9]\n"

    assert family_calls()["in_child"] == 5
    assert [each["status"] for each in processes()[1:]] == ["signal 9"] * 5


def test_children_that_hand_on_their_live_file_keep_what_is_theirs() -> None:
    write(
        "script.py",
        FORK
        + """
def first(): pass
def second(): pass
def last():
    second()
    os.kill(os.getpid(), signal.SIGKILL)
print([fork(first) for _ in range(3)], fork(last), fork(first))
""",
    )

    same_as_python("script.py")

    good = "exit code 0"
    assert [each["status"] for each in processes()[1:]] == [good, good, good, "signal 9", good]
    ran = []
    for number in range(1, 6):
        with kymograph.open("trace.kymo", process=number) as capture:
            names = {event.name for event in capture.events() if event.kind == "enter"}
            ran.append(names & {"first", "second", "last"})
    assert ran == [{"first"}, {"first"}, {"first"}, {"second", "last"}, {"first"}]


def test_forks_leave_captures_and_nothing_else() -> None:
    write("script.py", FORK + "print([fork(int) for _ in range(4)])")

    same_as_python("script.py")

    names = sorted(os.listdir("trace.kymo.d"))
    assert len(names) == 4
    assert all(re.fullmatch(r"\d+-1\.kymo", name) for name in names), names


def test_a_family_can_be_read_while_it_forks() -> None:
    write(
        "script.py",
        FORK
        + """
import subprocess
def in_child(): pass
reader = subprocess.Popen([sys.executable, "-S", "reader.py", *sys.path], stdout=subprocess.PIPE)
reader.stdout.readline()
forked = 0
while reader.poll() is None:
    fork(in_child)
    forked += 1
print(reader.stdout.read().decode(), forked > 20)
""",
    )
    write(
        "reader.py",
        """
import sys, time
sys.path += sys.argv[1:]
from collections import Counter
import kymograph
print("ready", flush=True)
wrong, opened = [], 0
end = time.monotonic() + 2
while time.monotonic() < end or opened < 20:
    with kymograph.open("trace.kymo") as capture:
        calls = [e for e in capture.events() if e.kind == "enter" and e.name == "in_child"]
        wrong += [count for count in Counter(e.thread for e in calls).values() if count != 1]
    opened += 1
print("wrong:", wrong)
""",
    )

    done = recorded("script.py")

    assert done.stdout == "wrong: []\n True\n", done.stdout + done.stderr


def test_a_child_that_is_killed_at_once_has_a_capture() -> None:
    write("script.py", FORK + "fork(lambda: os.kill(os.getpid(), signal.SIGKILL))")

    recorded("script.py")

    assert [each["status"] for each in processes()[1:]] == ["signal 9"]
    with kymograph.open("trace.kymo", process=1) as capture:
        assert capture.metadata["process.began"] == "fork"
        assert capture.metadata["process.parent"] == str(processes()[0]["pid"])


def test_a_child_that_records_a_lot_loses_nothing() -> None:
    write(
        "script.py",
        FORK
        + """
def called(): pass
def busy():
    for _ in range(200_000): called()
print(fork(busy))
""",
    )

    same_as_python("script.py")

    assert family_calls()["called"] == 200_000
    assert [each["lost_records"] for each in processes()] == [0, 0]


def test_children_of_children_are_recorded() -> None:
    write(
        "script.py",
        FORK
        + """
def deeper(): pass
def below(level):
    deeper()
    if level: fork(lambda: below(level - 1)), fork(lambda: below(level - 1))
below(3)
""",
    )

    same_as_python("script.py")

    assert family_calls()["deeper"] == 15
    listed = processes()
    assert len(listed) == 15
    assert sorted(Counter(each["parent"] for each in listed[1:]).values()) == [2] * 7


def test_a_child_of_a_thread_is_recorded() -> None:
    write(
        "script.py",
        FORK
        + """
import threading, warnings
warnings.simplefilter("ignore")
def in_child(): pass
threads = [threading.Thread(target=fork, args=(in_child,)) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""",
    )

    same_as_python("script.py")

    assert family_calls()["in_child"] == 4


def test_a_child_that_becomes_another_program_is_complete() -> None:
    write("other.py", "def in_other(): pass\nin_other()")
    write(
        "script.py",
        FORK
        + """
def in_child(): pass
def become():
    in_child()
    os.execv(sys.executable, [sys.executable, "other.py"])
print(fork(become))
""",
    )

    same_as_python("script.py")

    assert family_calls()["in_child"] == family_calls()["in_other"] == 1
    assert len(processes()) == 3


def test_wrong_arguments_of_exit_leave_the_child_as_it_is_without_us() -> None:
    write(
        "script.py",
        FORK
        + """
def wrong():
    for given in ((), ("a",), (1 << 80,)):
        try: os._exit(*given)
        except Exception as error: print(type(error).__name__, error, flush=True)
    if sys.version_info >= (3, 12):
        print([sys.monitoring.get_tool(id) for id in range(6)], flush=True)
    os._exit(status=7)
print(fork(wrong), os._exit.__name__, os._exit.__module__, type(os._exit).__name__)
""",
    )

    assert same_as_python("script.py").stdout.endswith("7 _exit posix builtin_function_or_method\n")


def test_an_exit_that_was_replaced_before_us_is_called() -> None:
    write(
        "site/sitecustomize.py",
        """
        import os
        def _exit(status, leave=os._exit):
            os.write(1, b"replaced\\n")
            leave(status)
        os._exit = _exit
        """,
    )
    write("script.py", FORK + "def in_child(): pass\nprint(fork(in_child), flush=True)")

    done = recorded("script.py", env={**os.environ, "PYTHONPATH": os.path.abspath("site")})

    assert done.stdout == "replaced\n0\n"
    assert family_calls()["in_child"] == 1
    assert [each["ending"] for each in processes()] == ["clean", "clean"]


def test_a_rank_that_is_set_before_a_fork_is_that_of_the_child() -> None:
    write(
        "script.py",
        FORK
        + """
for rank in "01":
    os.environ["RANK"] = rank
    fork(lambda: None)
""",
    )

    recorded("script.py")

    ranks = []
    for child in processes()[1:]:
        with kymograph.open("trace.kymo", process=child["pid"]) as capture:
            ranks.append(capture.metadata["rank"])
    assert ranks == ["0", "1"]


def test_a_session_in_a_child_is_a_range_in_its_capture() -> None:
    write(
        "script.py",
        FORK
        + """
import kymograph
def before(): pass
def after(): pass
def own():
    session = kymograph.start("own.kymo")
    before()
    kymograph.stop()
    kymograph.stop()
    after()
print(fork(own))
""",
    )

    recorded("script.py")

    assert not os.path.exists("own.kymo")
    assert family_calls()["before"] == family_calls()["after"] == 1


def test_a_child_that_is_not_recorded_has_no_hook() -> None:
    if sys.version_info < (3, 12):
        pytest.skip("no sys.monitoring")
    write(
        "script.py",
        FORK
        + """
def look(): print([sys.monitoring.get_tool(id) for id in range(6)], flush=True)
fork(look)
""",
    )

    done = execute(*RUN, "--children", "off", "script.py")

    assert done.stdout == f"{[None] * 6}\n"


def test_a_recorded_child_and_its_parent_touch_few_pages() -> None:
    write(
        "script.py",
        FORK
        + """
import resource
def faults():
    return [resource.getrusage(who).ru_minflt
            for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
for _ in range(10): fork(lambda: None)
before = faults()
for _ in range(50): fork(lambda: None)
print("faults", *((b - a) // 50 for a, b in zip(before, faults())))
""",
    )

    def faults(children: str) -> tuple[int, int]:
        done = execute(*RUN, "--children", children, "script.py")
        found = re.search(r"faults (\d+) (\d+)", done.stdout)
        assert found, done.stderr
        return int(found[1]), int(found[2])

    (child_off, parent_off), (child_on, parent_on) = faults("off"), faults("on")

    assert child_on - child_off < 150, (child_off, child_on)
    assert parent_on - parent_off < 120, (parent_off, parent_on)


IN_THREADS = (
    FORK
    + """
import threading, time, warnings
warnings.simplefilter("ignore")
done = []
def in_child(): pass
def other():
    time.sleep(0.1)
    in_child()
def forking(more):
    child = os.fork()
    if child == 0:
        in_child()
        for _ in range(more):
            threading.Thread(target=other).start()
        return  # as the only thread of the child, or the first
    done.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
def fork_in_thread(more):
    thread = threading.Thread(target=forking, args=[more])
    thread.start()
    thread.join()
for more in (0, 0, 3):
    fork_in_thread(more)
print(done)
"""
)


@pytest.mark.parametrize(
    "options", [[], ["--memory"], ["--sample=1000"], ["--memory=sampled", "--calls", "off"]]
)
def test_a_child_of_another_thread_than_the_main_one_ends_with_its_last_thread(
    options: list[str],
) -> None:
    """Its main thread ends without the interpreter's."""
    write("script.py", IN_THREADS)

    done = recorded(*options, "script.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 0, 0]\n", "")

    children = processes()[1:]
    assert [(each["ending"], each["status"]) for each in children] == [("clean", "exit code 0")] * 3
    if options == []:
        assert family_calls()["in_child"] == 6
