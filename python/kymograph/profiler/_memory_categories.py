"""What memory of tensors is for, by torch's categories.

Modules and optimizers say what they hold. The rest follows from what is done with a block. The
rules are torch's, so that the results are: each of them looks only at what those before it left
open.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kymograph.profiler import _holders

if TYPE_CHECKING:
    from kymograph.profiler._memory_flow import Flow, Version


class Category(enum.IntEnum):
    """In the order in which the files of `export_memory_timeline` have them."""

    PARAMETER = 0
    OPTIMIZER_STATE = 1
    INPUT = 2
    TEMPORARY = 3
    ACTIVATION = 4
    GRADIENT = 5
    AUTOGRAD_DETAIL = 6
    UNKNOWN = 7


_MODEL = {Category.GRADIENT, Category.PARAMETER}


class Categories:
    """The category of every version of a block."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._of_tensor: dict[int, Category] = {}  # all its blocks, all their versions
        self._of_block: dict[int, Category] = {}
        self._of_version: dict[Version, Category] = {}
        self._take_held(_holders.GRADIENT, Category.GRADIENT)
        self._find_temporaries()
        self._take_held(_holders.PARAMETER, Category.PARAMETER)
        self._updated = self._tensors_with_updates()
        self._find_inputs()
        self._find_parameters()
        self._find_activations()
        self._take_held(_holders.STATE, Category.OPTIMIZER_STATE)
        self._find_details()

    def __getitem__(self, version: Version) -> Category:
        block = version[0]
        known = self._of_tensor.get(self._flow.blocks[block].tensor)
        if known is None:
            known = self._of_block.get(block)
        if known is None:
            known = self._of_version.get(version, Category.UNKNOWN)
        return known

    def _any(self, versions: Iterable[Version], categories: set[Category]) -> bool:
        return any(self[each] in categories for each in versions)

    def _take_held(self, role: int, category: Category) -> None:
        """A module or an optimizer has these, or the backward pass has stored them."""
        for held in self._flow.held:
            if held.role == role:
                self._of_tensor[self._flow.blocks[held.block].tensor] = category

    def _find_temporaries(self) -> None:
        """An operator has allocated them for itself."""
        for step in self._flow.steps:
            for block in step.temporary:
                self._of_block[block] = Category.TEMPORARY

    def _tensors_with_updates(self) -> set[int]:
        """Return the tensors to which the value of a gradient or a parameter comes, at any time.

        A tensor counts as one, whatever version is written or read: parameters depend on
        gradients by the step of the optimizer, and activations on parameters by the next pass.
        """
        blocks = self._flow.blocks
        readers: dict[int, list[int]] = {}
        for number, step in enumerate(self._flow.steps):
            for block, _ in step.read:
                readers.setdefault(blocks[block].tensor, []).append(number)
        found = {each for each in readers if self._of_tensor.get(each) in _MODEL}
        todo = list(found)
        while todo:
            for number in readers.pop(todo.pop(), ()):
                for block, _ in self._flow.steps[number].made:
                    tensor = blocks[block].tensor
                    if tensor not in found:
                        found.add(tensor)
                        todo.append(tensor)
        return found

    def _find_inputs(self) -> None:
        """They go into steps with gradients or parameters, directly or not, but nothing of those
        comes to them. The backward pass makes none."""
        useful: set[Version] = set()
        for step in reversed(self._flow.steps):
            here = [*step.read, *step.made]
            if not useful.isdisjoint(here) or self._any(here, _MODEL):
                useful.update(here)
        for step in self._flow.steps:
            if step.backward:
                useful.difference_update(step.made)
        for version in useful:
            if self._flow.blocks[version[0]].tensor not in self._updated:
                self._of_version.setdefault(version, Category.INPUT)

    def _find_parameters(self) -> None:
        """Those of no module: they are used together with inputs, gradients are made from them,
        and the value of a gradient comes to them."""
        forward = {each for each in self._flow.seen() if self[each] is Category.INPUT}
        beside: set[Version] = set()
        gradient = {Category.GRADIENT}
        for step in self._flow.steps:
            if (
                not step.backward
                and not forward.isdisjoint(step.read)
                and not self._any(step.read, gradient)
                and not self._any(step.made, gradient)
            ):
                forward.update(step.made)
                beside.update(each for each in step.read if each not in forward)
        needed: set[Version] = set()
        for step in reversed(self._flow.steps):
            if not needed.isdisjoint(step.made) or self._any(step.made, gradient):
                needed.update(step.read)
        for block, _ in beside & needed:
            tensor = self._flow.blocks[block].tensor
            if tensor in self._updated:
                self._of_tensor[tensor] = Category.PARAMETER

    def _find_activations(self) -> None:
        """They are made from inputs and other activations, outside the backward pass."""
        from_these = {Category.INPUT, Category.ACTIVATION}
        and_these = {Category.PARAMETER, Category.TEMPORARY}
        for step in self._flow.steps:
            read = {self[each] for each in step.read}
            if not step.backward and read & from_these and read <= from_these | and_these:
                for version in step.made:
                    self._of_version.setdefault(version, Category.ACTIVATION)

    def _find_details(self) -> None:
        """The backward pass makes them, from nothing that is known."""
        open_yet = {Category.UNKNOWN, Category.AUTOGRAD_DETAIL}
        for step in self._flow.steps:
            for block, number in step.made if step.backward else ():
                if number == 0 or self[block, number - 1] in open_yet:
                    self._of_version.setdefault((block, number), Category.AUTOGRAD_DETAIL)
