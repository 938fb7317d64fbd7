"""Runs a program in this process as `python` would.

The program sees the same as with `python script.py`, `python -m module` and `python -c code`:
sys.argv, sys.path, the module __main__, the exit code, and exception reports. Only the call stack
has our frames at the bottom.

Import few modules here: if we import a module first, the program's own import of it is missing
from the recording.
"""

from __future__ import annotations

import builtins
import os
import sys

from kymograph import _core

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType, TracebackType
    from typing import Any

_PACKAGE = os.path.dirname(__file__) + os.sep
_ELF = b"\x7fELF"


class Refused(Exception):
    """Why nothing was run, as a one-line message."""


class Program:
    """A program to run. Call `prepare` before recording, then `load`, which may run code."""

    stem = ""  # the name of its capture

    def __init__(self, argv: list[str]) -> None:
        self.argv = argv

    def prepare(self) -> None:
        """Set sys.argv and sys.path for the program.

        Raises Refused when there is nothing to run, and the compiler's exceptions.
        """
        raise NotImplementedError

    def load(self, main: dict[str, Any]) -> CodeType:
        """Return the code to run, and fill in `main`, the namespace of __main__."""
        raise NotImplementedError


def _set_path(first: str) -> None:
    """Replace the first entry of sys.path, set by `python -m kymograph`."""
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        sys.path[0:1] = [first]


def _read(path: str) -> bytes:
    import io

    try:
        with io.open_code(path) as file:
            return file.read()
    except OSError as error:
        raise Refused(f"cannot open {path}: {error.strerror}") from None


def _imports() -> Any:
    """Return the module that implements importlib's loaders.

    The interpreter has already loaded it; the modules of `importlib` would import others that the
    program may expect not to be loaded.
    """
    import _frozen_importlib_external

    return _frozen_importlib_external


def _code_of(data: bytes, path: str) -> CodeType:
    """Return the code in `data`, source or compiled."""
    if data.startswith(_imports().MAGIC_NUMBER):
        import marshal

        compiled: CodeType = marshal.loads(memoryview(data)[16:])
        return compiled
    if path.endswith(".pyc"):
        raise Refused(f"{path} was compiled by another version of Python")
    return compile(data, path, "exec", dont_inherit=True)


def _importer_of(path: str) -> object | None:
    """Return the importer for `path`, if that is a folder or an archive."""
    for hook in sys.path_hooks:
        try:
            return hook(path)
        except ImportError:
            continue
    return None


def _runpy() -> Any:
    """Return runpy, with which the interpreter runs modules, folders and archives."""
    import runpy

    return runpy


def _set_spec(main: dict[str, Any], spec: Any) -> None:
    main["__loader__"] = spec.loader
    main["__package__"] = spec.parent
    main["__spec__"] = spec
    main["__file__"] = spec.origin
    if sys.version_info < (3, 15):
        main["__cached__"] = spec.cached


def _installed(name: str) -> str | None:
    """Find the program `name` like a shell, but look next to this Python first."""
    folders = [os.path.dirname(sys.executable or ""), *os.get_exec_path()]
    for folder in folders:
        path = os.path.join(folder, name)
        if folder and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _is_foreign(data: bytes) -> bool:
    """Does `data` start with a #! line for something other than Python?"""
    if not data.startswith(b"#!"):
        return False
    # For long paths, pip writes a #! line for the shell, and one for Python on the next line.
    first, second = (*data[:4096].split(b"\n", 2), b"")[:2]
    return b"python" not in first and b"python" not in second


class Script(Program):
    """A file, or a folder or archive with a __main__.py; or the name of an installed program."""

    def __init__(self, argv: list[str]) -> None:
        if not os.path.exists(argv[0]) and os.sep not in argv[0]:
            found = _installed(argv[0])
            if found is not None:
                argv = [found, *argv[1:]]
        super().__init__(argv)
        self.path = os.path.abspath(argv[0])
        self.stem = os.path.splitext(os.path.basename(self.path))[0]
        self._spec: Any = None
        self._loader: Any = None
        self._code: CodeType | None = None

    def prepare(self) -> None:
        if not os.path.exists(self.path):
            raise Refused(f"no script {self.argv[0]}, and no such program in PATH")
        sys.argv = self.argv
        if _importer_of(self.path) is not None:
            self._prepare_folder()
            return
        _set_path(os.path.dirname(os.path.realpath(self.path)))
        data = _read(self.path)
        if data.startswith(_ELF):
            raise Refused(f"{self.path} is not a Python program; add --memory to record its memory")
        if _is_foreign(data):
            raise Refused(f"{self.path} is not a Python program")
        self._code = _code_of(data, self.path)
        imports = _imports()
        compiled = self.path.endswith(".pyc")
        loader = imports.SourcelessFileLoader if compiled else imports.SourceFileLoader
        self._loader = loader("__main__", self.path)

    def is_native(self) -> bool:
        """Is it a program in machine code?"""
        try:
            with open(self.path, "rb") as file:
                return file.read(len(_ELF)) == _ELF
        except OSError:
            return False

    def _prepare_folder(self) -> None:
        # Always added, even with a safe path: this is what is run.
        if getattr(sys.flags, "safe_path", sys.flags.isolated):
            sys.path.insert(0, self.path)
        else:
            _set_path(self.path)
        try:
            _, self._spec, self._code = _runpy()._get_main_module_details(Refused)
        except Refused:
            raise Refused(f"{self.argv[0]} has no __main__.py to run") from None

    def load(self, main: dict[str, Any]) -> CodeType:
        assert self._code is not None
        if self._spec is not None:
            _set_spec(main, self._spec)
            return self._code
        main["__loader__"] = self._loader
        main["__file__"] = self.path
        if sys.version_info < (3, 15):
            main["__cached__"] = None
        return self._code


class Module(Program):
    """`-m module`; sys.path starts with the current folder, as it already does."""

    def __init__(self, name: str, argv: list[str]) -> None:
        super().__init__(["-m", *argv])
        self.name = name
        self.stem = name.removesuffix(".__main__").rpartition(".")[2]

    def prepare(self) -> None:
        """Finding a module imports its parent packages, which belongs in the recording.

        So only the top-level name is looked up here.
        """
        from importlib.util import find_spec

        if self.name.endswith(".py") and os.path.isfile(self.name):
            raise Refused(self._missing())  # python would import it, which runs it
        top = self.name.partition(".")[0]
        sys.argv = self.argv
        try:
            found = bool(top) and (top in sys.modules or find_spec(top) is not None)
        except (ImportError, ValueError):
            found = False
        if not found:
            raise Refused(self._missing())

    def _missing(self) -> str:
        if self.name.endswith(".py"):
            script = f"run a script without -m: kymograph run {self.name}"
            return f"no module {self.name}; {script}"
        return f"no module {self.name}"

    def load(self, main: dict[str, Any]) -> CodeType:
        _, spec, code = _runpy()._get_module_details(self.name, Refused)
        _set_spec(main, spec)
        sys.argv[0] = spec.origin
        return code  # type: ignore[no-any-return]


class Command(Program):
    """`-c code`."""

    stem = "command"

    def __init__(self, source: str, argv: list[str]) -> None:
        super().__init__(["-c", *argv])
        self.source = source + "\n"

    def prepare(self) -> None:
        sys.argv = self.argv
        _set_path("")
        if sys.version_info >= (3, 14):
            import textwrap

            self.source = textwrap.dedent(self.source)
        self._code = compile(self.source, "<string>", "exec", dont_inherit=True)
        if sys.version_info >= (3, 13):
            import linecache

            # Where `python -c` stores it too, so that tracebacks show it; 3.13.0 looks it up by
            # name.
            by_code = hasattr(linecache, "_code_key") or hasattr(linecache, "_make_key")
            key = self._code if by_code else "<string>"
            linecache._register_code(key, self.source, "<string>")

    def load(self, main: dict[str, Any]) -> CodeType:
        return self._code


def _new_main() -> ModuleType:
    """Put a new __main__ into sys.modules, like the interpreter's."""
    main = type(sys)("__main__")
    main.__loader__ = sys.modules["_frozen_importlib"].BuiltinImporter
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return main


def _is_ours(traceback: TracebackType) -> bool:
    """Does this frame belong to kymograph rather than to the program?"""
    file = traceback.tb_frame.f_code.co_filename
    if file.startswith((_PACKAGE, "<frozen importlib.", "<frozen zipimport>")):
        return True
    runpy = sys.modules.get("runpy")
    return runpy is not None and file == runpy._run_code.__code__.co_filename


# Called with an uncaught exception before it is reported.
on_uncaught: Callable[[BaseException], None] | None = None


def _say_nothing(kind: object, error: object, traceback: object) -> None:
    """An excepthook for an exception that was already reported."""


def report(error: BaseException) -> int:
    """Report an uncaught exception as the interpreter does; return the exit code.

    A KeyboardInterrupt propagates: after its exit handlers the interpreter ends itself with
    SIGINT.
    """
    traceback = error.__traceback__
    while traceback is not None and _is_ours(traceback):
        traceback = traceback.tb_next
    error.__traceback__ = traceback
    if on_uncaught is not None:
        on_uncaught(error)
    _core.show_exception(error)
    if type(error) is KeyboardInterrupt:
        sys.excepthook = _say_nothing
        raise error
    return 1


def prepare(program: Program) -> Exception | None:
    """Prepare `program`; return the error in its source, if there is one."""
    try:
        program.prepare()
    except Refused:
        raise
    except Exception as error:
        return error
    return None


def execute(program: Program) -> int:
    """Run the prepared `program` to its end; return the exit code.

    Raises Refused, SystemExit and KeyboardInterrupt; any other exception is reported.
    """
    main = _new_main()
    try:
        code = program.load(main.__dict__)
        _core.memory_apart(False)
        exec(code, main.__dict__)
        return 0
    except (Refused, SystemExit):
        raise
    except BaseException as error:
        uncaught = error
    # Outside the handler, so that later exceptions are not chained to this one.
    return report(uncaught)
