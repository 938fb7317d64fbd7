"""Recursion, plain and mutual, and memoised."""

import functools


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


@functools.lru_cache
def ways(n):
    return 1 if n < 2 else ways(n - 1) + ways(n - 2)


print(fibonacci(15), even(200), ways(80), functools.reduce(lambda a, b: a * b, range(1, 20)))
