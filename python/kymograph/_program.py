"""Running a program in this process as `python` would.

What a program can see of how it was started is that of `python script.py`, `python -m
module` and `python -c code`: sys.argv, sys.path, the module __main__, its exit code, and
the report of an exception. Only the call stack has our frames at its bottom.

Few modules are imported here: one that we import first is one whose import is missing
from the recording.
"""

from __future__ import annotations

import builtins
import os
import sys

from kymograph import _core

TYPE_CHECKING = False  # typing is not imported for it
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType, TracebackType
    from typing import Any

_PACKAGE = os.path.dirname(__file__) + os.sep


class Refused(Exception):
    """Why nothing was run; one line for people."""


class Program:
    """What is to be run. `prepare` before recording, then `load`, which may run code."""

    stem = ""  # what a capture of it is called

    def __init__(self, argv: list[str]) -> None:
        self.argv = argv

    def prepare(self) -> None:
        """Make sys.argv and sys.path those of the program.

        Raises Refused when there is nothing to run, and what the compiler raises.
        """
        raise NotImplementedError

    def load(self, main: dict[str, Any]) -> CodeType:
        """The code to run, with `main`, the namespace of __main__, filled in."""
        raise NotImplementedError


def _set_path(first: str) -> None:
    """Replace the folder that `python -m kymograph` put first into sys.path."""
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
    """Where `importlib` has its loaders from.

    The interpreter has it loaded; the modules of `importlib` would bring others along that
    the program may not expect to be there.
    """
    import _frozen_importlib_external

    return _frozen_importlib_external


def _code_of(data: bytes, path: str) -> CodeType:
    """The code in `data`, source or compiled."""
    if data.startswith(_imports().MAGIC_NUMBER):
        import marshal

        compiled: CodeType = marshal.loads(memoryview(data)[16:])
        return compiled
    if path.endswith(".pyc"):
        raise Refused(f"{path} was compiled by another version of Python")
    return compile(data, path, "exec", dont_inherit=True)


def _importer_of(path: str) -> object | None:
    """What imports from `path`, if that is a folder or an archive."""
    for hook in sys.path_hooks:
        try:
            return hook(path)
        except ImportError:
            continue
    return None


def _runpy() -> Any:
    """The module with which the interpreter itself runs modules, folders and archives."""
    import runpy

    return runpy


def _set_spec(main: dict[str, Any], spec: Any) -> None:
    main["__loader__"] = spec.loader
    main["__package__"] = spec.parent
    main["__spec__"] = spec
    main["__file__"] = spec.origin
    if sys.version_info < (3, 15):
        main["__cached__"] = spec.cached


class Script(Program):
    """A file, or a folder or archive with a __main__.py."""

    def __init__(self, argv: list[str]) -> None:
        super().__init__(argv)
        self.path = os.path.abspath(argv[0])
        self.stem = os.path.splitext(os.path.basename(self.path))[0]
        self._spec: Any = None
        self._loader: Any = None
        self._code: CodeType | None = None

    def prepare(self) -> None:
        if not os.path.exists(self.path):
            raise Refused(f"there is no script {self.argv[0]}")
        sys.argv = self.argv
        if _importer_of(self.path) is not None:
            self._prepare_folder()
            return
        _set_path(os.path.dirname(os.path.realpath(self.path)))
        self._code = _code_of(_read(self.path), self.path)
        imports = _imports()
        compiled = self.path.endswith(".pyc")
        loader = imports.SourcelessFileLoader if compiled else imports.SourceFileLoader
        self._loader = loader("__main__", self.path)

    def _prepare_folder(self) -> None:
        # Always there, even with a safe path: it is what is to be run.
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
    """`-m module`; sys.path begins with the current folder, as it does for ourselves."""

    def __init__(self, name: str, argv: list[str]) -> None:
        super().__init__(["-m", *argv])
        self.name = name
        self.stem = name.removesuffix(".__main__").rpartition(".")[2]

    def prepare(self) -> None:
        """Finding a module imports the packages around it, which belongs into the recording.

        So here only the outermost name is looked for.
        """
        from importlib.util import find_spec

        if self.name.endswith(".py") and os.path.isfile(self.name):
            raise Refused(self._missing())  # python would import, and so run, it
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
            script = f"a script is run without -m: kymograph run {self.name}"
            return f"there is no module {self.name}; {script}"
        return f"there is no module {self.name}"

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

            # Where `python -c` puts it too, for tracebacks to show it; 3.13.0 by the name.
            by_code = hasattr(linecache, "_code_key") or hasattr(linecache, "_make_key")
            key = self._code if by_code else "<string>"
            linecache._register_code(key, self.source, "<string>")

    def load(self, main: dict[str, Any]) -> CodeType:
        return self._code


def _new_main() -> ModuleType:
    """A fresh __main__ in sys.modules, as the interpreter makes it."""
    main = type(sys)("__main__")
    main.__loader__ = sys.modules["_frozen_importlib"].BuiltinImporter
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return main


def _is_ours(traceback: TracebackType) -> bool:
    """Is this frame one of what runs the program, and not of the program?"""
    file = traceback.tb_frame.f_code.co_filename
    if file.startswith((_PACKAGE, "<frozen importlib.", "<frozen zipimport>")):
        return True
    runpy = sys.modules.get("runpy")
    return runpy is not None and file == runpy._run_code.__code__.co_filename


# Called with an exception that the program did not catch, before it is reported.
on_uncaught: Callable[[BaseException], None] | None = None


def _say_nothing(kind: object, error: object, traceback: object) -> None:
    """An excepthook for an exception that was reported already."""


def report(error: BaseException) -> int:
    """Report what the program did not catch as the interpreter does; the exit code.

    An interrupt goes on from here: the interpreter ends itself by SIGINT, after all that it
    does at exit.
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
    """Prepare `program`; what is wrong with its source, if it cannot be run for that."""
    try:
        program.prepare()
    except Refused:
        raise
    except Exception as error:
        return error
    return None


def execute(program: Program) -> int:
    """Run `program`, which is prepared, to its end; the exit code.

    Raises Refused, SystemExit and KeyboardInterrupt; any other exception is reported.
    """
    main = _new_main()
    try:
        code = program.load(main.__dict__)
        exec(code, main.__dict__)
        return 0
    except (Refused, SystemExit):
        raise
    except BaseException as error:
        uncaught = error
    # Out here, where no exception is being handled that others would be chained to.
    return report(uncaught)
