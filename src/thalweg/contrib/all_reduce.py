"""tf.contrib.all_reduce: Reductions over tensors on several devices and tasks, by rings, halving or shuffling."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.all_reduce import (
    build_nccl_all_reduce as build_nccl_all_reduce,
    build_nccl_then_recursive_hd as build_nccl_then_recursive_hd,
    build_nccl_then_ring as build_nccl_then_ring,
    build_nccl_then_shuffle as build_nccl_then_shuffle,
    build_recursive_hd_all_reduce as build_recursive_hd_all_reduce,
    build_ring_all_reduce as build_ring_all_reduce,
    build_shuffle_all_reduce as build_shuffle_all_reduce,
    build_shuffle_then_ring as build_shuffle_then_ring,
    build_shuffle_then_shuffle as build_shuffle_then_shuffle,
)

__all__ = [
    "build_nccl_all_reduce", "build_nccl_then_recursive_hd", "build_nccl_then_ring", "build_nccl_then_shuffle",
    "build_recursive_hd_all_reduce", "build_ring_all_reduce", "build_shuffle_all_reduce", "build_shuffle_then_ring",
    "build_shuffle_then_shuffle",
]
