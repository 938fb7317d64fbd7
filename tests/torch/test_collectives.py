"""Execution traces of collectives: two ranks on the CPU, beside torch's own observer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from nodes import check_same, nodes

PROGRAM = """
import json
import sys
import torch
import torch.distributed as dist
import kymograph

CPU = torch.profiler.ProfilerActivity.CPU
rank, out = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", rank=rank, world_size=2, init_method=f"file://{out}/store")
group = dist.new_group([0, 1])
x = torch.ones(4) * rank


def work():
    dist.all_reduce(x)
    dist.broadcast(x, 0, group=group)
    dist.all_gather([torch.empty(4) for _ in range(2)], x)
    dist.barrier()
    torch.rand(3, generator=torch.Generator())
    if rank == 0:
        dist.send(x, 1)
    else:
        dist.recv(x, 0)


work()
with kymograph.profile() as mine, torch.profiler.profile(activities=[CPU]) as other:
    reducing = dist.all_reduce(x, async_op=True)
    with torch.profiler.record_function("range"):
        torch.ones(2)
    reducing.wait()
    work()
said = [
    [
        sorted({(event.name, event.is_async) for event in prof.events()}),
        sorted({(row.key, row.is_async) for row in prof.key_averages()}),
        sorted({(e.name(), e.is_async()) for e in prof.profiler.kineto_results.events()}),
    ]
    for prof in (mine, other)
]
with open(f"{out}/async{rank}.json", "w") as file:
    json.dump(said, file)

theirs = torch.profiler.ExecutionTraceObserver()
theirs.register_callback(f"{out}/theirs{rank}.json")
ours = kymograph.ExecutionTraceObserver().register_callback(f"{out}/ours{rank}.json")
ours.start()
theirs.start()
work()
theirs.stop()
ours.stop()
theirs.unregister_callback()
ours.unregister_callback()
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not torch.distributed.is_available():
        pytest.skip("this torch has no torch.distributed")
    out = tmp_path_factory.mktemp("ranks")
    (out / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(out / "program.py")]
    ranks = [subprocess.Popen([*command, str(rank), str(out)]) for rank in range(2)]
    assert [rank.wait(400) for rank in ranks] == [0, 0]
    return out


@pytest.mark.parametrize("rank", [0, 1])
def test_nodes_are_those_of_torch(traces: Path, rank: int) -> None:
    mine = check_same(traces / f"ours{rank}.json", traces / f"theirs{rank}.json")

    names = Counter(node["name"] for node in mine.values())
    assert {"c10d::allreduce_", "gloo:all_reduce", "c10d::barrier"} <= set(names)


@pytest.mark.parametrize("rank", [0, 1])
def test_what_may_end_on_another_thread_is_asynchronous(traces: Path, rank: int) -> None:
    mine, other = json.loads((traces / f"async{rank}.json").read_text())

    assert ["gloo:all_reduce", True] in mine[0]
    assert ["range", False] in mine[0]
    assert mine == other


@pytest.mark.parametrize("rank", [0, 1])
def test_the_groups_are_named(traces: Path, rank: int) -> None:
    found = json.loads((traces / f"ours{rank}.json").read_text())["nodes"]
    node = next(node for node in found if node["name"] == "## process_group:init ##")
    groups = json.loads(node["inputs"]["values"][0])

    assert [group["pg_name"] for group in groups] == ["0", "1"]
    assert {group["backend_config"] for group in groups} == {"cpu:gloo,cuda:gloo"}


@pytest.mark.parametrize("rank", [0, 1])
def test_the_trace_is_sound(traces: Path, rank: int) -> None:
    command = [sys.executable, "-m", "kymograph", "check", "et", str(traces / f"ours{rank}.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr


def test_both_ranks_have_the_same_collectives(traces: Path) -> None:
    def collectives(rank: int) -> Counter[str]:
        found = (node["name"] for node in nodes(traces / f"ours{rank}.json").values())
        return Counter(
            n for n in found if n.startswith("c10d::") and n[6:10] not in ("send", "recv")
        )

    assert collectives(0) == collectives(1)
