"""Random number ops: each has its own sequence, determined by the seeds of the graph and of the operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Dimension, Shape, ShapeLike, show
from thalweg._src.base.signatures import variant
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops.comparison import greater_equal
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.declarations import nondifferentiable_op, stateful_op
from thalweg._src.graph.ops.math import add, floormod, maximum, multiply, realdiv, subtract
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reduction import reduce_all
from thalweg._src.graph.ops.reshape import shape as shape_of, zeros_like
from thalweg._src.graph.ops.shape_functions import broadcast_inputs, require, shape_of_value, unchanged, with_rank
from thalweg._src.graph.ops.slicing import slice
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.seeds import get_seed
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_SIZES = attr.types(dtypes.INDEX)
_GAMMA = frozenset((dtypes.float16, dtypes.float32, dtypes.float64))
_COUNTS = _GAMMA | dtypes.INDEX
_SEED_TYPE = attr.types(dtypes.INDEX, dtypes.int64)


def _sampler(name: str, doc: str) -> OpDef:
    return stateful_op(
        name,
        "shape: T -> output: dtype",
        doc,
        seed=0,
        seed2=0,
        dtype=dtypes.FLOATING,
        T=_SIZES,
        random=True,
        capturable=True,
        host="shape",
        infer=shape_of_value(0),
    )


random_uniform_op = _sampler("RandomUniform", "Draws uniform numbers in [0, 1).")
random_standard_normal_op = _sampler(
    "RandomStandardNormal", "Draws normal numbers with mean 0 and standard deviation 1."
)
truncated_normal_op = _sampler("TruncatedNormal", "Draws standard normal numbers truncated at two standard deviations.")


def _bounded(shape: int, low: int, high: int) -> Callable[[Inference], Sequence[Shape]]:
    def infer(c: Inference) -> Sequence[Shape]:
        for index in (low, high):
            bound, name = c.shapes[index], c.definition.inputs[index].name
            require(bound is None or bound == (), f"{name} has shape {show(bound)}", "a scalar")
        least, limit = c.value(low), c.value(high)
        if least is not None and limit is not None:
            require(int(least) < int(limit), f"minval {least} is not less than maxval {limit}", "minval < maxval")
        return shape_of_value(shape)(c)

    return infer


random_uniform_int_op = stateful_op(
    "RandomUniformInt",
    "shape: T, minval: Tout, maxval: Tout -> output: Tout",
    "Draws uniform integers in [minval, maxval).",
    seed=0,
    seed2=0,
    Tout=dtypes.INDEX,
    T=_SIZES,
    random=True,
    host="shape, minval, maxval",
    infer=_bounded(0, 1, 2),
)
random_shuffle_op = stateful_op(
    "RandomShuffle",
    "value: T -> output: T",
    "Shuffles the rows of a tensor.",
    seed=0,
    seed2=0,
    T=attr.types(),
    random=True,
    infer=unchanged,
)


def _shape_for_each(shape: int, parameter: int) -> Callable[[Inference], Sequence[Shape]]:
    """Returns the shape of one sample of the requested shape per element of the parameter."""

    def infer(c: Inference) -> Sequence[Shape]:
        (sample,) = shape_of_value(shape)(c)
        tail = c.shapes[parameter]
        return [None if sample is None or tail is None else sample + tail]

    return infer


random_gamma_op = op(
    "RandomGamma",
    "shape: S, alpha: T -> output: T",
    seed=0,
    seed2=0,
    S=_SIZES,
    T=_GAMMA,
    stateful=True,
    random=True,
    host="shape",
    infer=_shape_for_each(0, 1),
    doc="Draws gamma-distributed numbers with rate 1, one sample per alpha.",
)
random_gamma_grad = nondifferentiable_op(
    "RandomGammaGrad",
    "alpha: T, sample: T -> output: T",
    "Computes the derivative of gamma samples with respect to alpha.",
    T=frozenset((dtypes.float32, dtypes.float64)),
    infer=broadcast_inputs,
)
random_poisson_op = stateful_op(
    "RandomPoissonV2",
    "shape: S, rate: R -> output: dtype",
    "Draws Poisson-distributed numbers, one sample per rate.",
    seed=0,
    seed2=0,
    S=_SIZES,
    R=attr.types(_COUNTS, dtypes.float64),
    dtype=attr.types(_COUNTS, dtypes.int64),
    random=True,
    host="shape",
    infer=_shape_for_each(0, 1),
)


def _draws(c: Inference) -> Sequence[Shape]:
    logits = with_rank(c, 0, 2)
    samples = c.value(1)
    require(c.shapes[1] in (None, ()), f"num_samples has shape {show(c.shapes[1])}", "a scalar")
    require(samples is None or int(samples) >= 0, f"num_samples is {samples}", "non-negative num_samples")
    assert logits is not None
    require(logits[1] != 0 or logits[0] == 0, "there are no classes to draw from", "logits.shape[1] > 0")
    return [(logits[0], None if samples is None else int(samples))]


multinomial_op = stateful_op(
    "Multinomial",
    "logits: T, num_samples: int32 -> output: output_dtype",
    "Draws classes with the probabilities softmax(logits), per row.",
    seed=0,
    seed2=0,
    T=dtypes.REAL,
    output_dtype=attr.types(dtypes.INDEX, dtypes.int64),
    random=True,
    host="num_samples",
    infer=_draws,
)


def _stateless_shape(c: Inference) -> Sequence[Shape]:
    seed = with_rank(c, 1, 1)
    require(seed is not None and seed[0] in (None, 2), f"seed has shape {show(seed)}", "two seeds")
    return shape_of_value(0)(c)


def _stateless_sampler(name: str, doc: str) -> OpDef:
    return nondifferentiable_op(
        name,
        "shape: T, seed: Tseed -> output: dtype",
        doc,
        dtype=attr.types(dtypes.FLOATING, dtypes.float32),
        T=attr.types(dtypes.INDEX, dtypes.int32),
        Tseed=_SEED_TYPE,
        host="shape, seed",
        infer=_stateless_shape,
    )


stateless_uniform_op = _stateless_sampler("StatelessRandomUniform", "Draws uniform numbers as a function of the seed.")
stateless_normal_op = _stateless_sampler("StatelessRandomNormal", "Draws normal numbers as a function of the seed.")
stateless_truncated_normal_op = _stateless_sampler(
    "StatelessTruncatedNormal", "Draws truncated normal numbers as a function of the seed."
)


def _stateless_bounded(c: Inference) -> Sequence[Shape]:
    _stateless_shape(c)
    return _bounded(0, 2, 3)(c)


stateless_uniform_int_op = nondifferentiable_op(
    "StatelessRandomUniformInt",
    "shape: T, seed: Tseed, minval: dtype, maxval: dtype -> output: dtype",
    "Draws uniform integers in [minval, maxval) as a function of the seed.",
    dtype=dtypes.INDEX,
    T=_SIZES,
    Tseed=_SEED_TYPE,
    host="shape, seed, minval, maxval",
    infer=_stateless_bounded,
)


def _stateless_draws(c: Inference) -> Sequence[Shape]:
    seed = with_rank(c, 2, 1)
    require(seed is not None and seed[0] in (None, 2), f"seed has shape {show(seed)}", "two seeds")
    return _draws(c)


stateless_multinomial_op = nondifferentiable_op(
    "StatelessMultinomial",
    "logits: T, num_samples: int32, seed: Tseed -> output: output_dtype",
    "Draws classes with the probabilities softmax(logits) as a function of the seed.",
    T=dtypes.REAL,
    Tseed=_SEED_TYPE,
    output_dtype=attr.types(dtypes.INDEX, dtypes.int64),
    host="num_samples, seed",
    infer=_stateless_draws,
)


def shape_tensor(shape: ShapeLike | TensorLike) -> Tensor:
    """Returns a shape given as a tensor, a TensorShape, integers, or a mix of integers and tensors."""
    if isinstance(shape, list | tuple) and all(isinstance(d, int | np.integer | Dimension) for d in shape):
        return convert_to_tensor(np.array([int(d) for d in shape], np.int32), name="shape")
    return convert_to_tensor(shape, name="shape")


def _seeds(seed: int | None) -> dict[str, Any]:
    first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}


def _floating(dtype: DTypeLike) -> dtypes.DType:
    kind = dtypes.as_dtype(dtype)
    if kind not in dtypes.FLOATING:
        raise ValueError(f"Invalid dtype {kind.name}: expected a floating type.")
    return kind


@export("random_uniform", "random.uniform")
def random_uniform(
    shape: ShapeLike | TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws uniform numbers in [minval, maxval), by default [0, 1)."""
    dtype = _uniform_type(dtype, maxval)
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        sizes = shape_tensor(shape)
        if dtype.is_integer:
            low, high = convert_to_tensor(minval, dtype, name="min"), convert_to_tensor(maxval, dtype, name="max")
            return random_uniform_int_op(sizes, low, high, name=scope, **_seeds(seed))
        if _is_unit(minval, maxval):
            return random_uniform_op(sizes, dtype=dtype, name=scope, **_seeds(seed))
        return _between(random_uniform_op(sizes, dtype=dtype, **_seeds(seed)), minval, maxval, scope)


def _uniform_type(dtype: DTypeLike, maxval: Any) -> dtypes.DType:
    kind = dtypes.as_dtype(dtype)
    if kind not in dtypes.FLOATING | dtypes.INDEX:
        raise ValueError(f"Invalid dtype {kind.name}: expected a floating type, int32 or int64.")
    if maxval is None and kind.is_integer:
        raise ValueError(f"maxval is missing: {kind.name} has no default range")
    return kind


def _is_unit(minval: object, maxval: object) -> bool:
    return (
        isinstance(minval, int | float)
        and minval == 0
        and (maxval is None or (isinstance(maxval, int | float) and maxval == 1))
    )


def _between(unit: Tensor, minval: Any, maxval: Any, name: str) -> Tensor:
    low = convert_to_tensor(minval, unit.dtype, name="min")
    high = convert_to_tensor(1 if maxval is None else maxval, unit.dtype, name="max")
    return add(multiply(unit, subtract(high, low, name="sub"), name="mul"), low, name=name)


def _scaled(standard: Tensor, mean: Tensor, stddev: Tensor, name: str) -> Tensor:
    return add(multiply(standard, stddev, name="mul"), mean, name=name)


def _normal(
    standard: tuple[str, OpDef],
    shape: ShapeLike | TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    title, definition = standard
    dtype = _floating(dtype)
    with name_scope(name, title, [shape, mean, stddev]) as scope:
        sizes = shape_tensor(shape)
        mean, stddev = convert_to_tensor(mean, dtype, name="mean"), convert_to_tensor(stddev, dtype, name="stddev")
        return _scaled(definition(sizes, dtype=dtype, **_seeds(seed)), mean, stddev, scope)


@export("random_normal", "random.normal")
@variant(_normal, ("random_normal", random_standard_normal_op))
def random_normal() -> None:
    """Draws normal numbers."""


@export("truncated_normal", "random.truncated_normal")
@variant(_normal, ("truncated_normal", truncated_normal_op))
def truncated_normal() -> None:
    """Draws normal numbers truncated at two standard deviations from the mean."""


@export("random_shuffle", "random.shuffle")
def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Shuffles the rows of a tensor.

    Args:
        value: The tensor to shuffle.
    """
    return random_shuffle_op(value, name=name, **_seeds(seed))


@export("random_gamma", "random.gamma")
def random_gamma(
    shape: ShapeLike | TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws gamma samples of the given shape for each pair of alpha (shape) and beta (rate).

    Args:
        shape: Shape of the samples for each parameter.
    """
    with name_scope(name, "random_gamma", [shape, alpha, beta]) as scope:
        sizes = shape_tensor(shape)
        alpha = convert_to_tensor(alpha, dtype, name="alpha")
        if beta is None:
            sample = random_gamma_op(sizes, alpha, **_seeds(seed))
        else:
            beta = convert_to_tensor(beta, dtype, name="beta")
            sample = realdiv(random_gamma_op(sizes, add(alpha, zeros_like(beta)), **_seeds(seed)), beta)
        return maximum(np.finfo(sample.dtype.as_numpy_dtype).tiny, sample, name=scope)


@export("random_poisson", "random.poisson")
def random_poisson(
    lam: TensorLike,
    shape: ShapeLike | TensorLike,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws Poisson samples of the given shape for each rate.

    Args:
        shape: Shape of the samples for each parameter.
    """
    with name_scope(name, "random_poisson", [lam, shape]):
        rate = convert_to_tensor(lam, name="lam")
        return random_poisson_op(shape_tensor(shape), rate, dtype=dtype, **_seeds(seed))


@export("multinomial", "random.multinomial")
def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Tensor:
    """Draws classes with the probabilities softmax(logits), num_samples per row.

    Args:
        logits: Unscaled log probabilities [batch, classes].
    """
    return _categorical("multinomial", logits, num_samples, output_dtype, seed, name)


@export("random.categorical")
def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws classes with the probabilities softmax(logits), num_samples per row.

    Args:
        logits: Unscaled log probabilities [batch, classes].
        dtype: Integer type of the result.
    """
    return _categorical("categorical", logits, num_samples, dtype, seed, name)


def _categorical(
    default_name: str, logits: Any, num_samples: Any, dtype: Any, seed: int | None, name: str | None
) -> Tensor:
    with name_scope(name, default_name, [logits, num_samples]):
        scores = convert_to_tensor(logits, name="logits")
        return multinomial_op(scores, num_samples, output_dtype=dtype or dtypes.int64, **_seeds(seed))


@export("random_crop", "image.random_crop")
def random_crop(value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Crops a block of the given size at a random position.

    Args:
        value: The tensor to crop.
        size: Size of the block along each dimension.
    """
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtypes.int32, name="size")
        sizes = shape_of(value)
        check = Assert(reduce_all(greater_equal(sizes, size)), ["Need value.shape >= size, got ", sizes, size])
        sizes = with_dependencies([check], sizes)
        limit = add(subtract(sizes, size), 1)
        offset = random_uniform(shape_of(sizes), dtype=size.dtype, maxval=size.dtype.max, seed=seed)
        return slice(value, floormod(offset, limit), size, name=scope)


@export("random.stateless_uniform", "contrib.stateless.stateless_random_uniform")
def stateless_uniform(
    shape: ShapeLike | TensorLike,
    seed: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Draws uniform numbers in [minval, maxval) that depend only on the shape and the two seeds.

    Args:
        seed: Two integers that fix the result.
    """
    dtype = _uniform_type(dtype, maxval)
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        sizes = shape_tensor(shape)
        if dtype.is_integer:
            low, high = convert_to_tensor(minval, dtype, name="min"), convert_to_tensor(maxval, dtype, name="max")
            return stateless_uniform_int_op(sizes, seed, low, high, name=scope)
        return _between(stateless_uniform_op(sizes, seed, dtype=dtype), minval, maxval, scope)


def _stateless_normal(
    standard: tuple[str, OpDef],
    shape: ShapeLike | TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Returns normally distributed numbers that the seed alone determines.

    Args:
        seed: Two integers that fix the result.
    """
    title, definition = standard
    dtype = _floating(dtype)
    with name_scope(name, title, [shape, seed, mean, stddev]) as scope:
        sizes = shape_tensor(shape)
        mean, stddev = convert_to_tensor(mean, dtype, name="mean"), convert_to_tensor(stddev, dtype, name="stddev")
        return _scaled(definition(sizes, seed, dtype=dtype), mean, stddev, scope)


@export("random.stateless_normal", "contrib.stateless.stateless_normal", "contrib.stateless.stateless_random_normal")
@variant(_stateless_normal, ("stateless_random_normal", stateless_normal_op))
def stateless_normal() -> None:
    """Draws normal numbers that depend only on the shape and the two seeds."""


@export("random.stateless_truncated_normal", "contrib.stateless.stateless_truncated_normal")
@variant(_stateless_normal, ("stateless_truncated_normal", stateless_truncated_normal_op))
def stateless_truncated_normal() -> None:
    """Draws truncated normal numbers that depend only on the shape and the two seeds."""


@export("random.stateless_categorical")
def stateless_categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Draws classes with the probabilities softmax(logits), determined by the two seeds.

    Args:
        logits: Unscaled log probabilities [batch, classes].
        seed: Two integers that fix the result.
    """
    with name_scope(name, "stateless_categorical", [logits, num_samples, seed]):
        scores = convert_to_tensor(logits, name="logits")
        return stateless_multinomial_op(scores, num_samples, seed, output_dtype=dtype)


@export("random.stateless_multinomial", "contrib.stateless.stateless_multinomial")
def stateless_multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    output_dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Draws classes with the probabilities softmax(logits), determined by the two seeds.

    Args:
        logits: Unscaled log probabilities [batch, classes].
        seed: Two integers that fix the result.
    """
    with name_scope(name, "stateless_multinomial", [logits, num_samples, seed]):
        scores = convert_to_tensor(logits, name="logits")
        return stateless_multinomial_op(scores, num_samples, seed, output_dtype=output_dtype)
