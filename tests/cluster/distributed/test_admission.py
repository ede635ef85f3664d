"""Which connections are closed at limits and when their time is over, without sockets and clocks."""

import math
import random

import pytest

from thalweg._src.base import errors
from thalweg._src.cluster.distributed.admission import Admission, State, group_of
from thalweg._src.cluster.distributed.limits import TaskConnections as Limits

BUSY = (State.RECEIVING, State.ANSWERING, State.SENDING)


def test_the_oldest_of_strangers_is_closed():
    admission = Admission(Limits(unproved=4, unproved_by_address=3))
    assert [admission.open(name, "near", 0) for name in "abc"] == [None] * 3
    assert admission.open("d", "near", 1) == "a"  # the limit of the address
    assert admission.open("e", "far", 1) is None
    assert admission.open("f", "far", 1) == "b"  # that of the port
    assert admission.having(State.UNPROVED) == ["c", "d", "e", "f"]


def test_proved_connections_make_room_for_each_other_but_not_for_strangers():
    admission = Admission(Limits(connections=3, unproved=2))
    for name in "abc":
        admission.open(name, "x", 0)
        assert admission.prove(name) is None
        admission.move(name, State.IDLE, 10)
    assert [admission.open(name, "x", 0) for name in "defg"] == [None, None, "d", "e"]
    admission.move("a", State.ANSWERING)
    assert admission.prove("f") == "b"  # the one that is idle for longest
    admission.move("c", State.ANSWERING)
    admission.open("h", "x", 0)
    assert admission.prove("h") == "f"  # the one that is being received for longest
    admission.move("h", State.SENDING, 10)
    with pytest.raises(errors.UnavailableError, match="answers 3 connections already"):
        admission.prove("g")
    assert admission.prove("a") is None  # has its place


def test_connections_whose_time_is_over():
    admission = Admission(Limits(header_seconds=10))
    for now, name in enumerate("abcd"):
        admission.open(name, "x", now)
    admission.prove("b")
    admission.move("b", State.RECEIVING, 11)
    admission.prove("c")
    admission.move("c", State.ANSWERING)
    assert admission.expired(9) == []
    assert admission.expired(11) == ["a", "b"]
    admission.extend("b", 20)
    admission.move("c", State.IDLE, 15)
    assert admission.expired(13) == ["a", "d"]
    for name in "ad":
        admission.close(name)
    assert admission.expired(15) == ["c"]
    assert admission.state("a") is None and len(admission) == 2


def test_the_first_to_go_when_there_are_no_more_files():
    admission = Admission(Limits())
    assert admission.oldest() is None
    for name in "abc":
        admission.open(name, "x", 0)
    admission.prove("a")
    assert admission.oldest() == "b"
    admission.close("b")
    admission.close("c")
    assert admission.oldest() is None  # the other one has a request
    admission.move("a", State.IDLE, 10)
    assert admission.oldest() == "a"


@pytest.mark.parametrize("seed", range(5))
def test_limits_hold_whatever_happens(seed):
    chance = random.Random(seed)
    limits = Limits(connections=5, unproved=7, unproved_by_address=4, header_seconds=3)
    admission, addresses = Admission(limits), {}
    for now in range(3000):
        name = chance.choice(sorted(addresses)) if addresses and chance.random() < 0.7 else now
        victim = None
        if name not in addresses:
            addresses[name] = chance.choice("xyz")
            victim = admission.open(name, addresses[name], now)
        elif chance.random() < 0.2:
            admission.close(name)
            del addresses[name]
        elif admission.state(name) is State.UNPROVED:
            try:
                victim = admission.prove(name)
            except errors.UnavailableError:
                assert len(admission.having(State.ANSWERING, State.SENDING)) == limits.connections
        else:
            admission.move(name, chance.choice([State.IDLE, *BUSY]), now + 5)
        if victim is not None:
            assert victim != name and admission.state(victim) is None
            del addresses[victim]
        for late in admission.expired(now) if chance.random() < 0.2 else ():
            admission.close(late)
            del addresses[late]
        strangers = [addresses[name] for name in admission.having(State.UNPROVED)]
        assert len(strangers) <= limits.unproved
        assert all(strangers.count(address) <= limits.unproved_by_address for address in "xyz")
        assert len(admission.having(State.IDLE, *BUSY)) <= limits.connections
        assert len(admission) == len(addresses) == len(admission.having(*State))
    for name in addresses:
        admission.close(name)
    assert not len(admission) and admission.expired(math.inf) == []


def test_what_counts_as_one_address():
    assert group_of("192.0.2.1") == group_of("::ffff:192.0.2.1") != group_of("192.0.2.2")
    assert group_of("2001:db8:1:2::3") == group_of("2001:db8:1:2:ffff::") != group_of("2001:db8:1:3::3")
    assert group_of("fe80::1%eth0") == group_of("fe80::2")
