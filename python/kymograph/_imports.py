"""Call a function when a module has been imported. A new interpreter that is recorded imports this
before its program starts."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class _Finder:
    """First in sys.meta_path until `module` is found; then its loader calls `function` at the
    end."""

    def __init__(self, module: str, function: Callable[[], None]) -> None:
        self.module = module
        self.function = function

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.module or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find else None
            if spec is not None:
                self._wrap(spec)
                return spec
        sys.meta_path.insert(0, self)  # it is not there; perhaps later
        return None

    def _wrap(self, spec: ModuleSpec) -> None:
        loader: Any = spec.loader
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: ModuleType) -> None:
            try:
                if vars(loader).get("exec_module") is exec_module:  # not if another waits, too
                    del loader.exec_module
                execute(module)
            except BaseException:
                after_import(self.function, self.module)  # the program may try again
                raise
            self.function()

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader with slots
            return


def after_import(function: Callable[[], None], module: str) -> None:
    """Call `function` when `module` has been imported; does nothing if that is arranged already."""
    for finder in sys.meta_path:
        if isinstance(finder, _Finder) and (finder.module, finder.function) == (module, function):
            return
    sys.meta_path.insert(0, _Finder(module, function))
