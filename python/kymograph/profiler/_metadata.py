"""The metadata of a trace."""

from __future__ import annotations

import json
import os
import socket
import sys
import uuid
from typing import Any

_JOB_VARIABLES = (
    "PT_PROFILER_JOB_NAME",
    "PT_PROFILER_JOB_VERSION",
    "PT_PROFILER_JOB_ATTEMPT_INDEX",
)


def checked_json(key: str, value: str) -> str:
    """`value` if it is JSON. Raises ValueError when it is not: it would break the trace."""
    try:
        json.loads(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the metadata {key!r} is not JSON: {error}") from None
    return value


def new_trace_id() -> str:
    return uuid.uuid4().hex.upper()


def of_environment() -> dict[str, str]:
    """JSON by key: the host, and the job as the environment names it."""
    found = {"host_name": json.dumps(socket.gethostname())}
    for name in _JOB_VARIABLES:
        if name in os.environ:
            found[name] = json.dumps(os.environ[name])
    return found


def distributed_info() -> dict[str, Any] | None:
    """Rank and world of this process when torch.distributed is in use."""
    distributed = sys.modules.get("torch.distributed")
    try:
        if not (distributed and distributed.is_available() and distributed.is_initialized()):
            return None
        backend = distributed.get_backend()
        info = {
            "backend": str(backend),
            "rank": distributed.get_rank(),
            "world_size": distributed.get_world_size(),
            "pg_count": distributed.get_pg_count(),
            "pg_config": distributed.distributed_c10d._get_all_pg_configs(),
        }
        if backend == "nccl":
            version = sys.modules["torch"].cuda.nccl.version()
            info["nccl_version"] = ".".join(str(part) for part in version)
    except (AttributeError, RuntimeError):
        return None  # a torch with a different API
    return info
