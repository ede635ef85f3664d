"""The buffers of buckets are used again only when nothing refers to their memory."""

import pytest
import torch

from thalweg._src.runtime.kernels.collective import _Bucket

VALUES = [torch.ones(5), torch.full((3,), 2.0)]


@pytest.mark.parametrize("keep", [lambda filled: filled, lambda filled: filled[:5], lambda filled: filled.numpy()])
def test_memory_that_is_in_use_is_not_filled_again(keep):
    bucket = _Bucket()
    filled = bucket.fill(VALUES)
    assert filled.tolist() == [1.0] * 5 + [2.0] * 3
    address, kept = filled.data_ptr(), keep(filled)
    del filled
    assert bucket.fill(VALUES).data_ptr() != address
    assert kept[0] == 1.0


def test_memory_that_is_free_is_filled_again():
    bucket = _Bucket()
    address = bucket.fill(VALUES).data_ptr()
    again = bucket.fill([torch.zeros(8)])
    assert again.data_ptr() == address and again.tolist() == [0.0] * 8
    assert bucket.fill([torch.zeros(9)]).numel() == 9
