"""Random numbers of pipelines, equal to TensorFlow's for the same seeds, and iterations such as shuffle."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from thalweg._src.base.entropy import fresh_op_seed
from thalweg._src.base.errors import invalid
from thalweg._src.runtime.kernels.elements import number
from thalweg._src.training.data.element_refs import ElementRefs
from thalweg._src.training.data.iteration import BoundDataset, Element, Iteration, Position, Unary

_MASK = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_CHUNK, _LARGE_CHUNK = 1024, 8192  # numbers generated at once: few at first, then more
_AHEAD = 128  # elements
Array = np.ndarray[Any, Any]


class Stream:
    """Random 32-bit integers determined by two seeds: Philox 4x32-10, in blocks."""

    __slots__ = ("_at", "_begin", "_chunk", "_list", "_seed", "_seed2")

    def __init__(self, seed: int, seed2: int, used: int = 0) -> None:
        self._seed, self._seed2 = seed % (1 << 64), seed2 % (1 << 64)
        self._begin, self._at = used, 0  # start of the chunk, and how much of it is used
        self._chunk: Array = np.empty(0, np.int64)
        self._list: list[int] = []  # the same numbers as a list, for single draws

    def draw(self) -> int:
        if self._at == len(self._chunk):
            self._fill()
        if not self._list:
            self._list = self._chunk.tolist()
        self._at += 1
        return self._list[self._at - 1]

    def many(self, count: int) -> Array:
        """Returns the next `count` numbers."""
        pieces = []
        while True:
            numbers = self._chunk[self._at : self._at + count]
            self._at += len(numbers)
            count -= len(numbers)
            pieces.append(numbers)
            if not count:
                return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
            self._fill()

    def _fill(self) -> None:
        """Generates the chunk that contains the next number."""
        used = self._begin + self._at
        size = _CHUNK if used < _LARGE_CHUNK else _LARGE_CHUNK
        self._begin, self._at = used - used % size, used % size
        self._chunk = self._numbers(self._begin // 4, size // 4)
        self._list = []

    def _numbers(self, first: int, count: int) -> Array:
        """Returns the numbers of some blocks, four of each."""
        blocks = np.arange(first, first + count, dtype=np.uint64)
        a, b = blocks & _MASK, blocks >> _HALF
        c, d = (np.full_like(blocks, self._seed2 >> shift & 0xFFFFFFFF) for shift in (0, 32))
        key0, key1 = self._seed & 0xFFFFFFFF, self._seed >> 32
        for _ in range(10):
            first_product, second_product = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
            a, b = second_product >> _HALF ^ b ^ np.uint64(key0), second_product & _MASK
            c, d = first_product >> _HALF ^ d ^ np.uint64(key1), first_product & _MASK
            key0, key1 = key0 + 0x9E3779B9 & 0xFFFFFFFF, key1 + 0xBB67AE85 & 0xFFFFFFFF
        return np.stack([a, b, c, d], 1).ravel().astype(np.int64)

    def state(self) -> Any:
        return [self._seed, self._seed2, self._begin + self._at]

    @classmethod
    def at(cls, state: Sequence[int]) -> Stream:
        """Returns a stream that continues from a state."""
        return cls(*state)


def seeded(dataset: BoundDataset, first: int) -> Stream:
    """Returns a stream seeded by two parameters of a dataset; two zeros mean a random start."""
    seed, seed2 = dataset.integer(first, "seed"), dataset.integer(first + 1, "seed2")
    if not seed and not seed2:
        seed, seed2 = fresh_op_seed(64), fresh_op_seed(64)
    return Stream(seed, seed2)


class Numbers(Iteration):
    """Random 32-bit integers."""

    __slots__ = ("_stream",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self._stream = seeded(dataset, 0)

    def __next__(self) -> Element:
        if self.closed:
            raise self.end()
        return (number(self._stream.draw()),)

    def state(self) -> Any:
        return {"stream": self._stream.state()}

    def restore(self, state: Position) -> None:
        self._stream = Stream.at(state["stream"])


class Draws(Unary):
    """Dataset indices, drawn by the weights that each input element gives."""

    __slots__ = ("_stream",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self._stream = seeded(dataset, 0)

    def __next__(self) -> Element:
        weights = next(self.input)[0].tolist()
        if not isinstance(weights, list) or not weights or min(weights) < 0 or not 0 < sum(weights) < float("inf"):
            raise invalid(f"expected weights, one for each dataset and not all zero, received {weights}")
        limits = list(accumulate(weights))
        return (number(bisect_right(limits, self._stream.draw() / 2**32 * limits[-1], hi=len(limits) - 1)),)

    def state(self) -> Any:
        return {**super().state(), "stream": self._stream.state()}

    def restore(self, state: Position) -> None:
        super().restore(state)
        self._stream = Stream.at(state["stream"])


def _ring(elements: list[Any]) -> Any:
    """Returns a ring buffer of elements, one of which is None; references that are integers are stored compactly."""
    if set(map(type, elements)) == {int, type(None)}:
        return array("q", [0 if element is None else element for element in elements])
    return elements


def _source_of_seeds(dataset: BoundDataset) -> Stream:
    """Returns the stream that seeds each order: per iterator, or shared by all if the order is not reshuffled."""
    if dataset.origin is not None and not dataset.options["again"]:
        dataset = dataset.origin
    # With reshuffling, each iterator has its own stream of seeds, and each of its iterations draws the next two:
    # `repeat` then gives another order each time, the same ones for each new iterator. Without it, one stream per
    # dataset that is never advanced gives the same order always, also when the seeds were chosen at random.
    with dataset._lock:
        if dataset.memory is None:
            dataset.memory = seeded(dataset, 1)
        stream: Stream = dataset.memory
        return stream


class Shuffled(Unary):
    """A shuffle buffer from which each element is drawn at random, in TensorFlow's order for the same seeds."""

    __slots__ = ("_at", "_failure", "_fresh", "_size", "_stream", "buffer", "ended", "start")
    reorders: ClassVar = True

    def __init__(self, dataset: BoundDataset, refs: ElementRefs | None = None) -> None:
        super().__init__(dataset, refs)
        self._size = dataset.integer(0, "buffer_size")
        if self._size < 1:
            raise invalid(f"buffer_size must be greater than zero, but is {self._size}")
        self.buffer: Any = []  # a ring that begins at `start`; the slot before that is free
        self.start = 0
        self.ended = False
        self._fresh: list[Any] = []  # taken from the input before they are needed
        self._at = 0  # index of the next of them
        self._failure: BaseException | None = None  # the error that follows them
        if dataset.memory is None:
            dataset.memory = _source_of_seeds(dataset)
        with dataset._lock:
            if dataset.options["again"]:
                self._stream = Stream(dataset.memory.draw(), dataset.memory.draw())
            else:
                self._stream = Stream.at(dataset.memory.state())

    # TensorFlow's algorithm, so that equal seeds give equal orders: the buffer is a ring of `buffer_size` slots; each
    # new element fills the free slot, one random number chooses the slot of the result, and the element at the start of
    # the ring moves there, which frees the start. At the end the rest is drawn without refilling. Each result takes
    # exactly one number, in the order of the results. That allows `take` to draw numbers for a whole batch at once, to
    # read ahead in the input where that has no visible effect, and to keep references instead of elements: none of it
    # changes which number chooses which slot. An error of the input is raised after the elements that were read before
    # it, as if they had been read one by one.
    def __next__(self) -> Element:
        start = self.start
        if not self.ended and (self._at < len(self._fresh) or self._read(1)):
            buffer, size = self.buffer, self._size
            if type(buffer) is array:
                drawn: list[Element] = []
                self._exchange(self._fresh[self._at : self._at + 1], drawn)
                return drawn[0]
            buffer[start - 1] = self._fresh[self._at]
            self._at += 1
            index = (start + self._stream.draw()) % size
            self.start = (start + 1) % size
        else:
            buffer, start = self.buffer, self.start
            left = len(buffer) - start
            if not left:
                raise StopIteration
            index = start + self._stream.draw() % left
            self.start = start + 1
        element: Element = buffer[index]
        buffer[index] = buffer[start]
        buffer[start] = None
        return element

    def take(self, count: int, out: list[Any]) -> None:
        end = len(out) + count
        while len(out) < end and not self.ended:
            if self._at < len(self._fresh) or self._read(end - len(out)):
                self._exchange(self._fresh[self._at : self._at + end - len(out)], out)
        if self.ended:
            self._draw(min(end - len(out), len(self.buffer) - self.start), out)

    def _exchange(self, fresh: list[Element], out: list[Any]) -> None:
        """Puts new elements into the free slot, one after another, and draws one after each."""
        if type(self.buffer) is array and not (self.refs is not None and self.refs.all_indices):
            self.buffer = self.buffer.tolist()
        buffer, size, put = self.buffer, self._size, out.append
        places = np.arange(self.start, self.start + len(fresh)) % size
        drawn = (places + self._stream.many(len(fresh))) % size
        before = len(out)
        try:
            for place, index, element in zip(places.tolist(), drawn.tolist(), fresh):
                buffer[place - 1] = element
                put(buffer[index])
                buffer[index] = buffer[place]
        finally:  # also if the user interrupts the program in between
            done = len(out) - before
            self.start = (self.start + done) % size
            self._at += done
            if done and type(buffer) is list:
                buffer[self.start - 1] = None

    def _draw(self, count: int, out: list[Any]) -> None:
        """Draws some of the remaining elements at the end."""
        buffer, start = self.buffer, self.start
        places = np.arange(start, start + count)
        drawn = places + self._stream.many(count) % (len(buffer) - places)
        for place, index in zip(range(start, start + count), drawn.tolist()):
            out.append(buffer[index])
            buffer[index] = buffer[place]
            buffer[place] = None
        self.start = start + count

    def _read(self, count: int) -> bool:
        """Fills the buffer except for one slot, and reads ahead from the input; returns False at the end."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if len(self.buffer) < self._size:
            self.input.take(self._size - 1 - len(self.buffer), self.buffer)
            self.ended = len(self.buffer) < self._size - 1
            if self.ended:
                return False
            self.buffer = _ring([*self.buffer, None])
        self._fresh, self._at = [], 0
        try:
            self.input.take(max(count, _AHEAD) if self.input.reads_ahead() else count, self._fresh)
        except BaseException as error:
            if not self._fresh:
                raise
            self._failure = error
        if not self._fresh:
            self._end()
        return not self.ended

    def _end(self) -> None:
        """Unrolls the ring: from now on elements are only removed."""
        self.buffer = [*self.buffer[self.start :], *self.buffer[: self.start]][:-1]  # the free slot is the last
        self.start = 0
        self.ended = True

    def prompt(self) -> bool:
        return self.ended or (len(self.buffer) == self._size and self.input.prompt())

    def state(self) -> Any:
        fresh, buffer = self._fresh[self._at :], self.buffer
        if self.refs is not None:
            fresh, buffer = ([*map(self.refs.saved, elements)] for elements in (fresh, buffer))
        position = {
            "fresh": fresh,
            "buffer": buffer,
            "start": self.start,
            "ended": self.ended,
            "stream": self._stream.state(),
        }
        return {**super().state(), **position, "memory": self.dataset.memory.state()}

    def restore(self, state: Position) -> None:
        super().restore(state)
        fresh, buffer = state["fresh"], state["buffer"]
        if self.refs is not None:
            fresh, buffer = ([*map(self.refs.restored, elements)] for elements in (fresh, buffer))
        self._fresh, self._at, self.start, self.ended = fresh, 0, state["start"], state["ended"]
        self.buffer = _ring(buffer) if len(buffer) == self._size and not self.ended else buffer
        self._stream = Stream.at(state["stream"])
        self.dataset.memory = Stream.at(state["memory"])
