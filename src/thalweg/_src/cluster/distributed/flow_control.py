"""Flow control of a link: how much one task may send that the other has not consumed yet.

Up to a limit, tensors are sent as soon as they exist. Beyond it they are offered: the sender keeps the tensor, and
sends it when the other task asks for it because a step there needs it now. So the memory of tensors that wait at the
receiver is bounded, and no step waits for another: what is needed is always sent. Tensors in slabs do not count, since
the slab itself is bounded.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from thalweg._src.runtime.resources.rendezvous import Receive, Rendezvous


class SendWindow:
    """The sender's side, a pure state machine; its caller makes one call at a time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._unconsumed = 0
        self._numbers = itertools.count()
        self._offered: dict[int, dict[int, tuple[str, Any]]] = {}  # keys and values by step and number

    # A sender never waits for room: what the window does not admit is kept, and the step goes on. So two steps cannot
    # hold up each other by the memory that their tensors take at the receiver. What a step there needs is sent whatever
    # the window says: the answer to WANT is not counted. The memory of such answers is bounded by the receivers that
    # wait, of which each asks for one tensor.
    def admit(self, step: int, key: str, size: int) -> bool:
        """Returns whether a tensor may be sent now; values of one key keep their order."""
        is_after_another = any(key == other for other, _ in self._offered.get(step, {}).values())
        if is_after_another or self._unconsumed + size > self._limit:
            return False
        self._unconsumed += size
        return True

    def consumed(self, size: int) -> None:
        """Takes note that the other task has consumed so many bytes."""
        if not 0 <= size <= self._unconsumed:
            raise ValueError(f"{size} bytes were consumed, {self._unconsumed} were sent")
        self._unconsumed -= size

    # Iterations of a loop send values under one key, and may ask for them in another order, so an offer has a number.
    def offer(self, step: int, key: str, value: Any) -> int:
        """Keeps a tensor until the other task asks for it; returns the number by which it does."""
        number = next(self._numbers)
        self._offered.setdefault(step, {})[number] = key, value
        return number

    def take(self, step: int, number: int) -> Any:
        """Returns the tensor that the other task asks for."""
        offered = self._offered[step]
        _, value = offered.pop(number)
        if not offered:
            del self._offered[step]
        return value

    def forget(self, step: int) -> None:
        """Drops the tensors of a step that failed."""
        self._offered.pop(step, None)


# A tensor counts until a receiver takes it or it is dropped unread, with a step that failed or never started: without
# `__del__`, the bytes of such steps would stay in the sender's sum for as long as the link lasts. The garbage collector
# may call that in the middle of anything, so the callback only queues a message.
class Counted:
    """A tensor that counts against the sender's limit until it is taken or dropped."""

    __slots__ = ("_consumed", "_value")

    def __init__(self, value: Any, consumed: Callable[[], None]) -> None:
        self._value = value
        self._consumed: Callable[[], None] | None = consumed

    def take(self, receive: Receive) -> None:
        value, self._value = self._value, None
        self._end()
        receive(value)

    def _end(self) -> None:
        consumed, self._consumed = self._consumed, None
        if consumed is not None:
            consumed()

    def __del__(self) -> None:
        self._end()


class Offered:
    """A tensor that the sender keeps until it is asked for."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Callable[[Receive], None]) -> None:
        self._ask = ask

    def take(self, receive: Receive) -> None:
        self._ask(receive)


class LinkedRendezvous(Rendezvous):
    """A rendezvous in which tensors of other tasks arrive."""

    __slots__ = ()

    # A value is unwrapped when its receiver takes it, not when it arrives: while it waits here it counts, and an
    # offered tensor is asked for only once a step needs it.
    def receive(self, key: str, receiver: Receive) -> None:
        def unwrap(value: Any) -> None:
            if isinstance(value, Counted | Offered):
                value.take(receiver)
            else:
                receiver(value)

        super().receive(key, unwrap)
