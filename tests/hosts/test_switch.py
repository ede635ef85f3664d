"""The switch with delay, rate and loss: how long frames take, how many pass, and how many are lost."""

import sys
from functools import partial

import pytest

from tests.hosts.network import Network, wait
from tests.hosts.switch import SlowCables

ANSWER = """
import socket, threading
def answer():
    packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    packets.bind(("0.0.0.0", 80))
    while True:
        packets.sendto(*packets.recvfrom(100))
threading.Thread(target=answer, daemon=True).start()
server = socket.create_server(("0.0.0.0", 80))
print("serves", flush=True)
while True:
    connection, _ = server.accept()
    while connection.recv(1 << 20):
        pass
    connection.sendall(b"x")
"""
PING = """
import socket, sys, time
packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
packets.settimeout(0.2)
heard, seconds = 0, []
for _ in range(int(sys.argv[2])):
    start = time.monotonic()
    packets.sendto(b"x", (sys.argv[1], 80))
    try:
        packets.recv(100)
        seconds.append(time.monotonic() - start)
    except TimeoutError:
        pass
print("heard", len(seconds), sorted(seconds)[len(seconds) // 2])
"""
SEND = """
import socket, sys, time
connection = socket.create_connection((sys.argv[1], 80))
start = time.monotonic()
for _ in range(int(sys.argv[2])):
    connection.sendall(bytes(1 << 20))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
print("sent", time.monotonic() - start)
"""


@pytest.fixture
def call(tmp_path):
    """Runs one of the programs at a host of a network, with another one that answers, and returns what it prints."""
    networks = []

    def call(code, count, **options):
        networks.append(Network(hosts=2, folder=tmp_path, cables=partial(SlowCables, **options)))
        here, there = networks[-1].hosts
        for name, text in (("answer", ANSWER), ("call", code)):
            (tmp_path / f"{name}.py").write_text(text)
        answering = there.start(tmp_path / "answer.py", name="answer", python=sys.executable)
        wait(lambda: answering.lines("serves"), 10, "it serves")
        calling = here.start(tmp_path / "call.py", there.address, count, name="call", python=sys.executable)
        wait(lambda: calling.poll() is not None, 50, "it ends")
        return [float(number) for number in calling.lines()[-1].split()[1:]]

    yield call
    for network in networks:
        network.__exit__()


def test_frames_are_delayed_on_each_way(call):
    heard, seconds = call(PING, 20, delay=0.02)
    assert heard == 20 and 0.04 <= seconds < 0.06


@pytest.mark.parametrize("rate", [1e8, 1e9])
def test_frames_take_the_time_of_the_rate(call, rate):
    megabytes = int(rate / 1e7)
    (seconds,) = call(SEND, megabytes, rate=rate)
    assert megabytes * 8 * (1 << 20) / rate < seconds


def test_frames_are_lost(call):
    heard, _ = call(PING, 40, loss=0.2)
    assert 10 <= heard < 40


def test_a_cable_without_carrier_carries_nothing(tmp_path):
    with Network(hosts=2, folder=tmp_path, cables=SlowCables) as network:
        here, _ = network.hosts
        carriers = []
        for change in (here.pull, here.plug):
            change()
            carriers.append("LOWER_UP" in here.run("ip", "link", "show", "eth0").stdout)
        assert carriers == [False, True]
