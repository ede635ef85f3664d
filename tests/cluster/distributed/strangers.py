"""Strangers who want to exhaust a task of a cluster, as a program: thousands of connections in one thread.

`strangers.py KINDS CONNECTIONS STEPS CONTROL_PORT DATA_PORT UNIX_NAME` goes on until its standard input ends, and then
prints counts, as tests/deploy/serving/attacker.py does. KINDS is one of the names of `KINDS`.
"""

import itertools
import os
import sys

from tests.deploy.serving import attacker

PROVE = b"/thalweg.Credentials/Prove"
TASK = b"/job:worker/replica:0/task:0"
HELLO = b"thalweg\1\2"  # with a token, of version 2; the nonce follows
FIRST = HELLO + bytes(32) + bytes([4, 1, len(TASK)]) + b"linka" + TASK


def garbage():
    yield from iter(lambda: os.urandom(100), None)


def half_hello():
    yield HELLO
    yield from itertools.repeat(b"")


def slow_hello():
    for byte in FIRST:
        yield bytes([byte])
    yield from itertools.repeat(b"")


def without_proof():
    yield FIRST
    yield from itertools.repeat(b"")


def wrong_proof():
    yield FIRST + os.urandom(32)
    yield from itertools.repeat(b"")


def half_tls():
    yield b"thalweg\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(32)
    yield from itertools.repeat(b"")


def questions():
    """Asks a task for its nonce again and again, and proves nothing."""
    yield attacker.SETTINGS
    for first in itertools.count(1, 8):
        calls = range(first, first + 8, 2)
        yield b"".join(attacker.frame(1, 5, call, attacker.fields(path=PROVE)) for call in calls)


HALF_CONTROL = (attacker.grpc_half_preface, attacker.grpc_half_open, attacker.grpc_idle, attacker.grpc_half_headers)
HALF_DATA = (half_hello, slow_hello, without_proof, half_tls)
KINDS = {  # at the control plane, and at the data plane
    "silent": ((attacker.silent,), (attacker.silent,)),
    "half": (HALF_CONTROL, HALF_DATA),
    "all": ((*attacker.GRPC, questions), (attacker.silent, garbage, wrong_proof, *HALF_DATA)),
}


def main(name, connections, steps, port, unix_name):
    control, data = KINDS[name]
    kinds = [(kind, ("127.0.0.1", int(port))) for kind in control for _ in range(2)]
    for address in (("127.0.0.1", int(port)), b"\0" + unix_name.encode()):
        kinds += [(kind, address) for kind in data]
    attacker.attack(kinds, int(connections), int(steps))


if __name__ == "__main__":
    main(*sys.argv[1:])
