"""The programs that exports are made for, as judges of them: found, or got, by tools/judge."""

from __future__ import annotations

import base64
import functools
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "judge"


@functools.cache
def _locate(name: str) -> tuple[list[str], str]:
    done = subprocess.run(
        [str(TOOL), name], capture_output=True, text=True, timeout=400, check=False
    )
    return (done.stdout.split("\n")[:-1] if done.returncode == 0 else []), done.stderr.strip()


def judge(name: str) -> list[str]:
    """The command of judge NAME; skips the test, with the reason, when it cannot be had."""
    command, reason = _locate(name)
    if not command:
        pytest.skip(f"no {name} to judge with: {reason}")
    return command


class Browser:
    """A Chromium without a screen, driven over a pipe. What pages say is kept in `messages`."""

    def __init__(self, *, dark: bool = False, command: list[str] | None = None) -> None:
        command = command or judge("browser")
        self._home = tempfile.TemporaryDirectory(
            prefix="kymograph-browser-", ignore_cleanup_errors=True
        )
        read_there, self._write = os.pipe()
        self._read, write_there = os.pipe()
        # The browser reads from 3 and writes to 4; a shell can say so.
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$@" 3<&{read_there} 4>&{write_there}',
                "browser",
                *command,
                "--headless",  # for those that also have a screen
                "--no-first-run",
                "--no-default-browser-check",
                "--disable-extensions",
                "--disable-component-update",
                "--disable-background-networking",
                "--no-sandbox",
                "--disable-gpu",
                "--use-angle=swiftshader",
                "--enable-unsafe-swiftshader",
                "--allow-file-access-from-files",
                "--hide-scrollbars",
                "--window-size=1400,860",
                f"--user-data-dir={self._home.name}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            pass_fds=(read_there, write_there),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_there)
        os.close(write_there)
        self._number = 0
        self._rest = b""
        self._session = ""
        self.messages: list[str] = []
        try:
            pages = self._call("Target.getTargets")["targetInfos"]
            target = next(page["targetId"] for page in pages if page["type"] == "page")
            attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Runtime", "Log", "Page", "Network"):
                self._call(f"{domain}.enable")
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            self._call("Emulation.setEmulatedMedia", features=[scheme])
        except BaseException:
            self.close()
            raise

    def resize(self, width: int, height: int) -> None:
        """Give the page a window of this size."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def close(self) -> None:
        os.close(self._write)  # which ends it, and those it started
        os.close(self._read)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._home.cleanup()

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while True:
            answer = self._next(400)
            if answer is None:
                raise TimeoutError(f"the browser does not answer to {method}")
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, seconds: float) -> dict[str, Any] | None:
        """The next message, or None; events are noted on the way."""
        end = time.monotonic() + seconds
        while b"\0" not in self._rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                return None
            data = os.read(self._read, 1 << 20)
            assert data, "the browser has gone"
            self._rest += data
        line, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, said: dict[str, Any]) -> None:
        if method == "Runtime.consoleAPICalled":
            values = [str(a.get("value", a.get("description"))) for a in said["args"]]
            self.messages.append(f"{said['type']}: {' '.join(values)}")
        elif method == "Runtime.exceptionThrown":
            self.messages.append(f"exception: {said['exceptionDetails']}")
        elif method == "Log.entryAdded":
            self.messages.append(f"log: {said['entry']['text']}")
        elif method == "Page.javascriptDialogOpening":
            self.messages.append(f"dialog: {said['message']}")
        elif method == "Network.requestWillBeSent":
            url = said["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:")):
                self.messages.append(f"request: {url}")

    def open(self, address: str) -> None:
        """Load ADDRESS; what was said before is forgotten."""
        self._call("Page.navigate", url="about:blank")
        self.wait(lambda: self.ask("location.href") == "about:blank")
        self.messages.clear()
        self._call("Page.navigate", url=address)
        self.wait(lambda: self.ask("document.readyState") == "complete")

    def ask(self, code: str) -> Any:
        """The value of an expression of JavaScript, in the page."""
        answer = self._call("Runtime.evaluate", expression=code, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, true: Callable[[], object], seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, f"waited in vain; the page said {self.messages}"
            self._next(0.05)

    def click(self, x: float, y: float) -> None:
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = "none" if kind == "mouseMoved" else "left"
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def press(self, *keys: str) -> None:
        """Press KEYS, as their events name them, one after another."""
        for key in keys:
            text = key if len(key) == 1 else "\r" if key == "Enter" else ""
            self._call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
            self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot")["data"]))
