"""Kernel of the edit distance, on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.sparse import ravel, require_fit, require_inside, require_shape
from thalweg._src.runtime.kernels.types import to_read
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]


def distance(hypothesis: Array, truth: Array) -> int:
    """Returns the Levenshtein distance, computing one row of the table at a time.

    An insertion depends on the previous element of the same row: a running minimum, once the cost of the position is
    subtracted.
    """
    steps = np.arange(len(truth) + 1)
    row = steps
    for i, element in enumerate(hypothesis):
        cheapest = np.minimum(row[:-1] + (truth != element), row[1:] + 1)
        row = np.minimum.accumulate(np.concatenate([[i + 1], cheapest]) - steps) + steps
    return int(row[-1])


def _sequences(indices: torch.Tensor, codes: Array, shape: torch.Tensor, groups: list[int]) -> dict[int, Array]:
    """Returns the sequences by group index, in a shape that may be larger than their own."""
    require_inside(indices, shape.tolist())
    owners = ravel(indices[:, :-1], groups).numpy()
    order = np.argsort(owners, kind="stable")
    groups_present, starts = np.unique(owners[order], return_index=True)
    return dict(zip(groups_present.tolist(), np.split(codes[order], starts[1:])))


@kernel("EditDistance", devices=("CPU",))
def bind_edit_distance(node: Node, device: Device) -> Function:
    normalize = node.attrs["normalize"]

    def distances(*inputs: Any) -> torch.Tensor:
        a, b = inputs[:3], inputs[3:]
        require_fit(*a)
        require_fit(*b)
        rank = a[2].numel()
        require(rank == b[2].numel(), f"ranks {rank} and {b[2].numel()} differ", expected="one rank")
        require(rank >= 2, f"the sequences have rank {rank}", expected="rank at least 2")
        groups = torch.maximum(a[2], b[2])[:-1].tolist()
        result = torch.zeros(require_shape(groups), dtype=torch.float32)
        # Equal elements get equal ids, whatever their type.
        count = a[0].shape[0]
        both = np.concatenate([np.atleast_1d(to_read(a[1])), np.atleast_1d(to_read(b[1]))])
        codes = np.unique(both, return_inverse=True, equal_nan=False)[1]
        hypotheses = _sequences(a[0], codes[:count], a[2], groups)
        truths = _sequences(b[0], codes[count:], b[2], groups)
        nothing = codes[:0]
        for group in hypotheses.keys() | truths.keys():
            truth = truths.get(group, nothing)
            edits = distance(hypotheses.get(group, nothing), truth)
            result[group] = edits if not normalize else edits / len(truth) if len(truth) else np.inf
        return result.reshape(groups)

    return distances
