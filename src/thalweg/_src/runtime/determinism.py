"""Deterministic operations: sets up the process so that a program gives the same bits in every run.

Three things differ from run to run otherwise: when background compilation replaces the functions of a step, which round
differently, and by which measured times they are chosen; the number of threads that share a sum, since it follows the
load of the machine; and on GPUs the order of atomic additions, and cuDNN's choice of algorithms.
"""

from __future__ import annotations

import os

import torch

from thalweg._src.base import determinism
from thalweg._src.base.export import export
from thalweg._src.runtime.cpu_contention import core_share


@export("config.experimental.enable_op_determinism")
def enable_op_determinism() -> None:
    """Makes programs with the same seeds and inputs give the same bits in every run on the same kind of machine.

    Call it before the first session. The environment variable `TF_DETERMINISTIC_OPS=1` has the same effect. It holds
    for the process, and for all tasks that run steps of its sessions; it cannot be undone. Steps are then not compiled
    in the background, each uses the same number of threads, and data sets keep their order. An operation whose kernels
    for a GPU add in any order is an error, and so is a random operation without a seed, unless the variable alone asks.
    """
    determinism.require_seeds()
    set_up()


def set_up() -> None:
    """Sets up the process for deterministic operations."""
    if determinism.is_required():
        return
    determinism.require()
    core_share.hold()
    # cuBLAS reads it when the first product is computed; without it torch refuses products.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True)
    torch._C._set_deterministic_fill_uninitialized_memory(False)  # no kernel reads it


if os.environ.get("TF_DETERMINISTIC_OPS", "").lower() in (
    "1",
    "true",
):  # programs of TensorFlow 1.15 have it without seeds
    set_up()
