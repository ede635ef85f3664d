"""Barriers: the graph API of tf.Barrier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import barrier as ops
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.input.queues import _as_shapes, _as_types


class Barrier:
    """Assembles elements from components that arrive one by one under a key."""

    barrier_ref = ReadOnly[Tensor]("The handle of the barrier.")

    def __init__(
        self,
        types: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | None = None,
        shared_name: str | None = None,
        name: str = "barrier",
    ) -> None:
        self._types = _as_types(types)
        component_shapes = _as_shapes(shapes, len(self._types))
        if component_shapes is not None and any(0 in (shape or ()) for shape in component_shapes):
            raise ValueError(f"shapes: empty components are not supported, received {shapes!r}")
        self._barrier_ref = ops.barrier_op(
            component_types=self._types,
            shapes=component_shapes or (),
            container=get_default_graph().scopes.container,
            shared_name=shared_name,
            name=name,
        )

    @property
    def name(self) -> str:
        return self._barrier_ref.source_name

    def insert_many(
        self, component_index: int, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> Operation:
        """Returns an operation that inserts one component of the elements with these keys."""
        return ops.barrier_insert_many_op.operation(
            self._barrier_ref,
            keys,
            values,
            component_index=component_index,
            name=name or f"{self._last}_BarrierInsertMany",
        )

    def take_many(
        self,
        num_elements: TensorLike,
        allow_small_batch: bool = False,
        timeout: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Returns indices, keys and components of complete elements, for which it waits."""
        return ops.barrier_take_many_op.many(
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            timeout_ms=timeout,
            name=name or f"{self._last}_BarrierTakeMany",
        )

    @property
    def _last(self) -> str:
        return self.name.rpartition("/")[2]

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Returns an operation that rejects new keys and, if pending elements are cancelled, all components."""
        return ops.barrier_close_op.operation(
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._last}_BarrierClose",
        )

    def ready_size(self, name: str | None = None) -> Tensor:
        return ops.barrier_ready_size_op(self._barrier_ref, name=name or f"{self._last}_BarrierReadySize")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        return ops.barrier_incomplete_size_op(self._barrier_ref, name=name or f"{self._last}_BarrierIncompleteSize")
