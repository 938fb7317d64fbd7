"""What tensors and blocks of memory have for identities in the tree of events.

A block has an `allocation_id`. Blocks that a tensor had in turn have one `id`. Both are known if
everything was recorded that the categories of memory are found by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kymograph.profiler._memory_flow import Flow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kymograph.profiler._memory import Allocation
    from kymograph.profiler._recording import Recording


class Identity(NamedTuple):
    """Of a tensor, or of a block that no tensor has been seen with: then there is no id."""

    id: int | None = None
    allocation_id: int | None = None
    address: int | None = None  # of the memory


UNKNOWN = Identity()


class Identities:
    """Those of a recording. Without `recording` nothing is known."""

    def __init__(self, recording: Recording | None) -> None:
        self._flow = Flow(recording) if recording else None

    def of_inputs(self, rf_id: int) -> Iterator[Identity]:
        """Yield that of each tensor among the inputs of an operator, while they are known."""
        flow = self._flow
        if flow is None or rf_id not in flow.memory:
            return
        blocks = iter(flow.inputs.get(rf_id, ()))
        for address in flow.memory[rf_id]:
            number = next(blocks, None) if address else None
            yield UNKNOWN if number is None else self._of(number, address)

    def of_block(self, what: Allocation) -> Identity:
        """Return that of what was allocated or freed."""
        number = self._flow.allocations.get(what.event) if self._flow else None
        return UNKNOWN if number is None else self._of(number, what.address)

    def _of(self, number: int, address: int) -> Identity:
        assert self._flow is not None
        tensor = self._flow.blocks[number].tensor
        if tensor < 0:
            return Identity(address=address)
        return Identity(tensor, number + 1, address)  # torch counts from 1
