"""Which operators are joined with their backward operators, numbered as torch numbers them.

Traces have the same as arrows, which the library makes. Here they are for programs that ask events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kymograph.profiler._events import FunctionEvent


class Flow(NamedTuple):
    """One end of an arrow."""

    number: int = 0  # from 1; 0: there is none
    begins: bool = False

    @property
    def kind(self) -> int:
        """torch's number for arrows from forward to backward operators."""
        return 1 if self.number else 0


NONE = Flow()


def flows_of(events: list[FunctionEvent]) -> dict[int, Flow]:
    """Return the ends of arrows by number of the event. `events` are in order of their begin.

    Of several forward operators with a sequence number, which are inside each other, the one that
    began last leads to the backward operator; of several backward operators, the first is meant.
    """
    found: dict[int, Flow] = {}
    waiting: dict[tuple[int, int], int] = {}  # by thread and sequence number: a forward operator
    for event in events:
        op = event._operator
        if op is None or op.sequence_nr < 0:
            continue
        if not op.fwd_thread:
            waiting[op.thread, op.sequence_nr] = event.id
            continue
        forward = waiting.pop((op.fwd_thread, op.sequence_nr), None)
        if forward is not None:
            number = len(found) // 2 + 1
            found[forward], found[event.id] = Flow(number, True), Flow(number)
    return found
