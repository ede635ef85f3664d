"""Argument checks of distributions, made when validate_args is True."""

from __future__ import annotations

import hashlib
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import cast as cast_ops, check, math, reshape as reshape_ops
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.nn import softmax
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import ones
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def floats(validate_args: bool, positive: tuple[str, ...] = (), **parameters: Any) -> list[Tensor]:
    """Returns parameters as tensors of one floating type; those in `positive` are checked if `validate_args`."""
    tensors = {name: convert_to_tensor(value, name=name) for name, value in parameters.items()}
    checks = [check.assert_positive(tensors[name]) for name in positive] if validate_args else []
    with control_dependencies(checks):
        result = [identity(value, name=name) for name, value in tensors.items()]
    check.assert_same_float_dtype(result)
    return result


def logits_and_probs(
    logits: TensorLike | None, probs: TensorLike | None, validate_args: bool, of_classes: bool = False
) -> tuple[Tensor, Tensor]:
    """Returns logits and probabilities; the logits of several classes are log probabilities up to a constant."""
    if (probs is None) == (logits is None):
        raise ValueError("Give exactly one of probs and logits.")
    if probs is None:
        logits = convert_to_tensor(logits, name="logits")
        if not logits.dtype.is_floating:
            raise TypeError(f"logits: expected floats, received {logits.dtype.name}")
        logits = require_classes(logits) if of_classes and validate_args else logits
        return logits, softmax(logits, name="probs") if of_classes else math.sigmoid(logits, name="probs")
    probs = convert_to_tensor(probs, name="probs")
    if not probs.dtype.is_floating:
        raise TypeError("probs must having floating type.")
    if validate_args:
        probs = _require_probabilities(probs, of_classes)
    return (math.log(probs) if of_classes else math.log(probs) - math.log1p(-probs)), probs


def _require_probabilities(probs: Tensor, of_classes: bool) -> Tensor:
    one = ones([], probs.dtype)
    if of_classes:
        probs = require_classes(probs)
        sums = check.assert_near(reduce_sum(probs, -1), one, message="probs: the sum over the classes is not 1")
    else:
        sums = check.assert_less_equal(probs, one, message="probs: an element exceeds 1")
    return with_dependencies([check.assert_non_negative(probs), sums], probs)  # type: ignore[no-any-return]


def require_classes(parameter: Tensor) -> Tensor:
    """Requires at least two classes."""
    shape = parameter.dims
    if shape is not None and not shape:
        raise ValueError("logits or probs: expected a dimension of classes, received a scalar")
    message = "logits or probs: expected two classes or more in the last dimension"
    if shape is not None and shape[-1] is not None:
        if shape[-1] < 2:
            raise ValueError(message)
        return parameter
    checks = [check.assert_greater_equal(reshape_ops.shape(parameter)[-1], 2, message=message)]
    return with_dependencies(checks, parameter)  # type: ignore[no-any-return]


def require_counts(counts: Tensor, total: Tensor | None = None) -> Tensor:
    """Requires nonnegative integers that add up to the total."""
    checks = [check.assert_non_negative(counts, message="counts must be non-negative."), *_whole(counts)]
    if total is not None:
        checks.append(
            check.assert_equal(total, reduce_sum(counts, -1), message="counts must sum to `self.total_count`")
        )
    return with_dependencies(checks, counts)  # type: ignore[no-any-return]


def _whole(numbers: Tensor) -> list[Any]:
    if numbers.dtype.is_integer:
        return []
    rounded = cast_ops.cast(cast_ops.cast(numbers, dtypes.int64), numbers.dtype)
    return [check.assert_equal(numbers, rounded, message="there are fractional components.")]


def require_whole(numbers: Tensor, most: int | None = None) -> Tensor:
    """Requires nonnegative integers, and optionally at most a limit."""
    checks = [check.assert_non_negative(numbers, message="Elements must be non-negative."), *_whole(numbers)]
    if most is not None:
        limit = cast_ops.cast(most, numbers.dtype)
        checks.append(check.assert_less_equal(numbers, limit, message=f"Elements cannot exceed {most}."))
    return with_dependencies(checks, numbers)  # type: ignore[no-any-return]


def derived_seed(seed: int | None, salt: str) -> int | None:
    """Returns the seed of a second random operation, derived from that of the first."""
    if seed is None:
        return None
    return int(hashlib.md5(f"{seed}{salt}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
