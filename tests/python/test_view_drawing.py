"""What the timeline looks like in a real browser, pixel by pixel.

Stored pictures would depend on the fonts and the version of the browser. Instead, pixels are
compared with the calls that should be there, and with what the other renderer draws: WebGL, here
without a graphics card, and a canvas.
"""

from __future__ import annotations

import colorsys
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from judges import Browser
from pixels import Colour, Picture, picture_of
from test_view_page import settled
from viewed import Server, capture_of, served

pytestmark = pytest.mark.native

PROGRAM = """
import json, threading, time
import kymograph
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def slow():
    time.sleep(0.02)
def busy():
    fib(12)
    json.loads(json.dumps(list(range(3000)), indent=1))
def main():
    for i in range(3):
        busy()
        slow()
        kymograph.instant("step")
thread = threading.Thread(target=busy, name="helper")
thread.start(); thread.join()
main()
"""
BACK = {"light": (255, 255, 255), "dark": (20, 24, 29)}
LINE = {"light": (227, 231, 236), "dark": (38, 45, 53)}  # of the times at the top
HUES = {"main": 212, "slow": 212, "step": 40}  # those of colours.ts, in degrees
ROW = 18


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return capture_of(tmp_path_factory.mktemp("drawing") / "drawing.kymo", PROGRAM)


@pytest.fixture(scope="module")
def server(traced: Path) -> Iterator[Server]:
    with served("--linger", "0", traced) as server:
        yield server


@pytest.fixture(scope="module", params=["light", "dark"])
def theme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def browser(theme: str) -> Iterator[Browser]:
    browser = Browser(dark=theme == "dark")
    browser._call(
        "Emulation.setDeviceMetricsOverride",
        width=800,
        height=640,
        deviceScaleFactor=1,
        mobile=False,
    )
    yield browser
    browser.close()


def show(browser: Browser, server: Server, renderer: str, state: str = "") -> None:
    browser.open(f"{server.address}#draw={renderer}{state}")
    settled(browser)
    browser.wait(lambda: browser.ask("kymograph.app.tracks.extras.length"), 400)
    settled(browser)


def uses_webgl(browser: Browser) -> bool:
    return bool(browser.ask("Boolean(kymograph.painter.renderer.gl)"))


def shown(browser: Browser, server: Server, renderer: str, state: str = "") -> Picture:
    show(browser, server, renderer, state)
    assert uses_webgl(browser) == (renderer == "webgl"), browser.messages
    return picture_of(browser, "scroll")


def is_same(one: Picture, other: Picture) -> bool:
    """Where boxes meet inside of a pixel, a canvas lets a sixth of the background through. Boxes
    that are moved by a pixel are not the same."""
    return one.differing(other, 48) < 0.002 and one.differing(other, 16) < 0.03


def slices(server: Server, name: str) -> list[dict[str, int]]:
    sql = (
        "SELECT thread, depth, start_ns, dur_ns FROM slices "
        f"WHERE name = '{name}' ORDER BY dur_ns DESC LIMIT 3"
    )
    return [json.loads(line) for line in server.ask("query", sql=sql).body.splitlines()]


def place(browser: Browser, thread: int, depth: int, time: float) -> tuple[float, float]:
    """Where TIME is in row DEPTH of a thread, from the corner of the picture: above the text."""
    x, y = browser.ask(
        f"""[kymograph.app.view.x({time}), kymograph.app.tracks.find(0, {thread}).y + 4
            + {depth} * {ROW} - document.getElementById('scroll').scrollTop]"""
    )
    return x, y


def hue(colour: Colour) -> float:
    return 360 * colorsys.rgb_to_hls(*(channel / 255 for channel in colour))[0]


def is_near(one: Colour, other: Colour) -> bool:
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) <= 2


def around(row: dict[str, int], factor: float) -> str:
    """The address of the time around a call, FACTOR times as long."""
    extra = row["dur_ns"] * (factor - 1) / 2
    start, end = row["start_ns"] - extra, row["start_ns"] + row["dur_ns"] + extra
    return f"&v={start:.0f},{end:.0f}"


def test_both_renderers_draw_the_same(browser: Browser, server: Server) -> None:
    main = slices(server, "main")[0]
    places = ["", around(main, 1.5), around(slices(server, "busy")[0], 0.1), "&q=%3Dfib"]
    seen = []
    for state in places:
        flat = shown(browser, server, "canvas", state)
        card = shown(browser, server, "webgl", state)
        assert is_same(flat, card), (state, flat.differing(card, 16), flat.differing(card, 48))
        seen.append(card)
    # They are pictures of something, each of something else.
    assert all(len(picture.colours()) > 20 for picture in seen)
    assert not any(is_same(one, other) for one, other in itertools.pairwise(seen))


@pytest.mark.parametrize("renderer", ["canvas", "webgl"])
def test_calls_have_their_colour_where_they_are(
    browser: Browser, server: Server, theme: str, renderer: str
) -> None:
    main = slices(server, "main")[0]
    picture = shown(browser, server, renderer, around(main, 1.2))
    for name in ("main", "slow", "sleep"):
        for row in slices(server, name):
            start, middle, end = (
                place(browser, row["thread"], row["depth"], row["start_ns"] + share * row["dur_ns"])
                for share in (0, 0.5, 1)
            )
            own = picture.at(*middle)
            if name in HUES:
                assert abs(hue(own) - HUES[name]) < 15, (name, own)
            # The same colour from its first to its last pixel, also where tiles meet.
            inside = [picture.at(x, middle[1]) for x in range(int(start[0]) + 2, int(end[0]) - 2)]
            assert all(is_near(colour, own) for colour in inside), (name, own, set(inside))
            if name == "sleep":  # the only built-in function at its depth
                assert not is_near(picture.at(start[0] - 2, start[1]), own)
                assert not is_near(picture.at(end[0] + 1, end[1]), own)
    # Nothing was called inside of time.sleep, and nothing is drawn there.
    row = slices(server, "sleep")[0]
    x, y = place(browser, row["thread"], row["depth"] + 1, row["start_ns"] + row["dur_ns"] * 0.6)
    assert {picture.at(x + step, y) for step in range(-2, 3)} - {LINE[theme]} == {BACK[theme]}


@pytest.mark.parametrize("renderer", ["canvas", "webgl"])
def test_a_moment_can_be_seen_at_any_zoom(browser: Browser, server: Server, renderer: str) -> None:
    sql = "SELECT time_ns FROM events WHERE kind = 'instant' AND name = 'step' ORDER BY 1"
    times = [json.loads(line)["time_ns"] for line in server.ask("query", sql=sql).body.splitlines()]
    assert len(times) == 3
    for length in (200, 1e6):
        state = f"&v={times[1] - length:.0f},{times[1] + length:.0f}"
        picture = shown(browser, server, renderer, state)
        x, y = place(browser, -1, 0, times[1])
        assert abs(hue(picture.at(x + 1, y)) - HUES["step"]) < 15, (length, picture.at(x + 1, y))
        assert abs(hue(picture.at(x + 9, y)) - HUES["step"]) > 15


@pytest.mark.parametrize("renderer", ["canvas", "webgl"])
def test_the_address_brings_back_the_picture(
    browser: Browser, server: Server, renderer: str
) -> None:
    show(browser, server, renderer, around(slices(server, "main")[0], 1.2))
    browser.press("w", "w", "d", "s")
    browser.ask("document.querySelector('#heads .head:not(.group) button').click()")
    settled(browser)
    browser.wait(lambda: "f=" in browser.ask("location.hash"))
    before, address = picture_of(browser, "scroll"), browser.ask("location.href")
    browser.open(address)
    settled(browser)
    browser.wait(lambda: browser.ask("kymograph.app.tracks.extras.length"), 400)
    settled(browser)
    assert uses_webgl(browser) == (renderer == "webgl")
    # The address has whole nanoseconds: edges may move by a small part of a pixel.
    assert before.differing(picture_of(browser, "scroll"), 12) < 0.001


def test_panning_sends_nothing_to_the_card(browser: Browser, server: Server) -> None:
    show(browser, server, "webgl", around(slices(server, "main")[0], 0.5))
    sent = "kymograph.painter.renderer.gl.uploads"
    for key in "adad":
        browser.press(key)
        settled(browser)
    before, frames = browser.ask(sent), browser.ask("kymograph.painter.renderer.gl.frame")
    assert before > 0
    for key in "adadadad":
        browser.press(key)
        settled(browser)
    assert browser.ask("kymograph.painter.renderer.gl.frame") >= frames + 8
    assert browser.ask(sent) == before


def test_a_card_that_goes_away_is_replaced_by_the_canvas(browser: Browser, server: Server) -> None:
    before = shown(browser, server, "webgl")
    browser.ask(
        """window.card = document.getElementById('boxes').getContext('webgl2')
            .getExtension('WEBGL_lose_context'), card.loseContext()"""
    )
    browser.wait(lambda: not uses_webgl(browser))
    settled(browser)
    assert is_same(before, picture_of(browser, "scroll"))
    browser.ask("card.restoreContext()")
    browser.wait(lambda: uses_webgl(browser))
    settled(browser)
    assert before.differing(picture_of(browser, "scroll"), 2) == 0


def test_a_card_in_software_is_not_used(browser: Browser, server: Server) -> None:
    browser.open(server.address)
    settled(browser)
    assert not uses_webgl(browser)
