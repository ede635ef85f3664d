"""A task, or a client, whose connections go through a proxy, and whose calls of the control plane the proxy spoils."""

import contextlib
import gc
import json
import os
import socket
import sys
import threading
import time
from unittest import mock

import grpc

import thalweg as tf
from tests.cluster.distributed.wire_proxy import DELAY, open_through
from thalweg._src.cluster.distributed import data_plane, rpc

_LONG = 120.0  # that a call without a time limit waits for an answer that does not come


class _Failed(grpc.RpcError):
    def __init__(self, code, text):
        super().__init__(text)
        self._code, self._text = code, text

    def code(self):
        return self._code

    def details(self):
        return self._text


class _Cut:
    """The answer of a call, of which a half is missing."""

    def __init__(self, call):
        self._call = call

    def result(self):
        content = self._call.result()
        return content[: len(content) // 2]

    def __getattr__(self, name):
        return getattr(self._call, name)


def _reset_connections(port):
    """Ends gRPC's connections of this process to a port under gRPC's feet, so that the next call meets a lost one."""
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(name))) as end:
            if end.family in (socket.AF_INET, socket.AF_INET6) and end.getpeername()[1] == port:
                end.shutdown(socket.SHUT_RDWR)


class _Interceptor(grpc.UnaryUnaryClientInterceptor):
    """Asks the proxy about each call to a task."""

    def __init__(self, address, sender, task):
        self._address, self._sender = address, sender
        self._port = int(task.rpartition(":")[2])

    def intercept_unary_unary(self, continuation, details, request):
        start = time.monotonic()
        with open_through(self._address, True, call=details.method.rpartition("/")[2], sender=self._sender) as sock:
            action = sock.recv(100).decode()

        def expire():
            time.sleep(max(0.0, start + (details.timeout or _LONG) - time.monotonic()))
            raise _Failed(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")

        if action == "lost":
            expire()
        if action == "delayed":
            time.sleep(DELAY)
        if action == "truncated":
            return continuation(details, request[: len(request) // 2])
        if action == "reset":
            _reset_connections(self._port)
        if action in ("reply lost", "twice"):
            with contextlib.suppress(grpc.RpcError):
                continuation(details, request).result()
            if action == "reply lost":
                expire()
        call = continuation(details, request)
        return _Cut(call) if action == "reply truncated" else call


@contextlib.contextmanager
def through(address, sender):
    """Has all connections of this process go through a proxy."""
    channel = rpc.authentication.channel

    def connect(unix_name, host, port, use_tcp):
        return open_through(address, use_tcp, to=[unix_name, host, port, use_tcp])

    def intercepted(task, *args, **options):
        return grpc.intercept_channel(channel(task, *args, **options), _Interceptor(address, sender, task))

    with (
        mock.patch.object(data_plane, "connect", connect),
        mock.patch.object(rpc.authentication, "channel", intercepted),
    ):
        yield


def state(server):
    """Returns what a task keeps for others, none of which may be left when they have gone."""
    gc.collect()
    task = server._require()
    worker, service, found = task.worker, task.service, task._endpoint
    return {
        "sessions": len(worker._sessions) + len(service.master._sessions) + len(service.worker._sessions),
        "registered": len(worker._registered),
        "prepared": len(service.master._prepared),
        "running": len(worker._steps._entries) + len(service.master._running),
        "channels of clients": sum(
            len(found) for name, found in service._channels.items() if not name.startswith("/job")
        ),
        "groups": len(worker.collectives._links) + len(worker.collectives._sessions),
        "slab": 0 if found.slab is None else found.slab.bytes_in_use,
        "offered": sum(len(link._window._offered) + len(link._asked) for link in found._all()),
        "unconsumed": sum(link._window._unconsumed for link in found._all()),
        "spare links": len(found._spare[1:]),  # one is left where both tasks opened a link at the same time
        "threads": sorted(each.name for each in threading.enumerate()),
    }


def main(address, spec, job, index):
    with through(address, f"/job:{job}/replica:0/task:{index}"):
        server = tf.train.Server(json.loads(spec), job, int(index))
        print("serves", flush=True)
        for _ in sys.stdin:
            print(json.dumps(state(server)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
