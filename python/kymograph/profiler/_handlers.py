"""Ready-made functions for `on_trace_ready`."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kymograph.profiler._base import _KinetoProfile


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str],
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[_KinetoProfile], None]:
    """A function that writes each trace to `<dir>/<worker>.<time>.pt.trace.json`.

    worker_name: `<host>_<pid>` when None; give each process of a job its own.
    use_gzip: write `.json.gz`.
    use_python_export: accepted; there is one exporter.
    """
    directory = os.fspath(dir_name)

    def handler(prof: _KinetoProfile) -> None:
        try:
            os.makedirs(directory, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {directory}: {error.strerror}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        # Two traces may end within a tick of the clock.
        while True:
            name = f"{worker}.{time.time_ns()}.pt.trace.json"
            path = os.path.join(directory, name + (".gz" if use_gzip else ""))
            if not os.path.exists(path):
                break
        prof.export_chrome_trace(path)

    return handler
