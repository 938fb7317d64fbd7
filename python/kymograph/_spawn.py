"""Watches this process start child processes, wait for them and become another program.

Each child is a span that belongs to no thread, with its command, pid and exit status, whatever it
is. Arrows lead from where it was started to its first event, and from its last one to where it was
waited for. Children get our variable even if the program gives them an environment of their own.

The functions are replaced by builtins that call them, see ext/module/watched.c. What runs in them
must call no Python function of the standard library, which would be recorded. For children that are
forked, that is C, see ext/module/forking.c.
"""

from __future__ import annotations

import os
import sys
from _thread import _local

from kymograph import _core, _imports
from kymograph._family import HELPER

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kymograph._family import Family

    Arguments = tuple[Any, ...]

START, END = "process start", "process end"  # arrows; `merge` does not renumber these
_ENCODING = sys.getfilesystemencoding()
_COMMAND = 200  # characters of a command that are recorded
_NAMED = 3  # programs that are not recorded, in the summary,
_REST = "..."  # and all others
_EXTENSION = "_posixsubprocess"  # which subprocess and multiprocessing import

_here = _local()  # the shells that this thread waits for
_children: dict[int, tuple[str, int]] = {}  # by pid, not yet waited for: its span
_others: dict[str, int] = {}  # how many children of which programs were not recorded
forgotten = (_children, _others)  # by a forked child
_family: Family | None = None
_variable, _value = b"", b""  # of the environment
on_exec: list[Callable[[bool], None]] = []  # called before os.exec* with True; False: it failed


def _identity(pid: int) -> int:
    """Return an id that a new interpreter and its parent both know; 0 if unknown."""
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        fields = os.read(file, 1024).rpartition(b")")[2].split()
    finally:
        os.close(file)
    return (int(fields[19]) << 22 ^ pid) & (1 << 62) - 1 if len(fields) > 19 else 0


# ---- this process is a child


def forked() -> bool:
    """In a forked child: is it to be recorded? Nothing that the parent started is its own."""
    for known in forgotten:
        known.clear()
    return _core.process_own() != 0


def began() -> None:
    """The recording of this child begins."""
    call = _core.watched_fork()
    # It is about to return in this process, too. Before 3.12 that is not reported.
    if call is not None and _core.trace_hook() == "sys.monitoring":
        _core.inside(call)
    if not _core.process_own():
        _core.process_is(_identity(os.getpid()))
    if own := _core.process_own():
        _core.flow_in(START, own)


def ended() -> None:
    """It is about to end."""
    if own := _core.process_own():
        _core.flow_out(END, own)


# ---- children of this process


def _bytes(word: Any) -> bytes:
    """Return a word of a command or environment as the system sees it. Raises TypeError."""
    word = os.fspath(word)
    return word if isinstance(word, bytes) else word.encode(_ENCODING, "surrogateescape")


def _text(word: Any) -> str:
    return _bytes(word).decode("utf-8", "replace")


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _is_hidden() -> bool:
    """Are commands left out of the capture?"""
    return _family is not None and _family.settings.get("command") is False


def _started(pid: int, argv: Any, identity: int) -> None:
    """A child with these arguments has the id `identity`."""
    words = [_text(word) for word in argv]
    name = f"process {_base(words[0])}" if words else "process"
    command = words[0] if _is_hidden() else " ".join(words)[:_COMMAND]
    _children[pid] = name, identity
    _core.process_begin(name, identity, pid, command)


def _after_spawn(pid: int, argv: Any) -> None:
    if not _core.running():
        return
    argv = list(argv)
    if any(HELPER in _text(word) for word in argv):
        return
    identity = _identity(pid) or _core.process_id()
    _started(pid, argv, identity)
    if argv and "python" in _base(_text(argv[0])):
        _core.flow_out(START, identity)


def _fork_exec_failed() -> None:
    _core.fork_apart(False)


def _after_fork_exec(pid: int, args: Arguments) -> None:
    _core.fork_apart(False)
    _after_spawn(pid, args[0])


def _after_posix_spawn(pid: int, args: Arguments) -> None:
    _after_spawn(pid, args[1])


def _is_recorded(pid: int) -> bool:
    return _family is not None and os.access(f"{_family.folder}/{pid}-1.kymo", os.F_OK)


def _note_unrecorded(name: str) -> None:
    name = name.removeprefix("process ").strip("()")  # "process (fork)" has no command
    if name not in _others and len(_others) >= _NAMED:
        name = _REST
    _others[name] = _others.get(name, 0) + 1


def unrecorded() -> str:
    """Describe the children that are not recorded, as far as known; "" if there are none."""
    for pid, (name, _) in list(_children.items()):
        if not _is_recorded(pid):
            _note_unrecorded(name)
    _children.clear()
    if not _others:
        return ""
    count = sum(_others.values())
    return f"{count} child process{'es' if count > 1 else ''} ({', '.join(_others)})"


def _waited(pid: int, status: str) -> None:
    """The child `pid` has ended."""
    child = _children.pop(pid, None)
    if child is None or not _core.running():
        return
    name, identity = child
    _core.process_end(name, identity, status)
    if not _is_recorded(pid):
        _note_unrecorded(name)
        return
    _core.flow_in(END, identity)
    _core.child_status(pid, status)


def _status_text(status: int) -> str:
    """Return how a process ended, from the status that `wait` returns."""
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _after_wait(result: Any, args: Arguments) -> None:
    pid, status = result[:2]
    if pid > 0 and (os.WIFEXITED(status) or os.WIFSIGNALED(status)):
        _waited(pid, _status_text(status))


def _after_waitid(result: Any, args: Arguments) -> None:
    if result is None or (len(args) > 2 and args[2] & os.WNOWAIT):
        return
    if result.si_code == os.CLD_EXITED:
        _waited(result.si_pid, f"exit code {result.si_status}")
    elif result.si_code in (os.CLD_KILLED, os.CLD_DUMPED):
        _waited(result.si_pid, f"signal {result.si_status}")


# ---- os.system: the C library starts a shell and waits for it; nobody learns its pid

_SHELL = "process sh"


def _before_system(args: Arguments) -> None:
    if not _core.running():
        return
    identity = _core.process_id()
    command = "sh" if not args or _is_hidden() else _text(args[0]).partition("\0")[0][:_COMMAND]
    _core.process_begin(_SHELL, identity, 0, command)
    _here.shells = [*getattr(_here, "shells", ()), identity]  # a signal handler may run another


def _end_shell(status: str) -> None:
    shells = getattr(_here, "shells", ())
    if shells:
        _here.shells = shells[:-1]
        _core.process_end(_SHELL, shells[-1], status)


def _after_system(status: int, args: Arguments) -> None:
    _end_shell(_status_text(status))


def _system_failed() -> None:
    _end_shell("not started")


# ---- environments


def _with_variables(environment: Any) -> Any:
    """Return the mapping `environment` for a child, with what it needs to be recorded."""
    assert _family is not None
    # Iterating over os.environ itself calls Python functions.
    data = getattr(environment, "_data", environment)
    given = {_bytes(name): _bytes(value) for name, value in data.items()}
    if _variable in given:
        return environment
    given[_variable] = _value
    if _family.path:
        paths = [_bytes(_family.path), given.get(b"PYTHONPATH", b"")]
        given[b"PYTHONPATH"] = b":".join(filter(None, paths))
    return given


def _before_posix_spawn(args: Arguments) -> Arguments | None:
    _core.messages_ready()
    if len(args) < 3 or not hasattr(args[2], "items"):
        return None  # it raises
    return (*args[:2], _with_variables(args[2]), *args[3:])


_ENVIRONMENT = 5  # the place of its list among the arguments of fork_exec


def _before_fork_exec(args: Arguments) -> Arguments | None:
    _core.messages_ready()
    _core.fork_apart(True)  # with preexec_fn, the hooks of os.fork run in it
    if len(args) <= _ENVIRONMENT or args[_ENVIRONMENT] is None:
        return None
    given = dict(entry.partition(b"=")[::2] for entry in args[_ENVIRONMENT])
    entries = [name + b"=" + value for name, value in _with_variables(given).items()]
    return (*args[:_ENVIRONMENT], entries, *args[_ENVIRONMENT + 1 :])


def _before_exec(args: Arguments) -> Arguments | None:
    # os.execvp tries many paths.
    try:
        possible = len(args) > 1 and os.access(args[0], os.X_OK)
    except (TypeError, ValueError):
        possible = False
    if not possible:
        return None
    for call in on_exec:
        call(True)
    return _before_posix_spawn(args)


def _exec_failed() -> None:
    for call in on_exec:
        call(False)


# ---- the functions


def _replace(
    module: Any,
    name: str,
    before: Callable[..., Any] | None,
    after: Callable[..., Any] | None,
    failed: Callable[[], None] | None = None,
) -> None:
    real = getattr(module, name, None)
    if real is None or type(real) is not type(len):
        return  # not on this system, or somebody else replaced it
    made = _core.watched(real, before, after, failed)
    setattr(module, name, made)
    # Modules that have it under another name.
    for other, known in (("subprocess", "_fork_exec"), ("subprocess", "_waitpid")):
        if getattr(sys.modules.get(other), known, None) is real:
            setattr(sys.modules[other], known, made)


def offer(variable: str, value: str) -> None:
    """Give children `variable`."""
    global _variable, _value
    _variable, _value = _bytes(variable), _bytes(value)


def _watch_fork_exec() -> None:
    import _posixsubprocess

    _replace(_posixsubprocess, "fork_exec", _before_fork_exec, _after_fork_exec, _fork_exec_failed)


def watch(family: Family, before_fork: Callable[[], None]) -> None:
    """Watch this process from now on; `before_fork` is called unless a plan holds."""
    global _family
    _family = family
    _core.fork_watch(_children, _after_wait, before_fork)
    for name in ("fork", "forkpty"):
        _replace(os, name, None, _core.fork_made)
    for name in ("posix_spawn", "posix_spawnp"):
        _replace(os, name, _before_posix_spawn, _after_posix_spawn)
    for name in ("wait", "waitpid", "wait3", "wait4"):
        _replace(os, name, None, _core.fork_waited)
    _replace(os, "waitid", None, _after_waitid)
    _replace(os, "system", _before_system, _after_system, _system_failed)
    for name in ("execv", "execve"):
        _replace(os, name, _before_exec, None, _exec_failed)
    # Importing it takes time, and would hide the program's own import.
    if _EXTENSION in sys.modules or _EXTENSION in sys.builtin_module_names:
        _watch_fork_exec()
    else:
        _imports.after_import(_watch_fork_exec, _EXTENSION)
