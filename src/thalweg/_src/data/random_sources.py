"""Random numbers of pipelines, the same as TensorFlow's for the same seeds, and passes that are made of them."""

from __future__ import annotations

import random
from array import array
from bisect import bisect_right
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from thalweg._src.data.plan import Element, Elements, Plan, Unary, invalid
from thalweg._src.data.stand_ins import StandIns
from thalweg._src.kernels.elements import number

_MASK = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_CHUNK, _LARGE_CHUNK = 1024, 8192  # numbers that are made at once: a few at first, then more
_AHEAD = 128  # elements
Array = np.ndarray[Any, Any]


class Stream:
    """Random integers of 32 bits that two seeds decide: Philox 4x32-10, many numbers at a time."""

    __slots__ = ("_at", "_begin", "_chunk", "_list", "_seed", "_seed2")

    def __init__(self, seed: int, seed2: int, used: int = 0) -> None:
        self._seed, self._seed2 = seed % (1 << 64), seed2 % (1 << 64)
        self._begin, self._at = used, 0  # of the chunk; what was used of it
        self._chunk: Array = np.empty(0, np.int64)
        self._list: list[int] = []  # the same numbers, once somebody draws them one by one

    def draw(self) -> int:
        if self._at == len(self._chunk):
            self._fill()
        if not self._list:
            self._list = self._chunk.tolist()
        self._at += 1
        return self._list[self._at - 1]

    def many(self, count: int) -> Array:
        """Returns the next numbers, so many."""
        parts = []
        while True:
            part = self._chunk[self._at : self._at + count]
            self._at += len(part)
            count -= len(part)
            parts.append(part)
            if not count:
                return parts[0] if len(parts) == 1 else np.concatenate(parts)
            self._fill()

    def _fill(self) -> None:
        """Makes the chunk in which the next number is."""
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
    def at(cls, state: Any) -> Stream:
        """Returns a stream that goes on from a state."""
        return cls(*state)


def seeded(plan: Plan, first: int) -> Stream:
    """Returns a stream that follows from two parameters of a dataset; two zeros let it start anywhere."""
    seed, seed2 = plan.integer(first, "seed"), plan.integer(first + 1, "seed2")
    if not seed and not seed2:
        chance = random.SystemRandom()
        seed, seed2 = chance.getrandbits(64), chance.getrandbits(64)
    return Stream(seed, seed2)


class Numbers(Elements):
    """Random integers of 32 bits."""

    __slots__ = ("_stream",)

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._stream = seeded(plan, 0)

    def __next__(self) -> Element:
        if self.closed:
            raise self.end()
        return (number(self._stream.draw()),)

    def state(self) -> Any:
        return {"stream": self._stream.state()}

    def restore(self, state: Any) -> None:
        self._stream = Stream.at(state["stream"])


class Draws(Unary):
    """The number of a dataset, drawn by the weights that each element gives."""

    __slots__ = ("_stream",)

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._stream = seeded(plan, 0)

    def __next__(self) -> Element:
        weights = next(self.input)[0].tolist()
        if not isinstance(weights, list) or not weights or min(weights) < 0 or not 0 < sum(weights) < float("inf"):
            raise invalid(f"expected weights, one for each dataset and not all zero, received {weights}")
        limits = list(accumulate(weights))
        return (number(bisect_right(limits, self._stream.draw() / 2**32 * limits[-1], hi=len(limits) - 1)),)

    def state(self) -> Any:
        return {**super().state(), "stream": self._stream.state()}

    def restore(self, state: Any) -> None:
        super().restore(state)
        self._stream = Stream.at(state["stream"])


def _ring(elements: list[Any]) -> Any:
    """Returns a ring of elements, one of which is None. Places that stand for elements need not be objects each."""
    if set(map(type, elements)) == {int, type(None)}:
        return array("q", [0 if element is None else element for element in elements])
    return elements


def _source_of_seeds(plan: Plan) -> Stream:
    """Returns what the orders of a dataset follow from: of its own in each iterator, but of one if the order stays."""
    if plan.origin is not None and not plan.options["again"]:
        plan = plan.origin
    with plan._lock:
        if plan.memory is None:
            plan.memory = seeded(plan, 1)
        found: Stream = plan.memory
        return found


class Shuffled(Unary):
    """A buffer of elements from which each is drawn at random, in TensorFlow's order for the same seeds."""

    __slots__ = ("_at", "_failure", "_fresh", "_size", "_stream", "buffer", "ended", "start")
    reorders: ClassVar = True

    def __init__(self, plan: Plan, unmapped: StandIns | None = None) -> None:
        super().__init__(plan, unmapped)
        self._size = plan.integer(0, "buffer_size")
        if self._size < 1:
            raise invalid(f"buffer_size must be greater than zero, but is {self._size}")
        self.buffer: Any = []  # a ring; it begins at `start`, and the place in front of that is free
        self.start = 0
        self.ended = False
        self._fresh: list[Any] = []  # taken from the input before they are needed
        self._at = 0  # the next of them
        self._failure: BaseException | None = None  # what comes after them
        if plan.memory is None:
            plan.memory = _source_of_seeds(plan)
        with plan._lock:
            if plan.options["again"]:
                self._stream = Stream(plan.memory.draw(), plan.memory.draw())
            else:
                self._stream = Stream.at(plan.memory.state())

    def __next__(self) -> Element:
        start = self.start
        if not self.ended and (self._at < len(self._fresh) or self._read(1)):
            buffer, size = self.buffer, self._size
            if type(buffer) is array:
                found: list[Element] = []
                self._exchange(self._fresh[self._at : self._at + 1], found)
                return found[0]
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

    def take(self, count: int, out: Any) -> None:
        end = len(out) + count
        while len(out) < end and not self.ended:
            if self._at < len(self._fresh) or self._read(end - len(out)):
                self._exchange(self._fresh[self._at : self._at + end - len(out)], out)
        if self.ended:
            self._draw(min(end - len(out), len(self.buffer) - self.start), out)

    def _exchange(self, fresh: list[Element], out: Any) -> None:
        """Puts new elements into the free place, one after another, and draws one after each."""
        if type(self.buffer) is array and not (self.unmapped is not None and self.unmapped.are_places):
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
        finally:  # also where a user interrupts the program between two of them
            done = len(out) - before
            self.start = (self.start + done) % size
            self._at += done
            if done and type(buffer) is list:
                buffer[self.start - 1] = None

    def _draw(self, count: int, out: Any) -> None:
        """Draws some of what is left at the end."""
        buffer, start = self.buffer, self.start
        places = np.arange(start, start + count)
        drawn = places + self._stream.many(count) % (len(buffer) - places)
        for place, index in zip(range(start, start + count), drawn.tolist()):
            out.append(buffer[index])
            buffer[index] = buffer[place]
            buffer[place] = None
        self.start = start + count

    def _read(self, count: int) -> bool:
        """Fills the buffer but for one place, and takes further elements from the input; False at the end."""
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
        """Unrolls the ring: from now on elements only leave."""
        self.buffer = [*self.buffer[self.start :], *self.buffer[: self.start]][:-1]  # the free place is the last
        self.start = 0
        self.ended = True

    def prompt(self) -> bool:
        return self.ended or (len(self.buffer) == self._size and self.input.prompt())

    def state(self) -> Any:
        fresh, buffer = self._fresh[self._at :], self.buffer
        if self.unmapped is not None:
            fresh, buffer = ([*map(self.unmapped.saved, elements)] for elements in (fresh, buffer))
        own = {
            "fresh": fresh,
            "buffer": buffer,
            "start": self.start,
            "ended": self.ended,
            "stream": self._stream.state(),
        }
        return {**super().state(), **own, "memory": self.plan.memory.state()}

    def restore(self, state: Any) -> None:
        super().restore(state)
        fresh, buffer = state["fresh"], state["buffer"]
        if self.unmapped is not None:
            fresh, buffer = ([*map(self.unmapped.restored, elements)] for elements in (fresh, buffer))
        self._fresh, self._at, self.start, self.ended = fresh, 0, state["start"], state["ended"]
        self.buffer = _ring(buffer) if len(buffer) == self._size and not self.ended else buffer
        self._stream = Stream.at(state["stream"])
        self.plan.memory = Stream.at(state["memory"])
