"""Buffers of received tensors are used again, but never while anything refers to them."""

import gc

import torch

from thalweg._src.cluster.distributed.receive_buffers import ReceiveBuffers


def address(array):
    return array.__array_interface__["data"][0]


def test_a_buffer_is_used_again_after_the_last_reference_died():
    buffers = ReceiveBuffers()
    first = buffers.take(1000)
    place = address(first)
    tensor = torch.from_numpy(first).view(torch.float32)[10:]
    del first
    gc.collect()
    other = buffers.take(1000)
    assert address(other) != place, "the tensor still refers to it"
    del tensor
    gc.collect()
    assert address(buffers.take(900)) == place


def test_a_small_tensor_does_not_take_a_large_buffer():
    buffers = ReceiveBuffers()
    place = address(buffers.take(10_000))
    assert address(buffers.take(1000)) != place


def test_what_is_kept_is_bounded():
    buffers = ReceiveBuffers(limit=2500)
    taken = [buffers.take(1000) for _ in range(5)]
    assert len({address(array) for array in taken}) == 5
    taken.clear()
    gc.collect()
    buffers.take(1)
    assert sum(map(len, buffers._free)) <= 2500 and not buffers._used
