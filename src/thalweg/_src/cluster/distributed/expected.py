"""What values from other tasks must be: compiled kernels rely on the types of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape, compatible, show
from thalweg._src.cluster.distributed.limits import MAX_VALUES
from thalweg._src.graph.ir.step_graph import StepGraph
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.rendezvous import Many, rendezvous_key


# Past this point, nothing compares a value with the type for which its kernels were compiled.
class Expected(NamedTuple):
    """The type and the shape that a value must have."""

    name: str
    dtype: DType
    shape: Shape = None

    def check(self, value: Any) -> Any:
        """Returns a value of this type; raises InvalidArgumentError for another one."""
        dtype = self.dtype.base_dtype
        if isinstance(value, torch.Tensor):
            is_right = value.dtype is TORCH.get(dtype)
        elif isinstance(value, np.ndarray):
            is_right = dtype in (dtypes.string, dtypes.resource)
        else:  # kernels look at what such a value is
            is_right = dtype in (dtypes.variant, dtypes.resource)
        if not is_right or (hasattr(value, "shape") and not compatible(self.shape, tuple(value.shape))):
            received = f"{value.dtype} of shape {tuple(value.shape)}" if hasattr(value, "dtype") else "another value"
            raise errors.invalid(
                f"another task or a client sent {received} for {self.name!r}, which is {dtype.name} of shape "
                f"{show(self.shape)}"
            )
        return value


def check_received(expected: Sequence[Expected], value: Any) -> Any:
    """Returns what another task sent under one key; raises InvalidArgumentError unless it is as the graph says."""
    if len(expected) == 1:
        return expected[0].check(value)
    if not isinstance(value, Many) or len(value.values) != len(expected):
        raise errors.invalid(f"another task sent something else than {len(expected)} values for {expected[0].name!r}")
    for spec, tensor in zip(expected, value.values):
        spec.check(tensor)
    return value


def check_feeds(expected: Sequence[Expected], feeds: Sequence[Any]) -> None:
    """Raises InvalidArgumentError unless the feeds of a step are of the types and shapes of its graph."""
    if len(feeds) != len(expected):
        raise errors.invalid(f"a step with {len(expected)} feeds was sent {len(feeds)}")
    for spec, value in zip(expected, feeds):
        spec.check(value)


def expected_feeds(partitions: Mapping[str, StepGraph]) -> list[Expected]:
    """Returns what the feeds of partitions must be, in their order."""
    specs = {f.attrs["index"]: Expected(f.name, f.dtypes[0], f.shapes[0]) for p in partitions.values() for f in p.feeds}
    if specs.keys() != set(range(len(specs))):
        raise errors.invalid(f"the {len(specs)} feeds of a step are not numbered from 0 on")
    return [specs[index] for index in range(len(specs))]


def expected_tensors(partitions: Mapping[str, StepGraph]) -> dict[str, list[Expected]]:
    """Returns what the tensors from other tasks must be, by key.

    Any shape is taken, as within one process: programs can declare shapes that tensors do not have.
    """
    return {
        rendezvous_key(node.attrs["send_device"], node.attrs["recv_device"], node.attrs["tensor_name"]): [
            Expected(node.name, dtype) for dtype in node.dtypes
        ]
        for partition in partitions.values()
        for node in partition.everything()
        if node.type in ("_Recv", "_RecvMany") and node.attrs["send_device"] not in partitions
    }


def check_fetches(partitions: Mapping[str, StepGraph], num_fetches: int) -> None:
    """Raises InvalidArgumentError unless each fetch of the partitions has a place among those of the step."""
    if not 0 <= num_fetches <= MAX_VALUES:
        raise errors.invalid(f"a step cannot have {num_fetches} fetches")
    for partition in partitions.values():
        places = range(len(partition.fetches)) if partition.positions is None else partition.positions
        if len(places) != len(partition.fetches) or any(not 0 <= place < num_fetches for place in places):
            raise errors.invalid(f"a step with {num_fetches} fetches has places {list(places)[:10]} for them")
