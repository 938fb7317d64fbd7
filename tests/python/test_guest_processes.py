"""Programs of others that work with several processes, recorded: servers, pools, test runners."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from family import family_calls, processes
from ran import RUN, execute, write

pytestmark = pytest.mark.usefixtures("folder")

HANGS = 400  # seconds; only a program that hangs takes as long


def needs(module: str) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(module) is None
    return pytest.mark.skipif(missing, reason=f"there is no {module} for this Python")


def ask(path: str) -> str:
    """Send a request to the server at the socket `path`, as soon as it is there."""
    end = time.monotonic() + HANGS
    while True:
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.settimeout(HANGS)
                connection.connect(path)
                connection.sendall(b"GET / HTTP/1.0\r\nHost: here\r\n\r\n")
                answer = b""
                while block := connection.recv(4096):
                    answer += block
                if answer:
                    return answer.rpartition(b"\r\n")[2].decode()
            except OSError:
                if time.monotonic() > end:
                    raise
        time.sleep(0.02)


def serve(*arguments: str) -> subprocess.Popen[bytes]:
    with open("log", "wb") as log:
        return subprocess.Popen(
            [*RUN, "-q", "-o", "trace.kymo", *arguments], stdout=log, stderr=subprocess.STDOUT
        )


def end(server: subprocess.Popen[bytes]) -> int:
    server.send_signal(signal.SIGTERM)
    return server.wait(timeout=HANGS)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


APP = """
def answer_request(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]
"""


SAYS_WHO_HAS_BEGUN = """
def post_worker_init(worker):
    with open("begun", "a") as file:
        file.write(f"{worker.pid}\\n")
"""


def wait_for_workers(count: int) -> None:
    """Wait until they have begun; before, they have their parent's handlers and miss SIGTERM."""
    end = time.monotonic() + HANGS
    while len(Path("begun").read_text().split()) < count:
        assert time.monotonic() < end, "a worker does not begin"
        time.sleep(0.02)


@needs("gunicorn")
@pytest.mark.parametrize("options", [[], ["--threads", "2"]], ids=["sync", "threads"])
def test_workers_of_gunicorn_are_recorded(options: list[str]) -> None:
    write("app.py", APP)
    write("gunicorn.conf.py", SAYS_WHO_HAS_BEGUN)
    server = serve("-m", "gunicorn", "app:answer_request", "-w", "2", "-b", "unix:sock", *options)
    for _ in range(6):
        assert ask("sock") == "hello"
    wait_for_workers(2)

    code = end(server)

    log = Path("log").read_text()
    assert code == 0, log
    listed = processes()
    assert [each["ending"] for each in listed] == ["clean"] * 3, listed
    assert [each["parent"] for each in listed] == [None, 0, 0]
    assert family_calls()["answer_request"] == 6
    assert not any(alive(each["pid"]) for each in listed)


ASGI = """
async def answer_request(scope, receive, send):
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})
"""


@needs("uvicorn")
def test_workers_of_uvicorn_are_recorded() -> None:
    write("app.py", ASGI)
    server = serve(
        *(
            "-m",
            "uvicorn",
            "app:answer_request",
            "--workers",
            "2",
            "--uds",
            "sock",
            "--lifespan",
            "off",
        )
    )
    for _ in range(6):
        assert ask("sock") == "hello"

    code = end(server)

    log = Path("log").read_text()
    assert code in (0, -signal.SIGTERM), log  # versions differ
    # On a machine that is too busy, it starts workers again that do not answer it in time.
    names = [each["name"] for each in processes()[1:]]
    assert len(names) >= 2 and any(name.startswith("SpawnProcess-") for name in names), names
    assert family_calls()["answer_request"] >= 6
    assert not any(alive(each["pid"]) for each in processes())


@needs("joblib")
def test_workers_of_joblib_are_recorded() -> None:
    write(
        "script.py",
        """
        import joblib
        from work import square
        if __name__ == "__main__":
            print(joblib.Parallel(n_jobs=2)(joblib.delayed(square)(n) for n in range(20)))
        """,
    )
    write("work.py", "def square(n): return n * n\n")

    done = execute(*RUN, "-q", "-o", "trace.kymo", "script.py")

    assert (done.returncode, done.stdout) == (0, f"{[n * n for n in range(20)]}\n"), done.stderr
    assert family_calls()["square"] == 20


@needs("xdist")
def test_workers_of_pytest_xdist_are_recorded() -> None:
    write(
        "test_it.py",
        """
        import pytest
        @pytest.mark.parametrize("number", range(10))
        def test_number(number): assert number < 9
        """,
    )

    done = execute(
        *(*RUN, "-q", "-o", "trace.kymo", "-m", "pytest", "-q", "-n", "2"),
        *("-p", "no:cacheprovider", "test_it.py"),
    )

    assert done.returncode == 1, done.stdout
    assert "1 failed, 9 passed" in done.stdout
    assert family_calls()["test_number"] == 10
    assert len(processes()) == 3


@needs("distributed")
def test_workers_of_a_dask_cluster_are_recorded() -> None:
    write(
        "script.py",
        """
        import sys
        from distributed import Client, LocalCluster
        from work import square
        if __name__ == "__main__":
            with LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="tcp://"
            ) as cluster, Client(cluster) as client:
                print(client.gather(client.map(square, range(20))), flush=True)
            sys.exit(7)
        """,
    )
    write("work.py", "def square(n): return n * n\n")

    done = execute(*RUN, "-q", "-o", "trace.kymo", "script.py")

    assert (done.returncode, done.stdout) == (7, f"{[n * n for n in range(20)]}\n"), done.stderr
    assert family_calls()["square"] == 20
    listed = processes()
    workers = [each for each in listed if each["name"].startswith("Dask Worker process")]
    assert len(workers) == 2, listed
    assert all(each["lost_records"] == 0 for each in listed), listed
    assert not any(alive(each["pid"]) for each in listed)
