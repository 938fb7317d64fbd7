"""Methods, class methods, static methods, properties."""

import json

from torch.profiler import profile


class Account:
    def __init__(self, amount):
        self.amount = amount

    def add(self, more):
        self.amount += more

    @property
    def doubled(self):
        return 2 * self.amount

    @classmethod
    def empty(cls):
        return cls(0)

    @staticmethod
    def name():
        return "account"


with profile(with_stack=True) as prof:
    account = Account.empty()
    account.add(5)
    account.add(6)
    assert account.doubled == 22 and Account.name() == "account"

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = [e for e in json.load(file)["traceEvents"] if e.get("cat") == "python_function"]
last = [e["name"].rsplit(": ", 1)[-1].rsplit(".", 1)[-1] for e in events]
wanted = {"empty": 1, "__init__": 1, "add": 2, "doubled": 1, "name": 1}
assert {name: last.count(name) for name in wanted} == wanted
