"""`kymograph export` to HTML and to speedscope, as a browser shows them."""

from __future__ import annotations

import base64
import decimal
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import RunCode
from costs import Costs, add_up
from judges import Browser, judge
from program import PROGRAM, fib
from test_export_formats import (
    HOSTILE,
    export,
    hostile,
    record_gap,
    record_killed,
    traced,
)

import kymograph

pytestmark = pytest.mark.native

__all__ = ["hostile", "traced"]  # fixtures


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def costs(traced: Path) -> Costs:
    return add_up(traced)


def show(browser: Browser, path: Path, address: str = "", folded: bool = False) -> None:
    """Show the page of the capture at PATH; it must be drawn and say nothing."""
    page = export(path, "page.html")
    address = address or "#"
    browser.open("about:blank")
    browser.open(f"{page.as_uri()}{address}{'' if folded else '&all=1'}")
    browser.wait(lambda: browser.ask("document.documentElement.dataset.ready"))
    assert browser.messages == []


def text_of(browser: Browser, element: str) -> str:
    text = browser.ask(f"document.getElementById({json.dumps(element)}).innerText")
    assert isinstance(text, str)
    return text


def drawn(browser: Browser) -> int:
    return int(browser.ask("document.getElementById('graph').dataset.rectangles"))


def shown_time(ns: int) -> str:
    """As the page writes it."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size:
            # Exact halves go up there; nothing else is rounded otherwise than here.
            digits = 3 if ns < 100 * size else len(str(round(ns / size)))
            context = decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_UP)
            value = context.create_decimal(decimal.Decimal(ns / size))
            places = max(0, digits - len(str(int(value))))
            return f"{value:.{places}f} {unit}"
    return f"{ns} ns"


# ---- the page


def test_the_page_draws_what_was_recorded(browser: Browser, traced: Path, costs: Costs) -> None:
    show(browser, traced)
    calls = sum(cost.calls for cost in costs.functions.values())
    assert drawn(browser) > 20
    assert f"{calls:,}".replace(",", "\u202f") + " calls" in text_of(browser, "summary")
    assert "2 threads" in text_of(browser, "summary")
    assert text_of(browser, "path") == "all threads"
    options = browser.ask("[...document.getElementById('part').options].map(o => o.text)")
    assert options[0] == "All threads"
    assert any(option.startswith("worker · ") for option in options)
    pixels = browser.ask(
        "(() => { const g = document.getElementById('graph');"
        " const d = g.getContext('2d').getImageData(0, 0, g.width, 100).data;"
        " const seen = new Set(); for (let i = 0; i < d.length; i += 4)"
        " seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return seen.size; })()"
    )
    assert pixels > 10


def rows_of(browser: Browser) -> list[list[str]]:
    rows: list[list[str]] = browser.ask(
        "[...document.querySelectorAll('#rows tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    return rows


def test_the_table_has_the_figures_of_every_function(
    browser: Browser, traced: Path, costs: Costs
) -> None:
    show(browser, traced, "#view=functions&q=%3Dfib")
    (row,) = rows_of(browser)
    cost = next(cost for f, cost in costs.functions.items() if f[2] == "fib")
    assert row[0] == shown_time(cost.self)
    assert row[2] == shown_time(cost.total)
    assert row[3] == str(cost.calls)
    assert row[5] == "fib"
    assert row[6].endswith(f"program.py:{fib.__code__.co_firstlineno}")

    show(browser, traced, "#view=functions")
    shown = {row[5] for row in rows_of(browser)}
    browser.ask("document.getElementById('more').click()")
    shown |= {row[5] for row in rows_of(browser)}
    assert shown == {f[2] for f in costs.functions}


def test_the_table_of_a_thread_is_that_of_its_calls(browser: Browser, traced: Path) -> None:
    with kymograph.open(traced) as capture:
        worker = next(t.index for t in capture.threads if t.name == "worker")
    costs = add_up(traced, worker)
    show(browser, traced, "#view=functions&thread=1")
    rows = {row[5]: row for row in rows_of(browser)}
    assert set(rows) == {f[2] for f in costs.functions}
    for (_, _, name), cost in costs.functions.items():
        if [f[2] for f in costs.functions].count(name) == 1:
            assert rows[name][0] == shown_time(cost.self), name
            assert rows[name][2] == shown_time(cost.total), name
            assert rows[name][3] == str(cost.calls), name


def test_the_table_can_be_sorted(browser: Browser, traced: Path) -> None:
    show(browser, traced, "#view=functions")
    browser.ask("[...document.querySelectorAll('#heads button')].at(3).click()")
    counts = [int(row[3].replace("\u202f", "")) for row in rows_of(browser)]
    assert counts == sorted(counts, reverse=True)
    browser.ask("[...document.querySelectorAll('#heads button')].at(5).click()")
    names = [row[5] for row in rows_of(browser)]
    assert names == sorted(names)


def test_a_search_says_how_much_was_found(browser: Browser, traced: Path, costs: Costs) -> None:
    show(browser, traced)
    browser.press("/", *"FIB")
    total = next(cost.total for f, cost in costs.functions.items() if f[2] == "fib")
    share = 100 * total / sum(costs.threads.values())
    said = text_of(browser, "matched")
    assert said.endswith(" in 1 function"), said
    assert float(said.split()[0]) == pytest.approx(share, rel=0.05, abs=0.06)
    browser.ask("document.getElementById('search').value = '/^fib$|^work$/'")
    browser.ask("document.getElementById('search').dispatchEvent(new Event('input'))")
    assert text_of(browser, "matched").endswith(" in 2 functions")
    browser.ask("document.getElementById('search').value = '/(/'")
    browser.ask("document.getElementById('search').dispatchEvent(new Event('input'))")
    assert text_of(browser, "matched") == "nothing found"
    browser.press("Escape")
    assert text_of(browser, "matched") == ""
    assert browser.messages == []


def test_a_click_zooms_and_the_way_back_is_shown(browser: Browser, traced: Path) -> None:
    show(browser, traced)
    box = browser.ask(
        "(({left, top}) => [left, top])(document.getElementById('graph').getBoundingClientRect())"
    )
    browser.click(box[0] + 200, box[1] + 21 * 2 + 10)  # an outermost call of the busiest thread
    path = text_of(browser, "path").split("\n")
    assert len(path) == 3 and path[0] == "all threads"
    assert not browser.ask("document.getElementById('tip').hidden")
    assert path[2] in text_of(browser, "tip")
    assert re.search(r"Total\s.*\sSelf\s.*\sCalls\s", text_of(browser, "tip"), re.S)
    browser.ask("history.back()")
    browser.wait(lambda: text_of(browser, "path") == "all threads")
    browser.ask("history.forward()")
    browser.wait(lambda: text_of(browser, "path").split("\n") == path)
    browser.ask("document.querySelectorAll('#path button')[1].click()")
    assert text_of(browser, "path").split("\n") == path[:2]
    browser.ask("document.getElementById('reset').click()")
    assert text_of(browser, "path") == "all threads"
    assert browser.messages == []


def test_keys_lead_everywhere(browser: Browser, traced: Path) -> None:
    show(browser, traced)
    browser.ask("document.getElementById('graph').focus()")
    browser.press("ArrowDown", "ArrowDown")  # the whole graph, then the busiest thread
    assert "Total" in text_of(browser, "status")
    browser.press("ArrowRight")
    assert text_of(browser, "status").startswith("worker · ")
    browser.press("Enter")
    assert text_of(browser, "path").split("\n") == ["all threads", "worker"]
    browser.press("Backspace")
    assert text_of(browser, "path") == "all threads"
    browser.press("t")
    assert browser.ask("document.getElementById('view-flame').hidden")
    browser.press("f", "?")
    assert not browser.ask("document.getElementById('keys').hidden")
    assert browser.messages == []


def test_libraries_and_waiting_are_folded_until_asked_for(
    browser: Browser, run_code: RunCode, tmp_path: Path
) -> None:
    path = tmp_path / "waits.kymo"
    run_code(
        "import kymograph, sys, threading, time\n"
        "def work():\n    time.sleep(0.2)\n    json.loads('[1, 2, 3]')\n"
        "kymograph.start(sys.argv[1])\n"
        "import json\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start()\nthread.join()\n"
        "kymograph.stop()\n",
        path,
    )

    show(browser, path, "#view=functions", folded=True)
    folded = {row[5] for row in rows_of(browser)}
    assert {"work", "loads", "(imports)"} <= folded
    assert not {"sleep", "lock.acquire", "JSONDecoder.decode", "_find_and_load"} & folded
    assert "of waiting" in text_of(browser, "notes")
    assert " ms of work" in text_of(browser, "summary")

    browser.ask("document.getElementById('unfold').click()")
    browser.ask("document.getElementById('more').click()")
    everything = {row[5] for row in rows_of(browser)}
    assert {"work", "sleep", "JSONDecoder.decode"} <= everything
    assert "(imports)" not in everything
    browser.press("u")
    assert {row[5] for row in rows_of(browser)} == folded
    assert browser.messages == []


def test_escape_takes_the_tooltip_away(browser: Browser, traced: Path) -> None:
    show(browser, traced)
    box = browser.ask(
        "(({left, top}) => [left, top])(document.getElementById('graph').getBoundingClientRect())"
    )
    browser.click(box[0] + 200, box[1] + 21 * 2 + 10)
    assert not browser.ask("document.getElementById('tip').hidden")

    browser.press("Escape")

    assert browser.ask("document.getElementById('tip').hidden")


def test_hostile_names_do_nothing(browser: Browser, hostile: Path) -> None:
    for address in ("", "#view=functions", "#q=alert"):
        show(browser, hostile, address)
        assert browser.ask("document.querySelectorAll('script').length") == 2
    show(browser, hostile, "#view=functions")
    names = {row[5] for row in rows_of(browser)}
    assert "</script><script>alert(1)</script>" in names
    assert "two\\u000alines\\u000d\\u000a" in names
    assert any("\\u202eright to left" in name for name in names)
    assert HOSTILE[-1][:400] in names  # and not ten thousand letters


def test_odd_captures_are_drawn(browser: Browser, run_code: RunCode, tmp_path: Path) -> None:
    show(browser, record_killed(run_code, tmp_path / "killed.kymo"))
    assert "ended without stopping" in text_of(browser, "notes")
    assert drawn(browser) > 5
    show(browser, record_gap(tmp_path / "gap.kymo"))
    assert "events are missing" in text_of(browser, "notes")
    assert drawn(browser) > 1
    empty = tmp_path / "empty.kymo"
    kymograph.start(empty, calls=False)
    kymograph.stop()
    show(browser, empty)
    assert "No calls were recorded" in text_of(browser, "empty")
    show(browser, empty, "#view=functions")


def test_the_page_reaches_for_nothing(traced: Path) -> None:
    page = export(traced, "alone.html").read_text("utf-8")
    own, inside = page.split('<template id="timeline">')
    assert not re.search(r"https?://|//[a-z]+\.|@import|\bfetch\(|XMLHttpRequest", own)
    # The timeline can also ask a server; this page does not let it.
    assert not re.search(r"https?://|@import|XMLHttpRequest", inside)
    policies = re.findall(r'Content-Security-Policy" content="([^"]+)"', own)
    assert len(policies) == 1 and "default-src 'none'" in policies[0]
    assert "connect-src" not in policies[0]


def wait_for_page(browser: Browser, code: str) -> None:
    """Wait until CODE is true of a page that is being loaded anew."""

    def is_there() -> bool:
        try:
            return bool(browser.ask(code))
        except AssertionError:
            return False  # asked between the two pages

    browser.wait(is_there, 400)


def test_the_page_has_the_timeline(browser: Browser, traced: Path) -> None:
    show(browser, traced)
    assert "Timeline" in text_of(browser, "tab-timeline")

    browser.ask("document.getElementById('tab-timeline').click()")
    wait_for_page(browser, "window.kymograph && kymograph.frames.length > 0")
    browser.wait(lambda: "MainThread" in text_of(browser, "heads"))
    browser.wait(lambda: browser.ask("kymograph.app.store.depths.size > 0"))
    browser.press("w")
    browser.wait(lambda: "v=" in browser.ask("location.hash"))
    assert browser.ask("location.hash").startswith("#view=timeline&")
    assert browser.ask("document.getElementById('tab-table')") is None

    browser.ask("document.getElementById('outside').click()")
    wait_for_page(browser, "!window.kymograph && document.documentElement?.dataset.ready")
    assert drawn(browser) > 1
    assert browser.messages == []


def timeline_of(page: Path) -> dict[str, Any]:
    """The data of the timeline inside of an exported page."""
    inside = page.read_text("utf-8").split('<template id="timeline">')[1]
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', inside, re.S)
    assert found
    data = json.loads(found[1])
    assert isinstance(data, dict)
    return data


def test_the_timeline_of_one_thread_has_only_that(traced: Path) -> None:
    page = export(traced, "thread.html", "--thread", "0")
    overview = timeline_of(page)["overview"]["captures"][0]
    assert [thread["thread"] for thread in overview["threads"]] == [0]


def test_a_page_keeps_to_its_size(tmp_path: Path) -> None:
    path = tmp_path / "many.kymo"
    kymograph.start(path, calls=False)
    for i in range(60000):
        with kymograph.span("a" if i % 3 else "b"):
            pass
    kymograph.stop()
    small, large = export(path, "small.html", "--size", "1"), export(path, "large.html")
    assert small.stat().st_size <= 1 << 20
    assert timeline_of(large)["shortest"] == 0
    part = export(path, "part.html", "--from", "1ms", "--until", "2ms")
    stats = timeline_of(part)["stats"][0]
    assert (stats["from"], stats["to"]) == (1000000, 2000000)


def many_paths(path: Path) -> None:
    """A capture with a hundred thousand call paths, some a thousand deep."""
    kymograph.start(path, calls=False)

    def descend(prefix: str, depth: int) -> None:
        for i in range(10):
            with kymograph.span(f"{prefix}{i}"):
                if depth:
                    descend(f"{prefix}{i}", depth - 1)

    descend("s", 4)
    spans = [kymograph.span(f"deep {i % 7}") for i in range(1000)]
    for span in spans:
        span.__enter__()
    for span in reversed(spans):
        span.__exit__(None, None, None)
    kymograph.stop()


def test_a_hundred_thousand_nodes_are_displayed(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "many.kymo"
    many_paths(path)
    show(browser, path)
    assert int(browser.ask("document.documentElement.dataset.ready")) > 110_000
    # Measured against a plain pass over as many strings, so that a busy or slow machine
    # changes nothing: five of them are about 40 ms on an idle one.
    least = (
        "const least = (work) => Math.min(...[1, 2, 3, 4, 5].map(() => {"
        " const begun = performance.now(); work(); return performance.now() - begun; }));"
        " const texts = Array.from({ length: 110000 }, (_, i) => 'span ' + i);"
        " const pass = least(() => texts.filter((text) => text.toLowerCase().includes('12')));"
    )
    searches = browser.ask(
        f"(() => {{ {least} const search = document.getElementById('search');"
        " return Math.max(...['s', 's1', 's12', ''].map((text) => least(() => {"
        " search.value = text; search.dispatchEvent(new Event('input')); }))) / pass; })()"
    )
    assert searches < 40, f"a search takes as long as {searches:.0f} passes over its names"

    # Drawing takes as long as it has calls to draw: those that are wide enough to be seen.
    browser.wait(lambda: browser.ask("Number(document.getElementById('graph').dataset.time)"))
    drawn = int(browser.ask("document.getElementById('graph').dataset.rectangles"))
    assert 0 < drawn < 20_000


def test_dark_is_dark(traced: Path) -> None:
    browser = Browser(dark=True)
    try:
        show(browser, traced)
        colour = browser.ask("getComputedStyle(document.body).backgroundColor")
        assert colour == "rgb(21, 23, 28)"
        browser.ask("document.getElementById('theme').click()")
        colour = browser.ask("getComputedStyle(document.body).backgroundColor")
        assert colour == "rgb(251, 250, 248)"
    finally:
        browser.close()


# ---- the page of a comparison


@pytest.fixture(scope="module")
def compared(traced: Path, hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("compared") / "diff.html"
    command = [PROGRAM, "diff", str(traced), str(hostile), "--html", str(page)]
    subprocess.run(command, check=True, timeout=400)
    return page


def show_compared(browser: Browser, page: Path, address: str = "") -> None:
    browser.open("about:blank")
    browser.open(f"{page.as_uri()}{address}")
    browser.wait(lambda: browser.ask("document.documentElement.dataset.ready"))
    assert browser.messages == []


def test_a_comparison_is_drawn_from_both_sides(browser: Browser, compared: Path) -> None:
    show_compared(browser, compared)
    assert "time in calls" in text_of(browser, "answer")
    after = drawn(browser)
    assert after > 5
    browser.ask(
        "(() => { const p = document.getElementById('part'); p.value = 1;"
        " p.dispatchEvent(new Event('change')); })()"
    )
    browser.wait(lambda: drawn(browser) != after)
    box = browser.ask(
        "(({left, top}) => [left, top])(document.getElementById('graph').getBoundingClientRect())"
    )
    browser.click(box[0] + 200, box[1] + 21 + 10)  # an outermost call
    assert re.search(r"Self\s.* → .*\sTotal\s.* → .*\sCalls\s", text_of(browser, "tip"), re.S)
    assert len(text_of(browser, "path").split("\n")) == 2
    browser.ask("history.back()")
    browser.wait(lambda: text_of(browser, "path") == "all calls")
    assert browser.messages == []


def test_a_comparison_is_a_table_to_sort_and_search(browser: Browser, compared: Path) -> None:
    show_compared(browser, compared, "#view=functions")
    rows = rows_of(browser)
    assert "</script><script>alert(1)</script>" in {row[10] for row in rows}
    assert next(row for row in rows if row[10] == "fib")[1] == "gone"
    assert browser.ask("document.querySelectorAll('script').length") == 2
    browser.ask("document.querySelectorAll('#heads button')[6].click()")
    calls = [int(row[6].replace("\u202f", "").replace("–", "-1")) for row in rows_of(browser)]
    assert calls == sorted(calls, reverse=True)
    browser.press("/", *"=fib")
    assert [row[10] for row in rows_of(browser)] == ["fib"]
    browser.ask("document.querySelector('#rows button').click()")  # gone: it is in A's tree
    assert browser.ask("document.getElementById('part').value") == "1"
    assert text_of(browser, "matched").endswith(" in 1 function")
    assert browser.messages == []


def test_odd_captures_are_compared(browser: Browser, run_code: RunCode, tmp_path: Path) -> None:
    killed, empty = tmp_path / "killed.kymo", tmp_path / "empty.kymo"
    record_killed(run_code, killed)
    kymograph.start(empty, calls=False)
    kymograph.stop()
    page = tmp_path / "diff.html"
    for pair in ((killed, empty), (empty, killed), (killed, killed)):
        command = [PROGRAM, "diff", *map(str, pair), "--html", str(page)]
        subprocess.run(command, check=True, timeout=400, stderr=subprocess.DEVNULL)
        for address in ("", "#side=1", "#view=functions"):
            show_compared(browser, page, address)
            assert "process ended without stopping" in text_of(browser, "notes")
            side = {"": 1, "#side=1": 0}.get(address)
            hidden = browser.ask("document.getElementById('empty').hidden")
            assert hidden == (side is None or pair[side] == killed)
    assert "Nothing changed in sum" in text_of(browser, "answer")


# ---- speedscope


def import_into_speedscope(browser: Browser, path: Path, expected: str) -> str:
    """Have speedscope read the export at PATH; what its page says, once EXPECTED is on it."""
    (folder,) = judge("speedscope")
    script = path.with_name("load.js")
    content = base64.b64encode(path.read_bytes()).decode()
    script.write_text(f"speedscope.loadFileFromBase64({path.name!r}, {content!r})")
    browser.open(f"file://{folder}/index.html#localProfilePath={script}&view=sandwich")
    said = browser.messages
    browser.wait(lambda: any(message.startswith("timeEnd: import") for message in said))
    browser.wait(lambda: expected in browser.ask("document.body.innerText"))
    bad = [m for m in said if m.startswith(("exception", "error", "dialog", "request"))]
    assert bad == []
    text = browser.ask("document.body.innerText")
    assert isinstance(text, str)
    return text


def table_of(text: str) -> list[tuple[str, str]]:
    """Self time and name of the functions that speedscope lists."""
    rows = re.findall(
        r"^([\d.,]+\S*) \(\S+%\)\s+([\d.,]+\S*) \(\S+%\)\s+(.*)$",
        text.split("Symbol Name")[1],
        re.M,
    )
    return [(own, name) for _, own, name in rows]


def speedscope_times(ns: int) -> set[str]:
    """What speedscope may show: it adds fractions up, and a half may go either way."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")):
        if ns / size >= 1 or unit == "ns":
            return {f"{ns / size + more:.2f}{unit}" for more in (-0.0001, 0, 0.0001)}
    raise AssertionError


@pytest.fixture(scope="module")
def one_thread(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Main's calls alone: speedscope shows a thread at a time."""
    path = tmp_path_factory.mktemp("speedscope") / "trace.kymo"

    def leaf(n: int) -> int:
        return sum(range(n))

    def branch() -> list[Any]:
        return [leaf(n) for n in range(200)]

    kymograph.start(path)
    for _ in range(20):
        branch()
    kymograph.stop()
    return path


@pytest.mark.parametrize("name", ["a.speedscope.json", "a.pb.gz", "a.collapsed"])
def test_speedscope_says_what_the_capture_says(
    browser: Browser, one_thread: Path, name: str
) -> None:
    costs = add_up(one_thread)
    rows = table_of(import_into_speedscope(browser, export(one_thread, name), "%)"))
    by_name = costs.by_name()
    found = 0
    for own, function in rows:
        function = function if name != "a.collapsed" else function.rpartition(" (")[0]
        if function in by_name:
            ns = by_name[function]
            assert own in ({f"{ns:,}"} if name == "a.collapsed" else speedscope_times(ns)), function
            found += ns
    assert found > 0.95 * sum(by_name.values())


@pytest.mark.parametrize("name", ["b.speedscope.json", "b.collapsed", "b.pb.gz"])
def test_speedscope_reads_hostile_names(browser: Browser, hostile: Path, name: str) -> None:
    import_into_speedscope(browser, export(hostile, name), "</script><script>alert(1)</script>")


def test_speedscope_reads_odd_captures(browser: Browser, run_code: RunCode, tmp_path: Path) -> None:
    killed = record_killed(run_code, tmp_path / "killed.kymo")
    import_into_speedscope(browser, export(killed, "k.speedscope.json"), "fib")
    gap = record_gap(tmp_path / "gap.kymo")
    import_into_speedscope(browser, export(gap, "g.collapsed"), "outer")
    text = export(gap, "g.speedscope.json").read_text("utf-8")
    (profile,) = json.loads(text)["profiles"]
    times = [event["at"] for event in profile["events"]]
    assert times == sorted(times)
    assert times[-1] <= profile["endValue"]
    empty = tmp_path / "empty.kymo"
    kymograph.start(empty, calls=False)
    kymograph.stop()
    import_into_speedscope(browser, export(empty, "e.speedscope.json"), "no calls")
