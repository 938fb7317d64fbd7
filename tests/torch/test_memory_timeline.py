"""export_memory_timeline beside torch's, both recording the same code at once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import torch

import kymograph

TORCH = torch.profiler
CREATE, INCREMENT, DESTROY = 2, 3, 4


def both() -> tuple[Any, Any]:
    if not hasattr(TORCH.profile, "export_memory_timeline"):
        pytest.skip("this torch has no export_memory_timeline any more")
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 7))
    adam = torch.optim.Adam(model.parameters())

    def work() -> None:
        model(torch.ones(11, 20)).sum().backward()
        adam.step()
        adam.zero_grad()

    work()
    cpu = [TORCH.ProfilerActivity.CPU]
    asked = {"activities": cpu, "record_shapes": True, "profile_memory": True, "with_stack": True}
    ours, theirs = kymograph.profile(**asked), TORCH.profile(**asked)
    ours.start()
    theirs.start()
    work()
    theirs.stop()
    ours.stop()
    return ours, theirs


def export(prof: Any, path: Path) -> Any:
    prof.export_memory_timeline(str(path), "cpu")
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_blocks_are_those_of_torch(tmp_path: Path) -> None:
    ours, theirs = both()

    mine = export(ours, tmp_path / "ours.raw.json.gz")
    wanted = export(theirs, tmp_path / "theirs.raw.json.gz")

    for action in (CREATE, DESTROY):
        sizes = sorted(each[2] for each in mine if each[1] == action)
        assert len(sizes) > 10
        assert sizes == sorted(each[2] for each in wanted if each[1] == action)
    times = [min(e[0] for e in rows if e[1] == CREATE) for rows in (mine, wanted)]
    assert abs(times[0] - times[1]) < 1e9  # the same clock


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_sizes_have_the_form_of_torch(tmp_path: Path, name: str) -> None:
    ours, theirs = both()

    times, sizes = export(ours, tmp_path / name)
    other_times, other_sizes = export(theirs, tmp_path / f"theirs-{name}")

    assert len(times) == len(sizes) > 10
    assert {len(row) for row in sizes} == {len(row) for row in other_sizes}
    assert times == sorted(times)
    assert abs(times[0] - other_times[0]) < 1e6
    assert times[0] == times[1]  # what was there before
    assert sizes[0] == other_sizes[0] and sizes[-1] == other_sizes[-1]


def test_a_page_has_a_picture(tmp_path: Path) -> None:
    ours, _ = both()
    ours.export_memory_timeline(tmp_path / "t.html")
    page = (tmp_path / "t.html").read_text()
    assert "<svg" in page and "MiB" in page and "Memory of tensors on cpu" in page
    assert all(f">{name}</text>" in page for name in ("parameter", "gradient", "unknown"))


def test_an_unknown_device_is_refused(tmp_path: Path) -> None:
    ours, _ = both()
    with pytest.raises(ValueError, match="device should be like"):
        ours.export_memory_timeline(tmp_path / "t.json", "gpu zero")
    ours.export_memory_timeline(tmp_path / "t.json", "cuda:3")
    assert json.loads((tmp_path / "t.json").read_text()) == [[], []]


def numbered(timeline: Any, device: str) -> list[tuple[Any, ...]]:
    """What happens to the blocks of a device that tensors have, with numbers in place of keys."""
    numbers: dict[Any, int] = {}
    return [
        (action.name, numbers.setdefault(key, len(numbers)), version, size)
        for _, action, (key, version), size in timeline
        if str(key.device) == device and hasattr(key, "storage") and size
    ]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_memory_profile_is_that_of_torch(tmp_path: Path) -> None:
    ours, theirs = both()
    mine, wanted = ours._memory_profile(), theirs._memory_profile()

    # What was there before is in no order.
    found = [
        [each for each in numbered(profile.timeline, "cpu") if each[0] != "PREEXISTING"]
        for profile in (mine, wanted)
    ]
    assert [each[0] for each in found[0]] == [each[0] for each in found[1]]
    assert [each[2:] for each in found[0]] == [each[2:] for each in found[1]]
    snapshots = [
        sorted(str(category) for category in profile._category_snapshot().values())
        for profile in (mine, wanted)
    ]
    assert set(snapshots[0]) == set(snapshots[1])
    assert "Category.GRADIENT" in snapshots[0]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_torch_reads_our_memory_profile(tmp_path: Path) -> None:
    from torch.profiler._memory_profiler import MemoryProfileTimeline

    ours, _ = both()
    MemoryProfileTimeline(ours._memory_profile()).export_memory_timeline_raw(
        str(tmp_path / "torch.json"), "cpu"
    )

    written = json.loads((tmp_path / "torch.json").read_text())
    assert sorted(written) == sorted(export(ours, tmp_path / "ours.raw.json.gz"))
    assert len(written) > 50


def test_a_memory_profile_needs_all_three() -> None:
    with kymograph.profile(profile_memory=True, record_shapes=True) as prof:
        torch.ones(2)
    with pytest.raises(ValueError, match="with_stack=True required"):
        prof._memory_profile()
