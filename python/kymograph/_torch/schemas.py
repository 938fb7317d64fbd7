"""The schemas of operators as torch has them."""

from __future__ import annotations

import sys
from typing import Any


def _schema(operator: str) -> Any:
    name, _, overload = operator.partition(".")
    return sys.modules["torch"]._C._get_schema(name, overload)


def whole(operator: str) -> str:
    """Return the schema of `operator`, "aten::add.Tensor"; raises what torch raises."""
    return str(_schema(operator))


def changed(operator: str) -> frozenset[int] | None:
    """Return which arguments `operator` changes in place; None if torch does not know it."""
    try:
        arguments = _schema(operator).arguments
    except (KeyError, AttributeError, RuntimeError):
        return None
    return frozenset(
        i for i, each in enumerate(arguments) if each.alias_info and each.alias_info.is_write
    )
