"""Execution traces: `export --to et`, and `check et`, which finds what is wrong with one."""

from __future__ import annotations

import ast
import copy
import gzip
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from chakrafile import chakra_attributes, chakra_messages, fields
from program import good, run
from ran import RUN, execute, write

import kymograph

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("KYMO_BUILD_DIR", ROOT / "build" / "main"))
PROCESS = "[pytorch|profiler|execution_trace|process]"
THREAD = "[pytorch|profiler|execution_trace|thread]"
LOOP = '## "LOOP" ##'


def record(directory: Path, *arguments: str) -> Path:
    """A capture of tests/programs/operators.c."""
    program = BUILD / "tests" / "programs" / "operators"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    capture = directory / "train.kymo"
    done = subprocess.run([program, capture, *arguments], check=False)
    assert done.returncode == (-signal.SIGKILL if arguments else 0)
    return capture


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("operators"))


@pytest.fixture(scope="module")
def trace(capture: Path) -> dict[str, Any]:
    path = capture.with_suffix(".et.json")
    good("export", "--to", "et", "-o", path, capture)
    return json.loads(path.read_text())


def attributes(node: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in node["attrs"]}


def named(trace: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [node for node in trace["nodes"] if node["name"] == name]


def checked(trace: dict[str, Any], directory: Path, *timeline: object) -> tuple[int, list[str]]:
    """The exit code of `check et`, and what it said, without the name of the file."""
    path = directory / "checked.et.json"
    path.write_text(json.dumps(trace))
    done = run("check", "et", path, *timeline)
    return done.returncode, [line.split(f"{path}: ")[-1] for line in done.stderr.splitlines()]


def test_every_operator_is_a_node_below_its_thread(trace):
    by_id = {node["id"]: node for node in trace["nodes"]}

    assert [node["id"] for node in named(trace, PROCESS)] == [1]
    assert len(named(trace, THREAD)) == 3
    assert len(named(trace, LOOP)) == 2
    assert len(named(trace, "aten::mm")) == 4
    for node in named(trace, "aten::mm"):
        assert by_id[node["ctrl_deps"]]["name"] in ("aten::linear", "MmBackward0")
    for node in named(trace, "aten::linear"):
        assert by_id[node["ctrl_deps"]]["name"] == LOOP
    assert trace["nodes"][-1]["id"] == 1


def test_a_backward_node_names_its_forward_node(trace):
    by_id = {node["id"]: node for node in trace["nodes"]}

    for seq, node in enumerate(named(trace, "MmBackward0")):
        forward = by_id[attributes(node)["fw_parent"]]
        assert forward["name"] == "aten::mm"
        assert attributes(forward)["seq_id"] == seq


def test_a_parameter_keeps_its_id_and_a_result_gets_a_new_one(trace):
    weights = {node["inputs"]["values"][1][0] for node in named(trace, "aten::linear")}
    results = {node["outputs"]["values"][0][0] for node in named(trace, "aten::linear")}
    views = named(trace, "aten::view")

    assert len(weights) == 1
    assert len(results) == 2
    for view in views:
        assert view["outputs"]["values"][0][1] == view["inputs"]["values"][0][1]


def test_doubles_survive(trace):
    assert named(trace, "aten::linear")[0]["inputs"]["values"][2] == 0.1


def test_a_killed_process_leaves_a_trace(tmp_path):
    path = tmp_path / "killed.et.json.gz"

    run("export", "-o", path, record(tmp_path, "kill"))

    with gzip.open(path) as file:
        trace = json.load(file)
    assert len(named(trace, LOOP)) == 2
    assert attributes(named(trace, LOOP)[1])["finished"] == "false"
    assert "no mistakes" in good("check", "et", path)


def test_only_the_chosen_part_is_exported(capture, tmp_path):
    path = tmp_path / "part.et.json"

    good("export", "-o", path, "--thread", "1", capture)

    trace = json.loads(path.read_text())
    assert {node["name"] for node in trace["nodes"]} == {PROCESS, THREAD, "aten::mm", "MmBackward0"}
    assert "no mistakes" in good("check", "et", path)


# ---- check et ----


def test_check_counts_what_it_checked(trace, tmp_path):
    path = tmp_path / "good.et.json"
    path.write_text(json.dumps(trace))

    assert good("check", "et", path) == (
        f"{path}: 12 operators, 3 threads, 8 tensors, 6 storages; no mistakes\n"
    )


def test_check_finds_mistakes_in_nodes(trace, tmp_path):
    broken = copy.deepcopy(trace)
    mm = named(broken, "aten::mm")
    linear = named(broken, "aten::linear")
    broken["nodes"].append(copy.deepcopy(mm[0]))
    mm[1]["ctrl_deps"] = 999
    linear[0]["ctrl_deps"], linear[1]["ctrl_deps"] = linear[1]["id"], linear[0]["id"]
    mm[2]["attrs"][1]["value"] = 998

    code, said = checked(broken, tmp_path)

    assert code == 1
    assert f"two nodes have the id {mm[0]['id']}" in said
    assert f"node {mm[1]['id']}: its parent 999 does not exist" in said
    assert f"node {mm[2]['id']}: its forward parent 998 does not exist" in said
    assert any("depends on itself" in line for line in said)


def test_check_finds_mistakes_in_values(trace, tmp_path):
    broken = copy.deepcopy(trace)
    mm = named(broken, "aten::mm")
    view = named(broken, "aten::view")
    tensor = mm[0]["inputs"]["values"][0]
    mm[0]["inputs"]["strides"].pop()
    mm[1]["outputs"]["values"][0] = "nothing"
    mm[2]["inputs"]["types"][0] = "Tensor(long int)"
    mm[2]["inputs"]["values"][0] = [view[0]["id"], *tensor[1:5], "cuda:0"]
    view[0]["inputs"]["values"][1] = [8]

    code, said = checked(broken, tmp_path)

    assert code == 1
    assert f"node {mm[0]['id']}: inputs have 3 values and 2 strides" in said
    assert f'node {mm[1]["id"]}: outputs: "nothing" is not a Tensor(float)' in said
    assert f"node {view[0]['id']}: inputs: [8] is not a GenericList[Int,Int]" in said
    assert f"{view[0]['id']} is the id of a node and of a tensor" in said
    assert any(f"storage {tensor[1]} is on cpu in node" in line for line in said)


def test_check_finds_an_id_that_is_two_tensors(trace, tmp_path):
    broken = copy.deepcopy(trace)
    linear = named(broken, "aten::linear")
    linear[1]["inputs"]["types"][1] = "Tensor(double)"
    weight = linear[1]["inputs"]["values"][1][0]

    code, said = checked(broken, tmp_path)

    assert code == 1
    assert any(line.startswith(f"tensor {weight} is Tensor(float) in node") for line in said)


def test_check_compares_with_a_chrome_trace(trace, tmp_path):
    ids = [attributes(node)["rf_id"] for node in trace["nodes"]]
    events = [{"ph": "X", "args": {"Record function id": rf_id}} for rf_id in ids if rf_id != 2]
    timeline = tmp_path / "timeline.json"
    timeline.write_text(json.dumps({"traceEvents": [*events, {"ph": "M"}]}))
    missing = next(node for node in trace["nodes"] if attributes(node)["rf_id"] == 2)

    code, said = checked(trace, tmp_path, timeline)

    assert code == 1
    assert said == [f"node {missing['id']}, 'aten::mm': its rf_id 2 is not in the timeline"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not valid JSON"),
        ("[]", "not an execution trace"),
        ('{"nodes": [], "schema": "9"}', "unknown schema '9'"),
    ],
)
def test_check_refuses_other_files(tmp_path, content, reason):
    path = tmp_path / "other.json"
    path.write_text(content)

    done = run("check", "et", path)

    assert done.returncode == 2
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


def test_check_prints_no_more_than_twenty_mistakes(trace, tmp_path):
    broken = copy.deepcopy(trace)
    broken["nodes"] += [
        {"id": 1000 + i, "name": "x", "inputs": {}, "outputs": {}} for i in range(30)
    ]

    code, said = checked(broken, tmp_path)

    assert code == 1
    assert len(said) == 21
    assert said[-1] == "and 40 more mistakes"


# ---- together with the timeline ----


@pytest.fixture(scope="module")
def events(capture: Path) -> list[dict[str, Any]]:
    path = capture.with_suffix(".json")
    good("export", "-o", path, capture)
    return json.loads(path.read_text())["traceEvents"]


def test_every_node_is_in_the_timeline(trace, events, capture, tmp_path):
    shown = [event for event in events if event.get("cat") in ("cpu_op", "user_annotation")]
    nodes = [node for node in trace["nodes"] if node["name"] not in (PROCESS, THREAD)]

    assert sorted(event["args"]["Record function id"] for event in shown) == sorted(
        attributes(node)["rf_id"] for node in nodes
    )
    assert checked(trace, tmp_path, capture) == (0, [])


def test_the_timeline_shows_inputs_and_arrows(events):
    linear = next(event for event in events if event["name"] == "aten::linear")
    arrows = [(event["ph"], event["id"]) for event in events if event.get("cat") == "fwdbwd"]

    assert linear["cat"] == "cpu_op"
    assert linear["args"]["Input Dims"] == [[4, 8], [4, 8], []]
    assert linear["args"]["Input type"] == ["float", "float", "Scalar"]
    assert linear["args"]["Concrete Inputs"] == ["", "", "0.10000000000000001"]
    assert sorted(arrows) == [("f", 1), ("f", 2), ("s", 1), ("s", 2)]


# ---- export --to chakra ----


def test_chakra_nodes_are_those_of_the_execution_trace(trace, capture, tmp_path):
    path = tmp_path / "train.et"
    good("export", "--to", "chakra", "-o", path, capture)

    metadata, *nodes = chakra_messages(path)
    by_id = {node["id"]: node for node in trace["nodes"]}

    assert chakra_attributes(metadata[2])["schema"] == b"1.1.1-chakra.0.0.4"
    assert {node[1][0] for node in nodes} == set(by_id) - {1}
    for node in nodes:
        same = by_id[node[1][0]]
        io = {name: fields(node[key][0]) for key, name in ((8, "inputs"), (9, "outputs"))}
        assert node[2][0].decode() == same["name"]
        assert node.get(4, [1]) == [same["ctrl_deps"]]
        assert chakra_attributes(node[10])["rf_id"] == attributes(same)["rf_id"]
        for name, lists in io.items():
            for key, part in ((1, "values"), (2, "shapes"), (3, "types")):
                assert ast.literal_eval(lists[key][0].decode()) == same[name][part]
        if same["name"] != THREAD:
            assert node[7][0] == round(same["exclusive_dur"])
            assert node[6][0] == pytest.approx(same["ts"], abs=1)


def test_chakra_data_dependencies_are_the_order_of_execution(trace, capture, tmp_path):
    path = tmp_path / "train.et"
    good("export", "-o", path, capture)

    nodes = {node[1][0]: node for node in chakra_messages(path)[1:]}
    names = {id: node[2][0].decode() for id, node in nodes.items()}
    starts = {id: node.get(6, [0])[0] for id, node in nodes.items()}

    for id, node in nodes.items():
        before = node.get(5, [])
        assert bool(before) == (names[id] != THREAD)
        assert all(one in nodes and starts[one] < starts[id] for one in before)
        if names[id] == "MmBackward0":  # its thread waited for the forward pass
            assert {names[one] for one in before} == {"aten::view", THREAD}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x89KYMO\r\n\x1a\n", "this is a capture"),
        (bytes(range(128, 256)), "this is not text"),
        (gzip.compress(b"{}")[:8], "the compressed file ends too early"),
    ],
    ids=["capture", "binary", "cut"],
)
def test_check_says_in_plain_words_that_a_file_is_not_json(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)

    done = run("check", "et", path)

    assert done.returncode == 2
    assert reason in done.stderr
    assert "codec" not in done.stderr


@pytest.mark.parametrize("form", ["et", "chakra"])
def test_a_capture_without_operators_is_refused(tmp_path: Path, form: str) -> None:
    capture = tmp_path / "none.kymo"
    with kymograph.trace(capture, calls=False):
        pass

    done = run("export", "--to", form, "-o", tmp_path / "out", capture)

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "has no operators" in done.stderr
    assert not (tmp_path / "out").exists()


# ---- kymograph run --execution-trace


@pytest.mark.parametrize("name", ["et.json", "et.json.gz"])
@pytest.mark.usefixtures("folder")
def test_run_writes_the_operators_of_a_program(name: str) -> None:
    write(
        "script.py",
        """
        import kymograph
        with kymograph.op("mine::double", inputs=(21,)) as op:
            op.outputs = 42
        """,
    )
    for _ in range(2):  # the second replaces the first
        done = execute(*RUN, "--execution-trace", name, "script.py")
        assert done.returncode == 0, done.stderr
        assert f"kymograph: wrote {name}, the execution trace\n" in done.stderr

    text = Path(name).read_bytes()
    found = json.loads(gzip.decompress(text) if name.endswith(".gz") else text)
    (node,) = named(found, "mine::double")
    assert (node["inputs"]["values"], node["outputs"]["values"]) == ([21], [42])
    assert Path("script.kymo").exists()


@pytest.mark.usefixtures("folder")
def test_run_keeps_the_capture_of_a_program_without_operators() -> None:
    done = execute(*RUN, "--execution-trace", "et.json", "-o", "x.html", "-c", "print(1)")

    assert (done.returncode, done.stdout) == (0, "1\n")
    reason, again = done.stderr.splitlines()
    assert "has no operators: the program called none, or they were not recorded (--ops)" in reason
    assert again == "kymograph: et.json was not written; the capture x.html.kymo is kept"
    assert Path("x.html").exists() and Path("x.html.kymo").exists()
