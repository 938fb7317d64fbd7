"""Exceptions through Python and C frames, handled and re-raised."""


def fail(n):
    if n == 0:
        raise ValueError(n)
    fail(n - 1)


def tidy(n):
    try:
        fail(n)
    finally:
        tidied.append(n)


def convert(n):
    try:
        tidy(n)
    except ValueError as error:
        raise LookupError(n) from error


tidied = []
caught = 0
for n in range(30):
    try:
        list(map(convert, [n]))
    except LookupError as error:
        caught += isinstance(error.__cause__, ValueError)
for text in ("1", "x", "2", ""):
    try:
        int(text)
    except ValueError:
        caught += 1
print(caught, len(tidied), sorted(tidied, key=lambda n: -n)[:3])
