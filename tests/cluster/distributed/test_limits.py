"""Limits on what a server accepts from other processes."""

import contextlib
import itertools
import socket

import pytest
import torch

import thalweg as tf
from tests.cluster.distributed.attacker import SECONDS, frame, is_served
from tests.cluster.distributed.clusters import addresses
from thalweg._src.cluster.distributed import data_plane, handshake, limits
from thalweg._src.cluster.distributed.credentials import Credentials
from thalweg._src.cluster.distributed.expected import Expected, check_received
from thalweg._src.cluster.distributed.frames import FrameKind
from thalweg._src.cluster.distributed.limits import MAX_EARLY_STEPS, MAX_KEY, Limits, TaskConnections
from thalweg._src.runtime.resources.rendezvous import Many

PS = "/job:ps/replica:0/task:0"


@pytest.fixture
def server():
    with tf.train.Server(addresses(ps=1), "ps", 0) as server:
        yield server


@pytest.fixture
def link(server):
    """Returns the socket of a new link to the server."""
    with contextlib.ExitStack() as ends:

        def connect():
            info = server._require().service.info
            address = server.server_def.cluster.job[0].tasks[0]
            sock = data_plane.connect("", "localhost", server._require().port, use_tcp=True)
            ends.enter_context(sock)
            credentials = Credentials.find([address])
            proved = {"host": "localhost", "role": "link", "task": "other", "peer": info.task, "seconds": SECONDS}
            handshake.connect(sock, credentials, **proved)
            data_plane.greet(sock, data_plane.Greeting(1, 0, 0.0, "a test"))
            sock.settimeout(SECONDS)
            return sock

        yield connect


def is_closed(sock):
    """Waits until the other end closes a connection, whatever it sends before."""
    with contextlib.suppress(ConnectionError):
        while sock.recv(1 << 16):
            pass
    return True


def test_of_connections_that_do_not_prove_themselves_the_oldest_are_closed(server, link):
    port = server._require().port
    with contextlib.ExitStack() as ends:
        idle = [
            ends.enter_context(socket.create_connection(("localhost", port), timeout=SECONDS))
            for _ in range(TaskConnections().unproved_by_address + 3)
        ]
        assert all(is_closed(sock) for sock in idle[:3])
        assert link().fileno() >= 0, "others can still connect"


def test_a_task_cannot_announce_steps_without_end(server, link):
    sock = link()
    with contextlib.suppress(ConnectionError):
        for step in itertools.count():
            assert step < 1000 * MAX_EARLY_STEPS
            sock.sendall(frame(FrameKind.TENSOR, step, values=[torch.ones(1)], key=b"a;b;c", position=step + 1))
    assert is_closed(sock)
    steps = server._require().worker._steps
    assert len(steps._entries) <= MAX_EARLY_STEPS


@pytest.mark.parametrize(
    "content",
    [
        frame(FrameKind.TENSOR, 1, values=[torch.ones(1)], key=b"k" * (MAX_KEY + 1)),
        frame(FrameKind.OFFER, 1, b"k" * (MAX_KEY + 1)),
        frame(FrameKind.TENSOR, 1),
        frame(FrameKind.PING, 1, values=[torch.ones(1)]),
        frame(FrameKind.RELEASE, 0, b"\0" * 8),
        frame(FrameKind.ABORT, 1, b"{}"),
    ],
    ids=["a long key", "a long key of an offer", "no value", "a value in a heartbeat", "a block", "an error"],
)
def test_a_malformed_frame_ends_its_link_alone(server, link, content):
    wrong, right = link(), link()
    wrong.sendall(content)
    assert is_closed(wrong)
    right.sendall(frame(FrameKind.PING))
    assert is_served(server.target.removeprefix("grpc://"))


@pytest.mark.parametrize("value", [torch.ones(2, dtype=torch.float64), None, (), Many([torch.ones(2)])])
def test_a_tensor_of_another_type_is_refused(value):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"sent .* for 'x', which is float32"):
        check_received([Expected("x", tf.float32)], value)


def test_values_under_one_key_are_checked_one_by_one():
    expected = [Expected("x", tf.float32), Expected("x", tf.int32)]
    right = Many([torch.ones(2), torch.ones(2, dtype=torch.int32)])
    assert check_received(expected, right) is right
    for wrong in (torch.ones(2), Many([torch.ones(2)]), Many([torch.ones(2), torch.ones(2)])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="'x'"):
            check_received(expected, wrong)


def test_limits_of_the_environment():
    found = Limits.find({limits.VALUE: "3", limits.GRAPH: "99999"})
    assert found.value_bytes == 3 << 20 and found.graph_bytes == 2047 << 20 and found.early_bytes > 0
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{limits.EARLY} is 'much', and not a number"):
        Limits.find({limits.EARLY: "much"})


def test_a_value_beyond_the_limit_fails_the_step(monkeypatch):
    monkeypatch.setenv(limits.VALUE, "1")
    spec = addresses(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        x = tf.placeholder(tf.float32, [None], name="x")
        doubled, filled = 2.0 * x, tf.fill([tf.cast(x[0], tf.int32)], 1.0)
    with tf.device("/job:worker/task:0"):
        total = tf.reduce_sum(filled)
    monkeypatch.setenv("THALWEG_CLUSTER_TRANSPORT", "tcp")
    with (
        tf.train.Server(spec, "ps", 0),
        tf.train.Server(spec, "worker", 0) as worker,
        tf.Session(worker.target) as session,
    ):
        assert session.run(doubled, {"x:0": [1.0]}) == [2.0]
        limit = "a value of 1200000 bytes, more than the limit of 1 MB .THALWEG_CLUSTER_MAX_VALUE_MB."
        for name, size, step, options in (
            (f"{PS} received", [1.0] * 300_000, doubled, None),
            (f"{PS} returned", [300_000], filled, None),
            ("is lost: ", [300_000], total, None),
            (f"{PS} sent", [300_000], total, tf.RunOptions(timeout_in_ms=60_000)),
        ):
            with pytest.raises(tf.errors.OpError, match=f"{name}.*{limit}"):
                session.run(step, {"x:0": size}, options)
            assert session.run(doubled, {"x:0": [1.0]}) == [2.0]
