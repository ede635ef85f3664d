"""Interleave: elements of several datasets in rotation, of which workers may prepare several at a time."""

from __future__ import annotations

import os
import threading
from typing import Any, ClassVar

from thalweg._src.base.errors import invalid
from thalweg._src.training.data.buffers import AUTOTUNE, PrefetchBuffer, parallel_calls
from thalweg._src.training.data.iteration import BoundDataset, Element, Iteration, Position, Unary


class Interleaved(Unary):
    """Elements of several datasets that a function creates, in rotation: a block of each in a cycle of datasets."""

    __slots__ = ("_block", "_cycle", "_function", "_slots", "at", "ended", "taken")
    saved_attributes: ClassVar = ("at", "ended", "taken")

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self._cycle, self._block = self._sizes(dataset)
        self._function = dataset.function()
        self._slots: list[tuple[Element, Any] | None] = [None] * self._cycle
        self.at = self.taken = 0
        self.ended = False

    def _sizes(self, dataset: BoundDataset) -> tuple[int, int]:
        cycle, block = dataset.integer(0, "cycle_length"), dataset.integer(1, "block_length", 1)
        if cycle == AUTOTUNE:
            cycle = os.cpu_count() or 1
        if cycle < 1:
            raise invalid(f"cycle_length must be greater than zero, but is {cycle}")
        return cycle, block

    # The order is a function of the input alone: the cycle has a fixed number of slots, visited in rotation, a block of
    # elements at each visit. A slot whose dataset has ended gives up the rest of its block and is refilled at its next
    # visit, as in TensorFlow, so that the position is the slots with their inner positions, the current slot, and how
    # much of its block is taken. The input element of a slot is kept: a restored slot calls the function with it again.
    def __next__(self) -> Element:
        while not self.closed:
            slot = self._slots[self.at]
            if slot is None:
                if self.ended:
                    if not any(self._slots):
                        raise StopIteration
                    self._advance()
                    continue
                element = next(self.input, None)
                if element is None:
                    self.ended = True
                    continue
                self._slots[self.at] = (element, self._begin(element))
                continue
            try:
                return self._take(slot[1])
            except StopIteration:
                self._end_slot()
        raise self.end()

    def _take(self, elements: Iteration) -> Element:
        result: Element = next(elements)
        self.taken += 1
        if self.taken == self._block:
            self._advance()
        return result

    def _end_slot(self) -> None:
        slot, self._slots[self.at] = self._slots[self.at], None
        if slot is not None:
            slot[1].close()
        self._advance()

    def _begin(self, element: Element) -> Iteration:
        dataset: BoundDataset = self._function(*element)[0]
        if not self.dataset.is_ordered:
            dataset.drop_order()
        return dataset.elements()

    def _advance(self) -> None:
        self.at, self.taken = (self.at + 1) % self._cycle, 0

    def state(self) -> Any:
        slots = [None if slot is None else [slot[0], slot[1].state()] for slot in self._slots]
        return {**super().state(), "slots": slots}

    def restore(self, state: Position) -> None:
        super().restore(state)
        for index, saved in enumerate(state["slots"]):
            if saved is not None:
                element = tuple(saved[0])
                iteration = self._resumed(element, saved[1])
                iteration.restore(saved[1])
                self._slots[index] = (element, iteration)

    def _resumed(self, element: Element, position: Position) -> Iteration:
        """Returns the iteration of a slot as it was when the position was saved, at its first element."""
        return self._begin(element)

    def close(self) -> None:
        super().close()
        for slot in self._slots:
            if slot is not None:
                slot[1].close()
        self._function.cancel()


class _PrefetchedIteration(Iteration):
    """An iteration that a worker runs ahead of its consumer."""

    __slots__ = ("ahead",)

    def __init__(self, source: Iteration, size: int, changed: threading.Condition | None = None) -> None:
        super().__init__(source.dataset)
        self.ahead = PrefetchBuffer(source, size, changed)

    def __next__(self) -> Element:
        return self.ahead.take()

    def state(self) -> Any:
        return {"ahead": self.ahead.state()}

    def restore(self, state: Position) -> None:
        self.ahead.restore(state["ahead"])

    def close(self) -> None:
        super().close()
        self.ahead.close()


class ParallelInterleaved(Interleaved):
    """The same elements in the same order as `Interleaved`, with workers that prepare several datasets at a time.

    If the order does not matter, a dataset whose next element is not ready is passed over.
    """

    __slots__ = ("_buffer", "_most", "_ready", "_source")

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self._most = parallel_calls(dataset, 2)
        self._buffer, is_ordered = self._block, dataset.is_ordered  # elements of one dataset
        if len(dataset.values) > 3:
            self._buffer, is_ordered = dataset.integer(3, "buffer_output_elements", 1), not dataset.values[4]
        # In order: each slot has a buffer that a worker fills, and the consumer waits for the buffer of the slot whose
        # turn it is. The others go on meanwhile, up to the size of a buffer, which bounds memory. Slots beyond the
        # number of parallel calls are read by the consumer itself. Without order, one condition is shared by all
        # buffers: the consumer waits for any of them, and a slow dataset delays only its own elements.
        self._ready = None if is_ordered else threading.Condition()
        if self._ready is not None:
            self._most = self._cycle
            self.input = self._source = _PrefetchedIteration(self.input, 1, self._ready)

    def __next__(self) -> Element:
        if self._ready is None:
            return super().__next__()
        while not self.closed:
            with self._ready:
                if not self._go_to_ready():
                    raise StopIteration
            slot = self._slots[self.at]
            if slot is None:
                element = next(self.input)
                self._slots[self.at] = (element, self._begin(element))
                continue
            try:
                return self._take(slot[1])
            except StopIteration:
                self._end_slot()
        raise self.end()

    def _go_to_ready(self) -> bool:
        """Waits for a slot whose next step takes no time, and goes there; returns False at the end of all datasets."""
        assert self._ready is not None
        while not self.closed:
            for offset in range(self._cycle):
                place = (self.at + offset) % self._cycle
                slot = self._slots[place]
                ahead = (self._source if slot is None else slot[1]).ahead
                ahead.start()
                if ahead.ready() or (slot is not None and ahead.is_over()):
                    if offset:
                        self.at, self.taken = place, 0
                    return True
            if self._source.ahead.is_over() and not any(self._slots):
                return False
            self._ready.wait()
        raise self.end()

    def _begin(self, element: Element) -> Iteration:
        elements = super()._begin(element)
        busy = sum(slot is not None and isinstance(slot[1], _PrefetchedIteration) for slot in self._slots)
        return elements if busy >= self._most else self._prefetched(elements)

    def _prefetched(self, elements: Iteration) -> _PrefetchedIteration:
        return _PrefetchedIteration(elements, self._buffer, self._ready)

    def _resumed(self, element: Element, position: Position) -> Iteration:
        iteration = super()._begin(element)
        return self._prefetched(iteration) if "ahead" in position else iteration
