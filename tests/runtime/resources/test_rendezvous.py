"""The rendezvous: a value is received once, whether the send or the receive comes first."""

import random
import threading

from thalweg._src.runtime.resources.rendezvous import Rendezvous, rendezvous_key


def test_keys_identify_transfers():
    keys = {rendezvous_key(a, b, n) for a in ("d0", "d1") for b in ("d0", "d1") for n in ("x:0", "x:1")}
    assert len(keys) == 8


def test_send_before_receive():
    meeting, got = Rendezvous(), []
    meeting.send("k", 5)
    assert got == []
    meeting.receive("k", got.append)
    assert got == [5]


def test_receive_before_send():
    meeting, got = Rendezvous(), []
    meeting.receive("k", got.append)
    assert got == []
    meeting.send("k", 5)
    assert got == [5]


def test_none_is_a_value():
    meeting, got = Rendezvous(), []
    meeting.send("k", None)
    meeting.receive("k", got.append)
    assert got == [None]


def test_keys_are_independent():
    meeting, got = Rendezvous(), []
    meeting.receive("a", got.append)
    meeting.send("b", 1)
    assert got == []
    meeting.receive("b", got.append)
    meeting.send("a", 2)
    assert got == [1, 2]


def test_values_of_one_key_are_received_in_order():
    meeting, got = Rendezvous(), []
    meeting.send("k", 1)
    meeting.send("k", 2)
    for _ in range(4):
        meeting.receive("k", got.append)
    assert got == [1, 2]
    meeting.send("k", 3)
    meeting.send("k", 4)
    assert got == [1, 2, 3, 4]


def test_a_key_can_be_used_again():
    meeting, got = Rendezvous(), []
    for i in range(3):
        meeting.receive("k", got.append)
        meeting.send("k", i)
    assert got == [0, 1, 2]


def test_a_receiver_may_send_and_receive():
    """The receiver runs outside the lock, as one that starts a segment must."""
    meeting, got = Rendezvous(), []

    def pass_on(value):
        meeting.receive("end", got.append)
        meeting.send("end", value + 1)

    meeting.receive("start", pass_on)
    meeting.send("start", 1)
    assert got == [2]


def test_many_threads_exchange_values():
    meeting, got, errors = Rendezvous(), {}, []
    keys = [f"k{i}" for i in range(400)]
    start = threading.Barrier(8)

    def work(seed):
        mine = [(key, sends) for i, key in enumerate(keys) for sends in (True, False) if (i + 4 * sends) % 8 == seed]
        random.Random(seed).shuffle(mine)
        start.wait()
        try:
            for key, sends in mine:
                if sends:
                    meeting.send(key, key.upper())
                else:
                    meeting.receive(key, lambda value, key=key: got.setdefault(key, []).append(value))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert got == {key: [key.upper()] for key in keys}
    assert not meeting._values and not meeting._receivers
