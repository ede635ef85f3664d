"""The addresses of a server: which ones are its own, for its process and for others."""

import socket
import sys

import pytest

import thalweg as tf
from tests import children
from thalweg._src.cluster.distributed import credentials, server

ALONE = tf.ConfigProto(device_filters=["/job:ps"])


def _own_address():
    """Returns an address of this machine that is not loopback, if it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no route")
        return sock.getsockname()[0]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "own", "name"])
def test_a_server_is_known_by_every_address_that_it_serves(host, monkeypatch):
    """Its sessions may then call Python, as those of the process itself."""
    own = _own_address()
    monkeypatch.setenv(credentials.TOKEN, "a token of tests only")
    name = {"own": own, "name": socket.gethostname()}.get(host, host)
    with tf.train.Server({"ps": [f"{own}:0"], "worker": ["10.77.0.9:2222"]}, "ps", 0) as started:
        port = started.target.rpartition(":")[2]
        with tf.Session(f"grpc://{name}:{port}", config=ALONE) as session:
            element = tf.data.Dataset.from_generator(lambda: iter([7]), tf.int64).make_one_shot_iterator().get_next()
            assert session.run(element) == 7


def test_a_server_does_not_answer_for_other_hosts():
    with tf.train.Server.create_local_server() as local:
        port = local.target.rpartition(":")[2]
        assert server.find_server(f"grpc://127.0.0.1:{port}") is server.find_server(local.target) is not None
        for other in ("[::1]", "192.0.2.1", "no.host.invalid", _own_address()):
            assert server.find_server(f"grpc://{other}:{port}") is None


def test_one_that_writes_localhost_for_itself_is_reached_by_others(monkeypatch):
    own = _own_address()
    monkeypatch.setenv(credentials.TOKEN, "a token of tests only")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tf.train.Server({"ps": [f"localhost:{port}"], "worker": ["10.77.0.9:2222"]}, "ps", 0):
        environment = children.environment(**{credentials.TOKEN: "a token of tests only"})
        session = f"tf.Session('grpc://{own}:{port}', config=tf.ConfigProto(device_filters=['/job:ps']))"
        code = f"import thalweg as tf; print({session}.run(tf.constant(3) + 4))"
        assert children.run([sys.executable, "-c", code], env=environment).stdout == "7\n"


def test_a_server_without_a_port_has_no_address_of_the_network():
    with tf.train.Server({"worker": ["localhost:2222"]}, protocol="inprocess"):
        assert server.find_server("grpc://localhost:2222") is None
