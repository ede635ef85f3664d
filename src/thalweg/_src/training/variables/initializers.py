"""Initializers: functions from shape and dtype to the initial value of a variable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, as_shape, is_fully_defined, show
from thalweg._src.graph.ops.constants import array_constant, constant
from thalweg._src.graph.ops.decompositions import qr
from thalweg._src.graph.ops.diagonal import matrix_diag_part
from thalweg._src.graph.ops.math import multiply, sign
from thalweg._src.graph.ops.random import random_normal, random_uniform, truncated_normal
from thalweg._src.graph.ops.reshape import matrix_transpose, ones, reshape, zeros
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.partitions import PartitionInfo

# The standard deviation of a standard normal distribution truncated at two standard deviations.
_TRUNCATED_STDDEV = 0.87962566103423978


@export("keras.initializers.Initializer")
class Initializer:
    """Base class: `initializer(shape, dtype)` returns a tensor, and `from_config(get_config())` a copy."""

    dtype: DType
    _arguments: ClassVar[tuple[str, ...]] = ()  # of the constructor, besides dtype

    def __call__(
        self, shape: ShapeLike | TensorLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        """Returns an initial value of a shape and type."""
        return self._value(shape, self.dtype if dtype is None else dtypes.as_dtype(dtype), partition_info)

    def _value(self, shape: ShapeLike | TensorLike, dtype: DType, partition_info: PartitionInfo | None) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not implement __call__")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that create an equal initializer."""
        return {**{name: getattr(self, name) for name in self._arguments}, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Returns the initializer of a configuration."""
        return cls(**config)


def _floating(dtype: DTypeLike) -> DType:
    result = dtypes.as_dtype(dtype)
    if not result.is_floating:
        raise ValueError(f"Expected floating point type, got {result.name}.")
    return result


def _sizes(shape: ShapeLike | TensorLike) -> list[int]:
    sizes = as_shape(shape)
    if sizes is None or not is_fully_defined(sizes):
        raise ValueError(f"an initializer needs a fully defined shape, got {show(sizes)}")
    return [int(size or 0) for size in sizes]


def _full_sizes(shape: ShapeLike | TensorLike, partition_info: PartitionInfo | None) -> list[int]:
    """Returns the sizes of the whole variable, of which `shape` may be one partition."""
    return _sizes(shape if partition_info is None else partition_info.full_shape)


@export("zeros_initializer", "initializers.zeros", "keras.initializers.Zeros", "keras.initializers.zeros")
class Zeros(Initializer):
    """Initializes with zeros, False or empty strings.

    Args:
        dtype: Default type of the values.
    """

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def _value(self, shape: ShapeLike | TensorLike, dtype: DType, partition_info: PartitionInfo | None) -> Tensor:
        return zeros(shape, dtype)


@export("ones_initializer", "initializers.ones", "keras.initializers.Ones", "keras.initializers.ones")
class Ones(Initializer):
    """Initializes with ones.

    Args:
        dtype: Default type of the values.
    """

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def _value(self, shape: ShapeLike | TensorLike, dtype: DType, partition_info: PartitionInfo | None) -> Tensor:
        return ones(shape, dtype)


@export("constant_initializer", "initializers.constant", "keras.initializers.Constant", "keras.initializers.constant")
class Constant(Initializer):
    """Initializes with constant values; the last one fills the rest of the shape.

    Args:
        value: A number, or a list of the values.
        dtype: Default type of the values.
    """

    _arguments: ClassVar = ("value",)

    def __init__(self, value: TensorLike = 0, dtype: DTypeLike = dtypes.float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)):
            raise TypeError(
                f"a constant initializer takes a number, a list, a tuple or a NumPy array, not {type(value)}"
            )
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self,
        shape: Any,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
        verify_shape: bool | None = None,
    ) -> Tensor:
        """Returns an initial value of a shape and type."""
        verify = self._verify_shape if verify_shape is None else verify_shape
        kind = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        return constant(self.value, kind, shape, verify_shape=verify)


@export("random_uniform_initializer", "initializers.random_uniform")
class RandomUniform(Initializer):
    """Initializes with uniformly distributed values in [minval, maxval).

    Args:
        dtype: Default type of the values.
    """

    _arguments: ClassVar = ("minval", "maxval", "seed")

    def __init__(
        self,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = dtypes.as_dtype(dtype)

    def _value(self, shape: ShapeLike | TensorLike, dtype: DType, partition_info: PartitionInfo | None) -> Tensor:
        return random_uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)


@export("random_normal_initializer", "initializers.random_normal")
class RandomNormal(Initializer):
    """Initializes with normally distributed values.

    Args:
        dtype: Default type of the values.
    """

    _arguments: ClassVar = ("mean", "stddev", "seed")

    def __init__(
        self,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = _floating(dtype)

    def _value(self, shape: ShapeLike | TensorLike, dtype: DType, partition_info: PartitionInfo | None) -> Tensor:
        return random_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


@export("truncated_normal_initializer", "initializers.truncated_normal")
class TruncatedNormal(RandomNormal):
    """Initializes with normally distributed values, resampled beyond two standard deviations."""

    def _value(self, shape: ShapeLike | TensorLike, dtype: DType, partition_info: PartitionInfo | None) -> Tensor:
        return truncated_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


@export("uniform_unit_scaling_initializer", "initializers.uniform_unit_scaling")
class UniformUnitScaling(Initializer):
    """Initializes with uniform values that keep the variance through a matrix product or convolution.

    Args:
        factor: Factor of the values; it depends on the activation that follows.
        dtype: Default type of the values.
    """

    _arguments: ClassVar = ("factor", "seed")

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.factor = factor
        self.seed = seed
        self.dtype = _floating(dtype)

    def _value(self, shape: ShapeLike | TensorLike, dtype: DType, partition_info: PartitionInfo | None) -> Tensor:
        inputs = max(math.prod(_full_sizes(shape, partition_info)[:-1]), 1)
        limit = math.sqrt(3 / inputs) * self.factor
        return random_uniform(shape, -limit, limit, dtype, seed=self.seed)


@export("variance_scaling_initializer", "initializers.variance_scaling", "keras.initializers.VarianceScaling")
class VarianceScaling(Initializer):
    """Initializes with values whose variance is `scale` divided by fan-in, fan-out or their mean.

    Args:
        scale: Factor of the variance.
        mode: "fan_in", "fan_out" or "fan_avg": the number that divides the variance.
        distribution: "truncated_normal", "untruncated_normal" or "uniform".
        dtype: Default type of the values.
    """

    _arguments: ClassVar[tuple[str, ...]] = ("scale", "mode", "distribution", "seed")

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in {"fan_in", "fan_out", "fan_avg"}:
            raise ValueError(f"Invalid `mode` argument: {mode}")
        require_text("distribution", distribution)
        distribution = distribution.lower()
        if distribution not in {"normal", "uniform", "truncated_normal", "untruncated_normal"}:
            raise ValueError(f"Invalid `distribution` argument: {distribution}")
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed
        self.dtype = _floating(dtype)

    def _value(self, shape: ShapeLike | TensorLike, dtype: DType, partition_info: PartitionInfo | None) -> Tensor:
        fan_in, fan_out = _fans(_full_sizes(shape, partition_info))
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        scale = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(scale), dtype, seed=self.seed)
        return truncated_normal(shape, 0.0, math.sqrt(scale) / _TRUNCATED_STDDEV, dtype, seed=self.seed)


def _fans(sizes: Sequence[int]) -> tuple[float, float]:
    """Returns fan-in and fan-out; those of a convolution include its window."""
    if not sizes:
        return 1.0, 1.0
    if len(sizes) == 1:
        return float(sizes[0]), float(sizes[0])
    window = math.prod(sizes[:-2])
    return float(sizes[-2] * window), float(sizes[-1] * window)


@export("glorot_uniform_initializer", "initializers.glorot_uniform", "keras.initializers.glorot_uniform")
class GlorotUniform(VarianceScaling):
    """Initializes with a uniform distribution scaled by the mean of fan-in and fan-out (Glorot, Bengio).

    Args:
        dtype: Default type of the values.
    """

    _arguments: ClassVar = ("seed",)

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


@export("glorot_normal_initializer", "initializers.glorot_normal", "keras.initializers.glorot_normal")
class GlorotNormal(VarianceScaling):
    """Initializes with a truncated normal distribution scaled by the mean of fan-in and fan-out (Glorot, Bengio).

    Args:
        dtype: Default type of the values.
    """

    _arguments: ClassVar = ("seed",)

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


@export("initializers.identity", "keras.initializers.Identity", "keras.initializers.identity")
class Identity(Initializer):
    """Initializes with a multiple of the identity matrix.

    Args:
        gain: Factor of the identity matrix.
        dtype: Default type of the values.
    """

    _arguments: ClassVar = ("gain",)

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain = gain
        self.dtype = _floating(dtype)

    def _value(self, shape: ShapeLike | TensorLike, dtype: DType, partition_info: PartitionInfo | None) -> Tensor:
        full = _full_sizes(shape, partition_info)
        if len(full) != 2:
            raise ValueError(f"identity_initializer makes matrices: expected a shape of rank 2, received {full}")
        matrix = np.eye(full[0], full[1])
        if partition_info is not None:
            matrix = matrix[tuple(slice(o, o + n) for o, n in zip(partition_info.var_offset, _sizes(shape)))]
        return array_constant((self.gain * matrix).astype(dtype.as_numpy_dtype), dtype)


@export(
    "orthogonal_initializer",
    "initializers.orthogonal",
    "keras.initializers.Orthogonal",
    "keras.initializers.orthogonal",
)
class Orthogonal(Initializer):
    """Initializes with an orthogonal matrix times `gain`; other shapes are flattened to a matrix.

    Args:
        gain: Factor of the orthogonal matrix.
        dtype: Default type of the values.
    """

    _arguments: ClassVar = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain = gain
        self.seed = seed
        self.dtype = _floating(dtype)

    def _value(self, shape: ShapeLike | TensorLike, dtype: DType, partition_info: PartitionInfo | None) -> Tensor:
        sizes = _sizes(shape)
        if len(sizes) < 2:
            raise ValueError(f"orthogonal_initializer needs a shape of rank 2 or more, received {sizes}")
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        q, r = qr.many(random_normal([max(rows, columns), min(rows, columns)], dtype=dtype, seed=self.seed))
        q = multiply(q, sign(matrix_diag_part(r)))  # makes the distribution uniform
        return multiply(reshape(matrix_transpose(q) if rows < columns else q, sizes), self.gain)


@export("initializers.he_normal", "keras.initializers.he_normal")
def he_normal(seed: int | None = None) -> VarianceScaling:
    """Returns the normal initializer of He et al. for rectified units.

    Args:
        seed: Seed of the random values.
    """
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@export("initializers.he_uniform", "keras.initializers.he_uniform")
def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Returns the initializer of He et al. for rectified units, with a uniform distribution.

    Args:
        seed: Seed of the random values.
    """
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


@export("initializers.lecun_normal", "keras.initializers.lecun_normal")
def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Returns the normal initializer of LeCun et al.

    Args:
        seed: Seed of the random values.
    """
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@export("initializers.lecun_uniform", "keras.initializers.lecun_uniform")
def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Returns the initializer of LeCun et al., with a uniform distribution.

    Args:
        seed: Seed of the random values.
    """
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
orthogonal_initializer = Orthogonal
