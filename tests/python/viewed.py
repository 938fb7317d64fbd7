"""`kymograph view` as tests use it: a server, its answers, and the tiles it serves."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import struct
import subprocess
import urllib.parse
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from judges import Browser
from program import PROGRAM, good

CALL, BEFORE, AFTER, SUMMARY, LOST, OPEN = 1, 2, 4, 8, 16, 32


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Part(NamedTuple):
    depth: int
    start: int
    end: int
    name: int
    count: int
    busy: int
    flags: int
    number: int


@dataclass
class Tile:
    summaries: bool
    start: int
    length: int
    unit: int
    parts: list[Part]


class Server:
    """A running `kymograph view`."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [PROGRAM, "view", "--no-browser", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "BROWSER": ""},
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            _, said = self.process.communicate()
            if "without libmicrohttpd" in said:
                pytest.skip("this kymograph was built without libmicrohttpd")
            raise AssertionError(said)
        parts = urllib.parse.urlsplit(self.address)
        self.port = parts.port or 0
        self.root = parts.path
        self.said = ""  # on stderr; known when it is closed
        self._connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self.process.terminate()
        _, self.said = self.process.communicate()

    def send(self, path: str, headers: dict[str, str] | None = None, method: str = "GET") -> Answer:
        """Ask for PATH, as it is."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=400)
        self._connection.request(method, path, headers=headers or {})
        response = self._connection.getresponse()
        return Answer(response.status, dict(response.getheaders()), response.read())

    def ask(self, name: str, /, **values: object) -> Answer:
        query = urllib.parse.urlencode({key: str(value) for key, value in values.items()})
        return self.send(f"{self.root}{name}?{query}")

    def good(self, name: str, /, **values: object) -> Any:
        answer = self.ask(name, **values)
        assert answer.status == 200, answer
        return answer.json()

    def tile(self, name: str = "tile", /, **values: object) -> Tile:
        answer = self.ask(name, **values)
        assert answer.status == 200, answer
        return read_tile(answer.body)


def read_tile(data: bytes) -> Tile:
    version, bits, count, shift, start, length = struct.unpack_from("<IIIIdd", data)
    assert version == 1 and len(data) == 32 + 28 * count
    unit, at = 1 << shift, 32
    columns = []
    for kind, size in (("I", 4), ("I", 4), ("I", 4), ("I", 4), ("I", 4), ("I", 4), ("H", 2)):
        columns.append(struct.unpack_from(f"<{count}{kind}", data, at))
        at += size * count
    flags, high = data[at : at + count], data[at + count : at + 2 * count]
    parts = []
    for i in range(count):
        begin, span, busy, name, calls, number, depth = (column[i] for column in columns)
        begin = int(start) + begin * unit
        parts.append(
            Part(
                depth,
                begin,
                begin + span * unit,
                name,
                calls,
                busy * unit,
                flags[i],
                number | high[i] << 32,
            )
        )
    return Tile(bool(bits & 1), int(start), int(length), unit, parts)


@contextlib.contextmanager
def served(*arguments: object) -> Iterator[Server]:
    server = Server(*arguments)
    try:
        yield server
    finally:
        server.close()


def recorded(path: Path, code: str, *options: str) -> Path:
    """Record CODE, run as a program, into PATH."""
    script = path.with_suffix(".py")
    script.write_text(code)
    done = subprocess.run(
        [PROGRAM, "run", *options, "-o", path, script],
        capture_output=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done
    return path


def capture_of(path: Path, code: str) -> Path:
    return recorded(path, code)


def settled(browser: Browser) -> None:
    """Wait until the page has drawn all it asked for: what it needs is known after a frame."""
    browser.wait(lambda: browser.ask("window.kymograph && kymograph.frames.length"), 400)
    browser.ask("kymograph.framesBefore = kymograph.frames.length; kymograph.draw()")
    ready = "kymograph.frames.length !== kymograph.framesBefore && busy.hidden && !kymograph.asked"
    browser.wait(lambda: browser.ask(ready), 400)


def data_of(page: Path) -> dict[str, Any]:
    """What is in a saved page; `stream` inflated."""
    found = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S
    )
    data = json.loads(found[-1])  # a flame graph may be before it
    data["stream"] = zlib.decompress(base64.b64decode(data["stream"]), wbits=-15)
    return data


def text(browser: Browser, element: str) -> str:
    """What an element of the page says."""
    return str(browser.ask(f"document.getElementById('{element}').innerText"))


GOLDEN = Path(__file__).resolve().parents[1] / "golden"

CALLS = """
import difflib, json, threading
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def numbers(n):
    for i in range(n): yield i * i
def fail(): raise ValueError
def work():
    fib(13); sum(numbers(300)); json.dumps(list(range(200)))
    for i in range(50):
        try: fail()
        except ValueError: pass
    list(difflib.unified_diff([str(i % 7) for i in range(60)], [str(i % 5) for i in range(60)]))
threads = [threading.Thread(target=work, name=f"worker {i}") for i in range(2)]
for thread in threads: thread.start()
work()
for thread in threads: thread.join()
"""
SPANS = """
import kymograph, time
for i in range(400):
    with kymograph.span("outer"):
        with kymograph.span("inner" if i % 3 else "other"):
            pass
    if i % 50 == 0: time.sleep(0.002)
"""
LONG = "def f(): pass\ndef g():\n    for i in range(60000): f()\ng(); g()\n"


def view_captures(folder: Path) -> list[Path]:
    """Captures of several kinds, made in FOLDER or stored: calls, spans, long calls, summaries, and
    one that was merged."""
    made = [capture_of(folder / f"{i}.kymo", code) for i, code in enumerate((CALLS, SPANS, LONG))]
    return [*made, GOLDEN / "v1.4-summaries.kymo", GOLDEN / "v1.1-merged.kymo"]


class Slice(NamedTuple):
    thread: int
    depth: int
    start_ns: int
    end_ns: int
    id: int
    function: int


def slices_of(path: Path) -> list[Slice]:
    sql = f"SELECT {', '.join(Slice._fields)} FROM slices"
    return [Slice(**json.loads(line)) for line in good("query", "--json", path, sql).splitlines()]
