"""What to do with a test that fails while the host of a virtual machine keeps its cores for itself.

Then a thread may stand still for tenths of a second, whatever it waits for, and no figure that was
measured meanwhile means anything. A test is tried again, and says so; what fails each time is a
fault. Only a test that compares times (marked `timing`) and never had its cores is skipped.
"""

from __future__ import annotations

from dataclasses import dataclass

TRIES = 3
STARVED = 0.15  # of the time that was asked for


@dataclass
class Cores:
    """How much time programs asked for, on all cores, and how much of it the host did not give."""

    asked: int
    stolen: int

    @classmethod
    def so_far(cls) -> Cores:
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, irq, softirq, stolen = map(int, file.readline().split()[1:9])
        return cls(user + nice + system + irq + softirq + stolen, stolen)

    def stolen_since(self) -> float:
        """The share that was stolen since these were read."""
        now = Cores.so_far()
        return (now.stolen - self.stolen) / max(now.asked - self.asked, 1)
