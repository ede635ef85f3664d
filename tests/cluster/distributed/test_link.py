"""Links by themselves, over a pair of sockets: what they send, count, refuse and free."""

import contextlib
import queue
import socket
import time
from functools import partial

import pytest
import torch

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.connection import Connection, ConnectionLost
from thalweg._src.cluster.distributed.flow_control import Counted, Offered
from thalweg._src.cluster.distributed.frames import SLAB_BYTES
from thalweg._src.cluster.distributed.link import Link
from thalweg._src.cluster.distributed.slab import Slab, available
from thalweg._src.runtime.resources.rendezvous import Many

LARGE = torch.arange(SLAB_BYTES, dtype=torch.float32)


class Receiver:
    """Queues the messages of a link."""

    def __init__(self):
        self.tensors, self.aborts, self.losses, self.ends = (queue.Queue() for _ in range(4))

    def deliver(self, step, key, value, source, nbytes):
        self.tensors.put((step, key, value))

    def abort(self, step, error):
        self.aborts.put((step, error))

    def ended(self, step):
        self.ends.put(step)

    def tick(self):
        pass

    def lost(self, link, why):
        self.losses.put(why)


@pytest.fixture
def connect():
    """Returns a function that connects two links and returns them with their receivers."""
    with contextlib.ExitStack() as stack:

        def start(limit=1 << 30, window=1 << 20):
            links = []
            for end, task in zip(socket.socketpair(), ("b", "a")):
                link = Link(Connection(end), task, Receiver(), None, None, limit, window)
                link.start()
                stack.callback(link.close)
                links += [link, link._receiver]
            return links

        yield start


def test_tensors_arrive_in_their_order_with_step_and_key(connect):
    a, _, _, received = connect()
    for step, value in enumerate((torch.tensor([1.5, 2.0]), None, torch.zeros(0, 3))):
        a.push(step, f"key {step}", value)
    a.push(3, "several", Many([torch.tensor(1), torch.tensor(True)]))
    results = [received.tensors.get() for _ in range(4)]
    assert [result[:2] for result in results] == [(0, "key 0"), (1, "key 1"), (2, "key 2"), (3, "several")]
    assert results[0][2].tolist() == [1.5, 2.0] and results[1][2] is None and results[2][2].shape == (0, 3)
    assert [value.item() for value in results[3][2].values] == [1, True]


def test_the_memory_of_a_sent_tensor_may_change_afterwards(connect):
    a, _, _, received = connect()
    value = LARGE.clone()
    a.push(1, "k", value)
    value.zero_()
    _, _, counted = received.tensors.get()
    counted.take(received.tensors.put)
    assert torch.equal(received.tensors.get(), LARGE)


def test_beyond_its_window_a_link_offers_tensors_until_they_are_asked_for(connect):
    a, _, _, received = connect(window=LARGE.nbytes)
    for index in range(3):
        a.push(1, f"k{index}", LARGE + index)
    first, *others = [received.tensors.get()[2] for _ in range(3)]
    assert isinstance(first, Counted) and all(isinstance(other, Offered) for other in others)
    others[1].take(received.tensors.put)
    assert torch.equal(received.tensors.get(), LARGE + 2)
    others[0].take(received.tensors.put)
    assert torch.equal(received.tensors.get(), LARGE + 1)
    first.take(received.tensors.put)
    received.tensors.get()
    while a._window._unconsumed:  # until the other end has said so
        a.push(1, "again", torch.tensor(0))
        received.tensors.get()
    a.push(1, "k3", LARGE)
    assert isinstance(received.tensors.get()[2], Counted)


def test_offered_values_of_one_key_go_to_those_that_took_them_in_any_order(connect):
    """Two iterations of a loop may ask at the same time."""
    a, _, _, received = connect(window=0)
    for index in range(3):
        a.push(1, "k", LARGE + index)
    offered = [received.tensors.get()[2] for _ in range(3)]
    values = {}
    for index in (2, 0, 1):
        offered[index].take(partial(values.__setitem__, index))
    while len(values) < 3:
        time.sleep(0.01)
    assert all(torch.equal(value, LARGE + index) for index, value in values.items())


def test_what_a_reader_sends_leaves_its_memory_and_its_thread_free(connect):
    a, _, _, received = connect()
    value = LARGE.clone()
    with a._sending:  # another thread waits until the other end reads
        a.push_soon(1, "k", value)
        value.zero_()
    _, _, counted = received.tensors.get()
    counted.take(received.tensors.put)
    assert torch.equal(received.tensors.get(), LARGE)


def test_a_tensor_that_is_too_large_ends_its_step_and_not_the_window(connect):
    a, sender, b, received = connect(limit=LARGE.nbytes - 1, window=LARGE.nbytes)
    for step in (1, 2):  # the second one would be offered if the first one still counted
        a.push(step, "k", LARGE)
        for aborts in (sender.aborts, received.aborts):
            aborted, error = aborts.get()
            assert aborted == step and isinstance(error, errors.InvalidArgumentError)
            assert f"{LARGE.nbytes} bytes" in error.message
        while a._window._unconsumed:
            a.push(3, "again", torch.tensor(0))
    assert a.is_open and b.is_open


def test_what_was_offered_for_an_aborted_step_is_dropped(connect):
    a, _, _, received = connect(window=0)
    a.push(1, "k", LARGE)
    assert isinstance(received.tensors.get()[2], Offered) and a._window._offered
    a.abort(1, errors.CancelledError(None, None, "no longer"))
    step, error = received.aborts.get()
    assert step == 1 and error.message == "no longer" and not a._window._offered


def test_a_lost_link_says_so_once_and_sends_no_more(connect):
    a, sender, b, received = connect()
    b.close("enough")
    assert received.losses.get() == "enough" and sender.losses.get() == "the connection was closed"
    a.gone.wait()
    with pytest.raises(ConnectionLost):
        a.push(1, "k", torch.tensor(1))
    a.close("again")
    assert sender.losses.empty() and not a.is_open and a.why_closed == "the connection was closed"


def test_a_heartbeat_that_cannot_be_sent_closes_the_link(connect, monkeypatch):
    a, sender, _, _ = connect()

    def fail(*args, **kwargs):
        raise ConnectionLost("a half was sent")

    monkeypatch.setattr(a.connection, "send", fail)
    a.ping()
    assert sender.losses.get() == "a half was sent" and not a.is_open


@pytest.mark.skipif(not available(), reason="needs sealed files in memory")
def test_a_block_that_is_put_while_the_link_is_closed_is_freed(monkeypatch):
    end, other = socket.socketpair()
    with contextlib.closing(other), contextlib.closing(Slab(64 << 20)) as slab:
        link = Link(Connection(end), "b", Receiver(), slab, None, 1 << 30, 1 << 20)
        link.start()
        put = slab.put

        def put_slowly(contents):
            block = put(contents)
            link.close("meanwhile")
            return block

        monkeypatch.setattr(slab, "put", put_slowly)
        with pytest.raises(ConnectionLost):
            link.push(1, "k", LARGE)
        assert slab.bytes_in_use == 0
