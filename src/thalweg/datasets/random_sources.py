"""Random numbers of pipelines, the same as TensorFlow's for the same seeds, and passes that are made of them."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from itertools import accumulate, repeat
from typing import Any, ClassVar

import numpy as np

from thalweg.datasets.plan import Element, Elements, Plan, Unary, invalid
from thalweg.kernels.elements import number

_MASK = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_CHUNK = 1024
_AHEAD = 128  # elements


class Stream:
    """Random integers of 32 bits that two seeds decide: Philox 4x32-10, many numbers at a time."""

    __slots__ = ("_ready", "_seed", "_seed2", "_used")

    def __init__(self, seed: int, seed2: int) -> None:
        self._seed, self._seed2 = seed % (1 << 64), seed2 % (1 << 64)
        self._used = 0
        self._ready: list[int] = []

    def draw(self) -> int:
        if not self._ready:
            self._ready = self._chunk(self._used // _CHUNK)
        self._used += 1
        return self._ready.pop()

    def _chunk(self, index: int) -> list[int]:
        """Returns numbers in reverse: the next one last."""
        blocks = np.arange(index * _CHUNK // 4, (index + 1) * _CHUNK // 4, dtype=np.uint64)
        a, b = blocks & _MASK, blocks >> _HALF
        c, d = (np.full_like(blocks, self._seed2 >> shift & 0xFFFFFFFF) for shift in (0, 32))
        key0, key1 = self._seed & 0xFFFFFFFF, self._seed >> 32
        for _ in range(10):
            first, second = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
            a, b = second >> _HALF ^ b ^ np.uint64(key0), second & _MASK
            c, d = first >> _HALF ^ d ^ np.uint64(key1), first & _MASK
            key0, key1 = key0 + 0x9E3779B9 & 0xFFFFFFFF, key1 + 0xBB67AE85 & 0xFFFFFFFF
        return np.stack([a, b, c, d], 1).ravel()[::-1].tolist()  # type: ignore[no-any-return]

    def state(self) -> Any:
        return [self._seed, self._seed2, self._used]

    @classmethod
    def at(cls, state: Any) -> Stream:
        """Returns a stream that goes on from a state."""
        stream = cls(state[0], state[1])
        stream._used = state[2]
        if stream._used % _CHUNK:
            stream._ready = stream._chunk(stream._used // _CHUNK)[: -(stream._used % _CHUNK)]
        return stream


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


class Shuffled(Unary):
    """A buffer of elements from which each is drawn at random, in TensorFlow's order for the same seeds."""

    __slots__ = ("_draw", "_failure", "_fresh", "_size", "_stream", "buffer", "ended", "start")
    reorders: ClassVar = True

    def __init__(self, plan: Plan, unmapped: bool = False) -> None:
        super().__init__(plan, unmapped)
        self._size = plan.integer(0, "buffer_size")
        if self._size < 1:
            raise invalid(f"buffer_size must be greater than zero, but is {self._size}")
        self.buffer: list[Any] = []  # a ring; it begins at `start`
        self.start = 0
        self.ended = False
        self._fresh: deque[Element] = deque()  # taken from the input before they are needed
        self._failure: BaseException | None = None  # what comes after them
        with plan._lock:
            if plan.memory is None:
                plan.memory = seeded(plan, 1)
            if plan.options["again"]:
                self._go_on(Stream(plan.memory.draw(), plan.memory.draw()))
            else:
                self._go_on(Stream.at(plan.memory.state()))

    def _go_on(self, stream: Stream) -> None:
        self._stream, self._draw = stream, stream.draw

    def __next__(self) -> Element:
        for element in self._taken(1):
            return element
        raise StopIteration

    def take(self, count: int, out: Any) -> None:
        out.extend(self._taken(count))

    def _taken(self, count: int) -> Iterator[Element]:
        draw, size, fresh = self._draw, self._size, self._fresh
        for _ in repeat(None, count):
            buffer, start = self.buffer, self.start
            if self.ended:
                left = len(buffer) - start
            else:
                if len(buffer) < size:
                    self._fill()
                elif fresh or self._read():  # the place in front of the start is free
                    buffer[start - 1] = fresh.popleft()
                else:
                    self._end()
                    buffer, start = self.buffer, 0
                left = len(buffer)
            if not left:
                return
            index = start + draw() % left
            if index >= len(buffer):
                index -= len(buffer)
            chosen: Element = buffer[index]
            buffer[index] = buffer[start]
            buffer[start] = None
            start += 1
            self.start = 0 if start == size and not self.ended else start
            yield chosen

    def _fill(self) -> None:
        """Fills the buffer for the first time."""
        self.input.take(self._size - len(self.buffer), self.buffer)
        self.ended = len(self.buffer) < self._size

    def _read(self) -> bool:
        """Takes elements from the input, more than one where nobody sees it; False at the end."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        try:
            self.input.take(_AHEAD if self.input.reads_ahead() else 1, self._fresh)
        except BaseException as error:
            if not self._fresh:
                raise
            self._failure = error
        return bool(self._fresh)

    def _end(self) -> None:
        """Unrolls the ring: from now on elements only leave."""
        start = self.start
        ring = self.buffer[start:] + self.buffer[:start]
        self.buffer = ring[:-1]  # the free place is the last
        self.start = 0
        self.ended = True

    def state(self) -> Any:
        own = {
            "fresh": list(self._fresh),
            "buffer": self.buffer,
            "start": self.start,
            "ended": self.ended,
            "stream": self._stream.state(),
        }
        return {**super().state(), **own, "stream": self._stream.state(), "memory": self.plan.memory.state()}

    def restore(self, state: Any) -> None:
        super().restore(state)
        self.buffer, self.start, self.ended = state["buffer"], state["start"], state["ended"]
        self._fresh = deque(state["fresh"])
        self._go_on(Stream.at(state["stream"]))
        self.plan.memory = Stream.at(state["memory"])
