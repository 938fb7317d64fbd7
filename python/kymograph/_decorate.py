"""Functions decorated with a span or a session.

A span belongs to a thread and must not stay open while other code runs there. So a generator or
coroutine is recorded in slices, as its calls are: each from a resume to the next yield or await.
"""

from __future__ import annotations

import functools
import itertools
import types
from typing import TYPE_CHECKING, Any

from kymograph import _core

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from kymograph._trace import trace

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200

# Event details: how a slice starts and ends.
_CALL, _RESUME, _THROW = 0, 1, 2
_RETURN, _YIELD, _UNWIND = 0, 1, 2

_METHODS = ("__enter__", "__exit__")  # if a subclass has its own, they are called

_AWAITED = 1 << 40  # ids of spans that last until a future is complete


def _flags(function: Callable[..., Any]) -> int:
    """Return the flags of the code that a call of `function` runs."""
    if not callable(function):
        raise TypeError(
            f"only a function can be decorated, not {type(function).__name__}; put kymograph's "
            "decorator below @classmethod and @property"
        )
    while isinstance(function, functools.partial):
        function = function.func
    if not hasattr(function, "__code__") and not isinstance(function, type):
        function = type(function).__call__
    flags: int = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return flags


def _slices(
    span: _core.Span, inner: Any, first: int = _CALL, last: int = _RETURN, identity: int = 0
) -> Generator[Any, Any, Any]:
    """`yield from inner`, a generator or similar, recording each slice."""
    identity = identity or id(inner)
    detail, step, argument = first, inner.send, None
    throw, unwind = _THROW, _UNWIND  # at interpreter exit, module globals are already gone
    while True:
        entered = span._enter(detail, identity)
        ending = _UNWIND
        try:
            result = step(argument)
            ending = _YIELD
        except StopIteration as stop:
            ending = last
            return stop.value
        finally:
            span._leave(ending, entered)
        try:
            argument = yield result
            detail, step = _RESUME, inner.send
        except GeneratorExit:
            entered = span._enter(throw, identity)
            try:
                inner.close()
            finally:
                span._leave(unwind, entered)
            raise
        except BaseException as error:
            detail, step, argument = _THROW, inner.throw, error


_awaited = types.coroutine(_slices)


def _recorded_function(span: _core.Span, function: Callable[..., Any]) -> Callable[..., Any]:
    # Each call gets its own span, since calls may nest.
    new: Callable[[Any], _core.Span] = _core.span_like if span._has_texts else _core.span
    origin = span if span._has_texts else span.name

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        with new(origin):
            return function(*args, **kwargs)

    return recorded


def _recorded_generator(span: _core.Span, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from _slices(span, function(*args, **kwargs)))

    return recorded


def _recorded_coroutine(span: _core.Span, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def recorded(*args: Any, **kwargs: Any) -> Any:
        return await _awaited(span, function(*args, **kwargs))

    return recorded


def _recorded_async_generator(span: _core.Span, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def recorded(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        identity, first, step = id(inner), _CALL, inner.asend(None)
        while True:
            try:
                result = await _awaited(span, step, first, _YIELD, identity)
            except StopAsyncIteration:
                return
            try:
                argument = yield result
                first, step = _RESUME, inner.asend(argument)
            except GeneratorExit:
                await _awaited(span, inner.aclose(), _THROW, _UNWIND, identity)
                raise
            except BaseException as error:
                first, step = _THROW, inner.athrow(error)

    return recorded


def _recorded_by(span: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function` as contextlib does: the methods of the program's class run."""
    recreate = getattr(span, "_recreate_cm", lambda: span)

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        with recreate():
            return function(*args, **kwargs)

    return recorded


def recorded(span: _core.Span, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function` so that every call is recorded as a span named `span.name`."""
    flags = _flags(function)
    kind = type(span)
    if kind is not _core.Span and (
        hasattr(kind, "_recreate_cm")
        or any(getattr(kind, name) is not getattr(_core.Span, name) for name in _METHODS)
    ):
        return _recorded_by(span, function)
    if flags & _ASYNC_GENERATOR:
        return _recorded_async_generator(span, function)
    if flags & _COROUTINE:
        return _recorded_coroutine(span, function)
    if flags & _GENERATOR:
        return _recorded_generator(span, function)
    return _recorded_function(span, function)


def operator(op: _core.op, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function` so that every call is recorded as an operator like `op`, with the arguments
    and the result of the call."""
    if _flags(function) & (_GENERATOR | _COROUTINE | _ASYNC_GENERATOR):
        raise TypeError(
            "an operator is one call; use 'with kymograph.op' inside a generator or coroutine"
        )
    name, schema = op.name, getattr(op, "schema", None)
    new = _core.op

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        with new(name, args, keywords=kwargs, schema=schema) as one:
            result = function(*args, **kwargs)
            one.outputs = result if type(result) is tuple else (result,)
            return result

    return recorded


def traced(make: Callable[[], trace], function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function` so that every call runs in its own session, made by `make`."""
    flags = _flags(function)
    if flags & _ASYNC_GENERATOR:
        raise TypeError(
            "an async generator cannot be traced as a whole; use 'with kymograph.trace'"
        )
    if flags & _COROUTINE:

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with make():
                return await function(*args, **kwargs)

        return coroutine
    if flags & _GENERATOR:

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with make():
                return (yield from function(*args, **kwargs))

        return generator

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        with make():
            return function(*args, **kwargs)

    return plain


_awaited_count = itertools.count(1)


def awaited(name: str, future: Any) -> Any:
    """Record `name` until `future`, one of torch's, is complete; the span itself ends with its
    block. Returns a future with the same result."""
    number = _AWAITED + next(_awaited_count)
    _core.async_begin(name, number)

    def end(done: Any) -> Any:
        _core.async_end(name, number)
        return done.value()

    return future.then(end)
