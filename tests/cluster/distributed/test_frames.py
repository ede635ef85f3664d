"""Frames: values of every type as bytes and back, and malformed descriptions."""

import contextlib
import socket
import struct

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.cluster.distributed.connection import Connection
from thalweg._src.cluster.distributed.frames import (
    HEADER,
    POSITIONS,
    VERSION,
    FrameKind,
    pack,
    pack_error,
    unpack,
    unpack_error,
)
from thalweg._src.runtime.kernels.optional import OptionalValue


class Source:
    def __init__(self, content):
        self._content = memoryview(bytes(content))

    def read_into(self, buffer):
        buffer[:] = self._content[: len(buffer)]
        self._content = self._content[len(buffer) :]

    def skip(self, size):
        self._content = self._content[size:]


def there_and_back(*values):
    description, buffers = pack(values)
    content = b"".join(bytes(buffer) for buffer in buffers)
    found, used = unpack(Source(content), memoryview(description), len(values), len(content), 1 << 30)
    assert used == len(description)
    return found


TYPES = [
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.bool, torch.complex64, torch.complex128),
    *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64),
]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3, 4)])
def test_tensors(dtype, shape):
    value = torch.ones(shape, dtype=dtype)
    (found,) = there_and_back(value)
    assert found.dtype == dtype and found.shape == value.shape
    assert found.view(torch.uint8 if found.dim() else dtype).equal(value.view(torch.uint8 if value.dim() else dtype))


def test_memory_layout_and_conjugates():
    value = torch.arange(6.0).reshape(2, 3).t()
    conjugate = torch.tensor([1 + 2j]).conj()
    found, other = there_and_back(value, conjugate)
    assert found.equal(value) and found.is_contiguous() and other.tolist() == [1 - 2j]


def test_strings_lists_optionals_and_nothing():
    strings = np.array([[b"", b"\xff" * 300]], dtype=object)
    elements = ((((), torch.tensor(1.0)), torch.tensor([2.0])), ((), torch.tensor(3)))
    optional = OptionalValue((tf.float32, tf.string), (torch.tensor(1.0), strings))
    found = there_and_back(strings, elements, None, OptionalValue(), optional, np.array(b"x", dtype=object))
    assert found[0].tolist() == strings.tolist() and found[0].shape == (1, 2)
    assert found[1] == elements and found[2] is None and found[3] == OptionalValue()
    assert found[4].types == optional.types and found[4].components[1].tolist() == strings.tolist()
    assert found[5].shape == () and found[5].item() == b"x"


def test_what_cannot_be_sent_is_named():
    with pytest.raises(tf.errors.UnimplementedError, match="dict"):
        pack([{}])


@pytest.mark.parametrize("error", [tf.errors.OutOfRangeError(None, None, "the end"), ValueError("bad")])
def test_errors(error):
    found = unpack_error(pack_error(error))
    assert type(found) is (type(error) if isinstance(error, tf.errors.OpError) else tf.errors.UnknownError)
    assert found.message == (error.message if isinstance(error, tf.errors.OpError) else "ValueError: bad")


def test_a_malformed_description_is_a_value_error():
    description, _ = pack([torch.ones(3), np.array([b"abc"], dtype=object), ((), torch.tensor(1))])
    random = np.random.RandomState(0)
    for _ in range(3000):
        mutant = bytearray(description)
        for _ in range(random.randint(1, 4)):
            mutant[random.randint(len(mutant))] = random.randint(256)
        mutant = mutant[: random.randint(1, len(mutant) + 1)]
        with contextlib.suppress(ValueError):
            unpack(Source(bytes(1 << 20)), memoryview(mutant), 3, random.randint(1 << 16), 1 << 16)


def test_values_and_their_frame_must_have_the_same_size():
    description, (content,) = pack([torch.ones(3)])
    for size, why in ((11, "more bytes than their frame"), (13, "1 bytes more")):
        with pytest.raises(ValueError, match=why):
            unpack(Source(bytes(content)), memoryview(description), 1, size, 1 << 30)


def test_bytes_of_a_bool_become_0_or_1():
    description, _ = pack([torch.tensor([True, False])])
    (found,), _ = unpack(Source(b"\x07\x00"), memoryview(description), 1, 2, 1 << 30)
    assert found.view(torch.uint8).tolist() == [1, 0]


@pytest.mark.parametrize("shape", [(0, 1 << 63), (1 << 63, 0)])
@pytest.mark.parametrize("encoding", [0, 1])
def test_empty_values_of_impossible_shapes_are_refused(encoding, shape):
    description = struct.pack("<BBHQ", encoding, 0, len(shape), 0) + struct.pack(f"<{len(shape)}Q", *shape)
    with pytest.raises(ValueError):
        unpack(Source(b""), memoryview(description), 1, 0, 1 << 30)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"{}", b'{"code": 99, "message": "", "node": ""}', b"[" * 100_000, b" " * (1 << 21)]
)
def test_errors_that_cannot_be_read(text):
    with pytest.raises(ValueError):
        unpack_error(text)


@pytest.fixture
def ends():
    """A connection, and the plain socket at its other end."""
    one, other = socket.socketpair()
    with one, other:
        yield Connection(one), other


def ping(position):
    return HEADER.pack(FrameKind.PING, VERSION, position, 0, 0, 0, 0)


def test_positions_of_frames_start_again(ends):
    connection, other = ends
    sender = Connection(other)
    for _ in range(POSITIONS + 3):
        sender.send(FrameKind.PING)
        assert connection.receive().kind == FrameKind.PING


@pytest.mark.parametrize("position", [0, 2], ids=["repeated", "lost"])
def test_a_frame_that_is_lost_or_repeated_is_noticed(ends, position):
    connection, other = ends
    other.sendall(ping(0) + ping(position))
    connection.receive()
    with pytest.raises(ValueError, match=f"frame {position} instead of 1: one was lost or repeated"):
        connection.receive()
