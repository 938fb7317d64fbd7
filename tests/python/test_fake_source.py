"""What a source writes through the door comes back in every reader and every export, also from a
process that was killed: tests/programs/fake_source.c has 500 tracks on 4 clocks, and payloads."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command import good, kymograph
from test_export_parquet import Query, ask

import kymograph as library

__all__ = ["ask"]  # a fixture

TRACKS, ROUNDS, NOTES = 500, 40, 1000
EVENTS = TRACKS * ROUNDS
TEXT = 'größe "名前" \\ \n 🙂'
EVERYTHING: dict[str, Any] = {
    "uint": 2**64 - 1,
    "int": -(2**63),
    "float": -0.5,
    "text": TEXT,
    "bytes": b"\0\1\xfe\xff",
    "address": 0x7FFF12345678,
    "stack": 0,
    "thread id": 4242,
    "task": 2**60,
    "id": 99,
    "name": "float32",
    "shape": (-1, 0, 1),
    "shapes": ((), (10,), (20, 21)),
    "types": ("int8", "float32"),
    "reals": (1.5, 1e300),
    "texts": ("", "two"),
    "addresses": (0xDEADBEEF,),
    "empty": (),
}


def as_json(value: Any, name: str = "") -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [as_json(one, name) for one in value]
    return hex(value) if name.startswith("address") else value


IN_JSON = {name: as_json(value, name) for name, value in EVERYTHING.items()}


def program() -> Path:
    built = Path(__file__).parents[2].glob("build/*/tests/programs/fake_source")
    found = max(built, key=lambda path: path.stat().st_mtime, default=None)
    if not found:
        pytest.skip("fake_source is not built")
    return found


@pytest.fixture(scope="module", params=["stop", "kill", "flight"])
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fake") / "fake.kymo"
    done = subprocess.run([program(), path, request.param], check=False, timeout=400)
    assert done.returncode == (-signal.SIGKILL if request.param == "kill" else 0)
    return path


def query(path: Path, sql: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in good("query", "--json", path, sql).splitlines()]


def test_events_have_the_fields_that_were_recorded(capture: Path):
    with library.open(capture) as opened:
        events = list(opened.events())
        zero = int(dict(opened.metadata)["fake_zero"])
        rate = opened.info.ticks_per_second
    counts = Counter(event.kind for event in events)

    assert counts["complete"] == EVENTS
    assert counts["payload"] == 2 * EVENTS + NOTES + 3
    assert (counts["enter"], counts["instant"], counts["gap"]) == (3, NOTES + 1, 1)
    assert [e.fields for e in events if e.name == "everything" and e.fields] == [EVERYTHING] * 3
    notes = [e.fields for e in events if e.kind == "payload" and e.name == "allocation"]
    assert notes == [
        {"size": 16 + i % 7 * 8, "address": 0x7F0000000000 + i * 48, "stack": 0}
        for i in range(NOTES)
    ]
    seen = set()
    tracks: dict[int, list[library.Event]] = {e.thread: [] for e in events if e.kind == "complete"}
    for event in events:
        if event.thread in tracks:
            tracks[event.thread].append(event)
    assert len(tracks) == TRACKS
    for of_track in tracks.values():
        triples = zip(of_track[::3], of_track[1::3], of_track[2::3], strict=True)
        for owner, correlation, kernel in triples:
            track, round_, _ = kernel.fields["grid"]
            assert kernel.fields["bytes"] == track * 1000 + round_
            assert correlation.fields == {"correlation": round_ * TRACKS + track + 1}
            seen.add((track, round_))
            start, length = round_ * 1_000_000 + track * 2000, 400 + 40 * ((track + round_) % 10)
            if track % 4 == 1:  # so many ticks
                assert abs(owner.id - length / rate * 1e9) < 5
            else:
                assert abs(owner.time - zero - start) <= 40
                assert abs(owner.id - length) <= 40
    assert len(seen) == EVENTS


@pytest.mark.native
def test_dump_prints_fields_by_name(capture: Path):
    lines = [json.loads(line) for line in good("dump", "--json", capture).splitlines()]

    assert [
        e["fields"]
        for e in lines
        if e["name" if "name" in e else "kind"] == "everything" and e["kind"] == "payload"
    ] == [IN_JSON] * 3
    assert "size=16 address=0x7f0000000000 stack=0" in good("dump", capture)


def test_query_has_a_table_for_each_schema(capture: Path):
    def rows(sql: str) -> list[dict[str, Any]]:
        return query(capture, sql)

    assert rows("SELECT count(*) AS n, sum(bytes) AS b FROM kernel") == [
        {"n": EVENTS, "b": sum(i * 1000 + r for i in range(TRACKS) for r in range(ROUNDS))}
    ]
    one = rows("SELECT * FROM everything WHERE event = 'operator' LIMIT 1")[0]
    assert (one["int"], one["float"], one["name"], one["thread id"]) == (
        -(2**63),
        -0.5,
        "float32",
        4242,
    )
    assert json.loads(one["shapes"]) == [[], [10], [20, 21]]
    assert rows("SELECT sum(size) AS s FROM allocation") == [
        {"s": sum(16 + i % 7 * 8 for i in range(NOTES))}
    ]


def test_chrome_traces_have_fields_as_arguments(capture: Path, tmp_path: Path):
    out = tmp_path / "trace.json"
    assert kymograph("export", capture, "-o", out).returncode == 0
    events = json.loads(out.read_text())["traceEvents"]

    spans = [e["args"] for e in events if e.get("name") == "operator"]
    assert [{k: v for k, v in args.items() if k in IN_JSON} for args in spans] == [IN_JSON] * 3
    kernels = [e for e in events if e.get("name") == "kernel of the fake"]
    assert len(kernels) == EVENTS
    assert all(
        e["args"]["bytes"] == e["args"]["grid"][0] * 1000 + e["args"]["grid"][1] for e in kernels
    )


@pytest.mark.parametrize(
    "form", ["perfetto", "speedscope", "pprof", "collapsed", "callgrind", "pstats", "html"]
)
def test_every_export_takes_it(capture: Path, tmp_path: Path, form: str):
    out = tmp_path / "out"

    assert kymograph("export", capture, "--to", form, "-o", out).returncode == 0
    assert out.stat().st_size > 0


@pytest.mark.native
def test_every_verb_takes_it(capture: Path, tmp_path: Path):
    cut, merged = tmp_path / "cut.kymo", tmp_path / "merged.kymo"

    good("info", capture)
    good("report", capture)
    assert kymograph("cut", capture, "-o", cut, "--from", "0ns").returncode == 0
    assert kymograph("merge", capture, cut, "-o", merged).returncode == 0
    sql = "SELECT count(*) AS n, sum(bytes) AS b FROM kernel"
    once, twice = query(cut, sql)[0], query(merged, sql)[0]
    assert once["n"] == EVENTS
    assert twice == {key: 2 * value for key, value in once.items()}
    with library.open(merged) as opened:
        fields = [e.fields for e in opened.events() if e.name == "everything" and e.fields]
    # Tasks and ids of several captures are kept apart.
    apart = {"task", "id"}
    assert [{k: v for k, v in f.items() if k not in apart} for f in fields] == [
        {k: v for k, v in EVERYTHING.items() if k not in apart}
    ] * 6
    assert len({f["id"] for f in fields}) == 2


@pytest.mark.native
def test_parquet_has_fields_as_arguments(capture: Path, ask: Query):
    def rows(column: str, name: str) -> str:
        return f"select distinct {column} from args where name = '{name}'"

    total = "select sum(value) from args where name = 'size'"
    shapes = "select text from args where name = 'shapes'"
    _, texts, sizes, floats, integers = ask(
        capture, shapes, total, rows("real", "float"), rows("integer", "int")
    )

    assert [json.loads(text) for (text,) in texts] == [IN_JSON["shapes"]] * 3
    assert sizes == [[sum(16 + i % 7 * 8 for i in range(NOTES))]]
    assert floats == [[-0.5]]
    assert integers == [[-(2**63)]]
