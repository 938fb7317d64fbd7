"""Classes derived from record_function, used as blocks and as decorators."""

import json

from torch.profiler import profile, record_function


class Stage(record_function):
    """One with methods and attributes of its own."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(f"{name} {number}", args="text")
        self.number = number
        self.seen: list[str] = []

    def __enter__(self) -> "Stage":
        self.seen.append("begins")
        assert super().__enter__() is self
        return self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self.seen.append("ends")


class Bare(record_function):
    pass


class Renamed(record_function):
    def __init__(self, name: str) -> None:
        super().__init__("")
        self.name = name


stage = Stage("stage", 7)
assert isinstance(stage, record_function) and issubclass(Stage, record_function)
assert isinstance(stage, Stage) and not isinstance(record_function("x"), Stage)
assert (stage.name, stage.args, stage.number) == ("stage 7", "text", 7)


@Stage("decorated", 1)
def recursive(depth: int) -> int:
    return recursive(depth - 1) if depth else 0


@Bare("bare and decorated")
def plain() -> None:
    pass


with profile() as prof:
    with stage as entered:
        assert entered is stage
    with Bare("bare"), Renamed("renamed"):
        plain()
    recursive(0)

assert stage.seen == ["begins", "ends"]
prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
names = sorted(e["name"] for e in events if e.get("cat") == "user_annotation")
assert names == ["bare", "bare and decorated", "decorated 1", "renamed", "stage 7"], names
