"""`kymograph.trace`: a session for a block or a function."""

from __future__ import annotations

import kymograph
from kymograph import _session

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Any, Literal, TypedDict, TypeVar

    from typing_extensions import Unpack

    class Options(TypedDict, total=False):
        """The options of `kymograph.start`."""

        budget: int | str | None
        policy: Literal["help", "drop"]
        level: int
        calls: bool
        c_calls: bool
        gc: bool
        include: str | Sequence[str]
        exclude: str | Sequence[str]
        stdlib: bool
        max_depth: int
        overhead: float | str
        flight: str | None
        slow: str | None
        sample: int | str | None
        sources: Mapping[str, bool | str] | None
        memory: bool | str | Mapping[str, Any] | None
        command: bool

    Function = TypeVar("Function", bound=Callable[..., Any])


class trace:
    """Record a `with` block, or every call of a decorated function, into the capture `path`.

    with kymograph.trace("load.kymo", c_calls=False):
        load()

    @kymograph.trace("load.kymo")
    def load(): ...

    A function decorated with plain `@kymograph.trace` is recorded into a capture named after it.

    Options and exceptions are those of `kymograph.start`. If any session is already running, the
    block becomes a range in its capture; so do the inner calls of a decorated recursive function.
    Calling a decorated function again replaces its capture. The session of a coroutine or
    generator lasts as long as its call.
    """

    def __new__(cls, path: Any = None, **options: Any) -> Any:
        if callable(path):
            return cls()(path)
        return super().__new__(cls)

    def __init__(
        self,
        path: str | bytes | os.PathLike[str] | os.PathLike[bytes] | None = None,
        **options: Unpack[Options],
    ) -> None:
        self.path = path
        self._options = options
        self._sessions: list[_session.Session] = []

    def __enter__(self) -> trace:
        path = "trace.kymo" if self.path is None else self.path
        self._sessions.append(_session.apart(kymograph.start(path, **self._options)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._sessions.pop().stop()

    def __call__(self, function: Function) -> Function:
        from kymograph._decorate import traced

        path = self.path
        if path is None:
            path = getattr(function, "__name__", "trace") + ".kymo"
        return traced(lambda: trace(path, **self._options), function)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<kymograph.trace {self.path!r}>"
