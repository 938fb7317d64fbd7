"""A small web application that leaks memory; docs/memory.md finds out where.

It serves reports on loopback and, with a number as argument, sends itself that many requests and
ends.
"""

from __future__ import annotations

import json
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Report:
    def __init__(self, number: int) -> None:
        self.number = number
        self.lines = [f"order {number}-{line}: {line * 7} units" for line in range(200)]

    def as_json(self) -> bytes:
        return json.dumps({"number": self.number, "lines": self.lines}).encode()


class Cache:
    """Reports that were made before, so that they need not be made again."""

    def __init__(self) -> None:
        self.by_request: dict[tuple[int, int], Report] = {}

    def report(self, number: int, request: int) -> Report:
        key = (number, request)  # the mistake: no two requests have the same key
        if key not in self.by_request:
            self.by_request[key] = Report(number)
        return self.by_request[key]


cache = Cache()
requests = 0


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        global requests
        requests += 1
        body = cache.report(int(self.path.strip("/")), requests).as_json()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def serve(count: int) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    for i in range(count):
        url = f"http://127.0.0.1:{server.server_address[1]}/{i % 10}"
        with urllib.request.urlopen(url) as answer:
            answer.read()
    server.shutdown()
    thread.join()
    server.server_close()


if __name__ == "__main__":
    serve(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
