"""Link: the connection between two tasks over which tensors are pushed and steps are aborted, in both directions.

Each end has a thread that reads and never sends: otherwise two ends that wait for each other to read would wait for
ever. What a reader has to send (blocks of the slab to release, aborts) is sent by a second thread.
"""

from __future__ import annotations

import queue
import struct
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.codec import Codec, read_key
from thalweg._src.cluster.distributed.connection import Connection, ConnectionLost, Frame
from thalweg._src.cluster.distributed.flow_control import Counted, Offered, SendWindow
from thalweg._src.cluster.distributed.frames import SLAB_BYTES, FrameKind, TooLarge, pack_error, unpack_error
from thalweg._src.cluster.distributed.limits import MAX_OUTBOX
from thalweg._src.cluster.distributed.slab import MappedSlab, Slab
from thalweg._src.runtime.resources.rendezvous import Receive

_SIZE = struct.Struct("<Q")
_NUMBER = struct.Struct("<q")  # of an offered tensor
_RELEASED_BYTES = 8 << 20  # of blocks that wait for a message with which their release is sent


class Receiver(Protocol):
    """What handles the messages of a link: the worker of this task."""

    def deliver(self, step: int, key: str, value: Any, source: str, nbytes: int) -> None:
        """Takes a tensor of a step from another task; raises ValueError or OpError if it cannot be one."""

    def abort(self, step: int, error: BaseException) -> None:
        """Ends a step that failed elsewhere."""

    def ended(self, step: int) -> None:
        """Notes that a partial run is over."""

    def tick(self) -> None:
        """Is called every few seconds, to drop what is too old."""

    def lost(self, link: Link, why: str) -> None:
        """Notes that the other task cannot be reached any more."""


class Link:
    """One end of the connection of two tasks.

    task: the name of the other task
    slab: that of this task, if the other one maps it
    mapped: that of the other task
    limit: bytes that one value may have
    window: bytes of tensors that may be sent through the socket before the other task consumes them
    """

    def __init__(
        self,
        connection: Connection,
        task: str,
        receiver: Receiver,
        slab: Slab | None,
        mapped: MappedSlab | None,
        limit: int,
        window: int,
        incarnation: int = 0,
    ) -> None:
        self.connection = connection
        self.task = task
        self.incarnation = incarnation
        self._receiver = receiver
        self._slab = slab
        self._mapped = mapped
        self.codec = Codec(limit, None if slab is None else self._put, None if mapped is None else self._view)
        # None of the three locks is taken while another one is held. A thread that has `_sending` may wait until the
        # other end reads; the other two guard tables and are held for moments. What runs on the reader of this link, or
        # in the garbage collector, never takes `_sending`: it appends to `_outbox` or `_released`, which need no lock.
        self._sending = threading.Lock()
        self._outbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._blocks: set[int] = set()  # of our slab, that the other task reads
        self._blocks_lock = threading.Lock()
        self._released: deque[int] = deque()  # blocks of the other task's slab that are not read any more
        self._released_bytes = 0
        self._window = SendWindow(window)
        self._asked: dict[tuple[int, int], Receive] = {}  # receivers of tensors that were offered and asked for
        self._window_lock = threading.Lock()
        self.is_open = True
        self.is_accepted = False  # whether the other task opened it
        self.process = ""  # that is at the other end, for errors
        self.why_closed = ""
        self.gone = threading.Event()  # its loss has been handled
        self._channels: weakref.WeakSet[Connection] = weakref.WeakSet()
        self.threads = [
            threading.Thread(target=self._read, name=f"thalweg link {task}", daemon=True),
            threading.Thread(target=self._send_queued, name=f"thalweg outbox {task}", daemon=True),
        ]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    # -- sending ------------------------------------------------------------------------------------------------------

    def push(self, step: int, key: str, value: Any) -> None:
        """Sends a tensor of a step; its memory may be changed when this returns."""
        # It is packed first, since only then it is known how many of its bytes go through the socket. Those are what
        # both ends count, from the same size on: if one end counted what the other does not, the sum would drift until
        # nothing is admitted any more. An offered value is packed again when it is sent, since its block of the slab
        # would be held for as long as it waits.
        packed = self.codec.pack_tensor(key, value)
        if packed.nbytes >= SLAB_BYTES:
            with self._window_lock:
                is_admitted = self._window.admit(step, key, packed.nbytes)
                number = -1 if is_admitted else self._window.offer(step, key, _copy(value))
            if not is_admitted:
                self._free(packed.blocks)
                self._send(FrameKind.OFFER, step, _NUMBER.pack(number) + key.encode())
                return
        self._send(FrameKind.TENSOR, step, packed.description, packed.buffers, packed.num_values)

    def push_soon(self, step: int, key: str, value: Any) -> None:
        """Sends a tensor of a step from the thread of the outbox: for readers of other links, which must not wait."""
        self._outbox.put(partial(self.push, step, key, _copy(value)))

    def _send_wanted(self, step: int, number: int) -> None:
        with self._window_lock:
            try:
                value = self._window.take(step, number)
            except KeyError:
                return  # the step has failed meanwhile
        packed = self.codec.pack_tensor(str(number), value)
        self._send(FrameKind.WANTED, step, packed.description, packed.buffers, packed.num_values)

    def _ask(self, step: int, number: int, receive: Receive) -> None:
        """Asks for a tensor that was offered; called when a step needs it."""
        with self._window_lock:  # before WANT is queued, so that the answer finds its receiver
            self._asked[step, number] = receive
        self._outbox.put(lambda: self._send(FrameKind.WANT, step, _NUMBER.pack(number)))

    def _consumed(self, size: int) -> None:
        self._outbox.put(lambda: self._send(FrameKind.CONSUMED, 0, _SIZE.pack(size)))

    def abort(self, step: int, error: BaseException) -> None:
        """Tells the other task that a step failed; returns at once."""
        description = pack_error(error)
        self._forget(step)
        self._outbox.put(lambda: self._send(FrameKind.ABORT, step, description))

    def _forget(self, step: int) -> None:
        with self._window_lock:
            self._window.forget(step)
            for asked in [asked for asked in self._asked if asked[0] == step]:
                del self._asked[asked]

    def end(self, step: int) -> None:
        """Tells a client that a partial run is over; returns at once."""
        self._outbox.put(lambda: self._send(FrameKind.END, step, b""))

    def ping(self) -> None:
        """Sends a heartbeat, unless something else is being sent, or the other task does not read."""
        if not self._sending.acquire(blocking=False):
            return
        try:
            if self.connection.has_room:
                self.connection.send(FrameKind.PING, releases=self._releases())
            why = ""
        except (ConnectionLost, ValueError) as error:
            why = str(error)
        finally:
            self._sending.release()
        if why:
            self.close(why)  # a part of the frame may have been sent

    def _send(
        self, kind: FrameKind, step: int, description: bytes, buffers: Sequence[Any] = (), count: int = 0
    ) -> None:
        try:
            with self._sending:
                self.connection.send(kind, step, description, buffers, count, self._releases())
        except ConnectionLost as error:
            self.close(str(error))  # a part of the frame may have been sent
            raise

    def _send_queued(self) -> None:
        while (send := self._outbox.get()) is not None:
            try:
                send()
            except ConnectionLost:
                return

    def attach(self, channel: Connection) -> None:
        """Ends a channel to the same task with the link, so that no thread waits there for a task that is lost."""
        # Either `close` finds the channel in the set, or the link is seen to be closed here: both change under this
        # lock.
        with self._blocks_lock:
            self._channels.add(channel)
            is_open = self.is_open
        if not is_open:
            channel.shutdown()

    # -- slabs --------------------------------------------------------------------------------------------------------

    def _put(self, content: torch.Tensor) -> int | None:
        """Copies bytes to our slab for the other task, and returns their offset if there was room."""
        block = self._slab.put([content]) if self._slab is not None and self.is_open else None
        if block is None:
            return None
        # While the bytes were copied the link may have been closed, which frees the blocks that are noted until then.
        with self._blocks_lock:
            is_open = self.is_open
            if is_open:
                self._blocks.add(block.offset)
        if is_open:
            return block.offset
        assert self._slab is not None
        self._slab.free(block.offset)
        return None

    @property
    def has_slab(self) -> bool:
        return self._slab is not None

    def _view(self, offset: int, size: int) -> np.ndarray[Any, Any]:
        """Returns bytes of the other task's slab, which are released when the last reference to them is gone."""
        assert self._mapped is not None
        return self._mapped.view(offset, size, partial(self._release, size))

    def _release(self, size: int, offset: int) -> None:
        """Takes note of a block that is not read any more: the next message says so; for large ones it is sent at once.

        The garbage collector may call this at any time, so it takes no lock.
        """
        # Two threads may lose an addition to the sum, which only delays the message: any frame, at the latest the next
        # heartbeat, takes all offsets that are in the queue.
        self._released.append(offset)
        self._released_bytes += size
        if self._released_bytes >= _RELEASED_BYTES:
            self._released_bytes = 0
            self._outbox.put(partial(self._send, FrameKind.RELEASE, 0, b""))

    def _releases(self) -> bytes:
        """Returns the offsets of the blocks that are not read any more, as bytes."""
        if not self._released:
            return b""
        # Called with `_sending`, so that no other thread empties the queue; the garbage collector may append to it
        # meanwhile.
        self._released_bytes = 0
        offsets = [self._released.popleft() for _ in range(len(self._released))]
        return struct.pack(f"<{len(offsets)}Q", *offsets)

    def _free(self, offsets: Sequence[int]) -> None:
        for offset in offsets:
            # The offsets come from the other end. One that it does not hold may be a block that a third task still
            # reads, and that would be overwritten.
            with self._blocks_lock:
                if offset not in self._blocks:
                    raise ValueError(f"{self.task} released a block that it does not hold")
                self._blocks.discard(offset)
            assert self._slab is not None
            self._slab.free(offset)

    # -- receiving ----------------------------------------------------------------------------------------------------

    # The reader does not send on its link, and has no lock while it waits. If it waited until the other end reads, both
    # readers could wait for each other, with both sockets full. The receivers of kernels that it calls leave what
    # follows to threads of the pool. A value that is too large was skipped, so the next frame starts where it should,
    # and only the step ends; after any other error the position in the stream is unknown, and the link ends.
    def _read(self) -> None:
        try:
            while True:
                frame = self.connection.receive()
                try:
                    self._handle(frame)
                except TooLarge as error:
                    if frame.kind == FrameKind.TENSOR and frame.size >= SLAB_BYTES:
                        self._consumed(frame.size)  # the sender has counted it
                    self._refuse(frame.step, errors.invalid(f"{self.task} sent {error}"))
        except ConnectionLost as error:
            self.close(str(error))
        except Exception as error:  # the other task does not follow the protocol
            self.close(f"it sent a malformed message: {error}")

    def _handle(self, frame: Frame) -> None:
        if frame.size and frame.kind not in (FrameKind.TENSOR, FrameKind.WANTED):
            raise ValueError(f"a frame of kind {frame.kind} with the bytes of values")
        # A frame that is read may queue one to send: another end that sends and does not read would make the queue
        # grow.
        if self._outbox.qsize() > MAX_OUTBOX:
            raise ValueError(f"{MAX_OUTBOX} messages wait for it to read")
        if frame.kind == FrameKind.TENSOR:
            key, value = self.codec.read_tensor(self.connection, frame)
            if frame.size >= SLAB_BYTES:
                value = Counted(value, partial(self._consumed, frame.size))
            self._receiver.deliver(frame.step, key, value, self.task, frame.size)
        elif frame.kind == FrameKind.ABORT:
            self._forget(frame.step)
            self._receiver.abort(frame.step, unpack_error(frame.description))
        elif frame.kind == FrameKind.OFFER:
            (number,) = _NUMBER.unpack_from(frame.description)
            key = read_key(frame.description[_NUMBER.size :])
            self._receiver.deliver(frame.step, key, Offered(partial(self._ask, frame.step, number)), self.task, 0)
        elif frame.kind == FrameKind.WANT:
            self._outbox.put(partial(self._send_wanted, frame.step, *_NUMBER.unpack(frame.description)))
        elif frame.kind == FrameKind.WANTED:
            self._deliver_wanted(frame.step, *self.codec.read_tensor(self.connection, frame))
        elif frame.kind == FrameKind.CONSUMED:
            with self._window_lock:
                self._window.consumed(*_SIZE.unpack(frame.description))
        elif frame.kind == FrameKind.END:
            self._receiver.ended(frame.step)
        elif frame.kind == FrameKind.RELEASE:
            self._free([offset for (offset,) in struct.iter_unpack("<Q", frame.description)])
        elif frame.kind != FrameKind.PING:
            raise ValueError(f"a frame of kind {frame.kind} on a link")

    def _refuse(self, step: int, error: errors.OpError) -> None:
        """Ends a step at both tasks because of a tensor that was not taken."""
        self.abort(step, error)
        self._receiver.abort(step, error)

    def _deliver_wanted(self, step: int, number: str, value: Any) -> None:
        """Passes a tensor that was asked for to its receiver, if the step has not failed meanwhile."""
        with self._window_lock:
            receive = self._asked.pop((step, int(number)), None)
        if receive is not None:
            receive(value)

    def close(self, why: str = "the link was closed") -> None:
        """Ends the link, and frees what the other task held of our slab."""
        # One thread closes the link, the first. Sockets are shut down before the loss is handled, which wakes threads
        # of steps that wait at them; `gone` is set after that, since another link to the task waits for it
        # (`Endpoint._supersede`). The descriptor is closed once the reader has left its call: the number may be that of
        # another socket soon.
        with self._blocks_lock:
            if not self.is_open:
                return
            self.is_open, self.why_closed = False, why
            blocks, self._blocks = self._blocks, set()
            channels = list(self._channels)
        self._outbox.put(None)
        self.connection.shutdown()
        for channel in channels:
            channel.shutdown()
        for offset in blocks:
            assert self._slab is not None
            self._slab.free(offset)
        if self._mapped is not None:
            self._mapped.close()
        try:
            self._receiver.lost(self, why)
        finally:
            self.gone.set()
        if threading.current_thread() is not self.threads[0]:
            self.threads[0].join(timeout=5)
        self.connection.close()


def _copy(value: Any) -> Any:
    """Returns a value for later, when the memory of the original may have been changed."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def unreachable(task: str, why: str) -> errors.UnavailableError:
    """Returns the error of a step that needs a task that is lost."""
    return errors.UnavailableError(None, None, f"{task} is lost: {why}")
