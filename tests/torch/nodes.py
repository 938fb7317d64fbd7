"""Nodes of execution traces, compared with those of torch's own observer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# The nodes of threads and of the process, and the one that each observer adds for the groups.
OWN = ("[pytorch|", "## process_group:init")


def attribute(node: dict[str, Any], name: str) -> Any:
    return next((a["value"] for a in node["attrs"] if a["name"] == name), None)


def nodes(path: Path) -> dict[int, dict[str, Any]]:
    """The nodes of operators, by their record-function id."""
    found = json.loads(path.read_text())["nodes"]
    return {attribute(n, "rf_id"): n for n in found if not n["name"].startswith(OWN)}


def without_ids(value: Any) -> Any:
    """Tensors are [tensor id, storage id, offset, elements, bytes, device]. torch writes six
    decimals of a float."""
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, list) and len(value) == 6 and isinstance(value[-1], str):
        return value[2:]
    return [without_ids(each) for each in value] if isinstance(value, list) else value


def check_same(ours: Path, theirs: Path) -> dict[int, dict[str, Any]]:
    """Compare two traces of the same run node by node; return ours."""
    mine, wanted = nodes(ours), nodes(theirs)
    assert sorted(mine) == sorted(wanted)
    for number, other in wanted.items():
        node = mine[number]
        assert node["name"] == other["name"]
        for part in ("inputs", "outputs"):
            for field in ("shapes", "types", "strides"):
                assert node[part][field] == other[part][field], (node["name"], part, field)
            values = without_ids(node[part]["values"])
            theirs_values = without_ids(other[part]["values"])
            assert values == theirs_values, (node["name"], part, values, theirs_values)
        for name in ("scope", "seq_id", "tid", "fw_tid", "op_schema"):
            assert attribute(node, name) == attribute(other, name), (node["name"], name)
    return mine
