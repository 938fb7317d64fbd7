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

import kymo
from kymo import _core


def test_importing_kymo_imports_only_the_standard_library(run_code: RunCode) -> None:
    code = """if True:
        import json, sys
        before = set(sys.modules)
        import kymo
        print(json.dumps(sorted({name.split(".")[0] for name in set(sys.modules) - before})))
    """
    done = run_code(code)

    assert set(json.loads(done.stdout)) - sys.stdlib_module_names == {"kymo"}


def test_importing_kymo_starts_nothing(run_code: RunCode, tmp_path: Path) -> None:
    code = """if True:
        import os, sys, threading
        os.chdir(sys.argv[1])
        import kymo
        assert not kymo.running()
        assert len(os.listdir("/proc/self/task")) == 1
        assert os.listdir(".") == []
    """
    run_code(code, tmp_path)


def test_the_version_is_that_of_the_library() -> None:
    assert kymo.__version__ == _core.version()
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", kymo.__version__)


def test_everything_in_all_is_there() -> None:
    assert len(set(kymo.__all__)) == len(kymo.__all__)
    assert [name for name in kymo.__all__ if not hasattr(kymo, name)] == []


def test_the_package_says_it_is_typed() -> None:
    assert kymo.__file__
    assert (Path(kymo.__file__).parent / "py.typed").exists()


def test_the_stub_names_what_the_extension_has() -> None:
    assert kymo.__file__
    stub = ast.parse((Path(kymo.__file__).parent / "_core.pyi").read_text())
    declared = {
        node.name: node for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))
    }

    assert declared.keys() == {name for name in vars(_core) if not name.startswith("_")}
    for name, node in declared.items():
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    assert hasattr(getattr(_core, name), member.name), f"{name}.{member.name}"


@pytest.mark.parametrize("name", ["Capture", "Event", "Info", "Span", "Thread", "CaptureError"])
def test_types_belong_to_the_package(name: str) -> None:
    kind = getattr(kymo, name)

    assert (kind.__module__, kind.__name__) == ("kymo", name)
    assert kind.__doc__


def test_rows_of_a_capture_can_be_pickled(record: Record) -> None:
    with record() as path:
        kymo.instant("tick")

    with kymo.open(path) as capture:
        rows = [capture.info, *capture.threads, *capture.snapshots]
    assert pickle.loads(pickle.dumps(rows)) == rows


def test_a_subinterpreter_records_into_the_session_of_the_process(
    record: Record, read: Read
) -> None:
    testcapi = pytest.importorskip("_testcapi", reason="this Python has no test modules")
    code = f"""if True:
        import sys
        sys.path[:] = {sys.path!r}
        import kymo
        kymo.instant("shared")
        kymo.instant("subinterpreter")
    """
    with record():
        kymo.instant("shared")
        assert testcapi.run_in_subinterp(code) == 0
        kymo.instant("shared")

    assert [event.name for event in read()] == ["shared", "shared", "subinterpreter", "shared"]
