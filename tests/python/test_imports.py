"""Functions that are called when the program has imported a module."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kymograph import _imports


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, "waited_for", raising=False)
    path = tmp_path / "waited_for.py"
    path.write_text("done = True\n")
    return path


def test_several_functions_wait_for_one_module(module: Path) -> None:
    called = []
    before = list(sys.meta_path)
    for i in range(3):
        _imports.after_import(lambda i=i: called.append(i), "waited_for")  # type: ignore[misc]
    import waited_for  # type: ignore[import-not-found]

    assert waited_for.done
    assert sorted(called) == [0, 1, 2]
    assert sys.meta_path == before
    assert "exec_module" not in vars(waited_for.__spec__.loader)


def test_all_of_them_wait_on_if_the_import_fails(module: Path) -> None:
    called = []
    for i in range(2):
        _imports.after_import(lambda i=i: called.append(i), "waited_for")  # type: ignore[misc]
    module.write_text("raise RuntimeError\n")
    with pytest.raises(RuntimeError):
        import waited_for
    assert called == []
    module.write_text("done = True  # now it works\n")
    import waited_for  # noqa: F401

    assert sorted(called) == [0, 1]
