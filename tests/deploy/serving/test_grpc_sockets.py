"""Connections of a gRPC port among the files of the process: which are closed, and when."""

import os
import socket
import sys

import pytest

from thalweg._src.cluster.distributed.limits import TaskConnections as Limits
from thalweg._src.deploy.serving.grpc_connections import GrpcConnections, Link, links_of, shut_down

LINKS = [Link(("127.0.0.1", 1000 + number), number, number) for number in range(10)]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sockets are told apart by their inodes")


def peer(link):
    return f"ipv4:{link.client[0]}:{link.client[1]}"


def test_which_connections_are_closed():
    connections = GrpcConnections(Limits(connections=2, unproved=3, header_seconds=10))
    assert connections.look(LINKS[:3], connections.calls(), 0) == []
    connections.call(peer(LINKS[1]), True)
    connections.call(peer(LINKS[2]), False)
    assert connections.look(LINKS[:3], connections.calls(), 1) == [LINKS[2]]
    assert connections.look(LINKS[:2] + LINKS[3:6], connections.calls(), 2) == [
        LINKS[0]
    ]  # has made no call for longest
    connections.call(peer(LINKS[3]), True)
    connections.call(peer(LINKS[3]), False)
    assert connections.look([LINKS[1], *LINKS[3:6]], connections.calls(), 3) == []
    connections.call(peer(LINKS[1]), True)
    connections.call(peer(LINKS[4]), True)
    assert connections.look([LINKS[1], *LINKS[3:6]], connections.calls(), 4) == [LINKS[3]]  # has made no call since
    assert connections.look([LINKS[1], *LINKS[4:6]], connections.calls(), 20) == [LINKS[5]]
    assert connections.look([LINKS[1]], connections.calls(), 1000) == []


def test_a_connection_that_only_asks_is_closed():
    connections = GrpcConnections(Limits())
    connections.look(LINKS[:2], {}, 0)
    for link in LINKS[:2]:
        connections.ask(peer(link))
    assert connections.look(LINKS[:2], connections.calls(), 1) == []
    for _ in range(20):
        for link in LINKS[:2]:
            connections.ask(peer(link))
    connections.call(peer(LINKS[0]), True)  # proves itself after all
    assert connections.look(LINKS[:2], connections.calls(), 2) == [LINKS[1]]


def test_a_call_counts_although_others_connect_later():
    connections = GrpcConnections(Limits(unproved=3))
    connections.call(peer(LINKS[0]), True)
    assert connections.look(LINKS, connections.calls(), 0) == LINKS[1:7]


@pytest.mark.parametrize(
    "family, host, name",
    [(socket.AF_INET, "127.0.0.1", "ipv4:127.0.0.1:{}"), (socket.AF_INET6, "::1", "ipv6:%5B::1%5D:{}")],
)
def test_connections_are_among_the_files_of_the_process(family, host, name):
    with socket.create_server((host, 0), family=family) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection((host, port)) as client, listener.accept()[0] as accepted:
            links = links_of(port, {})
            (link,) = filter(None, links.values())
            assert (link.file, link.client[1]) == (accepted.fileno(), client.getsockname()[1])
            assert links_of(port, links) == links
            connections = GrpcConnections(Limits())
            connections.look([link], {}, 0)
            connections.call(name.format(link.client[1]), True)
            assert connections.look([link], connections.calls(), 1e9) == []
            other = os.dup(listener.fileno())
            os.dup2(other, accepted.fileno())  # another socket has the number of the file meanwhile
            shut_down([link])
            os.close(other)
            socket.create_connection((host, port)).close()
            listener.accept()[0].close()


def test_a_connection_that_is_shut_down():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client, listener.accept()[0]:
            shut_down(filter(None, links_of(port, {}).values()))
            assert client.recv(1) == b""
