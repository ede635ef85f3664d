"""The rendezvous used by several threads: each value goes to one receiver, in the order of its key."""

import threading
from collections import defaultdict, deque

import pytest

from tests.interleavings.explore import explore
from tests.interleavings.histories import History
from thalweg._src.cluster.distributed.flow_control import Counted, LinkedRendezvous, Offered
from thalweg._src.runtime.resources.rendezvous import Rendezvous

KEYS = ("a", "b")


class Transfer:
    """A value to send under a key, or a receiver that waits for one."""

    def __init__(self, kind, key, value=None):
        self.kind = kind
        self.key = key
        self.value = value
        self.received = []

    def call(self, rendezvous):
        if self.kind == "send":
            rendezvous.send(self.key, self.value)
        else:
            rendezvous.receive(self.key, self.received.append)

    def __repr__(self):
        return f"{self.kind} {self.key} {self.value if self.kind == 'send' else self.received}"


def program(draw, count=8):
    """Returns transfers for three threads."""
    return [Transfer(draw.choice(["send", "receive"]), draw.choice(KEYS), number) for number in range(count)]


def explains(order, is_all):
    """Returns whether the n-th receiver of each key has the n-th value, if the transfers happened in an order."""
    values, receivers = defaultdict(deque), defaultdict(deque)
    results = {transfer: [] for transfer in order}
    for transfer in order:
        if transfer.kind == "send":
            values[transfer.key].append(transfer.value)
        else:
            receivers[transfer.key].append(transfer)
        while values[transfer.key] and receivers[transfer.key]:
            results[receivers[transfer.key].popleft()].append(values[transfer.key].popleft())
    return all(
        transfer.kind == "send" or transfer.received == result
        for transfer, result in results.items()
        if is_all or result
    )


def run(transfers, rendezvous, history):
    """Makes the transfers on three threads."""

    def work(first):
        for transfer in transfers[first::3]:
            with history.calling(transfer):
                transfer.call(rendezvous)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("kind", [Rendezvous, LinkedRendezvous])
def test_what_threads_see_of_a_rendezvous_is_linearizable(kind):
    def body(draw):
        rendezvous, history, transfers = kind(), History(), program(draw)
        run(transfers, rendezvous, history)
        history.check(explains)
        assert not rendezvous._values.keys() & rendezvous._receivers.keys(), "a value and its receiver both wait"

    explore(body, 1500)


def test_a_receiver_may_send_and_receive_itself():
    """As a loop does, whose next iteration starts in the receiver of the last."""

    def body():
        rendezvous, received = Rendezvous(), []

        def receive(value):
            received.append(value)
            if value < 4:
                rendezvous.receive("next", receive)
                rendezvous.send("next", value + 2)

        threads = [threading.Thread(target=rendezvous.send, args=("next", value)) for value in (1, 2)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            rendezvous.receive("next", receive)
        for thread in threads:
            thread.join()
        assert sorted(received) == [1, 2, 3, 4, 5]

    explore(body, 500)


def test_each_counted_value_is_consumed_once_whether_taken_or_dropped():
    def body(draw):
        rendezvous, consumed, taken = LinkedRendezvous(), [], []
        values = [Counted(number, lambda number=number: consumed.append(number)) for number in range(3)]
        sends = [threading.Thread(target=rendezvous.send, args=("a", value)) for value in values]
        takes = [
            threading.Thread(target=rendezvous.receive, args=("a", taken.append)) for _ in range(draw.randrange(4))
        ]
        for thread in [*sends, *takes]:
            thread.start()
        for thread in [*sends, *takes]:
            thread.join()
        assert len(taken) == len(takes) and sorted(consumed) == sorted(taken)
        del rendezvous, values, thread, sends
        assert sorted(consumed) == [0, 1, 2]

    explore(body, 500)


def test_an_offered_value_is_asked_for_when_its_receiver_comes():
    def body():
        rendezvous, asked, taken = LinkedRendezvous(), [], []

        def answer(receive):
            asked.append(receive)
            threading.Thread(target=receive, args=("large",)).start()

        sends = threading.Thread(target=rendezvous.send, args=("a", Offered(answer)))
        sends.start()
        rendezvous.receive("a", taken.append)
        rendezvous.send("b", Offered(answer))  # nobody needs it
        sends.join()
        while not taken:
            threading.Event().wait(1.0)
        assert taken == ["large"] and len(asked) == 1

    explore(body, 300)
