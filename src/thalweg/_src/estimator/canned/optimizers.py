"""Optimizers of canned Estimators, by name, by function or as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.optimizers.optimizers import (
    AdagradOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    GradientDescentOptimizer,
    RMSPropOptimizer,
)

_BY_NAME: dict[str, Any] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}


def optimizer_of(identifier: str | Optimizer | Callable[[], Optimizer], learning_rate: float) -> Any:
    """Returns an optimizer: of a name with a learning rate, or given itself or by a function without arguments."""
    if isinstance(identifier, str):
        if identifier not in _BY_NAME:
            raise ValueError(f"Unsupported optimizer name: {identifier}. Supported names are: {sorted(_BY_NAME)}")
        return _BY_NAME[identifier](learning_rate=learning_rate)
    optimizer = identifier() if callable(identifier) and not isinstance(identifier, Optimizer) else identifier
    if not isinstance(optimizer, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {optimizer!r}")
    return optimizer
