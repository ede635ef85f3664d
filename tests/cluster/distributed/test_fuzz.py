"""Malformed messages on both planes: a server refuses them, with typed errors, and goes on serving others."""

import contextlib
import random
import tempfile

import pytest

from tests import children
from tests.cluster.distributed.attacker import Attacker, Measured, is_served
from tests.cluster.distributed.clusters import addresses, start_task
from thalweg._src.base.errors import DeadlineExceededError
from thalweg._src.cluster.distributed import control
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.rpc import Stub

PS = "/job:ps/replica:0/task:0"
PLANES = ("strangers", "greetings", "links", "channels", "calls")


@pytest.fixture
def server():
    """A server in a process of its own, with its address and what it writes to stderr."""
    spec = addresses(ps=1)
    with tempfile.TemporaryFile("w+") as written:
        process = start_task(spec, "ps", 0, stderr=written)
        try:
            assert process.stdout.readline() == "serves\n"
            yield process, spec["ps"][0], written
        finally:
            children.end(process)


def attack(server, plane, count, batch, seed=0):
    """Sends malformed messages in batches; after each, the server must serve others with bounded resources."""
    process, address, written = server
    attacker = Attacker(address, PS, Credentials.find([address]), random.Random(f"{plane} {seed}"))
    with contextlib.closing(attacker):
        assert is_served(address)
        getattr(attacker, plane)(min(batch, count))
        measured = Measured(process.pid)
        before = measured.sizes()
        while attacker.sent < count:
            getattr(attacker, plane)(min(batch, count - attacker.sent))
            assert process.poll() is None and is_served(address)
            memory, descriptors, threads = measured.settled(before[1] + 8, before[2] + 70)
            assert descriptors <= before[1] + 8 and threads <= before[2] + 70
            assert memory < before[0] + 600, f"{memory} MB of memory, {before[0]} MB at first"
        assert not attacker.problems, "\n".join([f"{len(attacker.problems)} problems:", *attacker.problems[:20]])
        written.seek(0)
        expected = (
            "still waiting: ",
            f"{PS} refused a connection of ",
        )  # for a missing task, or as a stranger
        assert not [line for line in written if not line.startswith(expected)]


@pytest.mark.parametrize("plane", PLANES)
def test_malformed_messages_do_not_stop_a_server(server, plane):
    attack(server, plane, 600, 300)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("plane", PLANES)
def test_20_000_malformed_messages_do_not_stop_a_server(server, plane):
    attack(server, plane, 20_000, 2_000, seed=1)


def test_callers_that_give_up_hold_no_threads():
    """More sessions than the server has threads wait for a task that is missing, and their clients have gone."""
    spec = addresses(ps=1, worker=1)
    process = start_task(spec, "ps", 0)
    try:
        assert process.stdout.readline() == "serves\n"
        with contextlib.closing(Stub(spec["ps"][0], Credentials.find(spec["ps"]))) as stub:
            for _ in range(80):
                with pytest.raises(DeadlineExceededError):
                    stub.call(control.CreateSessionRequest(client="gone"), control.CreateSessionResponse, timeout=0.05)
            assert stub.call(control.GetStatusRequest(), control.GetStatusResponse, timeout=60).task == PS
    finally:
        children.end(process)
