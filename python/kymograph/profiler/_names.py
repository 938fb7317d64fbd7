"""What a callee is called in tables, stacks and traces: as the Chrome export writes it."""

from __future__ import annotations

Callee = tuple[str, str, int, int]  # name, file or module, line, class

# enum kymo_class
NAME, FUNCTION, NATIVE, METHOD, TYPE, CALLABLE, GC = range(7)
OPERATOR = 8


def display(callee: Callee) -> str:
    """The name to show."""
    name, file, line, kind = callee
    if kind == FUNCTION:
        return f"{file}({line}): {name}" if file else name
    if kind == NATIVE:
        return f"<built-in function {name}>"
    if kind == METHOD:
        owner, dot, method = name.rpartition(".")
        return (
            f"<built-in method {method} of {owner} object>" if dot else f"<built-in method {name}>"
        )
    if kind in (TYPE, CALLABLE):
        full = f"{file}.{name}" if file and file != "builtins" else name
        return f"<class '{full}'>" if kind == TYPE else f"<{full} object>"
    if kind == GC:
        return "Python GC"
    return name


def is_marked(callee: Callee) -> bool:
    """Is it an operator, or did the program mark it itself?"""
    return callee[3] in (NAME, OPERATOR)


def is_step(callee: Callee) -> bool:
    """Is it one of the steps that `profile.step` marks?"""
    name = callee[0]
    return callee[3] == NAME and name.startswith("ProfilerStep#") and name[13:].isdigit()
