"""Compound distributions: Independent, Mixture, MixtureSameFamily, TransformedDistribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.errors import require_kind, require_members
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.compat.contrib.distributions.bijectors import Bijector, Identity
from thalweg._src.graph.ops import math, reshape as reshape_ops
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.nn import log_softmax
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims
from thalweg._src.graph.ops.where import one_hot
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.nn.distributions.base import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution
from thalweg._src.training.nn.distributions.checks import derived_seed
from thalweg._src.training.nn.distributions.divergence import RegisterKL, kl_divergence
from thalweg._src.training.nn.statistics import reduce_logsumexp


@export("contrib.distributions.Independent")
class Independent(Distribution):
    """A distribution with the last batch dimensions of another one as event dimensions."""

    distribution = ReadOnly[Distribution]("The wrapped distribution.")
    reinterpreted_batch_ndims = ReadOnly[int]("The number of batch dimensions that are event dimensions.", "_count")

    def __init__(
        self,
        distribution: Distribution,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        parameters.pop("__class__", None)
        require_kind("distribution", distribution, Distribution, "a Distribution")
        ndims = distribution.batch_shape.ndims
        if ndims is None:
            raise ValueError(f"the rank of the batch of {distribution} must be known")
        count = max(ndims - 1, 0) if reinterpreted_batch_ndims is None else int(reinterpreted_batch_ndims)
        if not 0 <= count <= ndims:
            raise ValueError(f"reinterpreted_batch_ndims({count}) cannot exceed distribution.batch_ndims({ndims})")
        self._distribution = distribution
        self._count = count
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            name=name or f"Independent{distribution.name.rstrip('/').split('/')[-1]}",
        )

    def _split(self, batch: Any) -> int:
        return len(batch) - self._count

    def _batch_shape(self) -> Any:
        batch = self._distribution.batch_shape.as_list()
        return batch[: self._split(batch)]

    def _event_shape(self) -> Any:
        batch, event = self._distribution.batch_shape.as_list(), self._distribution.event_shape
        return None if event.ndims is None else [*batch[self._split(batch) :], *event.as_list()]

    def _batch_shape_tensor(self) -> Tensor:
        ndims = self._distribution.batch_shape.ndims or 0
        return self._distribution.batch_shape_tensor()[: ndims - self._count]

    def _event_shape_tensor(self) -> Tensor:
        ndims = self._distribution.batch_shape.ndims or 0
        batch = self._distribution.batch_shape_tensor()[ndims - self._count :]
        return concat([batch, self._distribution.event_shape_tensor()], 0)

    def _summed(self, value: Tensor) -> Tensor:
        return reduce_sum(value, list(range(-self._count, 0))) if self._count else value

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self._distribution.sample(n, seed)

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._summed(self._distribution.log_prob(value))

    def _entropy(self) -> Tensor:
        return self._summed(self._distribution.entropy())

    def _mean(self) -> Tensor:
        return self._distribution.mean()

    def _variance(self) -> Tensor:
        return self._distribution.variance()

    def _stddev(self) -> Tensor:
        return self._distribution.stddev()

    def _mode(self) -> Tensor:
        return self._distribution.mode()


@RegisterKL(Independent, Independent)
def _independent_from_independent(a: Independent, b: Independent, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_independent"):
        if a.reinterpreted_batch_ndims != b.reinterpreted_batch_ndims:
            raise NotImplementedError("KL between Independents with different numbers of event dimensions")
        return a._summed(kl_divergence(a.distribution, b.distribution))


def _widened(x: Tensor, count: int) -> Tensor:
    """Returns x with more dimensions of size 1 at the end."""
    for _ in range(count):
        x = expand_dims(x, -1)
    return x


class _MixtureBase(Distribution):
    """The base class of mixtures."""

    def _probabilities(self) -> Tensor:
        """Returns the probability of each component, along the last axis."""
        raise self._not_defined("mixture")

    def _stacked(self, statistic: str) -> Tensor:
        """Returns a statistic of each component, along the axis after the batch."""
        raise self._not_defined(statistic)

    def _event_rank(self) -> int:
        rank = self.event_shape.ndims
        if rank is None:
            raise ValueError("the rank of a mixture's events must be known")
        return rank

    def _weighted(self, values: Tensor) -> Tensor:
        rank = self._event_rank()
        return reduce_sum(_widened(self._probabilities(), rank) * values, -1 - rank)

    def _mean(self) -> Tensor:
        return self._weighted(self._stacked("mean"))

    def _variance(self) -> Tensor:
        means = self._stacked("mean")
        squares = self._weighted(self._stacked("variance") + math.square(means))
        return squares - math.square(self._weighted(means))

    def _chosen(self, draws: Tensor, component: Tensor) -> Tensor:
        """Selects the samples of the chosen components from those of all, along the axis after the batch."""
        rank = self._event_rank()
        count = reshape_ops.shape(self._probabilities())[-1]
        mask = one_hot(component, count, dtype=draws.dtype)
        return reduce_sum(draws * _widened(mask, rank), -1 - rank)


@export("contrib.distributions.MixtureSameFamily")
class MixtureSameFamily(_MixtureBase):
    """A mixture of the distributions along the last batch axis of another one."""

    mixture_distribution = ReadOnly[Any]("The Categorical distribution of the components.", "_mixture")
    components_distribution = ReadOnly[Distribution]("The distribution of the components.", "_components")

    def __init__(
        self,
        mixture_distribution: Any,
        components_distribution: Distribution,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        parameters = dict(locals())
        parameters.pop("__class__", None)
        require_kind("components_distribution", components_distribution, Distribution, "a Distribution")
        require_members("mixture_distribution", mixture_distribution, "a Categorical distribution", "logits")
        components = components_distribution.batch_shape.as_list()
        count = mixture_distribution.logits.shape[-1].value
        if not components:
            raise ValueError("`components_distribution` must have a batch axis, that of the components")
        if components[-1] is not None and count is not None and components[-1] != count:
            raise ValueError(f"mixture_distribution has {count} components, components_distribution {components[-1]}")
        self._mixture, self._components = mixture_distribution, components_distribution
        super().__init__(
            dtype=components_distribution.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            name=name,
        )

    def _batch_shape(self) -> Any:
        return self._components.batch_shape.as_list()[:-1]

    def _event_shape(self) -> Any:
        event = self._components.event_shape
        return None if event.ndims is None else event.as_list()

    def _batch_shape_tensor(self) -> Tensor:
        return self._components.batch_shape_tensor()[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return self._components.event_shape_tensor()

    def _probabilities(self) -> Tensor:
        return self._mixture.probs  # type: ignore[no-any-return]

    def _stacked(self, statistic: str) -> Tensor:
        return getattr(self._components, statistic)()  # type: ignore[no-any-return]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        # One mixture distribution may be shared by a whole batch; each member still samples its own component.
        shared = self._mixture.batch_shape.ndims == 0 and self.batch_shape.ndims != 0
        count = concat([[n], self.batch_shape_tensor()], 0) if shared else n
        component = self._mixture.sample(count, derived_seed(seed, "mixture"))
        return self._chosen(self._components.sample(n, seed), component)

    def _log_prob(self, value: Tensor) -> Tensor:
        value = expand_dims(value, -1 - self._event_rank())
        return reduce_logsumexp(self._components.log_prob(value) + log_softmax(self._mixture.logits), -1)

    def _cdf(self, value: Tensor) -> Tensor:
        return reduce_sum(self._components.cdf(expand_dims(value, -1)) * self._mixture.probs, -1)


@export("contrib.distributions.Mixture")
class Mixture(_MixtureBase):
    """A mixture of a list of distributions, with Categorical weights."""

    cat = ReadOnly[Any]("The Categorical distribution of the components.")
    components = ReadOnly[list[Distribution]]("The component distributions.", "_list")

    def __init__(
        self,
        cat: Any,
        components: Sequence[Distribution],
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        parameters = dict(locals())
        parameters.pop("__class__", None)
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        if not all(isinstance(component, Distribution) for component in components):
            raise TypeError(f"all entries in components must be Distribution instances but saw: {components}")
        if len({component.dtype for component in components}) > 1:
            raise TypeError(f"All components must have the same dtype, but saw: {[c.dtype.name for c in components]}")
        count = cat.logits.shape[-1].value
        if count is not None and count != len(components):
            raise ValueError(f"cat.num_classes != len(components): {count} vs. {len(components)}")
        self._cat, self._list = cat, list(components)
        super().__init__(
            dtype=components[0].dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            name=name,
        )

    @property
    def num_components(self) -> int:
        """The number of components."""
        return len(self._list)

    def _batch_shape(self) -> Any:
        shape = self._cat.batch_shape
        for component in self._list:
            shape = shape.merge_with(component.batch_shape)
        return None if shape.ndims is None else shape.as_list()

    def _event_shape(self) -> Any:
        shape = self._list[0].event_shape
        for component in self._list:
            shape = shape.merge_with(component.event_shape)
        return None if shape.ndims is None else shape.as_list()

    def _batch_shape_tensor(self) -> Tensor:
        return self._cat.batch_shape_tensor()  # type: ignore[no-any-return]

    def _event_shape_tensor(self) -> Tensor:
        return self._list[0].event_shape_tensor()

    def _probabilities(self) -> Tensor:
        return self._cat.probs  # type: ignore[no-any-return]

    def _stacked(self, statistic: str) -> Tensor:
        return stack([getattr(component, statistic)() for component in self._list], -1 - self._event_rank())

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        axis = -1 - self._event_rank()
        draws = [c.sample(n, derived_seed(seed, f"component {i}")) for i, c in enumerate(self._list)]
        return self._chosen(stack(draws, axis), self._cat.sample(n, seed))

    def _log_prob(self, value: Tensor) -> Tensor:
        log_probs = stack([component.log_prob(value) for component in self._list], -1)
        return reduce_logsumexp(log_probs + log_softmax(self._cat.logits), -1)

    def _cdf(self, value: Tensor) -> Tensor:
        return reduce_sum(stack([c.cdf(value) for c in self._list], -1) * self._cat.probs, -1)

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Tensor:
        """Returns a lower bound of the entropy: the mean entropy of the components."""
        with self._name_scope(name):
            return reduce_sum(stack([c.entropy() for c in self._list], -1) * self._cat.probs, -1)


@export("contrib.distributions.TransformedDistribution")
class TransformedDistribution(Distribution):
    """The distribution of samples of another one, transformed by a bijector."""

    distribution = ReadOnly[Distribution]("The base distribution.")
    bijector = ReadOnly[Any]("The bijector that transforms samples.")

    def __init__(
        self, distribution: Distribution, bijector: Any = None, validate_args: bool = False, name: str | None = None
    ) -> None:
        parameters = dict(locals())
        parameters.pop("__class__", None)
        require_kind("distribution", distribution, Distribution, "a Distribution")
        self._distribution = distribution
        self._bijector = Identity() if bijector is None else bijector
        require_kind("bijector", self._bijector, Bijector, "a Bijector or None")
        same = distribution.reparameterization_type is FULLY_REPARAMETERIZED
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED if same else NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            name=name or f"{self._bijector.name}{distribution.name.rstrip('/').split('/')[-1]}",
        )

    def _batch_shape(self) -> Any:
        shape = self._distribution.batch_shape
        return None if shape.ndims is None else shape.as_list()

    def _event_shape(self) -> Any:
        shape = self._distribution.event_shape
        return None if shape.ndims is None else shape.as_list()

    def _batch_shape_tensor(self) -> Tensor:
        return self._distribution.batch_shape_tensor()

    def _event_shape_tensor(self) -> Tensor:
        return self._distribution.event_shape_tensor()

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self._bijector.forward(self._distribution.sample(n, seed))

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._bijector.inverse(value)
        ndims = self._distribution.event_shape.ndims or 0
        return self._distribution.log_prob(x) - self._bijector.forward_log_det_jacobian(x, ndims)

    def _cdf(self, value: Tensor) -> Tensor:
        return self._distribution.cdf(self._bijector.inverse(value))

    def _quantile(self, value: Tensor) -> Tensor:
        return self._bijector.forward(self._distribution.quantile(value))

    def _mean(self) -> Tensor:
        if not self._bijector.is_constant_jacobian:
            raise self._not_defined("mean")
        return self._bijector.forward(self._distribution.mean())

    def _entropy(self) -> Tensor:
        if not self._bijector.is_constant_jacobian:
            raise self._not_defined("entropy")
        ndims = self._distribution.event_shape.ndims or 0
        some = self._distribution.mean()
        return self._distribution.entropy() + self._bijector.forward_log_det_jacobian(some, ndims)
