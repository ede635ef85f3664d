"""A switch in user space, with the delay, rate and loss of a network: kernels without `sch_netem` have none.

    with Network(hosts=3, folder=tmp_path, cables=partial(SlowCables, delay=0.02, rate=1e9)) as network:

Each host has a TAP device. A process of its own holds their other ends, learns which address is behind which port, and
passes frames on when their time has come.
"""

import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import struct
import subprocess
import sys
import time

from tests import children

_SET_DEVICE, _SET_OFFLOAD, _SET_CARRIER = 0x400454CA, 0x400454D0, 0x400454E2  # TUNSETIFF and others
_TAP = 0x0002 | 0x1000 | 0x4000  # IFF_TAP, IFF_NO_PI, IFF_VNET_HDR
_CHECKSUMS, _SEGMENTS = 0x01, 0x02 | 0x04  # TUN_F_CSUM, TUN_F_TSO4 and 6
_NETWORK = 0x40000000  # CLONE_NEWNET
_OFFLOAD = struct.Struct("<BBHHHH")  # of virtio: flags, kind, bytes of headers, of a segment, position of the checksum
_LARGEST = 1 << 17
_GAP = 24  # bytes of preamble, checksum and gap that a frame takes on the cable besides its own
_BATCH = 16  # frames that are read from a port before those that are due are sent
_QUEUE_SECONDS, _QUEUE_BYTES = 0.1, 1 << 18  # what a port keeps at its rate, and at least


class SlowCables:
    """Cables to a switch with delay, rate and loss; `Bridge` of network.py is its twin without them.

    delay: seconds that a frame takes from any host to any other
    rate: bits per second of each cable, in each direction; 0 for no limit
    loss: the probability with which a frame is lost
    """

    def __init__(self, switch, delay=0.0, rate=0.0, loss=0.0):
        command = [*switch.entering, sys.executable, "-m", "tests.hosts.switch", *map(str, (delay, rate, loss))]
        pipe = subprocess.PIPE
        self.process = children.start(command, env=children.environment(), stdin=pipe, stdout=pipe, text=True)
        self._ask()

    def _ask(self, *request):
        if request:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        if self.process.stdout.readline() != "done\n":
            raise OSError(f"the switch ended: {request}")

    def connect(self, host):
        self._ask("connect", host.number, host.holder.pid)
        host.ip(f"link set eth0 address 02:00:00:00:77:{host.number:02x}")

    def disconnect(self, host):
        self._ask("disconnect", host.number)

    def set(self, host, state):
        """state: up or down"""
        self._ask("carrier", host.number, state == "up")

    def close(self):
        children.end(self.process)


class Queue:
    """One direction of a cable: frames leave it one after another, at its rate."""

    def __init__(self, rate):
        self._rate = rate
        self._free = 0.0  # when the last frame will have left

    def leave(self, now, size):
        """Returns when a frame that comes now will have left, or None if there is no room for it."""
        if not self._rate:
            return now
        start = max(now, self._free)
        if start - now > max(_QUEUE_SECONDS, _QUEUE_BYTES * 8 / self._rate):
            return None
        self._free = start + size * 8 / self._rate
        return self._free


class Port:
    """The switch's end of a cable."""

    def __init__(self, process, rate, is_segmenting):
        """process: one in the namespaces of the host"""
        self.incoming, self.outgoing = Queue(rate), Queue(rate)
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        _enter(os.open(f"/proc/{process}/ns/net", os.O_RDONLY))
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.fd, _SET_DEVICE, struct.pack("16sH22x", b"eth0", _TAP))
        fcntl.ioctl(self.fd, _SET_OFFLOAD, _CHECKSUMS | (_SEGMENTS if is_segmenting else 0))
        _enter(home)

    def set_carrier(self, is_up):
        fcntl.ioctl(self.fd, _SET_CARRIER, struct.pack("i", is_up))


def _enter(namespace):
    if ctypes.CDLL(None, use_errno=True).setns(namespace, _NETWORK):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(namespace)


class Switch:
    """Passes frames between ports."""

    def __init__(self, delay, rate, loss):
        self._delay, self._rate, self._loss = delay, rate, loss
        self._ports = {}  # by the number of the host
        self._by_fd = {}
        self._behind = {}  # ports by hardware address
        self._due = []  # time, number, port of the sender, port to leave by or None, frame
        self._count = 0
        self._random = random.Random(1).random
        self._poll = select.epoll()

    def connect(self, host, process):
        # With offload, a frame stands for up to 45 segments, which would be lost together.
        port = self._ports[host] = Port(process, self._rate, is_segmenting=not self._loss)
        self._by_fd[port.fd] = port
        self._poll.register(port.fd, select.EPOLLIN)

    def disconnect(self, host):
        port = self._ports.pop(host)
        del self._by_fd[port.fd]
        self._behind = {address: other for address, other in self._behind.items() if other is not port}
        self._due = [due for due in self._due if due[3] is not port]
        heapq.heapify(self._due)
        os.close(port.fd)

    def carrier(self, host, is_up):
        self._ports[host].set_carrier(is_up)

    def run(self, requests):
        """Does what lines of the input ask for, and passes frames on, until the input ends."""
        self._poll.register(requests, select.EPOLLIN)
        print("done", flush=True)
        while True:
            wait = max(0.0, self._due[0][0] - time.monotonic()) if self._due else -1
            for fd, _ in self._poll.poll(wait):
                if fd in self._by_fd:
                    self._read(self._by_fd[fd])
                elif fd == requests.fileno():
                    line = requests.readline()
                    if not line:
                        return
                    action, *arguments = json.loads(line)
                    getattr(self, action)(*arguments)
                    print("done", flush=True)
            self._pass_on()

    def _read(self, port):
        for _ in range(_BATCH):
            try:
                frame = os.read(port.fd, _LARGEST)
            except OSError:  # there is none, or the host is off
                return
            self._behind[frame[16:22]] = port
            leaves = port.incoming.leave(time.monotonic(), _size(frame))
            if leaves is not None and self._random() >= self._loss:
                self._push(leaves + self._delay, port, None, frame)

    def _pass_on(self):
        while self._due and self._due[0][0] <= time.monotonic():
            now, _, source, destination, frame = heapq.heappop(self._due)
            if destination is not None:
                with contextlib.suppress(OSError):  # the device is down
                    os.write(destination.fd, frame)
                continue
            behind = self._behind.get(frame[10:16])
            for port in self._by_fd.values() if behind is None else (behind,):
                leaves = None if port is source else port.outgoing.leave(now, _size(frame))
                if leaves is not None:
                    self._push(leaves, source, port, frame)

    def _push(self, when, source, destination, frame):
        self._count += 1  # frames of one time keep their order
        heapq.heappush(self._due, (when, self._count, source, destination, frame))


def _size(frame):
    """Returns the bytes that a frame takes on the cable, once it is cut into segments."""
    _, kind, headers, segment, _, _ = _OFFLOAD.unpack_from(frame)
    size = len(frame) - _OFFLOAD.size
    frames = -(-(size - headers) // segment) if kind else 1
    return size + (frames - 1) * headers + frames * _GAP


if __name__ == "__main__":
    Switch(*map(float, sys.argv[1:])).run(os.fdopen(0, buffering=1))
