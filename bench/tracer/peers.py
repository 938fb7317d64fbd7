"""Packages of others, in a directory that only the benchmark sees."""

from __future__ import annotations

import importlib
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType


def load(directory: Path, package: str) -> ModuleType | None:
    """`package`, installed under `directory` when it is not there; None when it cannot be."""
    target = directory / str(sysconfig.get_config_var("SOABI"))
    if str(target) not in sys.path:
        sys.path.append(str(target))
    try:
        return importlib.import_module(package)
    except ImportError:
        reason = install(target, package)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(package)
    except ImportError as error:
        print(f"nothing is measured with {package}, which is not to be had: {reason or error}")
        return None


def install(target: Path, package: str) -> str:
    """Why it did not work, or nothing."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--retries", "1", "--timeout", "30", "--upgrade", "--target", str(target), package]
    print(f"installing {package} for the benchmark", flush=True)
    try:
        subprocess.run(command, check=True, timeout=300, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        said = str(error.stderr).strip().splitlines()
        return said[-1] if said else f"pip ended with {error.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return ""
