"""Which tensors modules and optimizers have: their parameters, gradients and states.

The tracer tells `_watch` of a module when it is first called, and of an optimizer whenever it has
made a step. What it has then is noted in the capture, once in a recording, for `_memory_flow`.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from kymograph import _core

# Roles in notes "operator.holder".
PARAMETER, GRADIENT, STATE = range(3)

_lock = threading.Lock()  # guards the two below
_users = 0
# Optimizers noted in this recording, by id. Not a WeakSet: its methods are written in Python, and a
# recording would show them.
_stepped: dict[int, weakref.ref[Any]] = {}


def _is_tensor(value: Any) -> bool:
    """Asked of another type, a tensor may run code of the program."""
    torch = sys.modules["torch"]
    return type(value) in (torch.Tensor, torch.nn.Parameter)


def _with_gradient(parameter: Any) -> list[tuple[int, Any]]:
    held = [(PARAMETER, parameter)]
    if parameter.is_leaf and _is_tensor(parameter.grad):
        held.append((GRADIENT, parameter.grad))
    return held


def _of_module(module: Any) -> Iterator[tuple[int, Any]]:
    for parameter in list(vars(module).get("_parameters", {}).values()):
        if _is_tensor(parameter):
            yield from _with_gradient(parameter)


def _of_optimizer(optimizer: Any) -> Iterator[tuple[int, Any]]:
    for group in optimizer.param_groups:
        for parameter in group.get("params", ()):
            if _is_tensor(parameter):
                yield from _with_gradient(parameter)
                states = optimizer.state.get(parameter)
                for each in states.values() if isinstance(states, dict) else ():
                    if _is_tensor(each):
                        yield STATE, each


def _note(held: Iterator[tuple[int, Any]]) -> None:
    # Modes of the program see what is asked of a tensor, unless they are off.
    with sys.modules["torch"]._C.DisableTorchFunction():
        _core.torch_hold(list(held))


def _watch(holder: Any) -> None:
    if not issubclass(type(holder), sys.modules["torch"].optim.Optimizer):
        _note(_of_module(holder))
        return
    known = _stepped.get(id(holder))
    if known is None or known() is not holder:
        _stepped[id(holder)] = weakref.ref(holder)
        _note(_of_optimizer(holder))


def begin() -> bool:
    """Note them from now on, until `end`, if torch is understood: else return False."""
    global _users
    with _lock:
        if not _core.torch_blocks(True):
            _core.torch_blocks(False)
            return False
        _users += 1
        _core.named_watch(_watch)
    return True


def note_known() -> None:
    """A recording begins: note the modules that were called before."""
    _stepped.clear()
    for module in _core.named_objects():
        _note(_of_module(module))


def end() -> None:
    """Undo one `begin`."""
    global _users
    with _lock:
        _users = max(_users - 1, 0)  # of a forked child it is 0 already
        _core.torch_blocks(False)
        _core.named_watch(_watch if _users else None)


def _after_fork() -> None:
    global _lock, _users
    _lock = threading.Lock()
    _users = 0
    _core.named_watch(None)


os.register_at_fork(after_in_child=_after_fork)
