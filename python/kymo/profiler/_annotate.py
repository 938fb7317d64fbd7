"""The other ways in which torch lets a program annotate itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kymo import _core


def _RecordFunctionFast(
    name: str,
    input_values: Sequence[object] | None = None,
    keyword_values: Mapping[str, object] | None = None,
) -> _core.Span:
    """An annotation; the values are accepted and not recorded."""
    return _core.span(name)


def _record_function_with_args_enter(name: str, *args: object) -> _core.Span:
    """Begin an annotation. Returns what `_record_function_with_args_exit` takes."""
    span = _core.span(name)
    span.__enter__()
    return span


def _record_function_with_args_exit(handle: _core.Span) -> None:
    """End it."""
    handle.__exit__(None, None, None)
