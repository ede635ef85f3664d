"""An attacker: a client, with the token of a cluster or without, that sends malformed messages to a server."""

import contextlib
import itertools
import json
import os
import re
import socket
import struct
import time
from pathlib import Path

import grpc
import torch

import thalweg as tf
from tests.cluster.distributed import mutation
from tests.graph.ir.graphs import conditionals, layers, loops
from thalweg._src.base.errors import OpError
from thalweg._src.cluster.distributed import authentication, control, data_plane, handshake
from thalweg._src.cluster.distributed.conversions import config_to_json
from thalweg._src.cluster.distributed.endpoint import CHANNEL, LINK, Endpoint
from thalweg._src.cluster.distributed.frames import HEADER, POSITIONS, VERSION, FrameKind, pack
from thalweg._src.cluster.distributed.rpc import Stub, methods
from thalweg._src.cluster.distributed.slab import Slab, available
from thalweg._src.graph.ir.serialize import to_bytes

SECONDS = 60  # after which something hangs
_UNTYPED = re.compile(r"Traceback|^\w*(Error|Exception)\b: |^KeyError|^\(\)$|^'[^']*'$")


def frame(kind, step=0, description=b"", values=(), key=b"", put=None, position=1):
    """Returns a well-formed frame, by default the first one after the greeting of a link."""
    described, buffers = pack(values, put)
    content = b"".join(bytes(buffer) for buffer in buffers)
    described = description + described + key
    head = HEADER.pack(kind, VERSION, position % POSITIONS, len(values), len(described), step, len(content))
    return head + described + content


def _at(position, content):
    """Returns a frame with another position."""
    return content[:2] + struct.pack("<H", position) + content[4:]


class Attacker:
    """Sends messages to one server, and keeps what it answers that no server should."""

    def __init__(self, address, task, credentials, chance):
        self.address, self.task, self.credentials, self.chance = address, task, credentials, chance
        self.problems = []
        self.sent = 0
        self._names = itertools.count()
        self._stub = Stub(address, credentials)
        self.info = self._stub.call(control.GetTaskRequest(), control.TaskInfo, timeout=SECONDS)
        self._channel = authentication.channel(address, credentials, max_message_bytes=1 << 26)
        self._slab = Slab(1 << 20) if available() else None
        self._endpoint = Endpoint("attacker", self, credentials)
        self._endpoint.open_link(self.info, address)
        session = self._call(control.CreateSessionRequest(client="attacker"), control.CreateSessionResponse)
        self.session = session.session
        self._call(control.CreateWorkerSessionRequest(session="mine"), control.DeviceList)

    def _call(self, request, answer):
        return self._stub.call(request, answer, SECONDS)

    def deliver(self, step, key, value, source, nbytes):
        """Drops what the server sends."""

    def abort(self, step, error):
        """Drops what the server sends."""

    def ended(self, step):
        """Drops what the server sends."""

    def tick(self):
        """Keeps nothing that grows old."""

    def lost(self, link, why):
        """Drops what the server sends."""

    def close(self):
        self._channel.close()
        self._stub.close()
        self._endpoint.close()
        if self._slab is not None:
            self._slab.close()

    # -- the data plane -----------------------------------------------------------------------------------------------

    def strangers(self, count):
        """Sends what is no handshake, or that of an attacker without the token."""
        for _ in range(count):
            with self._connect() as sock:
                start = (
                    bytes(handshake._hello(self.credentials)) + b"\4\10\30linkattacker" + self.task.encode() + b"x" * 32
                )
                self._send(sock, mutation.bytes_like(self.chance, start))

    def links(self, count):
        """Sends malformed frames on links, some after frames that are well-formed."""
        for _ in range(count):
            with self._proved(LINK, f"attacker {next(self._names)}") as sock, self._greeted(sock):
                frames = [self.chance.choice(self._link_frames()) for _ in range(self.chance.choice((1, 1, 2, 4)))]
                *good, last = (_at(position, content) for position, content in enumerate(frames, 1))
                self._send(sock, b"".join(good) + mutation.bytes_like(self.chance, last))

    def greetings(self, count):
        """Sends malformed greetings on links."""
        for number in range(count):
            with self._proved(LINK, f"attacker {next(self._names)}") as sock:
                hello = frame(FrameKind.HELLO, 0, struct.pack("<QQ", number, 1 << 20), position=0)
                start = b"S" if number % 2 else b"-"
                if number % 3 == 0 and sock.family == socket.AF_UNIX:
                    with open(os.devnull) as file:  # no slab
                        socket.send_fds(sock, [start], [file.fileno()])
                        start = b""
                self._send(sock, mutation.bytes_like(self.chance, start + hello))

    def channels(self, count):
        """Sends malformed requests on channels, some of them for steps that there are."""
        handles = [0, 1 << 40, *self._steps()]
        for _ in range(count):
            with self._proved(CHANNEL, "attacker") as sock:
                chosen = self.chance.choice(self._channel_frames(self.chance.choice(handles)))
                for answer in self._send(sock, mutation.bytes_like(self.chance, chosen)):
                    self._check(*answer)

    @contextlib.contextmanager
    def _connect(self):
        use_tcp = self.chance.random() < 0.3
        sock = data_plane.connect(self.info.unix_name, *data_plane.split_address(self.address), use_tcp)
        with sock:
            sock.settimeout(SECONDS)
            yield sock

    @contextlib.contextmanager
    def _proved(self, role, name):
        with self._connect() as sock:
            handshake.connect(
                sock, self.credentials, host="localhost", role=role, task=name, peer=self.task, seconds=SECONDS
            )
            sock.settimeout(SECONDS)
            yield sock

    @contextlib.contextmanager
    def _greeted(self, sock):
        _, _, mapped = data_plane.greet(sock, data_plane.Greeting(1, 0, 0.0, "an attacker"), self._slab)
        sock.settimeout(SECONDS)
        yield
        if mapped is not None:
            mapped.close()

    def _send(self, sock, content):
        """Sends bytes and the end, and returns the answers that arrive until the server closes the connection."""
        self.sent += 1
        received = b""
        with contextlib.suppress(OSError):  # the server has closed it meanwhile
            sock.sendall(content)
            sock.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while part := sock.recv(1 << 16):  # if it hangs, TimeoutError
                received += part
        return _answers(received)

    def _link_frames(self):
        step = self.chance.randrange(8)
        values = [torch.arange(3.0), torch.ones(2, 2, dtype=torch.bool), None, _strings(), ((), torch.ones(1))]
        error = json.dumps({"code": 3, "message": "wrong", "node": "x"}).encode()
        slab = struct.pack("<BBHQQQ", 2, 0, 1, 400, 100, 64)
        return [
            *(frame(FrameKind.TENSOR, step, values=[value], key=b"a;b;c") for value in values),
            HEADER.pack(FrameKind.TENSOR, VERSION, 1, 1, len(slab) + 1, step, 0) + slab + b"k",
            frame(FrameKind.WANTED, step, values=[torch.ones(2)], key=b"a;b;c"),
            *(frame(kind, step, b"a;b;c") for kind in (FrameKind.OFFER, FrameKind.WANT, FrameKind.END, FrameKind.PING)),
            *(frame(kind, 0, struct.pack("<Q", 64)) for kind in (FrameKind.RELEASE, FrameKind.CONSUMED)),
            frame(FrameKind.ABORT, step, error),
            frame(self.chance.randrange(256), step, self.chance.randbytes(40)),
        ]

    def _steps(self):
        """Registers and prepares steps, and returns their handles."""
        requests = self._requests()
        extend = next(request for request in requests if isinstance(request, control.ExtendSessionRequest))
        self._call(extend, control.Empty)
        prepare = next(request for request in requests if isinstance(request, control.PrepareStepRequest))
        yield self._call(prepare, control.PrepareStepResponse).handle
        for partitions in _partitions(self.task):
            register = control.RegisterGraphRequest(session="mine", num_fetches=3, partitions=partitions)
            yield self._call(register, control.RegisterGraphResponse).handle

    def _channel_frames(self, handle):
        step = self.chance.randrange(1 << 63)
        head = struct.pack("<QI??", handle, 200, self.chance.random() < 0.5, self.chance.random() < 0.5)
        feeds = [
            *([], [torch.ones(3)], [torch.ones(2, 8)], [torch.ones(2, 8, dtype=torch.float64)], [_strings(), None]),
            *([torch.tensor(1.0), torch.tensor(True)], [torch.ones(1 << 14)]),
        ]
        kinds = (FrameKind.RUN_STEP, FrameKind.RUN_PARTITIONS)
        return [frame(kind, step, head, values, position=0) for kind in kinds for values in feeds]

    # -- the control plane --------------------------------------------------------------------------------------------

    def calls(self, count):
        """Makes calls with malformed messages of every type."""
        requests = self._requests()
        for number in range(count):
            original = requests[number % len(requests)]
            request = type(original)()
            request.CopyFrom(original)
            chosen = self.chance.random()
            graph = next((field.name for field in request.DESCRIPTOR.fields if field.type == field.TYPE_BYTES), None)
            if chosen < 0.4:
                mutation.change_field(self.chance, request)
            elif chosen < 0.8 and graph is not None:
                setattr(request, graph, mutation.bytes_like(self.chance, getattr(request, graph)))
            content = request.SerializeToString()
            if chosen > 0.8:
                content = mutation.bytes_like(self.chance, content)
            self._call_raw(methods()[request.DESCRIPTOR.full_name], content)

    def _call_raw(self, method, content):
        self.sent += 1
        try:
            self._channel.unary_unary(f"/{method.containing_service.full_name}/{method.name}")(content, SECONDS)
        except grpc.RpcError as error:
            self._check(error.code().value[0], error.details(), method.name)

    def _requests(self):
        """Returns well-formed calls."""
        with tf.Graph().as_default() as graph:
            tf.multiply(tf.placeholder(tf.float32, [None], name="x"), tf.Variable(2.0), name="y")
        graph_def = graph.as_graph_def(add_shapes=True).SerializeToString()
        quick = tf.ConfigProto(operation_timeout_in_ms=500)
        other = tf.ConfigProto(operation_timeout_in_ms=50)
        other.cluster_def = tf.train.ClusterSpec({"ps": ["localhost:1"], "worker": ["localhost:1"]}).as_cluster_def()
        quick, other = map(config_to_json, (quick, other))
        routes = {"a;b;c": self.task}
        return [
            control.GetTaskRequest(),
            control.GetStatusRequest(),
            control.CreateWorkerSessionRequest(session="other", config_json=quick),
            control.CreateSessionRequest(client="attacker", config_json=quick),
            control.CreateSessionRequest(client="attacker", config_json=other),
            control.CreateSessionRequest(client="no such client", config_json=quick),
            control.DeleteWorkerSessionRequest(session="other"),
            control.DeregisterGraphRequest(session="mine", handle=1),
            control.CleanupAllRequest(container=["some"]),
            control.ResetRequest(container=["some"]),
            control.StartPartialRunRequest(handle=1, step=3),
            control.PrepareStepRequest(session=self.session, feed=["x:0"], fetch=["y:0"]),
            control.PrepareStepRequest(
                session=self.session, fetch=["y:0"], target=["Variable/Assign"], is_partial=True
            ),
            control.ReleaseStepRequest(session=self.session, handle=1000),
            control.CloseSessionRequest(session="unknown"),
            control.GetTransactionRequest(step=3, participant=self.task),
            control.JoinGroupRequest(key=1, size=2, local_size=1, task="/job:worker/replica:0/task:0", attempt=1),
            control.GetGroupValueRequest(number=1, key="some"),
            control.SetGroupValueRequest(number=1, key="some", value=b"any"),
            control.EndGroupRequest(number=1, task="/job:worker/replica:0/task:0", operations=1),
            *[
                control.RegisterGraphRequest(session="mine", num_fetches=3, routes=routes, partitions=partitions)
                for partitions in _partitions(self.task)
            ]
            * 2,
            *[control.ExtendSessionRequest(session=self.session, graph_def=graph_def, replaces=True)] * 4,
        ]

    def _check(self, code, text, kind="a step"):
        if code in (grpc.StatusCode.INTERNAL.value[0], grpc.StatusCode.UNKNOWN.value[0]) or _UNTYPED.search(text):
            self.problems.append(f"{kind}: {code} {text[:500]}")
        # A step has a time limit, and a session may wait for a task that is missing.
        if code == grpc.StatusCode.DEADLINE_EXCEEDED.value[0] and kind not in ("a step", "CreateSession"):
            self.problems.append(f"{kind} hangs: {text[:500]}")


def _strings():
    return tf.make_ndarray(tf.make_tensor_proto([b"a", b"bc"]))


def _answers(received):
    """Returns codes and texts of the errors in the answers of a channel."""
    found = []
    while len(received) >= HEADER.size:
        kind, _, _, _, length, _, size = HEADER.unpack_from(received)
        if kind == FrameKind.FAILED:
            fields = json.loads(received[HEADER.size : HEADER.size + length])
            found.append((fields["code"], fields["message"]))
        received = received[HEADER.size + length + size :]
    return found


def _partitions(task):
    """Returns step graphs for a task as bytes."""
    found = []
    for build in (layers, loops, conditionals):
        with tf.Graph().as_default():
            parts = build()
        for part in parts.values():
            for node in part.everything():
                node.device = node.device.replace("/job:localhost/replica:0/task:0", task)
        found.append(to_bytes({f"{task}/device:CPU:0": part for part in parts.values()}))
    return found


class Measured:
    """The peak memory, descriptors and threads of a server process."""

    def __init__(self, pid):
        self._folder = Path(f"/proc/{pid}")

    def sizes(self):
        status = dict(line.split(":", 1) for line in (self._folder / "status").read_text().splitlines())
        memory = int(status["VmHWM"].split()[0]) >> 10
        return memory, len(list((self._folder / "fd").iterdir())), int(status["Threads"])

    def settled(self, descriptors, threads):
        """Waits until no more descriptors and threads are in use; returns all sizes."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            found = self.sizes()
            if found[1] <= descriptors and found[2] <= threads:
                break
            time.sleep(0.1)
        return found


def is_served(address):
    """Returns whether a server runs steps of a client as it should."""
    with tf.Graph().as_default(), tf.Session(f"grpc://{address}") as session:
        v = tf.Variable(1.0)
        x = tf.placeholder(tf.float32, [None])
        session.run(v.initializer)
        try:
            total = session.run(tf.reduce_sum(x) * v.assign_add(1.0), {x: [1.0] * 50_000})
        except OpError:
            return False
        return total == 100_000.0
