"""Pictures of a page, pixel by pixel, without a library for them."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import Any

from judges import Browser

Colour = tuple[int, int, int]


def _paeth(a: int, b: int, c: int) -> int:
    distances = (abs(b - c), abs(a - c), abs(a + b - 2 * c))
    return (a, b, c)[distances.index(min(distances))]


def _unfilter(kind: int, line: bytearray, above: bytearray, size: int) -> None:
    """Undo the filter of a line of a PNG, with SIZE bytes for each pixel."""
    if kind == 2:
        line[:] = bytes((x + y) & 255 for x, y in zip(line, above, strict=True))
    elif kind:
        for i, value in enumerate(line):
            left, corner = (line[i - size], above[i - size]) if i >= size else (0, 0)
            guess = (0, left, 0, (left + above[i]) // 2, _paeth(left, above[i], corner))[kind]
            line[i] = (value + guess) & 255


@dataclass
class Picture:
    width: int
    height: int
    lines: list[bytes]  # three bytes for each pixel

    def at(self, x: float, y: float) -> Colour:
        i = 3 * int(x)
        red, green, blue = self.lines[int(y)][i : i + 3]
        return red, green, blue

    def differing(self, other: Picture, tolerance: int) -> float:
        """The share of pixels with a channel that differs by more than TOLERANCE."""
        assert (self.width, self.height) == (other.width, other.height)
        count = 0
        for line, its in zip(self.lines, other.lines, strict=True):
            if line == its:
                continue
            far = [abs(a - b) > tolerance for a, b in zip(line, its, strict=True)]
            count += sum(any(far[i : i + 3]) for i in range(0, len(far), 3))
        return count / (self.width * self.height)

    def colours(self) -> set[Colour]:
        return {self.at(x, y) for y in range(self.height) for x in range(self.width)}


def read_png(data: bytes) -> Picture:
    """DATA, a PNG of 8 bits for each of red, green, blue and perhaps alpha."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, bits, kind = struct.unpack_from(">IIBB", data, 16)
    assert bits == 8 and kind in (2, 6), (bits, kind)
    packed, at = b"", 8
    while at < len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        if name == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    raw, size, lines = zlib.decompress(packed), 3 if kind == 2 else 4, []
    above = bytearray(width * size)
    for y in range(height):
        start = y * (width * size + 1)
        line = bytearray(raw[start + 1 : start + 1 + width * size])
        _unfilter(raw[start], line, above, size)
        above = line
        if size == 4:
            whole = bytearray(width * 3)
            for channel in range(3):
                whole[channel::3] = line[channel::4]
            lines.append(bytes(whole))
        else:
            lines.append(bytes(line))
    return Picture(width, height, lines)


def picture_of(browser: Browser, element: str) -> Picture:
    """The part of ELEMENT that is on the screen, as a picture."""
    box: dict[str, Any] = browser.ask(
        f"""(() => {{
            const box = document.getElementById('{element}').getBoundingClientRect();
            return {{x: box.left, y: box.top, width: box.width, height: box.height, scale: 1}};
        }})()"""
    )
    return read_png(base64.b64decode(browser._call("Page.captureScreenshot", clip=box)["data"]))
