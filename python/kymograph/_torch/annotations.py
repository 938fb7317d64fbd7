"""`record_function` for programs that use torch.

torch.compile takes it for torch's own, so that a compiled function stays in one graph. Annotations
reach torch's profiler and its execution-trace observer while they listen.

This module never imports torch: it waits until the program has done so.
"""

from __future__ import annotations

import sys
from typing import Any

from kymograph import _core, _imports
from kymograph._torch import is_imported

record_function = _core.record_function

_COMPILER = "torch._dynamo.variables.torch"


def _teach_compiler() -> None:
    """torch's compiler is imported: let it take a span for an annotation of torch."""
    module: Any = sys.modules.get(_COMPILER)
    variable: Any = getattr(module, "TorchCtxManagerClassVariable", None)
    known = getattr(module, "supported_ctx_manager_classes", None)
    call = getattr(variable, "call_function", None)
    if call is None or not isinstance(known, dict) or record_function in known:
        return  # a torch that is different, or that knows it
    known[record_function] = None

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if self.value is record_function:
            theirs = sys.modules["torch"].autograd.profiler.record_function
            self = variable(theirs, source=self.source)
            # Other keywords are texts, which only a recording has.
            kwargs = {key: value for key, value in kwargs.items() if key in ("name", "args")}
        return call(self, tx, args, kwargs)

    module.TorchCtxManagerClassVariable.call_function = call_function


def _pass_on() -> None:
    """torch is imported: pass annotations on while somebody listens there."""
    autograd = getattr(sys.modules.get("torch"), "autograd", None)
    enter = getattr(autograd, "_record_function_with_args_enter", None)
    leave = getattr(autograd, "_record_function_with_args_exit", None)
    if enter and leave and _core.torch_found():
        _core.torch_annotate(enter, leave)


if _COMPILER in sys.modules:
    _teach_compiler()
else:
    _imports.after_import(_teach_compiler, _COMPILER)
if is_imported():
    _pass_on()
else:
    _imports.after_import(_pass_on, "torch")
