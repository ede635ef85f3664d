"""Valid calls of the operations that any program uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.valid_calls.values import (
    FILTER,
    FILTER_3D,
    FUSED,
    IMAGE,
    LARGEST,
    LARGEST_VOLUME,
    NORM,
    NORM_GRAD,
    POOLED,
    POOLED_VOLUME,
    VOLUME,
    Call,
    M,
    S,
    V,
    X,
    floats,
    held,
    ints,
    longs,
    texts,
)


def _pooling(rank: int, *inputs: Any, **attrs: Any) -> Call:
    window = [1, *[2] * rank, 1]
    return inputs, {"ksize": window, "strides": window, **attrs}


def _convolution(*inputs: Any, **attrs: Any) -> Call:
    rank = inputs[-1].ndim - 2
    return inputs, {"strides": [1] * (rank + 2), **attrs}


_MAX_POOLS = ((2, "MaxPool", IMAGE, LARGEST, POOLED), (3, "MaxPool3D", VOLUME, LARGEST_VOLUME, POOLED_VOLUME))

# Only for operations that refuse arguments made from the schema and the names above, or whose point those miss.
VALID: dict[str, Call] = {
    **{f"{name}": _pooling(r, x) for r, name, x, _, _ in _MAX_POOLS},
    **{f"{name}Grad": _pooling(r, x, y, grad) for r, name, x, y, grad in _MAX_POOLS},
    **{f"{name}GradGrad": _pooling(r, x, y, x) for r, name, x, y, _ in _MAX_POOLS},
    "AvgPool": _pooling(2, IMAGE),
    "AvgPool3D": _pooling(3, VOLUME),
    "AvgPoolGrad": _pooling(2, ints(IMAGE.shape), POOLED),
    "AvgPool3DGrad": _pooling(3, ints(VOLUME.shape), POOLED_VOLUME),
    "MaxPoolWithArgmax": _pooling(2, IMAGE),
    "MaxPoolGradWithArgmax": _pooling(2, IMAGE, POOLED, longs(np.arange(12).reshape(1, 2, 3, 2))),
    "MaxPoolGradGradWithArgmax": _pooling(2, IMAGE, IMAGE, longs(np.arange(12).reshape(1, 2, 3, 2))),
    "_MaxPoolIndexed": _pooling(2, IMAGE),
    "_MaxPoolIndexedGrad": _pooling(2, IMAGE, longs(np.arange(12).reshape(1, 2, 3, 2)), POOLED),
    "Conv2D": _convolution(IMAGE, FILTER),
    "Conv2DBackpropInput": _convolution(ints(IMAGE.shape), FILTER, floats(1, 4, 5, 4)),
    "Conv2DBackpropFilter": _convolution(IMAGE, ints(FILTER.shape), floats(1, 4, 5, 4)),
    "DepthwiseConv2dNative": _convolution(IMAGE, FILTER),
    "DepthwiseConv2dNativeBackpropInput": _convolution(ints(IMAGE.shape), FILTER, floats(1, 4, 5, 8)),
    "DepthwiseConv2dNativeBackpropFilter": _convolution(IMAGE, ints(FILTER.shape), floats(1, 4, 5, 8)),
    "Conv3D": _convolution(VOLUME, FILTER_3D),
    "Conv3DBackpropInputV2": _convolution(ints(VOLUME.shape), FILTER_3D, floats(1, 4, 5, 3, 4)),
    "Conv3DBackpropFilterV2": _convolution(VOLUME, ints(FILTER_3D.shape), floats(1, 4, 5, 3, 4)),
    "_FusedConv2D": ((IMAGE, FILTER, [floats(4)], []), {"strides": [1] * 4, **FUSED}),
    "_FusedMatMul": ((X, M, [floats(2)]), FUSED),
    **{f"FusedBatchNorm{version}": (NORM, {}) for version in ("", "V2", "V3")},
    **{f"FusedBatchNormGrad{version}": (NORM_GRAD, {}) for version in ("", "V2")},
    "FusedBatchNormGradV3": ((*NORM_GRAD, floats(0)), {}),
    "LRN": ((IMAGE,), {}),
    "LRNGrad": ((IMAGE, IMAGE, IMAGE), {}),
    "DepthToSpace": ((floats(1, 2, 3, 8),), {}),
    "SpaceToDepth": ((floats(1, 4, 6, 2),), {}),
    "BatchToSpaceND": ((floats(4, 2, 3, 1), ints(2, 2), ints([[0, 1], [1, 0]])), {}),
    "SpaceToBatchND": ((floats(1, 3, 5, 1), ints(2, 2), ints([[0, 1], [1, 0]])), {}),
    "MatMul": ((X, M), {}),
    "BatchMatMulV2": ((floats(4, 2, 3), floats(4, 3, 2)), {}),
    "BiasAdd": ((X, V), {}),
    "BiasAddV1": ((X, V), {}),
    "InTopK": ((X, ints(0, 1)), {}),
    "InTopKV2": ((X, ints(0, 1), ints(2)), {}),
    "SparseSoftmaxCrossEntropyWithLogits": ((X, ints(0, 1)), {}),
    "_SparseSoftmaxCrossEntropyLoss": ((X, ints(0, 1)), {}),
    "BroadcastArgs": ((ints(2, 1), ints(1, 3)), {}),
    "BroadcastGradientArgs": ((ints(2, 1), ints(1, 3)), {}),
    "BroadcastTo": ((X, ints(4, 2, 3)), {}),
    "Bitcast": ((X,), {"type": "int32"}),
    "ConcatOffset": ((ints(1), [ints(2, 3), ints(2, 4)]), {}),
    "ConjugateTranspose": ((X, ints(1, 0)), {}),
    "Transpose": ((X, ints(1, 0)), {}),
    "Diag": ((V,), {}),
    "DiagPart": ((floats(2, 3, 2, 3),), {}),
    "DynamicPartition": ((X, ints(0, 1)), {}),
    "DynamicStitch": (([ints(0, 2), ints(1)], [X, V]), {}),
    "ParallelDynamicStitch": (([ints(0, 2), ints(1)], [X, V]), {}),
    "Fill": ((ints(2, 3), S), {}),
    "GatherNd": ((X, ints([[0, 1], [1, 2]])), {}),
    "InvertPermutation": ((ints(2, 0, 1),), {}),
    "LinSpace": ((S, np.array(2, np.float32), ints(3)), {}),
    "ListDiff": ((V, V[:2]), {}),
    "MatrixBandPart": ((X, longs(1), longs(0)), {}),
    "MatrixSetDiag": ((X, floats(2)), {}),
    "MirrorPadGrad": ((floats(4, 5), ints([[0, 1], [1, 0]])), {}),
    "OneHot": ((ints(0, 1), ints(3), S, S), {}),
    "PadV2": ((X, ints([[0, 1], [1, 0]]), S), {}),
    "PrintV2": ((texts("text").reshape(()),), {}),
    "RandomUniformInt": ((ints(2, 3), ints(0), ints(9)), {}),
    "StatelessRandomUniformInt": ((ints(2, 3), ints(0, 1), ints(0), ints(9)), {}),
    "Range": ((ints(0), ints(9), ints(2)), {}),
    "Reshape": ((X, ints(3, -1)), {}),
    "ReverseSequence": ((X, ints(1, 2)), {"seq_dim": 1}),
    "ReverseV2": ((X, ints([1])), {}),
    "Roll": ((X, ints(1, 2), ints(0, 1)), {}),
    "ScatterNd": ((ints([[0], [2]]), X, ints(4, 3)), {}),
    **{f"TensorScatter{verb}": ((X, ints([[1], [0]]), X), {}) for verb in ("Add", "Sub", "Update")},
    "Slice": ((X, ints(0, 1), ints(2, -1)), {}),
    "StridedSlice": ((X, ints(0, 2), ints(2, 0), ints(1, -1)), {}),
    "StridedSliceGrad": ((ints(2, 3), ints(0, 2), ints(2, 0), ints(1, -1), floats(2, 2)), {}),
    "StringFormat": (([X, V],), {"template": "%s and %s"}),
    "Split": ((ints(0), X), {}),
    "SplitV": ((X, ints(1, 2), ints(1)), {}),
    "Squeeze": ((floats(2, 1, 3),), {}),
    **{name: ((ints(1, 2, 1),), {}) for name in ("Unique", "UniqueWithCounts")},
    "UniqueV2": ((X, ints([0])), {}),
    "Assert": ((np.array(True), [X]), {}),
    "ResourceApplyGradientDescent": ((held(X), S, X), {}),
    "_ApplyGradientDescentGroup": (([held(X), held(V)], S, [X, V]), {}),
    "ResourceCountUpTo": ((held(ints(3)),), {"limit": 5}),
    "ResourceGatherNd": ((held(X), ints([[0, 1], [1, 2]])), {}),
    **{f"ResourceScatterNd{verb}": ((held(X), ints([[1], [0]]), X), {}) for verb in ("Add", "Sub", "Update")},
    "ResourceStridedSliceAssign": ((held(X), ints(0, 2), ints(2, 0), ints(1, -1), floats(2, 2)), {}),
}
