"""Records this interpreter, a child of a recorded process, where kymograph.pth is not read: with
the package in PYTHONPATH, or installed with `pip --target`.

This folder is the first in the child's PYTHONPATH. It leaves sys.path and the environment as they
would be without it, and then imports the sitecustomize that they have.
"""

from __future__ import annotations

import os
import sys


def _leave() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    rest = os.pathsep.join(path for path in paths if path != here)
    if rest:
        os.environ["PYTHONPATH"] = rest
    else:
        os.environ.pop("PYTHONPATH", None)


_leave()
del sys.modules[__name__]

if "KYMOGRAPH_FAMILY" in os.environ:
    try:
        import kymograph._start  # noqa: F401
    except ImportError:
        pass  # of another version of Python

# If there is none, `site` expects this error; it ignores it.
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401
