"""Generators that delegate, are sent to, thrown into and closed."""

import itertools


def tree(depth):
    if depth:
        yield from tree(depth - 1)
        yield depth
        yield from tree(depth - 1)


def echo():
    got = None
    try:
        while True:
            try:
                got = yield got
            except KeyError as error:
                got = str(error)
    finally:
        print("closed")


print(sum(tree(8)))
talk = echo()
next(talk)
print(talk.send(1), talk.throw(KeyError("k")), talk.send(3))
talk.close()
print(sum(x * y for x, y in zip(tree(6), itertools.count())))
print([a for a, b in itertools.groupby(sorted(tree(6)))], max(tree(5), key=lambda n: -n))
