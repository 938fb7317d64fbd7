"""torch imports this when its first profiler starts, and in some versions (2.8) the import calls
operators. Imported here, they are not in the window of a profiler that started just before."""

from __future__ import annotations

import torch._inductor.config  # type: ignore[import-not-found]  # noqa: F401
