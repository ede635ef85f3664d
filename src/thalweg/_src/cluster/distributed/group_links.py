"""GroupLinks: how the tasks of a group reduce, gather and broadcast tensors, over the links of the data plane.

They are the links that steps use too: no further port, no further trust, TLS where the cluster has it, and on one host
the memory that its tasks share.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

import torch

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.flow_control import LinkedRendezvous

WAIT_SECONDS = 600.0  # for one tensor of another member
KEY = "collective/"  # what the keys of tensors of groups begin with, and those of steps do not
_THREADS = 2  # one operation sends while another one waits for tensors
_MERGE: dict[str, Callable[..., torch.Tensor]] = {
    "Add": torch.add,
    "Mul": torch.mul,
    "Min": torch.minimum,
    "Max": torch.maximum,
}


class Destination(Protocol):
    """Another member of a group."""

    task: str
    copies: bool  # whether the memory of a tensor may be changed once `push` has returned

    def push(self, step: int, key: str, value: Any) -> None:
        """Sends a tensor."""


# Operations have the same numbers at all members, and begin in their order. The oldest one that has not ended has a
# thread at each member, and sends without waiting for the others, so it ends at all of them.
class GroupLinks:
    """The members of one group as one of them sees them.

    Args:
      number: of the group.
      rank: of this task.
      members: the tasks in the order of their ranks; this one is not used.
      closed: is called when no tensors are expected any more.
    """

    def __init__(
        self, number: int, rank: int, members: Sequence[Destination], closed: Callable[[], object] = lambda: None
    ) -> None:
        self.mailbox = LinkedRendezvous()
        self._number = number
        self._rank = rank
        self._members = members
        self._copies = all(member.copies for _, member in self._others())
        self._closed = closed
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._waiting: set[queue.SimpleQueue[Any]] = set()
        self._is_closed = False
        for _ in range(_THREADS):
            threading.Thread(target=self._serve, name=f"thalweg group {number}", daemon=True).start()

    def start(self, function: Callable[..., torch.Tensor], *args: Any) -> Future[torch.Tensor]:
        """Calls one of the methods below on a thread of the group."""
        future: Future[torch.Tensor] = Future()

        def work() -> None:
            try:
                result = function(*args)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._calls.put(work)
        return future

    @torch.inference_mode()  # as the tensors were made
    def _serve(self) -> None:
        while (work := self._calls.get()) is not None:
            work()
            del work  # and its tensors

    def close(self) -> None:
        """Ends operations that wait for tensors, and the threads."""
        self._is_closed = True
        self._closed()
        for arrived in list(self._waiting):
            arrived.put(None)
        for _ in range(_THREADS):
            self._calls.put(None)

    # -- operations ---------------------------------------------------------------------------------------------------

    def reduce(self, operation: int, values: torch.Tensor, merge_op: str) -> torch.Tensor:
        """Combines the values of all members, in place."""
        # Each member combines one piece of all values, and sends the result to the others. That is as many bytes as
        # around a ring, in two hops instead of 2 (n - 1); a ring would combine each piece in another order of ranks.
        # Values are combined in the order of ranks, whichever member does it, so that all pieces have the bits of that
        # order. The first two combined are in either order, so that the first two members need no memory for it.
        pieces = values.view(-1).tensor_split(len(self._members))
        for rank, member in self._others():
            member.push(self._number, self._key(operation, "piece", self._rank), pieces[rank])
        local, merge, total = pieces[self._rank], _MERGE[merge_op], None
        for rank in range(len(self._members)):
            value = local if rank == self._rank else self._receive(operation, "piece", rank, local)
            if total is None:
                total = value
            elif rank > 1:
                merge(total, value, out=total)
            else:
                total = merge(total, value, out=local if self._rank < 2 else torch.empty_like(local))
        assert total is not None
        sent = total.clone() if total is local and not self._copies else total
        for _, member in self._others():
            member.push(self._number, self._key(operation, "total", self._rank), sent)
        if total is not local:
            local.copy_(total)
        for rank, _ in self._others():
            pieces[rank].copy_(self._receive(operation, "total", rank, pieces[rank]))
        return values

    def gather(self, operation: int, value: torch.Tensor) -> torch.Tensor:
        """Returns the values of all members in the order of their ranks."""
        value = value.clone()  # a member may take it after the memory has been used again
        for _, member in self._others():
            member.push(self._number, self._key(operation, "value", self._rank), value)
        rows = torch.empty((len(self._members), *value.shape), dtype=value.dtype)
        rows[self._rank] = value
        for rank, _ in self._others():
            rows[rank] = self._receive(operation, "value", rank, value)
        return rows

    def broadcast(self, operation: int, value: torch.Tensor, source: int) -> torch.Tensor:
        """Returns the value of one member; the others overwrite theirs."""
        if source != self._rank:
            return value.copy_(self._receive(operation, "value", source, value))
        sent = value.clone()  # as in `gather`
        for _, member in self._others():
            member.push(self._number, self._key(operation, "value", source), sent)
        return value

    def _others(self) -> Iterator[tuple[int, Destination]]:
        """Yields the other members with their ranks, beginning after this one, so that not all send to one at once."""
        for rank in (*range(self._rank + 1, len(self._members)), *range(self._rank)):
            yield rank, self._members[rank]

    def _key(self, operation: int, what: str, rank: int) -> str:
        return f"{KEY}{operation}/{what}/{rank}"

    def _receive(self, operation: int, what: str, rank: int, like: torch.Tensor) -> torch.Tensor:
        task, arrived = self._members[rank].task, queue.SimpleQueue[Any]()
        self._waiting.add(arrived)
        if self._is_closed:  # otherwise `close` finds it
            arrived.put(None)
        try:
            self.mailbox.receive(self._key(operation, what, rank), arrived.put)
            value: torch.Tensor | None = arrived.get(timeout=WAIT_SECONDS)
        except queue.Empty:
            text = f"no tensor of a collective came from {task} within {WAIT_SECONDS:g} seconds"
            raise errors.DeadlineExceededError(None, None, text) from None
        finally:
            self._waiting.discard(arrived)
        if value is None:
            raise errors.CancelledError(None, None, "the group has ended")
        if value.dtype != like.dtype or value.shape != like.shape:
            sent = f"{value.dtype} {tuple(value.shape)}"
            raise errors.invalid(f"{task} sent {sent} in a collective of {like.dtype} {tuple(like.shape)}")
        return value
