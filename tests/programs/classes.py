"""Classes: construction, properties, special methods, metaclasses, inheritance."""

import dataclasses
import enum


class Meta(type):
    def __call__(cls, *args, **kwargs):
        cls.made += 1
        return super().__call__(*args, **kwargs)


class Vector(metaclass=Meta):
    made = 0

    def __init__(self, *items):
        self.items = items

    def __add__(self, other):
        return type(self)(*map(sum, zip(self.items, other.items, strict=True)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, at):
        return self.items[at]

    @property
    def norm(self):
        return sum(x * x for x in self.items)


class Named(Vector):
    def __init__(self, *items):
        super().__init__(*items)
        self.name = self.describe()

    @classmethod
    def describe(cls):
        return cls.__name__.lower()


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: int = 0


class Color(enum.Enum):
    RED = 1
    BLUE = 2


total = Vector(0, 0)
for n in range(50):
    total = total + Named(n, -n)
print(total.norm, len(total), list(total), Vector.made, Named.made)
print(sorted(Point(n % 7, n) for n in range(20))[0], Color(2), [c.name for c in Color])
