"""Context managers, written as classes and as generators, with exceptions in them."""

import contextlib


class Section:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def __enter__(self):
        self.log.append(f"+{self.name}")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(f"-{self.name}")
        return kind is KeyError


@contextlib.contextmanager
def section(log, name):
    log.append(f"<{name}")
    try:
        yield
    finally:
        log.append(f">{name}")


log = []
for n in range(20):
    with Section(log, "a"), section(log, "b"), contextlib.suppress(IndexError):
        if n % 3 == 0:
            raise KeyError(n)
        if n % 3 == 1:
            [][n]
with contextlib.ExitStack() as stack:
    for n in range(5):
        stack.enter_context(section(log, str(n)))
        stack.callback(log.append, n)
print(len(log), log[-6:])
