"""Compile an extension of the benchmarks for the Python that runs, and import it."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sysconfig
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def build(directory: Path, name: str) -> Path:
    """The extension's file. Raises OSError or CalledProcessError when it cannot be made."""
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = [
        *shlex.split(os.environ.get("CC", "cc")),
        *("-std=gnu11", "-O2", "-fPIC", "-shared", "-D_GNU_SOURCE"),
        f"-I{ROOT / 'include'}",
        f"-I{ROOT / 'ext/common'}",
        f"-I{sysconfig.get_path('include')}",
        str(ROOT / "bench" / name / f"{name}.c"),
        *("-o", str(target)),
    ]
    subprocess.run(command, check=True)
    return target


def load(directory: Path, name: str = "floor") -> ModuleType:
    return load_built(build(directory, name), name)


def load_built(file: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
