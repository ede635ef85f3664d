"""Kullback-Leibler divergences, registered for pairs of distribution classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.ops.comparison import is_nan, logical_not
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reduction import reduce_any
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor

Divergence = Callable[..., Tensor]
_divergences: dict[tuple[type, type], Divergence] = {}


@export("distributions.RegisterKL", "contrib.distributions.RegisterKL")
class RegisterKL:
    """Decorator that registers `def kl(a, b, name=None)`, the divergence of two classes of distributions."""

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Divergence) -> Divergence:
        """Registers a divergence function and returns it."""
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _divergences:
            a, b = self._key
            raise ValueError(
                f"KL({a.__name__} || {b.__name__}) has already been registered to: {_divergences[self._key]}"
            )
        _divergences[self._key] = kl_fn
        return kl_fn


def _registered(a: type, b: type) -> Divergence | None:
    """Returns the function of the nearest base classes: those with the fewest steps up both inheritance orders."""
    pairs = [(i + j, x, y) for i, x in enumerate(a.__mro__) for j, y in enumerate(b.__mro__)]
    candidates = [(steps, _divergences[x, y]) for steps, x, y in pairs if (x, y) in _divergences]
    return min(candidates, key=lambda entry: entry[0])[1] if candidates else None


@export("distributions.kl_divergence", "contrib.distributions.kl_divergence")
def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """Returns the Kullback-Leibler divergence KL(a || b).

    Args:
        distribution_a: The first distribution.
        distribution_b: The second distribution.
        name: A name for the operations that are added to the graph.
    """
    function = _registered(type(distribution_a), type(distribution_b))
    if function is None:
        raise NotImplementedError(
            f"No function is registered for KL({type(distribution_a).__name__} || {type(distribution_b).__name__}); "
            "hint: register one with RegisterKL"
        )
    with name_scope("KullbackLeibler"):
        result = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return result
        text = f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN values. Values:"
        with control_dependencies([Assert(logical_not(reduce_any(is_nan(result))), [text, result])]):
            return identity(result, name="checked_kl")


def cross_entropy(ref: Any, other: Any, allow_nan_stats: bool = True, name: str | None = None) -> Tensor:
    """Returns the cross entropy H(ref, other)."""
    with name_scope(name, "cross_entropy"):
        divergence: Tensor = ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)
        return divergence
