"""ExecutionTraceObserver: operators of a program, written as an execution trace."""

from __future__ import annotations

import atexit
import gzip
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
import weakref
from typing import Any

import kymograph
import kymograph._torch
from kymograph import _core, _session
from kymograph.profiler import _metadata, _torch
from kymograph.profiler._integers import Integers

Path = str | os.PathLike[str]

# Variables of the environment: torch's names, and ours.
_ENABLE = ("ENABLE_PYTORCH_EXECUTION_TRACE", "KYMO_EXECUTION_TRACE")
_EXTRAS = ("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "KYMO_EXECUTION_TRACE_EXTRAS")

_RANGE = (
    "ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE",
    "KYMO_EXECUTION_TRACE_INTEGRAL_RANGE",
)
_DATA = (
    "ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_DATA",
    "KYMO_EXECUTION_TRACE_INTEGRAL_DATA",
)

_NEXT_SESSION = 1 << 44  # makes ids that kymograph gave in two sessions different

_registered: weakref.WeakSet[ExecutionTraceObserver] = weakref.WeakSet()


class _Window:
    """What was recorded between a start and a stop: a part of a capture."""

    def __init__(self, path: str, directory: str, session: _session.Session | None) -> None:
        self.path = path
        self.session = session  # of our own; None if another one runs
        self.start = time.monotonic_ns()
        self.end: int | None = None
        self.kept = path if session else os.path.join(directory, f"{self.start}.kymo")
        self.capture = (0, 0)  # which file it is: a path may be used again

    def close(self) -> None:
        self.end = time.monotonic_ns()
        if self.session:
            self.session.stop()
        else:
            # The owner may remove the capture before the trace is written.
            try:
                os.link(self.path, self.kept)
            except OSError:
                self.kept = self.path  # on another file system
        if os.path.exists(self.kept):
            found = os.stat(self.kept)
            self.capture = (found.st_dev, found.st_ino)

    def export(self, path: str) -> None:
        # While it is recorded, part of a capture is in the file beside it.
        running = self.session is None and _session.outermost_path()
        source = self.path if running and os.fsdecode(running) == self.path else self.kept
        with kymograph.open(source) as capture:
            capture.export(path, "et", start=self.start, end=self.end, force=True)


class ExecutionTraceObserver:
    """Writes the operators that run between `start` and `stop` to a file, as torch's observer of
    the same name does. Chakra's tools and et_replay read it::

        observer = kymograph.ExecutionTraceObserver().register_callback("et.json")
        with kymograph.profile(execution_trace_observer=observer) as prof:
            ...

    or without a profiler, with `start`, `stop` and `unregister_callback`. A name that ends in .gz
    is compressed. The file is written by `unregister_callback`, at the latest when the program
    ends. If no session runs, `start` begins one that records operators and spans alone.
    """

    def __init__(self) -> None:
        self._path: str | None = None
        self._extra_resources = False
        self._written: str | None = None  # the file written last
        self._window: _Window | None = None
        self._raised = False  # the running session records operators because of this
        self._windows: list[_Window] = []
        self._directory = ""
        self._integers: Integers | None = None
        self._owner = os.getpid()

    def register_callback(self, output_file_path: Path) -> ExecutionTraceObserver:
        """Choose the file to write, and return this observer. Does nothing if one was chosen.

        Raises OSError if its directory does not exist or cannot be written to.
        """
        if self.is_registered:
            return self
        path = os.path.abspath(os.fspath(output_file_path))
        parent = os.path.dirname(path)
        if not os.path.isdir(parent):
            raise FileNotFoundError(2, os.strerror(2), parent)
        if not os.access(parent, os.W_OK):
            raise PermissionError(13, os.strerror(13), parent)
        self._path = os.fspath(output_file_path)
        self._directory = tempfile.mkdtemp(prefix="kymograph-et-")
        names = ",".join(os.environ.get(name, "") for name in _DATA).split(",")
        self._integers = Integers(
            any(map(_is_on, _RANGE)),
            tuple(filter(None, map(str.strip, names))),
            self._directory,
        )
        self._owner = os.getpid()
        self._windows = []
        _registered.add(self)
        if self._extra_resources:
            self.get_resources_dir(can_create=True)
        return self

    def unregister_callback(self) -> None:
        """Stop, and write the file. Does nothing if no file was chosen.

        Raises OSError if the file cannot be written.
        """
        if not self.is_registered:
            return
        _registered.discard(self)
        if self._owner != os.getpid():  # a forked child: all of it is the parent's
            self._path = self._window = None
            return
        self.stop()
        path, self._path = self._path, None
        assert path is not None
        self._written = path
        try:
            self._copy_resources(path)
            self._write(path)
            self._copy_values(path)
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._windows = []

    def start(self) -> None:
        """Record operators from now on. Does nothing if no file was chosen, or if it does so
        already."""
        if not self.is_registered or self.is_running():
            return
        self._window = self._open()
        if self._window.session is None and kymograph._torch.is_imported():
            kymograph._torch.raise_mode("full")  # the session may record no operators
            self._raised = True
        _torch.before_start("full" if kymograph._torch.is_imported() else "")
        if self._integers:
            self._integers.begin()
        info = _metadata.distributed_info()
        if info:
            name, groups = "## process_group:init ##", json.dumps(info["pg_config"])
            with kymograph.op(name, inputs=(groups,)):
                pass

    def stop(self) -> None:
        """Record no operators from now on; `start` may be called again."""
        window, self._window = self._window, None
        if window is not None:
            if self._integers:
                self._integers.end()
            _torch.after_stop()
        if self._raised:
            self._raised = False
            kymograph._torch.lower_mode("full")
        if window is not None and self._owner == os.getpid():
            self._windows.append(window)
            window.close()

    def cleanup(self) -> None:
        """The same as unregister_callback; called by profilers."""
        self.unregister_callback()

    @property
    def is_registered(self) -> bool:
        """Was a file chosen that is not written yet?"""
        return self._path is not None

    def is_running(self) -> bool:
        """Are operators being recorded?"""
        return self._window is not None

    @property
    def _execution_trace_running(self) -> bool:
        return self.is_running()

    def get_output_file_path(self) -> str | None:
        """Return the file to write, or that was written last; None if none was chosen."""
        return self._path or self._written

    def set_extra_resource_collection(self, val: bool) -> None:
        """Choose whether files that torch.compile generated are copied beside the trace."""
        self._extra_resources = bool(val)
        if self._extra_resources and self.is_registered:
            self.get_resources_dir(can_create=True)

    def get_resources_dir(self, can_create: bool = False) -> str | None:
        """Return the directory for those files; None if they are not copied, no file was chosen, or
        it does not exist and `can_create` is false."""
        path = self.get_output_file_path()
        if not self._extra_resources or path is None:
            return None
        return self.get_resources_dir_for_et_path(path, create_dir=can_create)

    @staticmethod
    def get_resources_dir_for_et_path(trace_path: Path, create_dir: bool = False) -> str | None:
        """Return `NAME_resources` for the trace `NAME.json` or `NAME.json.gz`; None if it does not
        exist and `create_dir` is false."""
        path = os.fspath(trace_path)
        for extension in (".gz", ".json"):
            path = path.removesuffix(extension)
        path += "_resources"
        if create_dir:
            os.makedirs(path, exist_ok=True)
        return path if os.path.isdir(path) else None

    @staticmethod
    def build_execution_trace_obs_from_env() -> ExecutionTraceObserver | None:
        """Return an observer if the environment asks for one, else None.

        ENABLE_PYTORCH_EXECUTION_TRACE or KYMO_EXECUTION_TRACE is "1": it writes a temporary file,
        whose name ends in .et.json. KYMO_EXECUTION_TRACE may also be the name of a file that ends
        in .json or .json.gz. With ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS or
        KYMO_EXECUTION_TRACE_EXTRAS at "1", generated files are copied.
        """
        path = os.environ.get(_ENABLE[1], "")
        named = path.endswith((".json", ".json.gz"))
        if not (named or any(map(_is_on, _ENABLE))):
            return None
        observer = ExecutionTraceObserver()
        observer.set_extra_resource_collection(any(map(_is_on, _EXTRAS)))
        try:
            if not named:
                descriptor, path = tempfile.mkstemp(suffix=".et.json")
                os.close(descriptor)
            return observer.register_callback(path)
        except OSError as error:
            warnings.warn(f"no execution trace is written: {error}", stacklevel=2)
            return None

    def __del__(self) -> None:
        if getattr(self, "_path", None) is not None:
            _finish(self)

    # ---- writing

    def _open(self) -> _Window:
        if _core.running():
            running = _session.outermost_path()
            if running is None:
                warnings.warn(
                    "the execution trace will be empty: the session that runs was not started from "
                    "Python",
                    stacklevel=3,
                )
            return _Window(os.fsdecode(running or ""), self._directory, None)
        path = os.path.join(self._directory, f"own-{len(self._windows)}.kymo")
        session = kymograph.start(
            path, calls=False, gc=False, command=False, ops="torch" in sys.modules
        )
        return _Window(path, self._directory, _session.apart(session))

    def _write(self, path: str) -> None:
        windows = [window for window in self._windows if window.capture != (0, 0)]
        if not windows:  # a trace of nothing: the process alone
            window = self._open()
            window.close()
            windows = [window]
        if not windows[0].path:
            raise OSError("the session that runs was not started from Python")
        if len(windows) == 1:
            windows[0].export(path)
        else:
            self._join(windows, path)

    def _join(self, windows: list[_Window], path: str) -> None:
        """Write all `windows` to one file."""
        whole: dict[str, Any] = {}
        captures: dict[tuple[int, int], int] = {}
        for window in windows:
            part = os.path.join(self._directory, "part.et.json")
            window.export(part)
            with open(part, encoding="utf-8") as file:
                whole = _joined(whole, json.load(file), captures, window.capture)
            os.remove(part)
        opener = gzip.open if path.endswith(".gz") else open
        aside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}")
        try:
            with opener(aside, "wt", encoding="utf-8") as file:
                json.dump(whole, file)
            os.replace(aside, path)
        except BaseException:
            if os.path.exists(aside):
                os.remove(aside)
            raise

    def _copy_resources(self, path: str) -> None:
        """Copy the files that torch.compile generated."""
        cache = getattr(sys.modules.get("torch._inductor.codecache"), "PyCodeCache", None)
        if not self._extra_resources or cache is None:
            return
        directory = self.get_resources_dir_for_et_path(path, create_dir=True)
        assert directory is not None
        modules: Any = getattr(cache, "modules", None) or getattr(cache, "cache", ())
        for module in list(modules.values() if isinstance(modules, dict) else modules):
            source = getattr(module, "__file__", None)
            if source and os.path.exists(source):
                shutil.copy(source, directory)

    def _copy_values(self, path: str) -> None:
        if self._integers and self._integers.has_values():
            directory = self.get_resources_dir_for_et_path(path, create_dir=True)
            assert directory is not None
            self._integers.copy(path, directory)


def _joined(
    whole: dict[str, Any],
    part: dict[str, Any],
    captures: dict[tuple[int, int], int],
    capture: tuple[int, int],
) -> dict[str, Any]:
    """Add the nodes of `part`, made from `capture`, to `whole`, which is empty at first.

    `captures` has what is added to the ids of each capture: nothing in one is known to be in
    another.
    """
    if not whole:
        captures[capture] = 0
        return part
    *before, process = whole["nodes"]
    nodes = part["nodes"][:-1]
    shift = captures.setdefault(capture, _greatest(before))
    known = {node["id"] for node in before}
    used = {_rf_id(node)["value"] for node in before}
    for node in nodes:
        _shift(node, shift)
        if node["id"] not in known:
            rf_id = _rf_id(node)
            while rf_id["value"] in used and rf_id["value"]:
                rf_id["value"] += _NEXT_SESSION
            before.append(node)
    whole["nodes"] = [*before, process]
    whole["finish_ts"] = part["finish_ts"]
    return whole


def _rf_id(node: dict[str, Any]) -> dict[str, Any]:
    attribute: dict[str, Any] = node["attrs"][0]
    return attribute


def _tensors(node: dict[str, Any]) -> list[list[Any]]:
    """Return the tensors in the values of `node`, to be changed in place."""
    found: list[list[Any]] = []

    def look(value: Any, type_: str) -> None:
        if type_.startswith("Tensor("):
            found.append(value)
        elif isinstance(value, list):
            for one in value:  # a tensor is the only list that ends in a text after five numbers
                is_tensor = isinstance(one, list) and len(one) == 6 and isinstance(one[5], str)
                look(one, "Tensor(" if is_tensor else "")

    for key in ("inputs", "outputs"):
        for value, type_ in zip(node[key]["values"], node[key]["types"], strict=True):
            look(value, type_)
    return found


def _greatest(nodes: list[dict[str, Any]]) -> int:
    """Return the greatest id of any node, tensor or storage."""
    ids: list[int] = [1, *(node["id"] for node in nodes)]
    ids += [number for node in nodes for tensor in _tensors(node) for number in tensor[:2]]
    return max(ids)


def _shift(node: dict[str, Any], shift: int) -> None:
    """Add `shift` to every id in `node` but that of the process."""
    for key in ("id", "ctrl_deps", "inter_thread_dep"):
        if node.get(key, 1) != 1:
            node[key] += shift
    for attribute in node["attrs"]:
        if attribute["name"] == "fw_parent" and attribute["value"]:
            attribute["value"] += shift
    for tensor in _tensors(node):
        tensor[:2] = [number + shift if number else 0 for number in tensor[:2]]


def _is_on(name: str) -> bool:
    value = os.environ.get(name, "")
    if value not in ("", "0", "1"):
        allowed = (
            "1, 0 or a file that ends in .json or .json.gz" if name == _ENABLE[1] else "1 or 0"
        )
        warnings.warn(f"{name} is {value!r}; set it to {allowed}", stacklevel=3)
    return value == "1"


def _finish(observer: ExecutionTraceObserver) -> None:
    """Write the trace of an observer that was not unregistered. Called where nothing may raise."""
    try:
        observer.unregister_callback()
    except Exception as error:
        print(f"kymograph: no execution trace was written: {error}", file=sys.stderr)


@atexit.register
def _finish_all() -> None:
    for observer in list(_registered):
        _finish(observer)
