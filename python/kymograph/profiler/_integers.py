"""Values of integral tensors, for execution traces."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import warnings
from typing import Any

from kymograph import _core


class Integers:
    """What one observer notes about integers, and the values it has kept for its trace."""

    def __init__(self, ranges: bool, names: tuple[str, ...], directory: str) -> None:
        """Note the ranges of all integral inputs if `ranges`, and keep the values of those of the
        operators called `names` in `directory` until `copy`."""
        self._ranges = ranges
        self._names = names
        self._directory = directory
        self._on = False

    def begin(self) -> None:
        """Operators are recorded from now on, if torch is there."""
        if not (self._ranges or self._names) or not _core.torch_found():
            return
        try:
            _core.torch_integers(self._ranges, self._names, self._directory)
            self._on = True
        except (NotImplementedError, ValueError) as error:
            warnings.warn(f"values of integral tensors are not recorded: {error}", stacklevel=4)

    def end(self) -> None:
        if not self._on:
            return
        self._on = False
        failed = _core.torch_integers(False, (), "")
        if failed:
            warnings.warn(
                f"the values of {failed} integral tensors could not be written to "
                f"{self._directory}",
                stacklevel=4,
            )

    def has_values(self) -> bool:
        """Were any values kept?"""
        return bool(self._kept())

    def _kept(self) -> list[tuple[int, int, str]]:
        """The tensors kept: the id of the operator's record, which input, and the file."""
        found = []
        for name in os.listdir(self._directory):
            match = re.fullmatch(r"(\d+)_(\d+)", name)
            if match:
                found.append((int(match[1]), int(match[2]), os.path.join(self._directory, name)))
        return sorted(found)

    def copy(self, trace: str, directory: str) -> None:
        """Copy the values beside `trace`, into `directory`, under the names that torch gives them:
        after the operator's id in the trace."""
        nodes = _ids(trace)
        for record, tensor, path in self._kept():
            if record in nodes:  # else the operator had not ended
                name = f"nid_{nodes[record]}_tid_{tensor}.dat"
                shutil.copyfile(path, os.path.join(directory, name))


def _ids(trace: str) -> dict[int, int]:
    """The id of each node in the execution trace by the id of its record."""
    opener: Any = gzip.open if trace.endswith(".gz") else open
    with opener(trace, "rt", encoding="utf-8") as file:
        nodes = json.load(file)["nodes"]
    return {node["attrs"][0]["value"]: node["id"] for node in nodes}
