"""The control plane over gRPC: its messages, what gRPC repeats and what not, and tasks that do not answer."""

import contextlib
import os
import re
import signal
import socket
import threading
from pathlib import Path
from types import SimpleNamespace

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

import thalweg as tf
from tests import children
from tests.cluster.distributed.clusters import addresses, start_task
from thalweg._src.base import errors
from thalweg._src.cluster.distributed import control, rpc
from thalweg._src.cluster.distributed.authentication import channel
from thalweg._src.cluster.distributed.credentials import TOKEN, Credentials
from thalweg._src.cluster.distributed.data_plane import split_address
from thalweg._src.cluster.distributed.gate import Gate
from thalweg._src.cluster.distributed.limits import TaskConnections
from thalweg._src.cluster.distributed.refusals import Refusals
from thalweg._src.cluster.distributed.rpc import MASTER, WORKER, RpcServer, Stub

PROTO = Path(control.__file__).with_suffix(".proto").read_text()
PS = "/job:ps/replica:0/task:0"


class Servicer:
    """Answers one call of the Worker service; the others are not there."""

    def __init__(self, answer):
        self.count = 0
        self._answer = answer

    def __getattr__(self, name):
        return self._call

    def _call(self, request):
        self.count += 1
        return self._answer(request)


@pytest.fixture
def serve():
    """Returns a function that serves the Worker service by a function, and returns the servicer and a stub."""
    with contextlib.ExitStack() as stack:

        def start(answer):
            servicer = Servicer(answer)
            gate = Gate("127.0.0.1", 0, "task", Credentials(), TaskConnections(), Refusals("task"))
            server = RpcServer(gate.port, {WORKER: servicer}, Credentials(), Refusals("task"))
            server.start()
            stack.callback(server.stop)
            gate.start(lambda *_: None, server.take)
            stack.callback(gate.close)
            return servicer, stack.enter_context(contextlib.closing(Stub(f"127.0.0.1:{gate.port}", Credentials())))

        yield start


@pytest.mark.parametrize(
    "content", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01" * 10, bytes(1 << 16)]
)
def test_another_protocol_is_closed(serve, content):
    _, stub = serve(lambda request: control.TaskInfo(task="a"))
    host, port = split_address(stub.address)
    with socket.create_connection((host, port), timeout=60) as stranger, contextlib.suppress(ConnectionError):
        stranger.sendall(content)
        while stranger.recv(1 << 16):
            pass
    assert stub.call(control.GetTaskRequest(), control.TaskInfo, 60).task == "a"


def test_probes_see_a_server_and_its_services_and_need_no_token(monkeypatch):
    monkeypatch.setenv(TOKEN, "a secret of many letters")
    with tf.train.Server.create_local_server() as server:
        address = server.target.removeprefix("grpc://")
        with grpc.insecure_channel(address) as stranger:
            check = health_pb2_grpc.HealthStub(stranger).Check
            for service in ("", MASTER, WORKER):
                answer = check(health_pb2.HealthCheckRequest(service=service), timeout=60)
                assert answer.status == health_pb2.HealthCheckResponse.SERVING
            with pytest.raises(grpc.RpcError, match="NOT_FOUND"):
                check(health_pb2.HealthCheckRequest(service="thalweg.v0.Master"), timeout=60)
            with pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
                list(health_pb2_grpc.HealthStub(stranger).Watch(health_pb2.HealthCheckRequest(), timeout=60))
            with pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
                ProtoReflectionDescriptorDatabase(stranger).get_services()


def test_reflection_describes_the_services(monkeypatch):
    monkeypatch.delenv(TOKEN, raising=False)
    with tf.train.Server.create_local_server() as server:
        credentials = Credentials.find(["localhost"])
        address = server.target.removeprefix("grpc://")
        with channel(address, credentials, max_message_bytes=1 << 20) as authenticated:
            database = ProtoReflectionDescriptorDatabase(authenticated)
            assert {MASTER, WORKER, "grpc.health.v1.Health"} <= set(database.get_services())
            pool = DescriptorPool(database)
            method = pool.FindServiceByName(WORKER).methods_by_name["GetStatus"]
            answer = authenticated.unary_unary(f"/{WORKER}/GetStatus")(b"", timeout=60)
            status = GetMessageClass(method.output_type).FromString(answer)
            assert status.task == "/job:localhost/replica:0/task:0"


def _fields(message):
    for field in message.fields:
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            yield message.full_name, field.name, field.number, "map"
        else:
            yield message.full_name, field.name, field.number, "repeated" if field.is_repeated else ""
    for nested in message.nested_types:
        if not nested.GetOptions().map_entry:
            yield from _fields(nested)


def _declared_fields():
    package = re.search(r"^package (.*);", PROTO, re.MULTILINE)[1]
    scopes = [package]
    for line in re.sub(r"//.*", "", PROTO).splitlines():
        if match := re.match(r"\s*(?:message|service|rpc) (\w+).*\{", line):
            scopes.append(match[1])
        if match := re.match(r"\s*(repeated |map)?\S*(?:, \S+)? ?(\w+) = (\d+);", line):
            yield ".".join(scopes), match[2], int(match[3]), (match[1] or "").strip()
        if line.strip().endswith("}"):
            scopes.pop()


def test_the_generated_messages_are_those_of_the_proto():
    messages = control.DESCRIPTOR.message_types_by_name.values()
    assert sorted(field for message in messages for field in _fields(message)) == sorted(_declared_fields())


def test_the_generated_calls_are_those_of_the_proto():
    calls = re.findall(r"rpc (\w+)\((\w+)\) returns \(([\w.]+)\)(?:;| \{\s*option idempotency_level = (\w+))", PROTO)
    levels = {0: "", 1: "NO_SIDE_EFFECTS", 2: "IDEMPOTENT"}
    services = control.DESCRIPTOR.services_by_name.values()
    assert [
        (
            method.name,
            method.input_type.name,
            method.output_type.full_name.removeprefix("thalweg.v1."),
            levels[method.GetOptions().idempotency_level],
        )
        for service in services
        for method in service.methods
    ] == calls


def test_no_two_calls_have_the_same_request():
    assert len(rpc.methods()) == PROTO.count("\n  rpc ")


def test_a_call_returns_the_answer_of_the_task(serve):
    servicer, stub = serve(lambda request: control.GetTransactionResponse(is_committed=request.step == 7))
    assert stub.call(control.GetTransactionRequest(step=7), control.GetTransactionResponse).is_committed
    assert not stub.call(control.GetTransactionRequest(step=8), control.GetTransactionResponse).is_committed
    assert servicer.count == 2


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (errors.AbortedError(None, None, "it restarted"), tf.errors.AbortedError, "it restarted"),
        (errors.UnavailableError(None, None, "another task is lost"), tf.errors.UnavailableError, "another task"),
        (ValueError("too many"), tf.errors.InvalidArgumentError, "too many"),
        (RuntimeError("a fault"), tf.errors.InternalError, "RuntimeError: a fault"),
    ],
)
def test_an_error_of_a_task_keeps_its_class_and_is_not_asked_for_again(serve, error, kind, text):
    def fail(request):
        raise error

    servicer, stub = serve(fail)
    with pytest.raises(kind, match=text):
        stub.call(control.GetStatusRequest(), control.GetStatusResponse)
    assert servicer.count == 1


def _cut(port):
    """Ends all connections of this process to a port."""
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(name))) as end:
            if end.family in (socket.AF_INET, socket.AF_INET6) and end.getpeername()[1] == port:
                end.shutdown(socket.SHUT_RDWR)


def test_a_call_that_may_be_made_twice_survives_its_connection(serve):
    def answer(request):
        if servicer.count == 1:
            _cut(int(stub.address.rpartition(":")[2]))
        return control.GetStatusResponse(task=PS)

    servicer, stub = serve(answer)
    assert stub.call(control.GetStatusRequest(), control.GetStatusResponse, timeout=60).task == PS
    assert servicer.count == 2


def test_a_call_that_may_not_be_made_twice_fails_with_its_connection(serve):
    def answer(request):
        _cut(int(stub.address.rpartition(":")[2]))
        return control.RegisterGraphResponse(handle=1)

    servicer, stub = serve(answer)
    with pytest.raises(tf.errors.UnavailableError):
        stub.call(control.RegisterGraphRequest(), control.RegisterGraphResponse, timeout=60)
    assert servicer.count == 1


def test_a_task_of_another_release_says_so(serve):
    _, stub = serve(lambda request: None)
    with pytest.raises(tf.errors.UnimplementedError, match="need the same release of Thalweg"):
        stub.call(control.CreateSessionRequest(), control.CreateSessionResponse)  # of a service that is not there


def test_malformed_requests_and_answers_are_errors_that_name_the_call(serve, monkeypatch):
    servicer, stub = serve(lambda request: SimpleNamespace(SerializeToString=lambda: b"\x0a\xff"))
    with pytest.raises(tf.errors.InternalError, match=f"{stub.address} to GetStatus is malformed"):
        stub.call(control.GetStatusRequest(), control.GetStatusResponse)
    with grpc.insecure_channel(stub.address) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(f"/{WORKER}/GetStatus")(b"\x0a\xff")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "the request GetStatus that" in caught.value.details() and servicer.count == 1


def test_waiting_for_a_task_ends_when_it_is_there():
    spec = addresses(ps=1)
    with contextlib.closing(Stub(spec["ps"][0], Credentials.find(spec["ps"]))) as stub:
        with pytest.raises(tf.errors.DeadlineExceededError):
            stub.call(control.GetTaskRequest(), control.TaskInfo, timeout=0.2, wait_for_ready=True)
        with pytest.raises(tf.errors.UnavailableError):
            stub.call(control.GetTaskRequest(), control.TaskInfo)
        process = start_task(spec, "ps", 0)
        try:
            assert stub.call(control.GetTaskRequest(), control.TaskInfo, timeout=60, wait_for_ready=True).task == PS
        finally:
            children.end(process)


def test_a_call_ends_when_its_task_is_stopped():
    """No connection is closed, and no time limit ends the call: gRPC's keepalive notices."""
    spec = addresses(ps=1)
    process = start_task(spec, "ps", 0)
    try:
        assert process.stdout.readline() == "serves\n"
        with contextlib.closing(Stub(spec["ps"][0], Credentials.find(spec["ps"]))) as stub:
            assert stub.call(control.GetTaskRequest(), control.TaskInfo).task == PS
            process.send_signal(signal.SIGSTOP)
            while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
                pass
            with pytest.raises(tf.errors.UnavailableError):
                stub.call(control.PrepareStepRequest(), control.PrepareStepResponse)
            process.send_signal(signal.SIGCONT)
            assert stub.call(control.GetTaskRequest(), control.TaskInfo, timeout=60, wait_for_ready=True).task == PS
    finally:
        process.send_signal(signal.SIGCONT)
        children.end(process)


def _another_server(sock):
    while True:
        connection, _ = sock.accept()
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.close()


def _closes(sock):
    while True:
        sock.accept()[0].close()


@pytest.mark.parametrize(
    ("behave", "text"),
    [
        (None, "connection refused: nothing listens there"),
        (_another_server, "it is another kind of server"),
        (_closes, "the connection was closed"),
        (lambda sock: None, "no answer: the host is down, a firewall drops connections to this port"),
    ],
)
def test_errors_of_connections_are_not_those_of_grpc(behave, text):
    with socket.create_server(("127.0.0.1", 0)) as sock:
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        if behave is None:
            sock.close()
        else:
            threading.Thread(target=_until_closed, args=(behave, sock), daemon=True).start()
        kinds = (errors.UnavailableError, errors.DeadlineExceededError)
        with contextlib.closing(Stub(address, Credentials())) as stub, pytest.raises(kinds) as caught:
            stub.call(control.GetTaskRequest(), control.TaskInfo, 1.0)
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
    assert caught.value.message.startswith(text)


def _until_closed(behave, sock):
    with contextlib.suppress(OSError):
        behave(sock)


def test_the_host_of_an_address_that_has_no_name_is_said(serve):
    unresolved = pytest.raises(errors.UnavailableError, match="its name cannot be resolved")
    with contextlib.closing(Stub("no.such.host.invalid:1", Credentials())) as stub, unresolved:
        stub.call(control.GetTaskRequest(), control.TaskInfo, 60)


def test_an_error_of_the_task_keeps_its_words(serve):
    def answer(request):
        raise errors.UnavailableError(None, None, "the connection of my friend was reset")

    _, stub = serve(answer)
    with pytest.raises(errors.UnavailableError, match="the connection of my friend was reset"):
        stub.call(control.GetTaskRequest(), control.TaskInfo, 60)
