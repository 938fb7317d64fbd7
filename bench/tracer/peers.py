"""The tracers to compare with, in a directory that only the benchmark sees."""

from __future__ import annotations

import importlib
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

PACKAGE = "viztracer"


def load(directory: Path) -> ModuleType | None:
    """VizTracer, installed under `directory` when it is not there; None when it cannot be."""
    target = directory / str(sysconfig.get_config_var("SOABI"))
    sys.path.append(str(target))
    try:
        return importlib.import_module(PACKAGE)
    except ImportError:
        reason = install(target)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(PACKAGE)
    except ImportError as error:
        print(f"no comparison with VizTracer, which could not be installed: {reason or error}")
        return None


def install(target: Path) -> str:
    """Why it did not work, or nothing."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--retries", "1", "--timeout", "30", "--upgrade", "--target", str(target), PACKAGE]
    print(f"installing {PACKAGE} for the comparison", flush=True)
    try:
        subprocess.run(command, check=True, timeout=300, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        said = str(error.stderr).strip().splitlines()
        return said[-1] if said else f"pip ended with {error.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return ""
