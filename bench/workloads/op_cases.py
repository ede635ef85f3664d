"""The operations that are timed alone: each as a graph and as one line of torch, on the same arrays of about 1 MB."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Case:
    """One operation: `graph(tf, *inputs)` and `direct`, a line of torch in which {0}, {1}, ... are the same inputs.

    given: converts an input for torch, if it needs another array. taken: converts torch's result for the comparison;
    None if values are random and only shapes can be compared. variants: calls that touch no element take less time
    than reading a variable, so each input is used by several of them; each gets one of these values, {k} in direct.
    """

    name: str
    inputs: tuple[Callable[[Random], Array], ...]
    graph: Callable[..., Any]
    direct: str
    given: dict[int, Callable[[torch.Tensor], torch.Tensor]] = field(default_factory=dict)
    taken: Callable[[Any], Any] | None = lambda value: value
    variants: tuple[Any, ...] = ()


def floats(*shape: int) -> Callable[[Random], Array]:
    return lambda rng: rng.standard_normal(shape, dtype=np.float32)


def positive(*shape: int) -> Callable[[Random], Array]:
    return lambda rng: rng.random(shape, dtype=np.float32) + 0.5


def below(limit: int, *shape: int, rising: bool = False) -> Callable[[Random], Array]:
    def make(rng: Random) -> Array:
        values = rng.integers(0, limit, shape)
        if rising:
            values.sort()
            values[-1] = limit - 1
        return values

    return make


def flags(*shape: int) -> Callable[[Random], Array]:
    return lambda rng: rng.random(shape) < 0.5


def one_hot_rows(rows: int, classes: int) -> Callable[[Random], Array]:
    return lambda rng: np.eye(classes, dtype=np.float32)[rng.integers(0, classes, rows)]


def nchw(tensor: torch.Tensor) -> torch.Tensor:
    """Returns images in torch's channels-last layout: channels second in the shape, last in memory."""
    return tensor.permute(0, 3, 1, 2)


def nhwc(value: torch.Tensor) -> torch.Tensor:
    return value.permute(0, 2, 3, 1)


def oihw(filters: torch.Tensor) -> torch.Tensor:
    return filters.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)


MATRIX = floats(512, 512)
IMAGES = floats(8, 32, 32, 32)
CHANNELS = floats(32)
ROWS = floats(4096, 64)

CASES = (
    Case("matmul", (MATRIX, MATRIX), lambda tf, x, y: tf.matmul(x, y), "torch.mm({0}, {1})"),
    Case(
        "batch_matmul",
        (floats(16, 128, 128), floats(16, 128, 128)),
        lambda tf, x, y: tf.matmul(x, y),
        "torch.bmm({0}, {1})",
    ),
    Case(
        "conv2d",
        (IMAGES, floats(3, 3, 32, 32)),
        lambda tf, x, w: tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"),
        "torch.conv2d({0}, {1}, padding=1)",
        {0: nchw, 1: oihw},
        nhwc,
    ),
    Case(
        "max_pool",
        (IMAGES,),
        lambda tf, x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        "torch.max_pool2d({0}, 2)",
        {0: nchw},
        nhwc,
    ),
    Case(
        "avg_pool",
        (IMAGES,),
        lambda tf, x: tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        "F.avg_pool2d({0}, 2)",
        {0: nchw},
        nhwc,
    ),
    Case(
        "batch_norm_training",
        (IMAGES, CHANNELS, CHANNELS),
        lambda tf, x, scale, offset: tf.nn.fused_batch_norm(x, scale, offset)[0],
        "torch.native_batch_norm({0}, {1}, {2}, None, None, True, 0.1, 0.001)[0]",
        {0: nchw},
        nhwc,
    ),
    Case(
        "batch_norm_inference",
        (IMAGES, CHANNELS, CHANNELS, CHANNELS, positive(32)),
        lambda tf, x, s, o, m, v: tf.nn.fused_batch_norm(x, s, o, m, v, is_training=False)[0],
        "F.batch_norm({0}, {3}, {4}, {1}, {2}, False, 0.1, 0.001)",
        {0: nchw},
        nhwc,
    ),
    Case("bias_add", (MATRIX, floats(512)), lambda tf, x, b: tf.nn.bias_add(x, b), "torch.add({0}, {1})"),
    Case("relu", (MATRIX,), lambda tf, x: tf.nn.relu(x), "torch.relu({0})"),
    Case("tanh", (MATRIX,), lambda tf, x: tf.tanh(x), "torch.tanh({0})"),
    Case("sigmoid", (MATRIX,), lambda tf, x: tf.sigmoid(x), "torch.sigmoid({0})"),
    Case("softplus", (MATRIX,), lambda tf, x: tf.nn.softplus(x), "F.softplus({0})"),
    Case("softmax", (MATRIX,), lambda tf, x: tf.nn.softmax(x), "torch.softmax({0}, -1)"),
    Case(
        "softmax_cross_entropy",
        (one_hot_rows(2048, 128), floats(2048, 128)),
        lambda tf, labels, logits: tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits),
        "F.cross_entropy({1}, {0}, reduction='none')",
    ),
    Case(
        "sparse_softmax_cross_entropy",
        (below(128, 2048), floats(2048, 128)),
        lambda tf, labels, logits: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits),
        "F.cross_entropy({1}, {0}, reduction='none')",
    ),
    Case("dropout", (MATRIX,), lambda tf, x: tf.nn.dropout(x, rate=0.5), "torch.dropout({0}, 0.5, True)", taken=None),
    Case("l2_loss", (MATRIX,), lambda tf, x: tf.nn.l2_loss(x), "torch.sum({0} * {0}) / 2"),
    Case(
        "moments",
        (MATRIX,),
        lambda tf, x: tf.nn.moments(x, [0])[1],
        "torch.var_mean({0}, 0, correction=0)[0]",
    ),
    Case("exp", (MATRIX,), lambda tf, x: tf.exp(x), "torch.exp({0})"),
    Case("log", (positive(512, 512),), lambda tf, x: tf.log(x), "torch.log({0})"),
    Case("sqrt", (positive(512, 512),), lambda tf, x: tf.sqrt(x), "torch.sqrt({0})"),
    Case("square", (MATRIX,), lambda tf, x: tf.square(x), "torch.square({0})"),
    Case("pow", (positive(512, 512), MATRIX), lambda tf, x, y: tf.pow(x, y), "torch.pow({0}, {1})"),
    Case("add", (MATRIX, MATRIX), lambda tf, x, y: tf.add(x, y), "torch.add({0}, {1})"),
    Case("sub", (MATRIX, MATRIX), lambda tf, x, y: tf.subtract(x, y), "torch.sub({0}, {1})"),
    Case("mul", (MATRIX, MATRIX), lambda tf, x, y: tf.multiply(x, y), "torch.mul({0}, {1})"),
    Case("div", (MATRIX, MATRIX), lambda tf, x, y: tf.divide(x, y), "torch.div({0}, {1})"),
    Case("maximum", (MATRIX, MATRIX), lambda tf, x, y: tf.maximum(x, y), "torch.maximum({0}, {1})"),
    Case("equal", (MATRIX, MATRIX), lambda tf, x, y: tf.equal(x, y), "torch.eq({0}, {1})"),
    Case(
        "where",
        (flags(512, 512), MATRIX, MATRIX),
        lambda tf, c, x, y: tf.where(c, x, y),
        "torch.where({0}, {1}, {2})",
    ),
    Case("clip_by_value", (MATRIX,), lambda tf, x: tf.clip_by_value(x, -0.5, 0.5), "torch.clamp({0}, -0.5, 0.5)"),
    Case("cast", (MATRIX,), lambda tf, x: tf.cast(x, tf.int32), "{0}.to(torch.int32)"),
    Case("reduce_sum", (MATRIX,), lambda tf, x: tf.reduce_sum(x), "torch.sum({0})"),
    Case("reduce_sum_axis", (MATRIX,), lambda tf, x: tf.reduce_sum(x, 1), "torch.sum({0}, 1)"),
    Case("reduce_mean", (MATRIX,), lambda tf, x: tf.reduce_mean(x), "torch.mean({0})"),
    Case("reduce_mean_axis", (MATRIX,), lambda tf, x: tf.reduce_mean(x, 0), "torch.mean({0}, 0)"),
    Case("reduce_max", (MATRIX,), lambda tf, x: tf.reduce_max(x), "torch.amax({0})"),
    Case("reduce_max_axis", (MATRIX,), lambda tf, x: tf.reduce_max(x, 1), "torch.amax({0}, 1)"),
    Case("argmax", (MATRIX,), lambda tf, x: tf.argmax(x, 1), "torch.argmax({0}, 1)"),
    Case("top_k", (MATRIX,), lambda tf, x: tf.nn.top_k(x, 10)[0], "torch.topk({0}, 10)[0]"),
    Case("cumsum", (MATRIX,), lambda tf, x: tf.cumsum(x, 1), "torch.cumsum({0}, 1)"),
    Case(
        "segment_sum",
        (ROWS, below(256, 4096, rising=True)),
        lambda tf, x, ids: tf.segment_sum(x, ids),
        "torch.zeros(int({1}[-1]) + 1, 64).index_add_(0, {1}, {0})",
    ),
    Case(
        "concat",
        (floats(512, 128),) * 4,
        lambda tf, *parts: tf.concat(parts, 1),
        "torch.cat([{0}, {1}, {2}, {3}], 1)",
    ),
    Case(
        "stack",
        (floats(256, 256),) * 4,
        lambda tf, *parts: tf.stack(parts),
        "torch.stack([{0}, {1}, {2}, {3}])",
    ),
    Case("tile", (floats(256, 256),), lambda tf, x: tf.tile(x, [2, 2]), "{0}.repeat(2, 2)"),
    Case("pad", (MATRIX,), lambda tf, x: tf.pad(x, [[1, 1], [2, 2]]), "F.pad({0}, (2, 2, 1, 1))"),
    Case(
        "one_hot",
        (below(128, 2048),),
        lambda tf, i: tf.one_hot(i, 128),
        "torch.zeros(2048, 128).scatter_(1, {0}.unsqueeze(1), 1.0)",
    ),
    Case(
        "gather",
        (ROWS, below(4096, 4096)),
        lambda tf, x, i: tf.gather(x, i),
        "torch.index_select({0}, 0, {1})",
    ),
    Case(
        "embedding_lookup",
        (ROWS, below(4096, 64, 64)),
        lambda tf, x, i: tf.nn.embedding_lookup(x, i),
        "F.embedding({1}, {0})",
    ),
    Case(
        "scatter_nd",
        (below(4096, 4096, 1), ROWS),
        lambda tf, i, x: tf.scatter_nd(i, x, [4096, 64]),
        "torch.zeros(4096, 64).index_add_(0, {0}, {1})",
        {0: lambda i: i[:, 0]},
    ),
    Case(
        "boolean_mask",
        (ROWS, flags(4096)),
        lambda tf, x, m: tf.boolean_mask(x, m),
        "{0}[{1}]",
    ),
    Case("random_normal", (), lambda tf: tf.random_normal([512, 512]), "torch.randn(512, 512)", taken=None),
    Case("random_uniform", (), lambda tf: tf.random_uniform([512, 512]), "torch.rand(512, 512)", taken=None),
    Case(
        "transpose",
        (floats(8, 16, 32, 64),),
        lambda tf, x, perm: tf.transpose(x, perm),
        "torch.permute({0}, {k})",
        variants=tuple(itertools.permutations(range(4)))[1:21],
    ),
    Case(
        "reshape",
        (MATRIX,),
        lambda tf, x, shape: tf.reshape(x, shape),
        "torch.reshape({0}, {k})",
        variants=tuple((2**a, 2**b, 2 ** (18 - a - b)) for a in range(4) for b in range(1, 6)),
    ),
    Case(
        "expand_dims",
        (floats(*[2] * 18),),
        lambda tf, x, axis: tf.expand_dims(x, axis),
        "torch.unsqueeze({0}, {k})",
        variants=tuple(range(19)),
    ),
    Case(
        "slice",
        (MATRIX,),
        lambda tf, x, k: tf.slice(x, [k, 20], [300, 400]),
        "{0}[{k}:{k} + 300, 20:420]",
        variants=tuple(range(1, 21)),
    ),
    Case(
        "strided_slice",
        (MATRIX,),
        lambda tf, x, k: x[k:500:2, k],
        "{0}[{k}:500:2, {k}]",
        variants=tuple(range(1, 21)),
    ),
    Case(
        "split",
        (MATRIX,),
        lambda tf, x, sizes: tf.split(x, list(sizes), 1)[3],
        "torch.split({0}, {k}, 1)[3]",
        variants=tuple((k, 100, 100, 312 - k) for k in range(1, 21)),
    ),
    Case(
        "unstack",
        (floats(*[2] * 18),),
        lambda tf, x, axis: tf.unstack(x, axis=axis)[1],
        "torch.unbind({0}, {k})[1]",
        variants=tuple(range(18)),
    ),
)
