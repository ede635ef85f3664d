"""Ops that reshape, cut, join, gather and reduce return in onnxruntime what they do in a session."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.onnx_export.running import BATCH, STATIC, case, check, parameters, random

raw = tf.raw_ops
X, Y = random(2, 3, 4), random(2, 3, 4, seed=1)
M, V = random(4, 5), random(6)
I = np.array([[2, 0], [1, 1]], np.int32)
N = np.array([1, 3], np.int32)
B = np.array([[True, False, True], [False, False, True]])
KNOWN = (STATIC, BATCH)


def _reduce(op, **attrs):
    return lambda x: getattr(raw, op)(input=x, reduction_indices=[0, 2], **attrs)


SHAPES = [
    case("Shape", lambda x: tf.shape(x), X, modes=(BATCH,)),
    case("Shape", lambda x: tf.shape(x, out_type=tf.int64), X, modes=(BATCH,)),
    case("ShapeN", lambda x, y: tf.shape_n([x, y]), X, M, modes=(BATCH,)),
    case("Size", tf.size, X, modes=(BATCH,)),
    case("Rank", lambda x: raw.Rank(input=tf.placeholder_with_default(x, None)), X, modes=(BATCH,)),
    case("ZerosLike", tf.zeros_like, X, modes=(BATCH,)),
    case("OnesLike", tf.ones_like, I, modes=(BATCH,)),
    case("Reshape", lambda x: tf.reshape(x, [-1, 6]), X),
    case("Reshape", lambda x: tf.reshape(x, [tf.shape(x)[0], -1]), X),
    case("Reshape", lambda x, n: tf.reshape(x, tf.stack([n[0], n[1], 1, -1])), X, N),
    case("ExpandDims", lambda x: tf.expand_dims(x, 1), X),
    case("Squeeze", lambda x: tf.squeeze(x, [1]), random(2, 1, 3)),
    case("Squeeze", tf.squeeze, random(2, 1, 3), modes=(STATIC,)),
    case("Transpose", lambda x: tf.transpose(x, [2, 0, 1]), X),
    case("Transpose", tf.transpose, X),
    case("InvertPermutation", tf.invert_permutation, np.array([2, 0, 1], np.int32)),
    case("Bitcast", lambda x: tf.bitcast(x, tf.float32), X, modes=(STATIC,)),
    case("Fill", lambda n: tf.fill(n, 2.5), N, modes=(STATIC,)),
    case("Range", lambda n: tf.range(n[0], n[1] * 2, 2), N),
    case("LinSpace", lambda n: tf.linspace(1.0, 2.0, n[1]), N),
    case("BroadcastTo", lambda x: tf.broadcast_to(x, [3, 4, 5]), M),
    case("BroadcastArgs", lambda n: tf.broadcast_dynamic_shape(n, tf.constant([2, 1, 1])), N),
]
JOINED = [
    case("ConcatV2", lambda x, y: tf.concat([x, y], 1), X, Y),
    case("ConcatV2", lambda x, y: tf.concat([x, y], -1), I, I),
    case("Pack", lambda x, y: tf.stack([x, y], 1), X, Y),
    case("Unpack", lambda x: tf.unstack(x, 3, axis=1), X),
    case("Split", lambda x: tf.split(x, 2, axis=2), X),
    case("SplitV", lambda x: tf.split(x, [1, 3], axis=2), X),
    case("SplitV", lambda x: tf.split(x, [1, -1], axis=0), M),
    case(
        "ConcatOffset",
        lambda x, y: raw.ConcatOffset(concat_dim=1, shape=[tf.shape(x), tf.shape(y)]),
        X,
        Y,
        modes=(BATCH,),
    ),
    case("Tile", lambda x: tf.tile(x, [1, 2, 3]), X),
    case("Tile", lambda x, n: tf.tile(x, [n[0], n[1], 1]), X, N),
    case("Pad", lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 3]]), X),
    case("Pad", lambda x, n: tf.pad(x, [[0, 0], [n[0], 1], [0, n[1]]]), X, N),
    case("Pad", lambda x: tf.pad(x, [[1, 1], [0, 1]]), B),
    case("PadV2", lambda x: tf.pad(x, [[0, 1], [1, 0]], constant_values=7), I),
    case("MirrorPad", lambda x: tf.pad(x, [[1, 2], [0, 3]], "REFLECT"), M),
    case("MirrorPad", lambda x: tf.pad(x, [[1, 2], [0, 3]], "SYMMETRIC"), M, modes=(STATIC,)),
    case("ReverseV2", lambda x: tf.reverse(x, [0, 2]), X),
    case("ReverseSequence", lambda x, n: tf.reverse_sequence(x, n, seq_axis=1, batch_axis=0), X, N),
    case("ReverseSequence", lambda x, n: tf.reverse_sequence(x, n, seq_axis=2, batch_axis=0), X, N),
    case("Roll", lambda x: tf.roll(x, [1, -2], [1, 2]), X, modes=KNOWN),
]
SLICES = [
    case("Slice", lambda x: tf.slice(x, [0, 1, 2], [-1, 2, 1]), X),
    case("Slice", lambda x, n: tf.slice(x, [0, n[0]], [-1, n[1]]), M, N),
    case("StridedSlice", lambda x: x[:, 1:, ::2], X),
    case("StridedSlice", lambda x: x[0, ..., -1], X),
    case("StridedSlice", lambda x: x[::-1, tf.newaxis, 2:0:-1], X),
    case("StridedSlice", lambda x, n: x[n[0] :, : n[1]], M, N),
    case("StridedSlice", lambda x, n: x[:, n[0], n[1]], X, N),
    case("StridedSlice", lambda x: x[-1, tf.newaxis, 1:3, tf.newaxis], X),
]
GATHERED = [
    case("GatherV2", lambda x, i: tf.gather(x, i), M, I),
    case("GatherV2", lambda x, i: tf.gather(x, i, axis=1), X, I),
    case("Gather", lambda x, i: raw.Gather(params=x, indices=i), M, I),
    case("GatherV2", lambda x, i: tf.gather(x, i, batch_dims=1), X, I),
    case("GatherV2", lambda x, i: tf.gather(x, i, axis=2, batch_dims=1), X, I),
    case("GatherNd", lambda x, i: tf.gather_nd(x, i % 2), X, I, modes=KNOWN),
    case("ScatterNd", lambda i, x: tf.scatter_nd(i % 4, x, [4, 5]), np.array([[0], [3], [0], [2]], np.int32), M),
    case("TensorScatterUpdate", lambda x, i: tf.tensor_scatter_update(x, i, [9.0, 8.0]), M, np.array([[0, 1], [3, 2]])),
    case("TensorScatterAdd", lambda x, i: tf.tensor_scatter_add(x, i, [9.0, 8.0]), M, np.array([[0, 1], [0, 1]])),
    case("TensorScatterSub", lambda x, i: tf.tensor_scatter_sub(x, i, [9.0, 8.0]), M, np.array([[0, 1], [0, 1]])),
    case(
        "TensorScatterMax",
        lambda x, i: raw.TensorScatterMax(tensor=x, indices=i, updates=[9.0, -8.0]),
        M,
        np.array([[0, 1], [3, 2]]),
    ),
    case(
        "TensorScatterMin",
        lambda x, i: raw.TensorScatterMin(tensor=x, indices=i, updates=[9.0, -8.0]),
        M,
        np.array([[0, 1], [3, 2]]),
    ),
    case("DynamicPartition", lambda x: tf.dynamic_partition(x, [1, 0, 2, 1], 3), M),
    case("DynamicStitch", lambda x: tf.dynamic_stitch([[0, 2], [1, 3]], [x[:2], x[2:]]), M),
    case("ParallelDynamicStitch", lambda x: _stitched(x), M),
    case("UnravelIndex", lambda i: tf.unravel_index(i, [3, 4]), np.array([5, 11, 0], np.int32)),
    case("UnsortedSegmentSum", lambda x: tf.unsorted_segment_sum(x, [1, 0, 1, 2], 4), M),
    case("SegmentSum", lambda x: tf.segment_sum(x, [0, 0, 1, 3]), M),
    case("SegmentMean", lambda x: tf.segment_mean(x, [0, 0, 1, 3]), M),
]
SELECTED = [
    case("Where", tf.where, B),
    case("Select", lambda b: tf.where(b, tf.ones([2, 3]), tf.zeros([2, 3])), B),
    case("Select", lambda x: tf.where(tf.constant([True, False, True, False]), x, -x), M),
    case("SelectV2", lambda b: tf.where_v2(b, 1.0, [[2.0], [3.0]]), B),
    case("OneHot", lambda i: tf.one_hot(i - 1, 3), I),
    case("OneHot", lambda i: tf.one_hot(i, 3, on_value=5, off_value=-1, axis=0), I),
    case("OneHot", lambda i: tf.one_hot(i, tf.reduce_max(i) + 1, dtype=tf.bool, on_value=True, off_value=False), I),
    case("Unique", lambda x: tf.unique(x), np.array([4, 1, 4, 2], np.int32)),
    case("UniqueWithCounts", lambda x: tf.unique_with_counts(x), np.array([4.0, 1, 4, 2], np.float32)),
    case("TopKV2", lambda x: tf.nn.top_k(x, 2), X),
    case("TopKV2", lambda x, n: tf.nn.top_k(x, n[1]), np.array([[1, 3, 2, 0]], np.int32), N),
    case("TopK", lambda x: raw.TopK(input=x, k=2), X),
    case("InTopK", lambda x: raw.InTopK(predictions=x, targets=[0, 1, 2, 3], k=2), M),
    case("InTopKV2", lambda x: tf.nn.in_top_k(x, [0, 1, 2, 3], 2), M),
]
REDUCED = [
    *(case(op, _reduce(op), X) for op in ("Sum", "Mean", "Prod")),
    *(case(op, _reduce(op, keep_dims=True), X) for op in ("Max", "Min", "EuclideanNorm")),
    case("Sum", lambda i: tf.reduce_sum(i, 1), I),
    case("Sum", lambda x: tf.reduce_sum(x), X),
    case("Sum", lambda x, n: tf.reduce_sum(x, n - 1, keepdims=True), X, N),
    case("Max", lambda i: tf.reduce_max(i, 1), I.astype(np.uint8)),
    case("All", lambda b: tf.reduce_all(b, 1), B),
    case("Any", lambda b: tf.reduce_any(b), B),
    case("ArgMax", lambda x: tf.argmax(x, 1), X),
    case("ArgMax", lambda i: tf.argmax(i, -1, output_type=tf.int32), I.astype(np.int64)),
    case("ArgMin", lambda x: tf.argmin(x, 2), X),
    case("Cumsum", lambda x: tf.cumsum(x, 1), X),
    case("Cumsum", lambda i: tf.cumsum(i, 1, exclusive=True, reverse=True), I),
]
MATRICES = [
    case("MatMul", lambda x: tf.matmul(x, random(5, 2)), M),
    case("MatMul", lambda x, y: tf.matmul(x, y, transpose_b=True), M, M),
    case("MatMul", lambda x: tf.matmul(x, random(2, 5), transpose_b=True), M),
    case("MatMul", lambda i: tf.matmul(i, i, transpose_a=True), I),
    case("BatchMatMulV2", lambda x, y: tf.matmul(x, y, transpose_b=True), X, Y),
    case("BatchMatMulV2", lambda x, y: tf.matmul(x, y), X, random(4, 2), modes=KNOWN),
    case("BatchMatMul", lambda x, y: raw.BatchMatMul(x=x, y=y, adj_x=True), X, Y),
    case("BatchMatMulV3", lambda x, y: raw.BatchMatMulV3(x=x, y=y, adj_x=True, Tout=tf.float32), X, Y),
    case("Einsum", lambda x, y: raw.Einsum(inputs=[x, y], equation="bij,bkj->bik"), X, Y),
    case("MatrixBandPart", lambda x: tf.linalg.band_part(x, 1, 2), M),
    case("MatrixBandPart", lambda x: tf.linalg.band_part(x, -1, 0), X),
    case("MatrixDiag", lambda x: raw.MatrixDiag(diagonal=x), M),
    case("MatrixDiagV2", lambda x: _diagonal("MatrixDiagV2", diagonal=x, num_rows=-1, num_cols=-1), M),
    case("MatrixDiagV3", lambda x: _diagonal("MatrixDiagV3", diagonal=x, num_rows=-1, num_cols=-1), M),
    case("MatrixDiagPartV2", lambda x: _diagonal("MatrixDiagPartV2", input=x), X),
    case("MatrixDiagPartV3", lambda x: _diagonal("MatrixDiagPartV3", input=x), random(2, 4, 3)),
    case("MatrixDiagPart", lambda x: raw.MatrixDiagPart(input=x), X),
    case("MatrixSetDiag", lambda x, y: raw.MatrixSetDiag(input=x, diagonal=y), random(2, 3, 3), random(2, 3)),
]
CASES = [*SHAPES, *JOINED, *SLICES, *GATHERED, *SELECTED, *REDUCED, *MATRICES]


def _diagonal(op, **given):
    return getattr(raw, op)(k=0, padding_value=0.0, **given)


def _stitched(x):
    return raw.ParallelDynamicStitch(indices=[[0, 2], [1, 3]], data=[x[:2], x[2:]])


@pytest.mark.parametrize(("each", "mode"), **parameters(CASES))
def test_ops_on_arrays_return_the_same_values(each, mode):
    check(each, mode)
