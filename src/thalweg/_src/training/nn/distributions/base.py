"""Distribution: the base class of probability distributions, with the public methods.

A subclass defines `_sample_n`, `_log_prob` or `_prob`, and further methods by the public name with a leading
underscore. Methods that follow from others, such as `prob` from `log_prob`, need not be defined.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike, as_dtype
from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape, broadcast, concatenate
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import math, reshape as reshape_ops
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.pad_tile import broadcast_dynamic_shape
from thalweg._src.graph.ops.reduction import reduce_prod
from thalweg._src.graph.ops.reshape import constant_value, ones, reshape, size
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.distributions import divergence


@export("distributions.ReparameterizationType", "contrib.distributions.ReparameterizationType")
class ReparameterizationType:
    """Whether gradients flow through samples to the parameters; instances compare by identity."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = export("distributions.FULLY_REPARAMETERIZED", "contrib.distributions.FULLY_REPARAMETERIZED")(
    ReparameterizationType("FULLY_REPARAMETERIZED")
)
NOT_REPARAMETERIZED = export("distributions.NOT_REPARAMETERIZED", "contrib.distributions.NOT_REPARAMETERIZED")(
    ReparameterizationType("NOT_REPARAMETERIZED")
)


@export("distributions.Distribution", "contrib.distributions.Distribution")
class Distribution:
    """The base class of distributions: a batch of independent distributions over events of one shape."""

    def __init__(
        self,
        dtype: DTypeLike,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        self._graph_parents = list(graph_parents or ())
        for i, parent in enumerate(self._graph_parents):
            if not isinstance(parent, Tensor):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        if name:
            require_text("name", name)
        if not name or not name.endswith("/"):
            with name_scope(name or type(self).__name__) as scope:
                name = scope
        self._dtype = as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._parameters = dict(parameters or {})
        self._name = name

    def _defined_by(
        self,
        arguments: dict[str, Any],
        tensors: Sequence[Tensor],
        reparameterization_type: ReparameterizationType,
        name: str,
        dtype: DTypeLike | None = None,
    ) -> None:
        """Calls the constructor for a subclass with its `arguments`; the default dtype is that of the last tensor."""
        checks = arguments["validate_args"], arguments["allow_nan_stats"]
        element_type = tensors[-1].dtype if dtype is None else dtype
        Distribution.__init__(self, element_type, reparameterization_type, *checks, arguments, tensors, name)

    # -- what is known without running anything ----------------------------------------------------------------------

    name = ReadOnly[str]("The name of the distribution.")
    dtype = ReadOnly[DType]("The element type of samples.")

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {key: value for key, value in self._parameters.items() if key != "self" and not key.startswith("__")}

    reparameterization_type = ReadOnly[ReparameterizationType](
        "Whether gradients flow through samples, as a ReparameterizationType."
    )
    allow_nan_stats = ReadOnly[bool]("Whether a statistic that is undefined is NaN, rather than an error.")
    validate_args = ReadOnly[bool]("Whether arguments are checked.")

    @property
    def batch_shape(self) -> TensorShape:
        """The static batch shape."""
        return TensorShape(as_shape(self._batch_shape()))

    @property
    def event_shape(self) -> TensorShape:
        """The static event shape."""
        return TensorShape(as_shape(self._event_shape()))

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """Returns a distribution with the same arguments, some of them replaced."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    @classmethod
    def param_shapes(
        cls, sample_shape: ShapeLike | TensorLike, name: str = "DistributionParamShapes"
    ) -> dict[str, Tensor]:
        """Returns the shapes of the parameters for which `sample()` has the given shape."""
        with name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: ShapeLike | TensorLike) -> dict[str, TensorShape]:
        """Returns the static shapes of the parameters for which `sample()` has the given shape."""
        if isinstance(sample_shape, TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError(f"sample_shape: expected all dimensions known, received {sample_shape}")
            sample_shape = sample_shape.as_list()
        result = {}
        for name, shape in cls.param_shapes(sample_shape).items():
            static_sizes = constant_value(shape)
            if static_sizes is None:
                raise ValueError(f"sample_shape: expected sizes known while building, received {sample_shape}")
            result[name] = TensorShape(static_sizes.tolist())
        return result

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Returns the batch shape as a tensor."""
        with self._name_scope(name):
            return self._as_tensor(self.batch_shape, self._batch_shape_tensor)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """Returns the event shape as a tensor."""
        with self._name_scope(name):
            return self._as_tensor(self.event_shape, self._event_shape_tensor)

    @staticmethod
    def _as_tensor(static: TensorShape, otherwise: Callable[[], Tensor]) -> Tensor:
        if static.is_fully_defined():
            return convert_to_tensor(static.as_list(), dtypes.int32)
        return otherwise()

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Returns a boolean tensor: whether the event shape is []."""
        with self._name_scope(name):
            return self._is_scalar(self.event_shape, self.event_shape_tensor)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Returns a boolean tensor: whether the batch shape is []."""
        with self._name_scope(name):
            return self._is_scalar(self.batch_shape, self.batch_shape_tensor)

    @staticmethod
    def _is_scalar(static: TensorShape, shape: Callable[[], Tensor]) -> Tensor:
        if static.ndims is not None:
            return convert_to_tensor(static.ndims == 0)
        return equal(size(shape()), 0)

    # -- samples, and functions of a value ---------------------------------------------------------------------------

    def sample(
        self, sample_shape: ShapeLike | TensorLike = (), seed: int | None = None, name: str = "sample"
    ) -> Tensor:
        """Returns samples of the shape sample_shape + batch_shape + event_shape."""
        with self._name_scope(name, [sample_shape]):
            sizes = convert_to_tensor(sample_shape, dtypes.int32, name="sample_shape")
            if sizes.dims is not None and len(sizes.dims) > 1:
                raise ValueError(f"sample_shape: expected a scalar or a vector, received shape {sizes.shape}")
            sizes = reshape(sizes, [-1])
            static_sizes = constant_value(sizes)
            count: Any = reduce_prod(sizes) if static_sizes is None else int(static_sizes.prod())
            draws = self._sample_n(count, seed)
            result = reshape(draws, concat([sizes, reshape_ops.shape(draws)[1:]], 0))
            shape = concatenate(self.batch_shape._dims, self.event_shape._dims)
            if static_sizes is not None:
                result.set_shape(concatenate(tuple(static_sizes.tolist()), shape))
            return result

    def log_prob(self, value: TensorLike, name: str = "log_prob") -> Tensor:
        """Returns the log of the probability density or mass."""
        return self._of_value(name, value, self._log_prob, lambda x: math.log(self._prob(x)))

    def prob(self, value: TensorLike, name: str = "prob") -> Tensor:
        """Returns the probability density or mass."""
        return self._of_value(name, value, self._prob, lambda x: math.exp(self._log_prob(x)))

    def log_cdf(self, value: TensorLike, name: str = "log_cdf") -> Tensor:
        """Returns the log of the cumulative distribution function."""
        return self._of_value(name, value, self._log_cdf, lambda x: math.log(self._cdf(x)))

    def cdf(self, value: TensorLike, name: str = "cdf") -> Tensor:
        """Returns the cumulative distribution function."""
        return self._of_value(name, value, self._cdf, lambda x: math.exp(self._log_cdf(x)))

    def log_survival_function(self, value: TensorLike, name: str = "log_survival_function") -> Tensor:
        """Returns the log of the probability that a sample is greater than the value."""
        return self._of_value(name, value, self._log_survival_function, lambda x: math.log1p(-self.cdf(x)))

    def survival_function(self, value: TensorLike, name: str = "survival_function") -> Tensor:
        """Returns the probability that a sample is greater than the value."""
        return self._of_value(name, value, self._survival_function, lambda x: 1.0 - self.cdf(x))

    def quantile(self, value: TensorLike, name: str = "quantile") -> Tensor:
        """Returns the quantile: the inverse of `cdf`."""
        return self._of_value(name, value, self._quantile)

    def _of_value(self, name: str, value: TensorLike, *ways: Callable[[Tensor], Tensor]) -> Tensor:
        with self._name_scope(name, [value]):
            tensor = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            return _first_defined([lambda way=way: way(tensor) for way in ways])  # type: ignore[misc]

    # -- statistics --------------------------------------------------------------------------------------------------

    def entropy(self, name: str = "entropy") -> Tensor:
        """Returns the Shannon entropy in nats."""
        return self._statistic(name, self._entropy)

    def mean(self, name: str = "mean") -> Tensor:
        """Returns the mean."""
        return self._statistic(name, self._mean)

    def variance(self, name: str = "variance") -> Tensor:
        """Returns the variance."""
        return self._statistic(name, self._variance, lambda: math.square(self._stddev()))

    def stddev(self, name: str = "stddev") -> Tensor:
        """Returns the standard deviation."""
        return self._statistic(name, self._stddev, lambda: math.sqrt(self._variance()))

    def covariance(self, name: str = "covariance") -> Tensor:
        """Returns the covariance of the event dimensions."""
        return self._statistic(name, self._covariance)

    def mode(self, name: str = "mode") -> Tensor:
        """Returns the mode."""
        return self._statistic(name, self._mode)

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """Returns the cross entropy with another distribution."""
        return self._statistic(name, lambda: self._cross_entropy(other))

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """Returns the Kullback-Leibler divergence from another distribution."""
        return self._statistic(name, lambda: self._kl_divergence(other))

    def _statistic(self, name: str, *ways: Callable[[], Tensor]) -> Tensor:
        with self._name_scope(name):
            return _first_defined(ways)

    @contextlib.contextmanager
    def _name_scope(self, name: str, values: Sequence[Any] = ()) -> Iterator[str]:
        with name_scope(self.name), name_scope(name, values=[*values, *self._graph_parents]) as scope:
            yield scope

    # -- what a distribution defines ---------------------------------------------------------------------------------

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        raise NotImplementedError(f"{cls.__name__} does not say which shapes its parameters have for a sample's shape")

    def _batch_shape(self) -> Any:
        return None

    def _event_shape(self) -> Any:
        return None

    def _batch_shape_tensor(self) -> Tensor:
        raise self._not_defined("batch_shape_tensor")

    def _event_shape_tensor(self) -> Tensor:
        raise self._not_defined("event_shape_tensor")

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        raise self._not_defined("sample_n")

    def _log_prob(self, value: Tensor) -> Tensor:
        raise self._not_defined("log_prob")

    def _prob(self, value: Tensor) -> Tensor:
        raise self._not_defined("prob")

    def _log_cdf(self, value: Tensor) -> Tensor:
        raise self._not_defined("log_cdf")

    def _cdf(self, value: Tensor) -> Tensor:
        raise self._not_defined("cdf")

    def _log_survival_function(self, value: Tensor) -> Tensor:
        raise self._not_defined("log_survival_function")

    def _survival_function(self, value: Tensor) -> Tensor:
        raise self._not_defined("survival_function")

    def _quantile(self, value: Tensor) -> Tensor:
        raise self._not_defined("quantile")

    def _entropy(self) -> Tensor:
        raise self._not_defined("entropy")

    def _mean(self) -> Tensor:
        raise self._not_defined("mean")

    def _variance(self) -> Tensor:
        raise self._not_defined("variance")

    def _stddev(self) -> Tensor:
        raise self._not_defined("stddev")

    def _covariance(self) -> Tensor:
        raise self._not_defined("covariance")

    def _mode(self) -> Tensor:
        raise self._not_defined("mode")

    def _cross_entropy(self, other: Distribution) -> Tensor:
        return divergence.cross_entropy(self, other, allow_nan_stats=self.allow_nan_stats)

    def _kl_divergence(self, other: Distribution) -> Tensor:
        return divergence.kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    def _not_defined(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"{method} is not implemented: {type(self).__name__}")

    def __str__(self) -> str:
        shapes = (("batch_shape", self.batch_shape), ("event_shape", self.event_shape))
        static_shapes = "".join(f", {key}={shape}" for key, shape in shapes if shape.ndims is not None)
        return f'tfp.distributions.{type(self).__name__}("{self.name}"{static_shapes}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={self.dtype.name}>"
        )


def _first_defined(ways: Sequence[Callable[[], Tensor]]) -> Tensor:
    """Returns the result of the first defined method, or raises NotImplementedError for the first of all."""
    missing: NotImplementedError | None = None
    for way in ways:
        try:
            return way()
        except NotImplementedError as error:
            missing = missing or error
    assert missing is not None
    raise missing


class ScalarDistribution(Distribution):
    """A distribution over scalars, whose parameters broadcast to the batch shape."""

    _parameter_names: tuple[str, ...] = ()  # the names of the parameters

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        return dict.fromkeys(cls._parameter_names, convert_to_tensor(sample_shape, dtypes.int32))

    def _shaping(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._parameter_names]

    def _batch_shape(self) -> Any:
        result: Any = ()
        for parameter in self._shaping():
            result = broadcast(result, parameter.dims)
        return result

    def _batch_shape_tensor(self) -> Tensor:
        first, *others = [reshape_ops.shape(parameter) for parameter in self._shaping()]
        for other in others:
            first = broadcast_dynamic_shape(first, other)
        return first

    def _event_shape(self) -> Any:
        return ()

    def _block(self, n: int | Tensor) -> Tensor:
        """Returns the shape of n samples."""
        return concat([[n], self.batch_shape_tensor()], 0)

    def _broadcast(self, value: Any) -> Tensor:
        """Returns a value broadcast to the batch shape."""
        return value * ones(self.batch_shape_tensor(), self.dtype)  # type: ignore[no-any-return]
