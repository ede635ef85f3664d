"""Regularizers: functions from a variable to a penalty."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.export import export, export_constants
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.math import abs, add_n, multiply
from thalweg._src.graph.ops.nn import l2_loss
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, get_collection, name_scope
from thalweg._src.graph.tensor import Tensor

Regularizer = Callable[[Any], Any]


@export("contrib.layers.l1_regularizer", "contrib.slim.l1_regularizer", "contrib.slim.regularizers.l1_regularizer")
def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Returns the regularizer scale * sum(|weights|).

    Args:
        scale: Factor of the penalty.
        scope: Name scope of the operations.
    """
    return _scaled(scale, scope, "l1_regularizer", lambda weights: reduce_sum(abs(weights)))


@export("contrib.layers.l2_regularizer", "contrib.slim.l2_regularizer", "contrib.slim.regularizers.l2_regularizer")
def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Returns the regularizer scale * sum(weights ** 2) / 2.

    Args:
        scale: Factor of the penalty.
        scope: Name scope of the operations.
    """
    return _scaled(scale, scope, "l2_regularizer", l2_loss)


def _scaled(scale: Any, scope: str | None, title: str, measure: Callable[[Any], Tensor]) -> Regularizer:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}")
        if scale == 0.0:
            return lambda _: None

    def regularizer(weights: Any) -> Tensor:
        with name_scope(scope, title, [weights]) as name:
            factor = convert_to_tensor(scale, weights.dtype.base_dtype, name="scale")
            return multiply(factor, measure(weights), name=name)

    return regularizer


@export(
    "contrib.layers.l1_l2_regularizer", "contrib.slim.l1_l2_regularizer", "contrib.slim.regularizers.l1_l2_regularizer"
)
def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None) -> Regularizer:
    """Returns the sum of an l1 and an l2 regularizer.

    Args:
        scale_l1: Factor of the L1 penalty.
        scale_l2: Factor of the L2 penalty.
        scope: Name scope of the operations.
    """
    for key, scale in (("scale_l1", scale_l1), ("scale_l2", scale_l2)):
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"{key} cannot be an integer: {scale}")
    scope = scope or "l1_l2_regularizer"
    if isinstance(scale_l1, numbers.Real) and scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if isinstance(scale_l2, numbers.Real) and scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    both = sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope)
    assert both is not None
    return both


@export("contrib.layers.sum_regularizer", "contrib.slim.sum_regularizer", "contrib.slim.regularizers.sum_regularizer")
def sum_regularizer(regularizer_list: Sequence[Regularizer | None], scope: str | None = None) -> Regularizer | None:
    """Returns the sum of regularizers without those that are None; None if there are none.

    Args:
        regularizer_list: The regularizers; None entries are left out.
        scope: Name scope of the operations.
    """
    regularizers = [regularizer for regularizer in regularizer_list if regularizer is not None]
    if not regularizers:
        return None

    def regularizer(weights: Any) -> Tensor | None:
        with name_scope(scope, "sum_regularizer", [weights]) as name:
            penalties = [penalty for f in regularizers if (penalty := f(weights)) is not None]
            return add_n(penalties, name=name) if penalties else None

    return regularizer


@export(
    "contrib.layers.apply_regularization",
    "contrib.slim.apply_regularization",
    "contrib.slim.regularizers.apply_regularization",
)
def apply_regularization(regularizer: Regularizer, weights_list: Sequence[Any] | None = None) -> Tensor:
    """Returns the sum of the penalties of weights, by default of the collection WEIGHTS, and adds it to the losses.

    Args:
        regularizer: Function from a tensor to a penalty.
        weights_list: The weights; by default the collection `WEIGHTS`.
    """
    weights = get_collection(GraphKeys.WEIGHTS) if weights_list is None else list(weights_list)
    if not weights:
        raise ValueError("No weights to regularize.")
    with name_scope(None, "get_regularization_penalty", weights) as scope:
        penalties = []
        for tensor in weights:
            penalty = regularizer(tensor)
            penalty = constant(0.0) if penalty is None else convert_to_tensor(penalty)
            if penalty.dims != ():
                raise ValueError(f"regularizer must return a scalar Tensor instead of {penalty!r}.")
            penalties.append(penalty)
        total = add_n(penalties, name=scope)
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total


export_constants(
    Regularizer="contrib.slim.regularizers.Regularizer",
)
