"""Valid calls of sparse tensors, sets and edit distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.sandbox import Variable
from tests.valid_calls.values import Call, X, floats, ints, longs, texts

PLACES = longs([[0, 1], [1, 0], [1, 2]])
VALUES = floats(3)
SHAPE = longs(2, 3)
SPARSE = (PLACES, VALUES, SHAPE)
NUMBERS = longs(3, 1, 3)
SETS = (PLACES, ints(5, 1, 5), SHAPE)
CROSSED = ([PLACES], [NUMBERS], [SHAPE], [texts("a", "b").reshape(2, 1)])
EVERY = {"hashed_output": True, "num_buckets": 7, "hash_key": 5, "out_type": "int64", "internal_type": "int64"}


@dataclass(frozen=True)
class Handles(Variable):
    """An input that holds the numbers of sparse tensors in a map; spoiled, it becomes a variable's handle."""

    def make_handle(self, setup: list[Any]) -> Any:
        from thalweg._src.graph.ops.sparse_maps import add_many_sparse_to_tensors_map_op

        return add_many_sparse_to_tensors_map_op(*SPARSE, shared_name="kept")


def serialized() -> np.ndarray[Any, Any]:
    """Returns a sparse vector as three strings."""
    from thalweg._src.base import dtypes
    from thalweg._src.graph.tensor_proto import array_proto

    parts = ((longs([[1]]), dtypes.int64), (floats(1), dtypes.float32), (longs([4]), dtypes.int64))
    result = np.empty((1, 3), object)
    result[0, :] = [array_proto(array, kind).SerializeToString() for array, kind in parts]
    return result


VALID: dict[str, Call] = {
    "SparseToDense": ((PLACES, SHAPE, VALUES, floats()), {}),
    "SparseReorder": (SPARSE, {}),
    "SparseReshape": ((PLACES, SHAPE, longs(3, -1)), {}),
    "SparseConcat": (([PLACES, PLACES], [VALUES, VALUES], [SHAPE, SHAPE]), {"concat_dim": 1}),
    "SparseSplit": ((longs(1), *SPARSE), {"num_split": 2}),
    "SparseSlice": ((*SPARSE, longs(0, 1), longs(2, 2)), {}),
    "SparseSliceGrad": ((floats(2), PLACES, longs(0, 1), longs([[0, 0], [1, 1]])), {}),
    "SparseAdd": ((*SPARSE, *SPARSE, floats()), {}),
    "SparseAddGrad": ((VALUES, PLACES, PLACES, PLACES), {}),
    "SparseTensorDenseAdd": ((*SPARSE, X), {}),
    "SparseTensorDenseMatMul": ((*SPARSE, floats(3, 4)), {}),
    "SparseSparseMaximum": ((*SPARSE, *SPARSE), {}),
    "SparseSparseMinimum": ((*SPARSE, *SPARSE), {}),
    "SparseDenseCwiseAdd": ((*SPARSE, floats(2, 1)), {}),
    "SparseDenseCwiseMul": ((*SPARSE, X), {}),
    "SparseDenseCwiseDiv": ((*SPARSE, X + 1), {}),
    "SparseReduceSum": ((*SPARSE, ints([1])), {}),
    "SparseReduceMax": ((*SPARSE, ints([1])), {}),
    "SparseReduceSumSparse": ((*SPARSE, ints([1])), {}),
    "SparseReduceMaxSparse": ((*SPARSE, ints([1])), {}),
    "SparseSoftmax": (SPARSE, {}),
    "SparseFillEmptyRows": ((PLACES[1:], VALUES[1:], SHAPE, floats()), {}),
    "SparseFillEmptyRowsGrad": ((longs(1, 2), VALUES), {}),
    "SparseBincount": ((PLACES, NUMBERS, SHAPE, longs(4), VALUES), {}),
    "SparseCountSparseOutput": ((PLACES, NUMBERS, SHAPE, VALUES), {"binary_output": False}),
    "DenseCountSparseOutput": ((ints([[3, 1, 3], [0, 1, 2]]), X), {"binary_output": False}),
    "SparseCross": (CROSSED, EVERY),
    "SparseCrossV2": ((*CROSSED, np.array(b"-", object)), {}),
    "SparseCrossHashed": ((*CROSSED, longs(7), np.array(False), longs(1, 2)), {}),
    "SerializeSparse": (SPARSE, {}),
    "SerializeManySparse": (SPARSE, {}),
    "DeserializeSparse": ((serialized(),), {"dtype": "float32"}),
    "DeserializeManySparse": ((serialized(),), {"dtype": "float32"}),
    "AddSparseToTensorsMap": (SPARSE, {}),
    "AddManySparseToTensorsMap": (SPARSE, {}),
    "TakeManySparseFromTensorsMap": ((Handles("int64", (2,)),), {"dtype": "float32", "shared_name": "kept"}),
    "SetSize": (SETS, {}),
    "DenseToDenseSetOperation": ((ints([[1, 2], [3, 3]]), ints([[2], [4]])), {"set_operation": "union"}),
    "DenseToSparseSetOperation": ((ints([[1, 2], [3, 3]]), *SETS), {"set_operation": "a-b"}),
    "SparseToSparseSetOperation": ((*SETS, *SETS), {"set_operation": "intersection"}),
    "EditDistance": ((PLACES, NUMBERS, SHAPE, PLACES[1:], NUMBERS[1:], SHAPE), {}),
}
