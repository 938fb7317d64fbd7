"""The schemas of operators as torch prints them."""

from __future__ import annotations

import sys


def whole(operator: str) -> str:
    """Return the schema of `operator`, "aten::add.Tensor"; raises what torch raises."""
    name, _, overload = operator.partition(".")
    return str(sys.modules["torch"]._C._get_schema(name, overload))
