"""Many processes: which one this is, a directory for all of them, and the report over it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import program
import pytest
from ran import RUN, execute, recorded, write

import kymograph
from kymograph import _ranks

pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, {}),
        ({"RANK": "not a number"}, {}),
        (
            {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "r1"},
            {
                "launcher": "torchrun",
                "rank": "3",
                "world_size": "8",
                "local_rank": "1",
                "job": "r1",
            },
        ),
        (  # torchrun inside Slurm: its rank, Slurm's job
            {"RANK": "5", "SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "77"},
            {"launcher": "torchrun", "rank": "5", "job": "77"},
        ),
        (
            {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0", "SLURM_JOB_ID": "77"},
            {
                "launcher": "slurm",
                "rank": "1",
                "world_size": "2",
                "local_rank": "0",
                "job": "77",
            },
        ),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_JOB_ID": "77"}, {"job": "77"}),
        (
            {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"},
            {"launcher": "openmpi", "rank": "2", "world_size": "4"},
        ),
        (
            {"PMI_RANK": "01", "PMI_SIZE": "2"},
            {"launcher": "mpich", "rank": "1", "world_size": "2"},
        ),
        (
            {"JOB_COMPLETION_INDEX": "4", "KUBERNETES_SERVICE_HOST": "x", "HOSTNAME": "pod-4"},
            {"launcher": "kubernetes", "rank": "4", "pod": "pod-4"},
        ),
        (
            {"RAY_JOB_ID": "01000000", "CUDA_VISIBLE_DEVICES": "0,1"},
            {"job": "01000000", "gpus": "0,1"},
        ),
        ({"DASK_WORKER_NAME": "w1"}, {"worker": "w1"}),
    ],
)
def test_the_rank_is_what_the_launcher_says(
    environment: dict[str, str], expected: dict[str, str]
) -> None:
    assert _ranks.found(environment) == expected


def run_rank(rank: int, *arguments: str) -> None:
    environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "4"}
    done = execute(*RUN, "-q", "--dir", "runs/7", *arguments, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_processes_that_share_a_directory_have_files_of_their_own() -> None:
    write("script.py", "pass")

    run_rank(0, "script.py")
    run_rank(1, "script.py")
    execute(*RUN, "-q", "--dir", "runs/7", "script.py")

    host = os.uname().nodename.partition(".")[0]
    names = sorted(path.name for path in Path("runs/7").iterdir())
    assert names[1:] == [f"script-{host}-rank00000.kymo", f"script-{host}-rank00001.kymo"]
    with kymograph.open(Path("runs/7", names[2])) as capture:
        assert capture.metadata["rank"] == "1"
        assert capture.metadata["world_size"] == "4"


def test_dir_and_output_exclude_each_other() -> None:
    write("script.py", "pass")

    done = execute(*RUN, "--dir", "runs", "-o", "a.kymo", "script.py")

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--dir and --output exclude each other" in done.stderr


STEPS = """
    import os, time
    def late(): time.sleep(0.03)
    def train_step():
        if os.environ["RANK"] == "2": late()
        time.sleep(0.002)
    for _ in range(5): train_step()
"""


@pytest.mark.timing
def test_a_report_on_a_directory_finds_the_straggler_and_why() -> None:
    write("script.py", STEPS)
    for rank in range(4):
        run_rank(rank, "script.py")
    Path("runs/7/broken.kymo").write_bytes(b"nonsense")

    report = json.loads(program.good("report", "--step", "train_step", "-j", "runs/7"))
    text = program.good("report", "--step", "train_step", "runs/7")

    assert report["compared_by"] == "step"
    assert [(rank["rank"], rank["steps"]) for rank in report["ranks"]] == [
        (rank, 5) for rank in range(4)
    ]
    assert report["ranks"][2]["straggler"]
    assert report["slowest"] == report["ranks"][2]["file"]
    assert report["unreadable"] == 1
    first = report["functions"][0]
    assert (first["name"], first["slowest_calls"], first["typical_calls"]) == ("sleep", 10, 5)
    assert re.search(r"^  slow .*rank 2 \(\+", text, re.M)
    assert "rank 2 against rank" in text
    assert "1 capture cannot be read" in text


def test_ranks_of_a_launcher_are_its_children() -> None:
    write("worker.py", "def train_step(): pass\ntrain_step()\n")
    write(
        "launch.py",
        """
        import os, subprocess, sys
        for rank in "01":
            subprocess.run([sys.executable, "worker.py"], env={**os.environ, "RANK": rank})
        """,
    )
    execute(*RUN, "-q", "--dir", "runs", "launch.py")

    report = json.loads(program.good("report", "--step", "train_step", "-j", "runs"))

    assert [(rank["rank"], rank["name"]) for rank in report["ranks"]] == [
        (0, "worker"),
        (1, "worker"),
    ]


def test_a_report_on_a_directory_needs_captures() -> None:
    Path("empty").mkdir()
    recorded("-c", "pass")

    assert "no captures (.kymo)" in program.refused("report", "empty")
    assert "--tree works with one capture" in program.refused("report", "--tree", "empty")
    assert "--step works only with a directory" in program.refused(
        "report", "--step", "f", "trace.kymo"
    )


def test_a_capture_knows_how_far_its_wall_clock_can_be_off() -> None:
    write("script.py", "pass")

    run_rank(0, "script.py")
    run_rank(1, "script.py")

    form = re.compile(r"synchronised=[01] max_error_us=\d+ est_error_us=\d+")
    for path in Path("runs/7").glob("*.kymo"):
        with kymograph.open(path) as capture:
            known = {key for key in capture.metadata if key.startswith("wall_clock.")}
            assert known in ({"wall_clock.start", "wall_clock.stop"}, set())  # or a sandbox
            assert all(form.fullmatch(capture.metadata[key]) for key in known)


def test_ranks_of_one_host_have_one_clock() -> None:
    write("script.py", "pass")
    run_rank(0, "script.py")
    run_rank(1, "script.py")

    report = json.loads(program.good("report", "-j", "runs/7"))

    first, second = report["ranks"]
    assert (first["start_ns"], second["start_ns"] > 0) == (0, True)
    assert (second["clock"]["by"], second["clock"]["error_ns"]) == ("monotonic", 0)
    assert re.search(r"^  clocks +one host, one clock$", program.good("report", "runs/7"), re.M)


# Ends the process at adjtimex, as the filters of many services do.
FILTERED = """
import ctypes, platform

class Step(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte),
                ("k", ctypes.c_uint)]

class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.POINTER(Step))]

adjtimex = {"x86_64": 159, "aarch64": 171}[platform.machine()]
steps = (Step * 4)(Step(0x20, 0, 0, 0), Step(0x15, 0, 1, adjtimex), Step(0x06, 0, 0, 0x80000000),
                   Step(0x06, 0, 0, 0x7FFF0000))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(Program(4, steps))):
    print("no filters here")
else:
    import kymograph
    kymograph.start("filtered.kymo")
    kymograph.stop()
"""


def test_where_system_calls_are_filtered_the_clock_is_not_asked_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILTERED], capture_output=True, text=True, timeout=400, check=False
    )

    if "no filters" in done.stdout:
        pytest.skip("this kernel has no filters of system calls")
    assert (done.returncode, done.stderr) == (0, "")
    assert "error unknown: it was not recorded" in program.good("info", "filtered.kymo")


# A host of its own: with another boot id, and a monotonic clock that is 1000 s ahead.
OTHER_HOST = [
    *("unshare", "--mount", "--time", "--monotonic", "1000", "--fork", "--kill-child"),
    *("sh", "-c", 'mount --bind boot /proc/sys/kernel/random/boot_id && exec "$@"', "sh"),
]


def run_hosts(script: str, variable: str) -> None:
    """Run `script` on this host and on another one, with 0 and 1 in the environment."""
    Path("boot").write_text("00000000-2222-3333-4444-555555555555\n")
    if not shutil.which("unshare") or execute(*OTHER_HOST, "true").returncode:
        pytest.skip("no time namespaces here")
    processes = [
        subprocess.Popen(
            [*host, *RUN, "-q", "--dir", "runs/7", script],
            env={**os.environ, variable: str(rank)},
        )
        for rank, host in enumerate(([], OTHER_HOST))
    ]
    assert [process.wait(400) for process in processes] == [0, 0]


def check_clocks() -> None:
    """The clock of the other host is where it should be, within the error."""
    clock = json.loads(program.good("report", "-j", "runs/7"))["ranks"][1]["clock"]
    assert clock["by"] in ("pings", "wall")
    assert abs(clock["offset_ns"] + 1000 * 10**9) <= clock["error_ns"] < 10**9


def test_hosts_that_share_a_directory_compare_their_clocks() -> None:
    write("script.py", "import time; time.sleep(8)")

    run_hosts("script.py", "RANK")

    check_clocks()
    info = program.good("info", str(next(Path("runs/7").glob("*rank00000.kymo"))))
    assert re.search(r"^  pings +\d+ exchanges? with other hosts noted", info, re.M)
    assert not [path for path in Path("runs/7").iterdir() if path.suffix != ".kymo"]


def test_ranks_know_the_clocks_that_their_launcher_compared() -> None:
    write("worker.py", "pass")
    write(
        "launch.py",
        """
        import os, subprocess, sys, time
        environment = {**os.environ, "RANK": os.environ["NUMBER"]}
        subprocess.run([sys.executable, "worker.py"], env=environment)
        time.sleep(8)
        """,
    )

    run_hosts("launch.py", "NUMBER")

    check_clocks()


def test_a_directory_that_vanishes_does_not_stop_the_program() -> None:
    write("script.py", "import shutil, time; time.sleep(1); shutil.rmtree('runs'); time.sleep(1)")

    done = execute(*RUN, "-q", "--dir", "runs/7", "script.py")

    assert done.returncode == 0
    assert not Path("runs").exists()
