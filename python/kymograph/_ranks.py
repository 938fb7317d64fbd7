"""Which of many processes this is: rank, size of the job, and its name, as the launcher says in the
environment."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Mapping

# Launcher: what it calls the rank, the number of processes, the rank on this host, and the job.
# The first whose rank is set wins: torchrun may run inside Slurm, and then its numbers are meant.
_LAUNCHERS = {
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"),
    "openmpi": (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_MCA_ess_base_jobid",
    ),
    "mvapich": (
        "MV2_COMM_WORLD_RANK",
        "MV2_COMM_WORLD_SIZE",
        "MV2_COMM_WORLD_LOCAL_RANK",
        "",
    ),
    "mpich": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", ""),
    "slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID"),
    "pmix": ("PMIX_RANK", "", "", "PMIX_NAMESPACE"),
    "kubernetes": ("JOB_COMPLETION_INDEX", "", "", ""),
}
# The job, if the launcher has none: of what it runs in.
_JOBS = ("SLURM_JOB_ID", "RAY_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "JOB_NAME")
_OTHERS = {
    "gpus": ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    "worker": ("DASK_WORKER_NAME", "RAY_WORKER_ID", "PYTEST_XDIST_WORKER"),
    "pod": ("POD_NAME",),
    "node": ("SLURMD_NODENAME", "NODE_NAME", "K8S_NODE_NAME"),
}


_NAMES = {name for names in (*_LAUNCHERS.values(), _JOBS, *_OTHERS.values()) for name in names}
# All of them as os.environ has them; the last says nothing alone.
_RAW = [name.encode() for name in (*sorted(_NAMES), "KUBERNETES_SERVICE_HOST", "HOSTNAME")]
_last: tuple[list[bytes | None], dict[str, str]] | None = None  # what `of_this_process` found


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environment[name] for name in names if name and environment.get(name)), "")


def found(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the metadata for a capture: rank, world_size, local_rank, launcher, job and others, as
    far as they are known."""
    known = {}
    for launcher, (rank, size, local, job) in _LAUNCHERS.items():
        number = environment.get(rank, "")
        # A single process under Slurm is rank 0 of 1, which says nothing.
        if not number.isdecimal() or (launcher == "slurm" and environment.get(size, "1") == "1"):
            continue
        known = {"launcher": launcher, "rank": str(int(number))}
        for key, name in (("world_size", size), ("local_rank", local), ("job", job)):
            if name and environment.get(name):
                known[key] = environment[name]
        break
    if "job" not in known and (job := _first(environment, _JOBS)):
        known["job"] = job
    for key, names in _OTHERS.items():
        if value := _first(environment, names):
            known[key] = value
    if "pod" not in known and "KUBERNETES_SERVICE_HOST" in environment:
        known["pod"] = environment.get("HOSTNAME", "")
    return {key: value for key, value in known.items() if value}


def unchanged() -> dict[str, str] | None:
    """Return what `of_this_process` last returned, or None if that may have changed. Calls nothing
    that would be recorded."""
    data = getattr(os.environ, "_data", None)
    if data is None or _last is None or _last[0] != list(map(data.get, _RAW)):
        return None
    return _last[1]


def seen() -> tuple[object, object, list[bytes], list[bytes | None]]:
    """Return what `unchanged` has looked at: os.environ, its dict, the names, and their values."""
    assert _last is not None
    return os.environ, os.environ._data, _RAW, _last[0]  # type: ignore[attr-defined]


def of_this_process() -> dict[str, str]:
    """Return `found` for os.environ. Cheap if nothing changed, as in a forked child."""
    global _last
    data = getattr(os.environ, "_data", None)
    if data is None:
        return found(os.environ)
    values = list(map(data.get, _RAW))
    if _last is None or _last[0] != values:
        _last = values, found(os.environ) if any(values[:-1]) else {}
    return _last[1]
