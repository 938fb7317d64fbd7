"""Annotations in code that torch.compile compiles, and annotations that both profilers see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo.testing

import kymograph
import kymograph.profiler
import kymograph.torch_compat


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    kymograph.torch_compat.uninstall()
    torch._dynamo.reset()


def compiled(function: Any) -> int:
    """Return how many graphs `function` was compiled to; raises if it is not a single one."""
    counter = torch._dynamo.testing.CompileCounter()
    expected = function(torch.ones(2))
    assert torch.equal(
        torch.compile(function, backend=counter, fullgraph=True)(torch.ones(2)), expected
    )
    graphs: int = counter.frame_count
    return graphs


def test_an_annotated_function_is_one_graph() -> None:
    def with_block(x: torch.Tensor) -> torch.Tensor:
        with kymograph.profiler.record_function("block"):
            return x.sin() + 1

    def with_texts(x: torch.Tensor) -> torch.Tensor:
        with kymograph.record_function("block", "text"), kymograph.span("span", size=2):
            return x.sin() + 1

    @kymograph.record_function("decorated")
    def decorated(x: torch.Tensor) -> torch.Tensor:
        return x.cos() * 2

    assert compiled(with_block) == 1
    assert compiled(with_texts) == 1
    assert compiled(decorated) == 1


def test_install_leaves_the_compiler_working() -> None:
    theirs = torch.profiler.record_function("torch's, made before")

    def with_theirs(x: torch.Tensor) -> torch.Tensor:
        with theirs:
            return x.cos()

    kymograph.torch_compat.install()
    outside = torch.profiler.record_function("made before", "its text")

    def with_block(x: torch.Tensor) -> torch.Tensor:
        with torch.profiler.record_function("block"):
            return x.cos()

    def with_object(x: torch.Tensor) -> torch.Tensor:
        with outside:
            return x.cos()

    assert torch.profiler.record_function is kymograph.record_function
    assert (outside.name, outside.args) == ("made before", "its text")
    assert compiled(with_block) == 1
    try:
        allowed = compiled(with_theirs) == 1
    except torch._dynamo.exc.Unsupported:  # an older torch
        allowed = False
    if allowed:
        assert compiled(with_object) == 1
    assert compiled(lambda x: x.cos() + 1) == 1


def graphs_of_subclasses(base: Any) -> list[int | str]:
    """Return, for functions annotated with classes derived from `base`, how many graphs there are,
    or that there is no single one."""

    class Bare(base):  # type: ignore[misc]
        pass

    class Own(base):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            super().__init__(f"own {name}")

        def __enter__(self) -> Any:
            return super().__enter__()

        def __exit__(self, *exception: Any) -> Any:
            return super().__exit__(*exception)

    def graphs(function: Any, whole: bool) -> int | str:
        torch._dynamo.reset()
        counter = torch._dynamo.testing.CompileCounter()
        try:
            torch.compile(function, backend=counter, fullgraph=whole)(torch.ones(2))
        except torch._dynamo.exc.Unsupported:
            return "not whole"
        found: int = counter.frame_count
        return found

    found: list[int | str] = []
    for kind in (Bare, Own):
        outside = kind("outside")

        def inside(x: torch.Tensor, kind: Any = kind) -> torch.Tensor:
            with kind("inside"):
                return x.sin() + 1

        def with_object(x: torch.Tensor, outside: Any = outside) -> torch.Tensor:
            with outside:
                return x.sin() + 1

        @kind("decorated")
        def decorated(x: torch.Tensor) -> torch.Tensor:
            return x.sin() + 1

        for function in (inside, with_object, decorated):
            found += [graphs(function, True), graphs(function, False)]
    return found


def test_the_compiler_takes_subclasses_as_it_takes_torchs() -> None:
    of_torch = graphs_of_subclasses(torch.profiler.record_function)
    kymograph.torch_compat.install()

    assert torch.profiler.record_function is kymograph.record_function
    ours = graphs_of_subclasses(torch.profiler.record_function)
    # A decorator is one graph in older versions too, where torch's is not.
    allowed = [{theirs, 1} if theirs == "not whole" else {theirs} for theirs in of_torch]
    assert all(one in each for one, each in zip(ours, allowed, strict=True)), (ours, of_torch)


def test_a_compiled_function_stays_compiled_in_a_window() -> None:
    def annotated(x: torch.Tensor) -> torch.Tensor:
        with torch.profiler.record_function("block"):
            return x.sin() + 1

    counter = torch._dynamo.testing.CompileCounter()
    function = torch.compile(annotated, backend=counter, fullgraph=True)
    function(torch.ones(2))
    with kymograph.profile() as prof:
        function(torch.ones(2))
    function(torch.ones(2))

    assert counter.frame_count == 1
    assert any(row.key.startswith("Torch-Compiled Region") for row in prof.key_averages())


def test_torch_sees_annotations_of_kymograph(tmp_path: Path) -> None:
    observer = torch.profiler.ExecutionTraceObserver().register_callback(str(tmp_path / "et.json"))
    with kymograph.profile(execution_trace_observer=observer) as ours:
        with kymograph.record_function("both", "text"):
            torch.ones(2)

    nodes = [node["name"] for node in json.loads((tmp_path / "et.json").read_text())["nodes"]]
    assert nodes.count("both") == 1
    assert [event.name for event in ours.events()].count("both") == 1


def test_profilers_of_torch_see_annotations_without_a_session() -> None:
    with torch.autograd.profiler.profile() as theirs:
        with kymograph.record_function("alone"):
            torch.ones(2)
        try:
            with kymograph.record_function("raises"):
                raise KeyError("as before")
        except KeyError as error:
            assert error.args == ("as before",)

    names = [event.name for event in theirs.function_events]
    assert (names.count("alone"), names.count("raises")) == (1, 1)


def test_kymograph_sees_every_annotation_of_torch() -> None:
    with torch.profiler.profile() as theirs, kymograph.profile() as ours:
        with torch._C._profiler._RecordFunctionFast("fast"):
            pass
        handle = torch.autograd._record_function_with_args_enter("with args", 1)
        torch.autograd._record_function_with_args_exit(handle)
        with kymograph.record_function("ours"):
            pass

    wanted = ["fast", "with args", "ours"]
    assert [event.name for event in ours.events() if event.name in wanted] == wanted
    assert [event.name for event in theirs.events() if event.name in wanted] == wanted


def test_an_annotation_may_wait_for_a_future() -> None:
    future = torch.futures.Future()
    with kymograph.profile() as prof:
        with kymograph.record_function("waits") as block:
            result = block._call_end_callbacks_on_future(future)
            with pytest.raises(RuntimeError, match="only be called once"):
                block._call_end_callbacks_on_future(future)
        future.set_result(7)

    assert result.wait() == 7
    assert "waits" in [event.name for event in prof.events()]


def test_a_traceback_has_the_program_below_generated_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As torch's own, for a file that inductor wrote and knows the lines of."""
    from torch._inductor.codecache import PyCodeCache

    monkeypatch.setattr(PyCodeCache, "modules", [])  # others find what is in it
    monkeypatch.setattr(PyCodeCache, "modules_no_attr", {})
    path = tmp_path / "generated.py"
    path.write_text("def call(capture):\n    return capture()\n")
    lines = [(2, '  File "model.py", line 7, in forward\n    return x + 1\n')]
    module = PyCodeCache.load_by_key_path("kymograph", str(path), linemap=lines)

    gather = torch._C._profiler.gather_traceback
    ours, theirs = module.call(
        lambda: (kymograph.gather_traceback(cpp=False), gather(True, False, False))
    )

    def below(frames: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
        found = [(frame["name"], frame["filename"], frame["line"]) for frame in frames]
        at = found.index(("call", str(path), 2))
        return found[at : at + 3]

    ours = below(kymograph.symbolize_tracebacks([ours])[0])
    assert ours[1] == ("forward", "model.py", 7)
    assert ours == below(torch._C._profiler.symbolize_tracebacks([theirs])[0])
