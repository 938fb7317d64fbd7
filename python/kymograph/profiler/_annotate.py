"""The other ways in which torch lets a program annotate itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kymograph import _core

_MOST = 64  # values of an annotation; more are left out
_LONGEST = 30  # elements of a list or tuple whose values are shown
_INPUTS = tuple(f"input {i}" for i in range(_MOST))
_name_of_type = type.__dict__["__name__"].__get__  # even if a metaclass overrides it


def _plain(value: object) -> str | None:
    """Return the text of a number, str, bool or None; for anything else None."""
    if type(value) is str:
        return value
    if type(value) is int:
        # Converting a huge int is slow and may raise.
        return str(value) if value.bit_length() <= 128 else None
    if type(value) is float or type(value) is bool or value is None:
        return str(value)
    return None


def _listed(values: Sequence[object]) -> str | None:
    texts = []
    for value in values:
        text = _plain(value)
        if text is None:
            return None
        texts.append(text)
    return f"[{', '.join(texts)}]"


def _text(value: object) -> str:
    """Return what to record for `value`, without running any of the program's code."""
    text = _plain(value)
    if (type(value) is list or type(value) is tuple) and len(value) <= _LONGEST:
        text = _listed(value)
    name: str = _name_of_type(type(value))
    return name if text is None else text


def _texts(inputs: Sequence[object], keywords: Mapping[str, object]) -> Iterator[str]:
    """Return names and texts, alternating."""
    for name, value in zip(_INPUTS, inputs, strict=False):
        yield name
        yield _text(value)
    for name, value in keywords.items():
        yield name
        yield _text(value)


def _annotation(
    name: str, inputs: Sequence[object] | None, keywords: Mapping[str, object] | None
) -> _core.Span:
    if inputs is not None and not isinstance(inputs, (list, tuple)):
        raise TypeError(f"input_values must be a list or tuple, not {type(inputs).__name__}")
    if keywords is not None and not isinstance(keywords, dict):
        raise TypeError(f"keyword_values must be a dict, not {type(keywords).__name__}")
    texts = tuple(_texts(inputs or (), keywords or {}))
    return _core.span_with((name, *texts[: 2 * _MOST])) if texts else _core.span(name)


def _RecordFunctionFast(
    name: str,
    input_values: Sequence[object] | None = None,
    keyword_values: Mapping[str, object] | None = None,
) -> _core.Span:
    """An annotation with the texts of values: numbers and str as they are, anything else as the
    name of its type."""
    if input_values is None and keyword_values is None:
        return _core.span(name)
    return _annotation(name, input_values, keyword_values)


def _record_function_with_args_enter(name: str, *args: object) -> _core.Span:
    """Begin an annotation with the texts of `args`. Returns what
    `_record_function_with_args_exit` takes."""
    # Make texts only if they can be recorded now.
    span = _annotation(name, args, None) if args and _core.running() else _core.span(name)
    span.__enter__()
    return span


def _record_function_with_args_exit(handle: _core.Span) -> None:
    """End it."""
    handle.__exit__(None, None, None)
