"""Parameterized stateless random ops: functions of a shape and two seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike, broadcast, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.concat import pack
from thalweg._src.graph.ops.math import maximum, realdiv
from thalweg._src.graph.ops.pad_tile import broadcast_dynamic_shape, broadcast_to
from thalweg._src.graph.ops.random import shape_tensor
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.ops.shape_functions import require, shape_of_value, with_rank
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_FLOATS = frozenset((dtypes.float16, dtypes.float32, dtypes.float64))
_COUNTS = _FLOATS | dtypes.INDEX
_SIZES = attr.types(dtypes.INDEX)
_SEED = attr.types(dtypes.INDEX, dtypes.int64)


def _require_seeds(c: Inference) -> None:
    seed = with_rank(c, 1, 1)
    require(seed is not None and seed[0] in (None, 2), f"seed has shape {show(seed)}", "two seeds")


def _sample(c: Inference) -> Sequence[Shape]:
    """Returns the requested shape, which must end with that of the parameters."""
    _require_seeds(c)
    (result,) = shape_of_value(0)(c)
    parameters: Shape = ()
    for shape in c.shapes[2:]:
        parameters = broadcast(parameters, shape)
    if result is not None and parameters is not None:
        tail = result[len(result) - len(parameters) :] if len(result) >= len(parameters) else None
        fits = tail is not None and all(p is None or d in (None, p) for d, p in zip(tail, parameters))
        require(fits, f"the parameters have shape {show(parameters)}", expected=f"a suffix of {show(result)}")
    return [result]


def _whole_range(c: Inference) -> Sequence[Shape]:
    _require_seeds(c)
    return shape_of_value(0)(c)


_FACTS: dict[str, Any] = {"differentiable": False, "host": "shape, seed", "Tseed": _SEED}
stateless_binomial_op = op(
    "StatelessRandomBinomial",
    "shape: S, seed: Tseed, counts: T, probs: T -> output: dtype",
    S=_SIZES,
    T=attr.types(_COUNTS, dtypes.float64),
    dtype=attr.types(_COUNTS, dtypes.int64),
    infer=_sample,
    doc="Draws binomially distributed counts as a function of the seed.",
    **_FACTS,
)
stateless_gamma_op = op(
    "StatelessRandomGammaV2",
    "shape: T, seed: Tseed, alpha: dtype -> output: dtype",
    dtype=_FLOATS,
    T=_SIZES,
    infer=_sample,
    doc="Draws gamma-distributed numbers with rate 1 as a function of the seed.",
    **_FACTS,
)
stateless_poisson_op = op(
    "StatelessRandomPoisson",
    "shape: T, seed: Tseed, lam: Rtype -> output: dtype",
    Rtype=_COUNTS,
    dtype=_COUNTS,
    T=_SIZES,
    infer=_sample,
    doc="Draws Poisson-distributed numbers as a function of the seed.",
    **_FACTS,
)
stateless_parameterized_truncated_normal_op = op(
    "StatelessParameterizedTruncatedNormal",
    "shape: S, seed: Tseed, means: dtype, stddevs: dtype, minvals: dtype, maxvals: dtype -> output: dtype",
    S=_SIZES,
    dtype=_FLOATS,
    infer=_sample,
    doc="Draws truncated normal numbers with parameters as a function of the seed.",
    **_FACTS,
    capturable=False,
)
stateless_full_int_op = op(
    "StatelessRandomUniformFullInt",
    "shape: T, seed: Tseed -> output: dtype",
    dtype=attr.types(dtypes.INDEX | {dtypes.uint32, dtypes.uint64}, dtypes.uint64),
    T=attr.types(dtypes.INDEX, dtypes.int32),
    infer=_whole_range,
    **{**_FACTS, "Tseed": attr.types(dtypes.INDEX | {dtypes.uint32, dtypes.uint64}, dtypes.int64)},
    doc="Draws integers of the full range of their type as a function of the seed.",
)


@export("random.stateless_binomial")
def stateless_binomial(
    shape: ShapeLike | TensorLike,
    seed: TensorLike,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Returns binomially distributed counts of successes.

    Args:
        seed: Two integers that fix the result.
        counts: Numbers of trials.
        probs: Probability of success in a trial.
    """
    with name_scope(name, "stateless_random_binomial", [shape, seed, counts, probs]) as scope:
        probs = convert_to_tensor(probs, dtype_hint=dtypes.float32, name="probs")
        counts = convert_to_tensor(counts, probs.dtype, name="counts")
        return stateless_binomial_op(shape_tensor(shape), seed, counts, probs, dtype=output_dtype, name=scope)


@export("random.stateless_gamma")
def stateless_gamma(
    shape: ShapeLike | TensorLike,
    seed: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Draws gamma-distributed numbers with shape alpha and rate beta.

    Args:
        seed: Two integers that fix the result.
    """
    with name_scope(name, "stateless_random_gamma", [shape, seed, alpha, beta]) as scope:
        alpha = convert_to_tensor(alpha, dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, name="beta")
        alpha = broadcast_to(alpha, broadcast_dynamic_shape(shape_of(alpha), shape_of(beta)))
        sample = realdiv(stateless_gamma_op(shape_tensor(shape), seed, alpha), beta)
        return maximum(np.finfo(alpha.dtype.as_numpy_dtype).tiny, sample, name=scope)


@export("random.stateless_poisson")
def stateless_poisson(
    shape: ShapeLike | TensorLike,
    seed: TensorLike,
    lam: TensorLike,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Draws Poisson-distributed numbers with the given rates.

    Args:
        seed: Two integers that fix the result.
    """
    with name_scope(name, "stateless_random_poisson", [shape, seed, lam]) as scope:
        lam = convert_to_tensor(lam, dtype_hint=dtypes.float32, name="lam")
        return stateless_poisson_op(shape_tensor(shape), seed, lam, dtype=dtype, name=scope)


@export("random.stateless_parameterized_truncated_normal")
def stateless_parameterized_truncated_normal(
    shape: ShapeLike | TensorLike,
    seed: TensorLike,
    means: TensorLike = 0.0,
    stddevs: TensorLike = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
    name: str | None = None,
) -> Tensor:
    """Draws truncated normal numbers between two bounds.

    Args:
        seed: Two integers that fix the result.
        means: Means of the distributions.
        stddevs: Standard deviations of the distributions.
        minvals: Lower limits.
        maxvals: Upper limits.
    """
    with name_scope(name, "stateless_parameterized_truncated_normal", [shape, seed, means, stddevs]) as scope:
        parameters = [means, stddevs, minvals, maxvals]
        dtype = next((p.dtype for p in parameters if hasattr(p, "dtype")), dtypes.float32)
        tensors = [convert_to_tensor(parameter, dtype) for parameter in parameters]
        return stateless_parameterized_truncated_normal_op(shape_tensor(shape), seed, *tensors, name=scope)


@export("random.split")
def split(seed: TensorLike, num: int = 2, alg: str = "auto_select") -> Tensor:
    """Derives `num` pairs of seeds from one.

    Args:
        seed: Two integers that fix the result.
        num: Number of new seeds.
    """
    seed = convert_to_tensor(seed)
    return stateless_full_int_op([num, 2], seed, dtype=seed.dtype)


@export("random.fold_in")
def fold_in(seed: TensorLike, data: TensorLike, alg: str = "auto_select") -> Tensor:
    """Derives a pair of seeds from one and an integer.

    Args:
        seed: Two integers that fix the result.
        data: The number to combine with the seed.
    """
    data = convert_to_tensor(data)
    return pack([stateless_full_int_op(np.zeros(0, np.int32), seed, dtype=data.dtype), data])
