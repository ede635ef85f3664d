"""Kernels of string hashing and fingerprints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError, invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.hash_functions import Hash, farmhash64, hash_all, murmur64, siphash
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TensorValue, to_read
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def _bucket(function: Hash, count: int) -> Function:
    def bucket(strings: Array) -> torch.Tensor:
        hashes = hash_all(function, strings.ravel().tolist()) % np.uint64(count)
        return torch.from_numpy(hashes.astype(np.int64).reshape(strings.shape))

    return bucket


@kernel("StringToHashBucket", devices=("CPU",))
def bind_bucket(node: Node, device: Device) -> Function:
    return _bucket(murmur64, node.attrs["num_buckets"])


@kernel("StringToHashBucketFast", devices=("CPU",))
def bind_bucket_fast(node: Node, device: Device) -> Function:
    return _bucket(farmhash64, node.attrs["num_buckets"])


@kernel("StringToHashBucketStrong", devices=("CPU",))
def bind_bucket_strong(node: Node, device: Device) -> Function:
    key = node.attrs["key"]
    if len(key) != 2:
        raise invalid(f"Key must have 2 elements, got {len(key)}")
    return _bucket(siphash(key), node.attrs["num_buckets"])


@plain_kernel("Fingerprint", devices=("CPU",), T=dtypes.ALL - {dtypes.resource, dtypes.variant})
def _fingerprint(data: TensorValue, method: Array) -> torch.Tensor:
    if method.item() != b"farmhash64":
        raise invalid(f"Unsupported fingerprint method: {method.item()!r}")
    if not data.ndim:
        raise ShapeError("data is a scalar", expected="data of rank at least 1")
    return torch.from_numpy(_fingerprints(data).view(np.uint8).reshape(len(data), 8))


def _fingerprints(data: TensorValue) -> Array:
    """Hashes each row's bytes; for strings, the hashes of the row's strings unless it has just one."""
    rows = len(data)
    if isinstance(data, np.ndarray):
        hashes = hash_all(farmhash64, data.ravel().tolist())
        if hashes.size == rows:
            return hashes
        blocks = hashes.reshape(rows, -1) if rows else hashes
    else:
        array = np.ascontiguousarray(to_read(data))
        blocks = array.reshape(rows, array.size // rows if rows else 0)
    return hash_all(farmhash64, [row.tobytes() for row in blocks])
