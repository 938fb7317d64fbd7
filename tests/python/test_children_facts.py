"""What users of VizTracer know of programs with several processes, as facts that hold here, too.

Most ways to start a child, and to end one, are in test_children.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from family import family_calls, processes, same_as_python
from ran import RUN, execute, write

pytestmark = [
    pytest.mark.usefixtures("folder"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
]

CODE = "def in_child(): pass\nimport sys\nin_child()\nprint(sys.argv)\n"


@pytest.mark.parametrize(
    "start",
    [
        "run([sys.executable, '-c', CODE, '-m', 'b'])",
        "run([sys.executable, '-Bc' + CODE, 'a'])",
        "run([sys.executable, '-m', 'package.child', '--', '-c'])",
        "run([sys.executable, '-W', 'ignore', '-X', 'utf8', '-mpackage.child'])",
        "run([sys.executable, '-'], input=CODE, text=True)",
        "run([Path(sys.executable), Path('package/child.py'), Path('a')])",
        "run(['python', '-u', 'package/child.py'])",
        "print(os.popen(f'\"{sys.executable}\" package/child.py').read())",
        "print(run([sys.executable, 'package'], stdout=-1).stdout)",
    ],
)
def test_a_command_line_of_any_form_is_recorded_and_does_not_change(
    start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `python` in PATH may be another one, or none that runs.
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    write("package/child.py", CODE)
    write("package/__main__.py", CODE)
    write(
        "script.py",
        f"""
        import os, sys
        from pathlib import Path
        from subprocess import run
        CODE = {CODE!r}
        {start}
        """,
    )

    same_as_python("script.py")

    assert family_calls()["in_child"] == 1
    assert len(processes()) == 2


def test_processes_that_change_their_directory_record_into_one_place() -> None:
    write("child.py", CODE)
    write(
        "script.py",
        """
        import multiprocessing, os, subprocess, sys
        def in_child(): pass
        def work():
            os.mkdir("gone")
            os.chdir("gone")
            os.rmdir("../gone")
            in_child()
        if __name__ == "__main__":
            child = os.path.abspath("child.py")
            os.makedirs("elsewhere", exist_ok=True)
            os.chdir("elsewhere")
            subprocess.run([sys.executable, child], cwd="/", check=True)
            for method in ("fork", "spawn"):
                worker = multiprocessing.get_context(method).Process(target=work)
                worker.start()
                worker.join()
                print(worker.exitcode)
            print(os.listdir()) # not removed: multiprocessing's own process may still begin there
        """,
    )

    same_as_python("script.py")

    assert family_calls()["in_child"] == 3
    assert not os.listdir("elsewhere")


def test_children_have_the_options_of_their_parent() -> None:
    write(
        "script.py",
        """
        import subprocess, sys
        code = "def f(): len('')\\nf(); import subprocess, sys; subprocess.run(sys.argv[1:])"
        subprocess.run([sys.executable, "-c", code, sys.executable, "-c", "def f(): len('')\\nf()"])
        """,
    )

    done = execute(*RUN, "-q", "-o", "trace.kymo", "--c-calls", "off", "script.py")

    assert done.returncode == 0, done.stderr
    assert len(processes()) == 3
    calls = family_calls()
    assert calls["f"] == 2 and calls["len"] == 0


def test_a_process_that_is_a_class_keeps_its_attributes_and_its_exit_code() -> None:
    write(
        "script.py",
        """
        import multiprocessing, sys
        class Worker(multiprocessing.get_context("spawn").Process):
            def __init__(self, number):
                super().__init__(name=f"worker {number}")
                self.number = number
            def run(self):
                in_child()
                sys.exit(self.number)
        def in_child(): pass
        if __name__ == "__main__":
            workers = [Worker(3), Worker(4)]
            for worker in workers: worker.start()
            for worker in workers: worker.join()
            print([worker.exitcode for worker in workers])
        """,
    )

    assert same_as_python("script.py").stdout == "[3, 4]\n"

    assert family_calls()["in_child"] == 2
    assert {each["name"] for each in processes()} >= {"worker 3", "worker 4"}


def test_a_child_that_is_terminated_or_raises_is_complete() -> None:
    write(
        "script.py",
        """
        import multiprocessing
        def in_child(): pass
        def fail(pipe):
            in_child()
            raise ValueError("no")
        def wait(pipe):
            in_child()
            pipe.send("ready")
            pipe.recv()
        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            here, there = context.Pipe()
            failing = context.Process(target=fail, args=(there,))
            failing.start()
            failing.join()
            waiting = context.Process(target=wait, args=(there,))
            waiting.start()
            here.recv()
            waiting.terminate()
            waiting.join()
            print(failing.exitcode, waiting.exitcode)
        """,
    )

    assert same_as_python("script.py").stdout == "1 -15\n"

    assert family_calls()["in_child"] == 2
    assert [each["ending"] for each in processes()] == ["clean"] * 3
    assert [each["status"] for each in processes()[1:]] == ["exit code 1", "signal 15"]


def test_workers_that_are_replaced_are_all_recorded() -> None:
    write(
        "script.py",
        """
        import multiprocessing
        def in_child(number): return number
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
                result = pool.map(in_child, range(6), chunksize=1)
                pool.close()
                pool.join()
            print(result)  # while workers are forked, one of them might print it as well
        """,
    )

    same_as_python("script.py")

    assert family_calls()["in_child"] == 6
    assert len(processes()) >= 7


def test_ctrl_c_ends_a_family_as_it_does_without_us() -> None:
    write(
        "script.py",
        """
        import multiprocessing, time
        def in_child():
            print("ready", flush=True)
            time.sleep(300)
        if __name__ == "__main__":
            worker = multiprocessing.get_context("fork").Process(target=in_child)
            worker.start()
            worker.join()
        """,
    )

    def interrupt(*command: str) -> tuple[int, int]:
        with subprocess.Popen(
            [*command, "script.py"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as parent:
            assert parent.stdout is not None and parent.stderr is not None
            assert parent.stdout.readline() == b"ready\n"
            os.killpg(parent.pid, signal.SIGINT)
            told = parent.stderr.read()
            return parent.wait(timeout=400), told.count(b"KeyboardInterrupt")

    plain = interrupt(sys.executable)

    assert interrupt(*RUN, "-q", "-o", "trace.kymo") == plain == (-signal.SIGINT, 2)
    assert [each["ending"] for each in processes()] == ["clean", "clean"]
    assert family_calls()["in_child"] == 1
