"""Gradient accumulators: the graph API of tf.ConditionalAccumulator and tf.SparseConditionalAccumulator."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import accumulators as ops
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _step(value: TensorLike) -> Tensor:
    return cast(value, dtypes.int64)  # type: ignore[no-any-return]


def _reduction(reduction_type: str) -> str:
    if reduction_type not in ("MEAN", "SUM"):
        raise ValueError(f"reduction_type: expected 'MEAN' or 'SUM', received {reduction_type!r}")
    return reduction_type


@export("ConditionalAccumulatorBase")
class ConditionalAccumulatorBase:
    """A sum of gradients that steps add to; gradients older than the accumulator's own step are dropped.

    Args:
        dtype: Element type of the gradients.
        shape: Static shape of the gradients.
        accumulator_ref: Handle of the accumulator.
    """

    accumulator_ref = ReadOnly[Tensor]("The handle of the accumulator.")
    name = ReadOnly[str]("The name of the accumulator.")
    dtype = ReadOnly[DType]("The element type.")

    def __init__(self, dtype: DTypeLike, shape: ShapeLike, accumulator_ref: Tensor) -> None:
        self._dtype = dtypes.as_dtype(dtype)
        self._shape = shapes.as_shape(shape)
        self._accumulator_ref = accumulator_ref
        require_kind("accumulator_ref", accumulator_ref, Tensor, "the handle of an accumulator")
        self._name = accumulator_ref.source_name.rpartition("/")[2]
        sparse = accumulator_ref.dtype is not dtypes.resource
        self._count = ops.sparse_accumulator_num_accumulated_op if sparse else ops.accumulator_num_accumulated_op
        self._set = ops.sparse_accumulator_set_global_step_op if sparse else ops.accumulator_set_global_step_op

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """The number of gradients since the last take."""
        return self._count(self._accumulator_ref, name=name or f"{self._name}_NumAccumulated")

    def set_global_step(self, new_global_step: TensorLike, name: str | None = None) -> Operation:
        """Returns an operation that sets the step before which gradients are stale."""
        return self._set.operation(
            self._accumulator_ref, _step(new_global_step), name=name or f"{self._name}_SetGlobalStep"
        )


def _create(
    definition: OpDef, dtype: DTypeLike, shape: ShapeLike, shared_name: str | None, name: str, reduction_type: str
) -> Tensor:
    """Adds the operation of an accumulator and returns its handle."""
    return definition(
        dtype=dtype,
        shape=shape,
        container=get_default_graph().scopes.container,
        shared_name=shared_name,
        reduction_type=_reduction(reduction_type),
        name=name,
    )


@export("ConditionalAccumulator")
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """A sum of dense gradients.

    Args:
        dtype: Element type of the gradients.
        shape: Static shape of the gradients.
        name: A name for the accumulator.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        handle = _create(ops.conditional_accumulator_op, dtype, shape, shared_name, name, reduction_type)
        super().__init__(dtype, shape, handle)

    def apply_grad(self, grad: TensorLike, local_step: TensorLike = 0, name: str | None = None) -> Operation:
        """Returns an operation that adds a gradient, unless it is stale."""
        gradient = convert_to_tensor(grad, self._dtype)
        if not shapes.compatible(gradient.dims, self._shape):
            raise ValueError(
                f"accumulator {self._name!r}: expected a gradient of shape {shapes.show(self._shape)}, "
                f"received {shapes.show(gradient.dims)}"
            )
        return ops.accumulator_apply_gradient_op.operation(
            self._accumulator_ref, _step(local_step), gradient, name=name
        )

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Tensor:
        """Returns the mean or sum of the gradients once enough have been added, and resets the accumulator."""
        taken = ops.accumulator_take_gradient_op(self._accumulator_ref, num_required, dtype=self._dtype, name=name)
        taken.set_shape(self._shape)
        return taken


@export("SparseConditionalAccumulator", "sparse.SparseConditionalAccumulator")
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """A sum of sparse gradients; the mean of a row is over those gradients that contain it.

    Args:
        dtype: Element type of the gradients.
        shape: Static shape of the gradients.
        name: A name for the accumulator.
    """

    @parameters_of(ConditionalAccumulator.__init__, name="sparse_conditional_accumulator")
    def __init__(self, dtype: DTypeLike, shape: ShapeLike, **arguments: Any) -> None:
        handle = _create(ops.sparse_conditional_accumulator_op, dtype=dtype, shape=shape, **arguments)
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: TensorLike = 0, name: str | None = None
    ) -> Operation:
        """Returns an operation that adds the rows of a gradient, unless it is stale."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: TensorLike,
        grad_values: TensorLike,
        grad_shape: TensorLike | None = None,
        local_step: TensorLike = 0,
        name: str | None = None,
    ) -> Operation:
        """Returns an operation that adds the rows with these indices, unless they are stale."""
        return ops.sparse_accumulator_apply_gradient_op.operation(
            self._accumulator_ref,
            _step(local_step),
            cast(grad_indices, dtypes.int64),
            convert_to_tensor(grad_values, self._dtype),
            cast([] if grad_shape is None else grad_shape, dtypes.int64),
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Any:
        """Returns indices, values and shape of the mean or sum, once enough gradients have been added."""
        return ops.sparse_accumulator_take_gradient_op.many(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(self, num_required: TensorLike, name: str | None = None) -> IndexedSlices:
        """Like `take_grad`, but returns IndexedSlices."""
        taken = self.take_grad(num_required, name)
        return IndexedSlices(values=taken.values, indices=taken.indices, dense_shape=taken.shape)
