"""The virtual hosts themselves: what a host can reach, and what it cannot."""

import sys

import pytest

from tests.hosts.network import Network, wait

SERVE = """
import socket, threading
def echo(connection):
    with connection:
        while data := connection.recv(100):
            connection.sendall(data)
server = socket.create_server(("::", 80), family=socket.AF_INET6, dualstack_ipv6=True)
print("serves")
while True:
    threading.Thread(target=echo, args=[server.accept()[0]], daemon=True).start()
"""
CALL = """
import socket, sys, time
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=0.5)
for pause in sys.argv[3:]:
    connection.sendall(b"x")
    assert connection.recv(1) == b"x"
    print("heard", flush=True)
    time.sleep(float(pause))
print("called")
"""


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    with Network(hosts=3, folder=tmp_path_factory.mktemp("hosts")) as network:
        for name, code in (("serve", SERVE), ("call", CALL)):
            (network.folder / f"{name}.py").write_text(code)
        for host in network.hosts:
            serve(host)
        yield network


def serve(host):
    server = host.start(host.network.folder / "serve.py", name="serve")
    wait(lambda: server.lines("serves"), 20, "a server")


def called(host, address, port=80, *pauses):
    """Returns the last line of a program that calls an address and port, and sends something before each pause."""
    command = [sys.executable, "-ISc", CALL, address, str(port), *map(str, pauses or [0])]
    done = host.run(*command, check=False)
    return (done.stdout + done.stderr).strip().rpartition("\n")[2].partition(":")[0]


@pytest.mark.parametrize("address", ["address", "address6"])
def test_hosts_reach_each_other(network, address):
    one, two, _ = network.hosts
    assert called(one, getattr(two, address)) == "called"


def test_names_belong_to_a_host(network):
    one, two, three = network.hosts
    one.names([(two.address6, "two.test"), ("127.0.1.1", one.name)])
    assert [called(one, name) for name in ("two.test", one.name)] == ["called"] * 2
    assert called(three, "two.test") == "socket.gaierror"
    assert one.run("hostname").stdout.strip() == one.name


def test_a_cable_is_pulled_and_plugged(network):
    one, two, _ = network.hosts
    one.pull()
    assert called(two, one.address) == "TimeoutError"
    one.plug()
    assert called(two, one.address) == called(two, one.address6) == "called"


def test_a_host_without_power_is_silent_and_starts_anew(network):
    one, two, _ = network.hosts
    one.power_off()
    assert called(two, one.address) == "TimeoutError"
    one.power_on()
    assert called(two, one.address) == "ConnectionRefusedError"
    serve(one)
    assert called(two, one.address) == "called"


def test_packets_are_lost_in_one_direction(network):
    one, two, three = network.hosts
    one.drop(two)
    assert [called(two, one.address), called(two, one.address6)] == ["TimeoutError"] * 2
    assert called(three, one.address) == "called"
    one.drop_nothing()
    assert called(two, one.address) == "called"


def test_partitions_separate_sets_of_hosts(network):
    one, two, three = network.hosts
    network.partition([one], [two, three])
    assert [called(one, two.address), called(three, one.address)] == ["TimeoutError"] * 2
    assert called(two, three.address) == "called"
    network.heal()
    assert called(one, two.address) == "called"


def test_a_gateway_forwards_a_port(network):
    one, gateway, inside = network.hosts
    gateway.forward(3222, inside, 80)
    assert called(one, gateway.address, 3222) == "called"
    assert called(one, gateway.address, 3223) == "ConnectionRefusedError"


def test_firewalls(tmp_path, network):
    with Network(hosts=2, folder=tmp_path / "other") as other:
        one, two = other.hosts
        (other.folder / "serve.py").write_text(SERVE)
        two.remember_for(1)
        serve(two)
        assert called(one, two.address, 80, 0.1, 0.1) == "called"
        assert called(one, two.address, 80, 3, 0.1) == "TimeoutError"  # idle for too long
        two.admit_only(81)
        assert called(one, two.address) == "TimeoutError"
        assert called(one, two.address, 81) == "ConnectionRefusedError"
        one.refuse(80)
        assert called(two, one.address) == "ConnectionRefusedError"


@pytest.mark.parametrize(("action", "error"), [("forget", "TimeoutError"), ("reset", "ConnectionResetError")])
def test_connections_are_forgotten_and_reset(tmp_path, action, error):
    with Network(hosts=2, folder=tmp_path) as other:
        one, two = other.hosts
        (other.folder / "serve.py").write_text(SERVE)
        (other.folder / "call.py").write_text(CALL)
        two.remember_for(60)
        serve(two)
        caller = one.start(other.folder / "call.py", two.address, 80, *[0.1] * 300, name="call")
        wait(lambda: len(caller.lines("heard")) > 3, 20, "answers")
        getattr(two, action)()
        wait(lambda: error in caller.text(), 20, "the end of the connection")
        assert called(one, two.address) == "called"
