"""The package: what importing it does, and what it offers."""

from __future__ import annotations

import ast
import json
import pickle
import re
import sys
from pathlib import Path

import pytest
from conftest import Read, Record, RunCode

import kymograph
from kymograph import _core


def test_importing_kymo_imports_only_the_standard_library(run_code: RunCode) -> None:
    code = """if True:
        import json, sys
        before = set(sys.modules)
        import kymograph
        print(json.dumps(sorted({name.split(".")[0] for name in set(sys.modules) - before})))
    """
    done = run_code(code)

    assert set(json.loads(done.stdout)) - sys.stdlib_module_names == {"kymograph"}


def test_importing_kymo_starts_nothing(run_code: RunCode, tmp_path: Path) -> None:
    code = """if True:
        import os, sys, threading
        os.chdir(sys.argv[1])
        import kymograph
        assert not kymograph.running()
        assert len(os.listdir("/proc/self/task")) == 1
        assert os.listdir(".") == []
    """
    run_code(code, tmp_path)


def test_the_version_is_that_of_the_library() -> None:
    assert kymograph.__version__ == _core.version()
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", kymograph.__version__)


def test_everything_in_all_is_there() -> None:
    assert len(set(kymograph.__all__)) == len(kymograph.__all__)
    assert [name for name in kymograph.__all__ if not hasattr(kymograph, name)] == []


def test_every_module_is_installed() -> None:
    source, installed = Path(__file__).parents[2] / "python/kymograph", Path(kymograph.__file__)
    files = [str(file.relative_to(source)) for file in source.rglob("*.py")]
    assert "__init__.py" in files
    assert [file for file in files if not (installed.parent / file).exists()] == []


def test_the_package_says_it_is_typed() -> None:
    assert kymograph.__file__
    assert (Path(kymograph.__file__).parent / "py.typed").exists()


def test_the_stub_names_what_the_extension_has() -> None:
    assert kymograph.__file__
    stub = ast.parse((Path(kymograph.__file__).parent / "_core.pyi").read_text())
    declared = {
        node.name: node
        for node in stub.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")
    }
    others = {
        target.id
        for node in stub.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    }

    assert declared.keys() | others == {name for name in vars(_core) if not name.startswith("_")}
    for name, node in declared.items():
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    assert hasattr(getattr(_core, name), member.name), f"{name}.{member.name}"


@pytest.mark.parametrize("name", ["Capture", "Event", "Info", "Span", "Thread", "CaptureError"])
def test_types_belong_to_the_package(name: str) -> None:
    kind = getattr(kymograph, name)

    assert (kind.__module__, kind.__name__) == ("kymograph", name)
    assert kind.__doc__


def test_rows_of_a_capture_can_be_pickled(record: Record) -> None:
    with record() as path:
        kymograph.instant("tick")

    with kymograph.open(path) as capture:
        rows = [capture.info, *capture.threads, *capture.snapshots]
    assert pickle.loads(pickle.dumps(rows)) == rows


def test_a_subinterpreter_records_into_the_session_of_the_process(
    record: Record, read: Read
) -> None:
    testcapi = pytest.importorskip("_testcapi", reason="this Python has no test modules")
    code = f"""if True:
        import sys
        sys.path[:] = {sys.path!r}
        import kymograph
        kymograph.instant("shared")
        kymograph.instant("subinterpreter")
    """
    with record():
        kymograph.instant("shared")
        assert testcapi.run_in_subinterp(code) == 0
        kymograph.instant("shared")

    assert [event.name for event in read()] == ["shared", "shared", "subinterpreter", "shared"]
