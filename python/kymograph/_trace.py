"""`kymograph.trace`: a session for a block or a function."""

from __future__ import annotations

import kymograph

TYPE_CHECKING = False  # typing is not imported for it
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any, Literal, TypedDict, TypeVar

    from typing_extensions import Unpack

    class Options(TypedDict, total=False):
        """Those of `kymograph.start`."""

        budget: int | str | None
        policy: Literal["help", "drop"]
        level: int
        calls: bool
        c_calls: bool | Literal["fast"]
        gc: bool
        include: Sequence[str]
        exclude: Sequence[str]
        stdlib: bool
        max_depth: int
        overhead: float
        flight: int | str | None
        slow: float | str | None
        sample: int | str | None

    Function = TypeVar("Function", bound=Callable[..., Any])


class trace:
    """Record a `with` block, or every call of a decorated function, into the capture `path`.

    with kymograph.trace("load.kymo", c_calls=False):
        load()

    @kymograph.trace("load.kymo")
    def load(): ...

    The options are those of `kymograph.start`, and so is what it raises: SessionError when a
    session runs already, whoever started it. A decorated function that is called again
    replaces its capture. The session of a coroutine or generator lasts as long as its call.
    """

    def __init__(
        self,
        path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
        **options: Unpack[Options],
    ) -> None:
        self.path = path
        self._options = options

    def __enter__(self) -> trace:
        kymograph.start(self.path, **self._options)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The block may have stopped it, and in a forked child there is none.
        if kymograph.running():
            kymograph.stop()

    def __call__(self, function: Function) -> Function:
        from kymograph._decorate import traced

        return traced(lambda: trace(self.path, **self._options), function)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<kymograph.trace {self.path!r}>"
