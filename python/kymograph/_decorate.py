"""Functions decorated with a span or a session.

A span belongs to a thread and may not stay open while other code runs there. So what a
generator or a coroutine does is recorded in slices, as calls of such functions are: each
from where it is resumed to where it gives up the thread.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

from kymograph import _core

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from kymograph._trace import trace

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200

# Details of events: how a slice begins, and how it ends.
_CALL, _RESUME, _THROW = 0, 1, 2
_RETURN, _YIELD, _UNWIND = 0, 1, 2


def _flags(function: Callable[..., Any]) -> int:
    """The flags of the code that a call of `function` runs."""
    if not callable(function):
        raise TypeError(
            f"only a function can be decorated, not {type(function).__name__}; "
            "a decorator of kymograph stands below @classmethod and @property"
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
    """`yield from inner`, a generator or alike, with every slice of it recorded."""
    identity = identity or id(inner)
    detail, step, argument = first, inner.send, None
    throw, unwind = _THROW, _UNWIND  # when the interpreter exits, modules are empty by then
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
    # Each call has a span of its own, since calls may nest.
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


def recorded(span: _core.Span, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with every call of it recorded as a span called `span.name`."""
    flags = _flags(function)
    if flags & _ASYNC_GENERATOR:
        return _recorded_async_generator(span, function)
    if flags & _COROUTINE:
        return _recorded_coroutine(span, function)
    if flags & _GENERATOR:
        return _recorded_generator(span, function)
    return _recorded_function(span, function)


def traced(make: Callable[[], trace], function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with a session of its own, from `make`, around every call of it."""
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
