"""`kymograph view` as a server: whom it answers, how it ends, and pages it saves."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import bad, start_recorder
from command import kymograph as kymograph_run
from viewed import (
    CALL,
    Server,
    capture_of,
    data_of,
    read_tile,
    recorded,
    served,
    slices_of,
    view_captures,
)

import kymograph

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return view_captures(tmp_path_factory.mktemp("view"))


# ----------------------------------------------------------------- who is answered


@pytest.fixture(scope="module")
def server(captures: list[Path]) -> Iterator[Server]:
    with served(captures[1]) as server:
        yield server


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "localhost.evil.example:{port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_other_hosts_and_origins_are_refused(server: Server, headers: dict[str, str]) -> None:
    sent = {key: value.format(port=server.port) for key, value in headers.items()}
    for name in ("", "overview", "tile?thread=0&level=20&index=0", "query?sql=SELECT+1", "news"):
        answer = server.send(server.root + name, sent)
        assert answer.status == 403 and b"refused" in answer.body


def test_the_page_itself_is_answered(server: Server) -> None:
    for host in ("127.0.0.1", "localhost"):
        here = f"{host}:{server.port}"
        answer = server.send(server.root, {"Host": here, "Origin": f"http://{here}"})
        assert answer.status == 200 and answer.body.startswith(b"<!doctype html>")


def test_a_wrong_token_is_refused(server: Server) -> None:
    token = server.root.strip("/")
    wrong = ("0" if token[-1] != "0" else "1").join((token[:-1], ""))
    for path in (
        "/",
        "/overview",
        f"/{wrong}/",
        f"/{wrong}/overview",
        f"/{token}",
        f"/{token[:-1]}/",
    ):
        assert server.send(path).status == 403, path


@pytest.mark.parametrize(
    "name",
    [
        "../etc/passwd",
        "%2e%2e/etc/passwd",
        "/etc/passwd",
        "overview/..",
        "tile%00",
        "a.kymo",
        "OVERVIEW",
    ],
)
def test_no_path_leads_to_a_file(server: Server, name: str) -> None:
    answer = server.send(server.root + name)
    assert answer.status in (400, 403, 404) and b"root:" not in answer.body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_only_get_is_served(server: Server, method: str) -> None:
    assert server.send(server.root + "overview", method=method).status in (400, 405)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("tile", {}),
        ("tile", {"thread": 0, "level": 99, "index": 0}),
        ("tile", {"thread": -1, "level": 1, "index": 0}),
        ("tile", {"thread": 0, "level": 47, "index": 1 << 40}),
        ("tile", {"thread": 10**6, "level": 1, "index": 0}),
        ("tile", {"thread": "0;", "level": 1, "index": 0}),
        ("call", {"thread": 0, "start": "x", "depth": 0}),
        ("call", {"thread": 0, "start": 1 << 60, "depth": 0}),
        ("stats", {"from": 5, "to": 5}),
        ("stats", {"threads": "0,x"}),
        ("stats", {"capture": 1}),
        ("durations", {}),
        ("durations", {"name": 10**9}),
        ("durations", {"name": 0, "threads": "x"}),
        ("durations", {"name": 0, "events": 0}),
        ("durations", {"name": 0, "from": 2, "to": 2}),
        ("durations", {"name": 0, "capture": 1}),
        ("find", {"names": 10**9}),
        ("query", {}),
        ("cut", {"from": 3, "to": 1}),
    ],
    ids=str,
)
def test_bad_requests_are_refused_in_words(
    server: Server, name: str, values: dict[str, Any]
) -> None:
    answer = server.ask(name, **values)
    assert answer.status in (400, 404) and answer.json()["error"]


def test_garbage_does_not_end_it(server: Server) -> None:
    chance = random.Random(1)
    words = [
        b"GET",
        b"/",
        server.root.encode(),
        b"tile?",
        b"thread=",
        b"%",
        b"\r\n",
        b"Host:",
        b"\0",
        b"\xff",
        b"A" * 9000,
    ]
    for _ in range(200):
        with socket.create_connection(("127.0.0.1", server.port)) as plain:
            plain.sendall(b" ".join(chance.choices(words, k=chance.randrange(1, 12))))
    assert server.good("overview")["captures"]


def test_everything_has_a_strict_policy(server: Server) -> None:
    for name in ("", "overview", "tile?thread=0&level=20&index=0", "nothing"):
        headers = server.send(server.root + name).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy and "*" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert not any(key.lower().startswith("access-control") for key in headers)


def test_only_loopback_listens(server: Server) -> None:
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    port = f"{server.port:04X}"
    bound = {line.split()[1] for line in lines if line.split()[1].endswith(f":{port}")}
    listening = [line for line in lines if line.split()[3] == "0A" and line.split()[1] in bound]
    assert [line.split()[1] for line in listening] == [f"0100007F:{port}"]


# ------------------------------------------------------------------------ its life


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(captures: list[Path], number: int) -> None:
    with served(captures[1]) as server:
        server.process.send_signal(number)
        assert server.process.wait(400) == 0


def test_it_ends_when_the_page_has_gone(captures: list[Path]) -> None:
    with served("--linger", "0.2s", captures[1]) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as page:
            request = f"GET {server.root}news HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
            page.sendall(request.encode())
            assert page.recv(100).startswith(b"HTTP/1.1 200")
            assert server.process.poll() is None
        assert server.process.wait(400) == 0


def test_a_running_capture_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "live.kymo"
    code = """
for line in sys.stdin:
    for i in range(20000):
        with kymograph.span("again"): pass
    kymograph.flush() if hasattr(kymograph, "flush") else None
    print(flush=True)
"""
    recorder = start_recorder(path, code)
    assert recorder.stdin and recorder.stdout
    try:
        recorder.stdin.write(b"go\n")
        recorder.stdin.flush()
        recorder.stdout.readline()
        with served(path) as server:
            before = server.good("overview")["captures"][0]
            assert before["ending"] == "running"
            recorder.stdin.write(b"go\n")
            recorder.stdin.flush()
            recorder.stdout.readline()
            recorder.stdin.close()
            assert recorder.wait(400) == 0
            while (after := server.good("overview")["captures"][0])["ending"] == "running":
                time.sleep(0.05)
            assert after["records"] > before["records"]
            assert after["generation"] > before["generation"]
            assert after["duration"] > before["duration"]
    finally:
        recorder.kill()
        recorder.wait()
        recorder.stdout.close()


def test_two_captures_are_served_together(captures: list[Path]) -> None:
    with served(captures[0], captures[1]) as server:
        names = [capture["file"] for capture in server.good("overview")["captures"]]
        assert names == [captures[0].name, captures[1].name]
        assert server.tile(capture=1, thread=0, level=20, index=0).parts


def test_what_cannot_be_served_is_refused(tmp_path: Path, captures: list[Path]) -> None:
    assert "no such file" in bad("view", tmp_path / "none.kymo")
    assert "--port takes a number" in bad("view", "--port", "many", captures[0])
    assert "--linger takes a duration" in bad("view", "--linger", "long", captures[0])
    with served(captures[1]) as server:
        assert "is in use" in bad("view", "--no-browser", "--port", server.port, captures[0])


def test_hostile_names_arrive_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "evil.kymo"
    kymograph.start(path, calls=False)
    evil = "</script><img src=x onerror=alert(1)>\u202e\x1b[31m"
    with kymograph.span(evil):
        pass
    kymograph.stop()
    with served(path) as server:
        names = [name[0] for name in server.good("overview")["captures"][0]["names"]]
        assert evil in names


def test_an_incomplete_capture_is_announced(tmp_path: Path, captures: list[Path]) -> None:
    data = captures[0].read_bytes()
    for number, (content, words) in enumerate(
        ((data[: len(data) * 3 // 4], "incomplete: the process was killed, or"), (data, ""))
    ):
        path = tmp_path / f"{number}.kymo"
        path.write_bytes(content)
        with served(path) as server:
            server.good("overview")
        assert words in server.said and server.said.count(": incomplete: ") == bool(words)


def test_damaged_captures_are_served(tmp_path: Path, captures: list[Path]) -> None:
    """Any byte may be wrong: the server answers, and goes on."""
    data = captures[0].read_bytes()
    chance = random.Random(3)
    for number in range(6):
        wrong = bytearray(data)
        for _ in range(20):
            wrong[chance.randrange(200, len(wrong))] ^= 1 << chance.randrange(8)
        path = tmp_path / f"{number}.kymo"
        path.write_bytes(wrong)
        with served(path) as server:
            capture = server.good("overview")["captures"][0]
            highest = (capture["duration"] // 512).bit_length()
            for thread in capture["threads"]:
                for level in (highest, max(0, highest - 4)):
                    values = {"thread": thread["thread"], "level": min(47, level), "index": 0}
                    assert server.ask("tile", **values).status in (200, 500)
                    assert server.ask("tile", **values, events=0).status in (200, 500)
            server.good("stats")
            server.ask("call", thread=0, start=1000, depth=0)
            for name in range(min(8, len(capture["names"]))):
                for events in (5000, 10**9):
                    asked = server.ask("durations", name=name, events=events)
                    assert asked.status in (200, 500)
            assert server.process.poll() is None


# --------------------------------------------------------------- a page to be sent


def test_a_saved_page_has_every_call(captures: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    kymograph_view("--save", page, captures[0])
    data = data_of(page)
    assert data["shortest"] == 0
    numbers, at = set(), 0
    for _, thread, _, _, length, full in data["tiles"]:
        if full:
            for part in read_tile(data["stream"][at : at + length]).parts:
                if part.count:
                    assert part.flags & CALL or part.start == part.end
                    numbers.add((thread, part.number))
        at += length
    assert at == len(data["stream"])
    mask = (1 << 40) - 1
    calls = [call for call in slices_of(captures[0]) if call.end_ns > call.start_ns]
    assert {(call.thread, call.id & mask) for call in calls} <= numbers
    assert data["stats"][0]["calls"] and data["stats"][0]["counts"]


def kymograph_view(*arguments: object) -> str:
    done = kymograph_run("view", *arguments)
    assert done.returncode == 0, done
    return done.stderr


def test_a_page_keeps_to_its_size_and_says_what_it_left_out(tmp_path: Path) -> None:
    code = "def f(): pass\nfor i in range(500000): f()\n"
    path, page = capture_of(tmp_path / "many.kymo", code), tmp_path / "page.html"
    said = kymograph_view("--save", page, "--size", "1", path)
    assert page.stat().st_size <= 1 << 20
    assert "only together; --size makes it larger" in said
    assert data_of(page)["shortest"] > 0
    kymograph_view("--save", page, "--size", "1", "--from", "10ms", "--to", "11ms", path)
    data = data_of(page)
    assert page.stat().st_size <= 1 << 20 and data["shortest"] == 0
    assert data["stats"][0]["to"] - data["stats"][0]["from"] == 1000000


def test_markup_in_a_saved_page_is_escaped(tmp_path: Path) -> None:
    path, page = tmp_path / "evil.kymo", tmp_path / "page.html"
    kymograph.start(path, calls=False)
    with kymograph.span("</script><script>alert(1)</script><!--"):
        kymograph.counter("<!--<script>", 1)
    kymograph.stop()
    kymograph_view("--save", page, path)
    assert page.read_text().count("</script>") == 2
    names = data_of(page)["overview"]["captures"][0]["names"]
    assert any("</script><script>alert(1)" in name[0] for name in names)


def test_what_cannot_be_saved_is_refused(tmp_path: Path, captures: list[Path]) -> None:
    other = tmp_path / "notes.html"
    other.write_text("mine")
    assert "notes.html" in bad("view", "--save", other, captures[1])
    assert other.read_text() == "mine"
    assert "would overwrite the capture" in bad("view", "--save", captures[1], captures[1])
    assert "--size takes a number" in bad("view", "--save", other, "--size", "big", captures[1])
    assert "only with --save" in bad("view", "--from", "1ms", captures[1])
    assert "no such file" in bad("view", "--save", other, tmp_path / "none.kymo").lower()


# ------------------------------------------------------------------- who has gone


def processor_time(server: Server) -> float:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processor_time_at_rest(server: Server) -> float:
    """The processor time it has used when it has nothing more to do."""
    before, now = -1.0, processor_time(server)
    while now != before:
        time.sleep(0.5)
        before, now = now, processor_time(server)
    return now


def test_work_for_a_page_that_has_gone_is_given_up(tmp_path: Path) -> None:
    path = recorded(tmp_path / "long.kymo", "def f(): pass\nfor i in range(2_000_000): f()")
    with served(path) as server:
        (capture,) = server.good("overview")["captures"]
        (name,) = (i for i, known in enumerate(capture["names"]) if known[0] == "f")
        before = processor_time_at_rest(server)
        for _ in range(3):
            assert server.good("durations", name=name, events=10**9)["calls"] == 2_000_000
        one = (processor_time_at_rest(server) - before) / 3
        before = processor_time_at_rest(server)
        wish = f"GET {server.root}durations?name={name}&events={10**9} HTTP/1.1\r\n"
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port)) as page:
                page.sendall(f"{wish}Host: 127.0.0.1:{server.port}\r\n\r\n".encode())
        assert processor_time_at_rest(server) - before < 10 * one
