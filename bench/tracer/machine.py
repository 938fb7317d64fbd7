"""What the figures depend on, besides the code."""

from __future__ import annotations

import os
import platform
import re
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from subprocess import SubprocessError, check_output

import kymograph


def cpu_model() -> str:
    try:
        text = check_output(["lscpu"], env={**os.environ, "LC_ALL": "C"}, text=True)
    except (OSError, SubprocessError):
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.IGNORECASE | re.MULTILINE)
    return found[1].strip() if found else "unknown processor"


def build_flags() -> str:
    """How this Python was compiled, as far as it is known to matter."""
    configured = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    optimised = re.findall(r"-O\w+", str(sysconfig.get_config_var("PY_CFLAGS") or ""))
    flags = [optimised[-1] if optimised else "no -O"]
    flags.append("PGO" if "--enable-optimizations" in configured else "no PGO")
    flags.append("LTO" if "--with-lto" in configured else "no LTO")
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        flags.append("shared library")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        flags.append("free-threaded")
    if sysconfig.get_config_var("Py_DEBUG"):
        flags.append("debug")
    return ", ".join(flags)


def file_system(path: Path) -> str:
    """The type of the one that `path` is on."""
    best = ("", "unknown")
    for line in Path("/proc/self/mounts").read_text(errors="replace").splitlines():
        point, kind = line.split()[1:3]
        if len(point) > len(best[0]) and path.is_relative_to(point):
            best = (point, kind)
    return best[1]


def version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def load() -> float:
    """How many processes want to run, over the last minute."""
    return round(os.getloadavg()[0], 1)


def hook() -> str:
    """How the interpreter tells of calls."""
    if sys.version_info >= (3, 12):
        return "sys.monitoring"
    return f"{kymograph._core.trace_hook()}; with C calls the profile function"


def facts(captures: Path) -> dict[str, str]:
    compiler = platform.python_compiler()
    return {
        "processor": f"{cpu_model()}, {len(os.sched_getaffinity(0))} cores, {platform.machine()}",
        "kernel": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": f"CPython {platform.python_version()}, {compiler}, {build_flags()}",
        "hook": hook(),
        "versions": f"kymograph {kymograph.__version__}, VizTracer {version_of('viztracer')}",
        "captures": f"on {file_system(captures)}",
        "load": f"{load()} when it began",
    }
