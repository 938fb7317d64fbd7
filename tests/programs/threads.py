"""Threads that run one after the other, so that who calls what is always the same."""

import threading


def work(n, results):
    results.append(sum(square(i) for i in range(n)))


def square(n):
    return n * n


results = []
for n in range(10):
    thread = threading.Thread(target=work, args=(n, results))
    thread.start()
    thread.join()
print(results)
