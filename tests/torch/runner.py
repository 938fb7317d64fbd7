"""Run programs one after the other, each in a child of a process that has torch already.

runner.py MODE OUT PROGRAM...

MODE is what `torch.profiler` means in them: `torch`, `kymograph` by a change of the text, or
`patched` by kymograph.torch_compat.install(). OUT/NAME is where a program runs; OUT/NAME/status
has its exit status, and OUT/NAME/output what it printed.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path


def run(program: Path, mode: str) -> None:
    text = program.read_text()
    if mode == "kymograph":
        text = text.replace("torch.profiler", "kymograph.profiler")
    if mode == "patched":
        import kymograph.torch_compat

        kymograph.torch_compat.install()
    exec(compile(text, str(program), "exec"), {"__name__": "__main__", "__file__": str(program)})


def child(program: Path, place: Path, mode: str) -> None:
    place.mkdir(parents=True)
    os.chdir(place)
    output = os.open("output", os.O_WRONLY | os.O_CREAT, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    signal.alarm(120)
    status = 1
    try:
        run(program, mode)
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main(mode: str, out: str, *programs: str) -> None:
    import torch.nn  # type: ignore[import-not-found]
    import torch.optim  # type: ignore[import-not-found]
    import torch.profiler  # type: ignore[import-not-found]
    import torch.utils.data  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    for name in programs:
        program = Path(name).resolve()
        place = Path(out).resolve() / program.stem
        pid = os.fork()
        if pid == 0:
            child(program, place, mode)
        _, status = os.waitpid(pid, 0)
        (place / "status").write_text(str(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
