"""Arrows from where a process sends a message to where another receives it.

The oracle is the program: a message marks where it is pickled, on the thread that sends it next,
and where it is unpickled, on the thread that received it just before.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import program
import pytest
from family import processes, same_as_python
from ran import recorded, write
from viewed import served

import kymograph

pytestmark = [
    pytest.mark.usefixtures("folder"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
]

METHODS = ["fork", "forkserver", "spawn"]
ARROW = "process message"

MESSAGES = """
import kymograph

def rebuild(number, rest):
    kymograph.instant(f"unpickled {number}")
    return Message(number, rest)

class Message:
    def __init__(self, number, rest=b""):
        self.number, self.rest = number, rest
    def __reduce__(self):
        kymograph.instant(f"pickled {self.number}")
        return rebuild, (self.number, self.rest)
"""


@dataclass
class End:
    time: int
    pid: int
    messages: list[int]


def ends() -> tuple[dict[int, End], dict[int, End]]:
    """Where arrows begin and end, by id, with the messages that were sent or received there."""
    begun: dict[int, End] = {}
    ended: dict[int, End] = {}
    pickled: dict[int, list[int]] = {}  # by thread: since it sent something
    received: dict[int, list[int]] = {}  # since it received something
    with kymograph.open("trace.kymo") as capture:
        pids = {thread.index: thread.pid for thread in capture.threads}
        for event in capture.events():
            word, _, number = event.name.partition(" ")
            if event.kind == "instant" and word == "pickled":
                pickled.setdefault(event.thread, []).append(int(number))
            elif event.kind == "instant" and word == "unpickled":
                received.setdefault(event.thread, []).append(int(number))
            elif event.kind == "flow_out" and event.name == ARROW:
                assert event.id not in begun, "an id was used twice"
                sent = pickled.pop(event.thread, [])
                begun[event.id] = End(event.time, pids[event.thread], sent)
            elif event.kind == "flow_in" and event.name == ARROW:
                assert event.id not in ended, "an id was used twice"
                received[event.thread] = []
                ended[event.id] = End(event.time, pids[event.thread], received[event.thread])
    return begun, ended


def arrows() -> list[tuple[End, End]]:
    """All arrows, none of which is wrong."""
    begun, ended = ends()
    assert ended.keys() <= begun.keys(), "an arrow that comes from nowhere"
    found = [(begun[number], ended[number]) for number in ended]
    for one, other in found:
        assert one.time <= other.time
        assert one.messages == other.messages
    return found


def carried() -> Counter[int]:
    """How many arrows each message has."""
    return Counter(message for begin, _ in arrows() for message in begin.messages)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("duplex", [True, False], ids=["duplex", "one-way"])
def test_messages_through_a_pipe(method: str, duplex: bool) -> None:
    write("messages.py", MESSAGES)
    write(
        "script.py",
        f"""
        import multiprocessing
        from messages import Message
        def echo(inward, outward):
            while (message := inward.recv()) is not None:
                outward.send(Message(1000 + message.number, message.rest))
        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            here, there = context.Pipe({duplex})
            inward, outward = (here, there) if {duplex} else context.Pipe(False)
            write = here if {duplex} else there
            read = there if {duplex} else here
            write.send(Message(0))  # before there is anybody to receive it
            worker = context.Process(target=echo, args=(read, outward))
            worker.start()
            for number, size in enumerate([3, 16000, 16370, 16385, 200_000, 0], 1):
                write.send(Message(number, b"x" * size))
            for _ in range(7):
                inward.recv()
            write.send(None)
            worker.join()
            print(worker.exitcode)
        """,
    )

    assert recorded("script.py").stdout == "0\n"

    assert carried() == Counter([*range(7), *range(1000, 1007)])
    assert len(arrows()) == 15  # and the last
    assert all(begin.pid != end.pid for begin, end in arrows())
    assert not list(Path("trace.kymo.d").glob("*.messages"))


QUEUES = """
import multiprocessing, sys
from messages import Message

def produce(queue, first):
    for number in range(first, first + 100):
        queue.put(Message(number, b"same"))

def consume(queue, results):
    while (message := queue.get()) is not None:
        results.put(Message(message.number + 10_000))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    make = getattr(context, sys.argv[2])
    queue, results = make(), make()
    producers = [context.Process(target=produce, args=(queue, 1000 * n)) for n in range(3)]
    consumers = [context.Process(target=consume, args=(queue, results)) for n in range(2)]
    for process in producers + consumers:
        process.start()
    print(len({results.get().number for _ in range(300)}))
    for _ in consumers:
        queue.put(None)
    for process in producers + consumers:
        process.join()
"""
SENT = [1000 * producer + number for producer in range(3) for number in range(100)]


@pytest.mark.parametrize(
    ("method", "queue"),
    [
        ("fork", "Queue"),
        ("fork", "SimpleQueue"),
        ("fork", "JoinableQueue"),
        ("forkserver", "SimpleQueue"),
        ("spawn", "Queue"),
    ],
)
def test_messages_through_a_queue_with_several_producers_and_consumers(
    method: str, queue: str
) -> None:
    write("messages.py", MESSAGES)
    write("script.py", QUEUES)

    assert recorded("script.py", method, queue).stdout == "300\n"

    assert carried() == Counter([*SENT, *(number + 10_000 for number in SENT)])
    assert len({begin.pid for begin, _ in arrows()}) >= 5  # a consumer may have come too late


@pytest.mark.parametrize("method", METHODS)
def test_tasks_and_results_of_a_pool(method: str) -> None:
    write("messages.py", MESSAGES)
    write(
        "script.py",
        f"""
        import multiprocessing
        from messages import Message
        def work(message):
            return Message(message.number + 1000)
        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(3) as pool:
                done = pool.map(work, [Message(n) for n in range(60)], chunksize=2)
                done += [pool.apply(work, [Message(60)])]
                pool.close()
                pool.join()
            print(sorted(each.number for each in done) == list(range(1000, 1061)))
        """,
    )

    assert recorded("script.py").stdout == "True\n"

    assert carried() == Counter([*range(61), *range(1000, 1061)])


@pytest.mark.parametrize("method", METHODS)
def test_tasks_and_results_of_an_executor(method: str) -> None:
    write("messages.py", MESSAGES)
    write(
        "script.py",
        f"""
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        from messages import Message
        def work(message):
            return Message(message.number + 1000)
        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            with ProcessPoolExecutor(3, mp_context=context) as executor:
                futures = [executor.submit(work, Message(n)) for n in range(60)]
                print(sum(future.result().number for future in futures))
        """,
    )

    assert recorded("script.py").stdout == f"{sum(range(1000, 1060))}\n"

    assert carried() == Counter([*range(60), *range(1000, 1060)])


def test_a_process_that_is_not_recorded_causes_no_wrong_arrow() -> None:
    write(
        "script.py",
        """
        import multiprocessing, os, subprocess, sys
        here, there = multiprocessing.Pipe(False)
        sends = "import os, sys; os.write(int(sys.argv[1]), bytes([0, 0, 0, 1, 120]))"
        def other():  # -S: it does not load Kymograph
            command = [sys.executable, "-S", "-c", sends, str(there.fileno())]
            subprocess.run(command, pass_fds=[there.fileno()], check=True)
        there.send_bytes(b"x")
        print(here.recv_bytes())
        other()
        there.send_bytes(b"x")  # as long, and the same
        there.send_bytes(b"x")
        print(*(here.recv_bytes() for _ in range(3)))
        """,
    )

    assert recorded("script.py").stdout == "b'x'\nb'x' b'x' b'x'\n"

    assert len(arrows()) == 1


@pytest.mark.parametrize("duplex", [True, False], ids=["duplex", "one-way"])
def test_a_reader_that_is_not_recorded_causes_no_wrong_arrow(duplex: bool) -> None:
    write(
        "script.py",
        f"""
        import multiprocessing, subprocess, sys
        here, there = multiprocessing.Pipe({duplex})
        reads = "import os, sys; print(os.read(int(sys.argv[1]), 5), flush=True)"
        for _ in range(3):
            there.send_bytes(b"x")
        command = [sys.executable, "-S", "-c", reads, str(here.fileno())]
        subprocess.run(command, pass_fds=[here.fileno()], check=True)
        print(here.recv_bytes(), here.recv_bytes())
        """,
    )

    assert recorded("script.py").stdout.splitlines()[1] == "b'x' b'x'"

    assert arrows() == []


def test_threads_that_write_at_once_cause_no_wrong_arrow() -> None:
    write("messages.py", MESSAGES)
    write(
        "script.py",
        """
        import multiprocessing, threading
        from messages import Message
        here, there = multiprocessing.Pipe(False)
        def send(first):
            for number in range(first, first + 200):
                there.send(Message(number))  # no lock: short ones arrive whole
        threads = [threading.Thread(target=send, args=(1000 * n,)) for n in range(4)]
        for thread in threads: thread.start()
        print(len({here.recv().number for _ in range(800)}))
        for thread in threads: thread.join()
        """,
    )

    assert recorded("script.py").stdout == "800\n"

    arrows()


def test_messages_that_are_alike_and_written_at_once_have_no_arrows() -> None:
    write(
        "script.py",
        """
        import fcntl, multiprocessing, threading, time
        here, there = multiprocessing.Pipe(False)
        fcntl.fcntl(there.fileno(), 1031, 4096)  # F_SETPIPE_SZ: a page
        there.send_bytes(b"x" * 4000)
        send = lambda: there.send_bytes(b"x" * 1000)
        threads = [threading.Thread(target=send) for n in range(2)]
        for thread in threads: thread.start()
        time.sleep(0.5)  # until both wait for room
        print([len(here.recv_bytes()) for _ in range(3)])
        for thread in threads: thread.join()
        """,
    )

    assert recorded("script.py").stdout == "[4000, 1000, 1000]\n"

    # None, unless the machine was so busy that they were not at it at once.
    assert len(arrows()) in (0, 1, 3)


def test_what_multiprocessing_raises_does_not_change() -> None:
    write(
        "script.py",
        """
        import inspect, multiprocessing, os
        from multiprocessing.connection import Connection
        here, there = multiprocessing.Pipe(False)
        print(inspect.signature(Connection._send.__defaults__[0]), Connection._send.__defaults__)
        there.send_bytes(b"")
        print(here.recv_bytes())
        os.set_blocking(there.fileno(), False)
        def attempt(call, *args):
            try:
                print(call(*args))
            except Exception as error:
                print(type(error), error)
        attempt(there.send_bytes, b"x" * 1_000_000)
        attempt(there._send, "text")
        here.close()
        attempt(there.send_bytes, b"x")
        here, there = multiprocessing.Pipe()
        there.close()
        attempt(here.recv)
        here._handle = 999_999
        attempt(here.recv)
        here._handle = None
        """,
    )

    same_as_python("script.py")


def test_arrows_are_exported_and_shown_with_ids_of_their_own() -> None:
    write("messages.py", MESSAGES)
    write("script.py", QUEUES)
    recorded("script.py", "fork", "Queue")

    program.good("export", "trace.kymo", "--to", "chrome", "-o", "trace.json")

    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    sides = {
        phase: Counter(e["id"] for e in events if e["ph"] == phase and e["name"] == ARROW)
        for phase in "sf"
    }
    assert len(sides["f"]) >= 600
    assert set(sides["s"].values()) == set(sides["f"].values()) == {1}
    assert sides["f"].keys() <= sides["s"].keys()
    others = {e["id"] for e in events if e["ph"] == "s" and e["name"] != ARROW}
    assert others and not others & sides["s"].keys()
    with served("trace.kymo") as server:
        marks = server.good("marks")["marks"]
    shown = Counter((mark[0], int(mark[4])) for mark in marks if mark[0].startswith("flow_"))
    for begin in ends()[1]:
        assert shown["flow_out", begin] == shown["flow_in", begin] == 1


def test_a_program_without_children_leaves_no_folder() -> None:
    write("script.py", "import multiprocessing as m; a, b = m.Pipe(); a.send(1); print(b.recv())")

    assert recorded("script.py").stdout == "1\n"

    assert len(processes()) == 1 and len(arrows()) == 1
    assert sorted(path.name for path in Path().iterdir()) == ["script.py", "trace.kymo"]
