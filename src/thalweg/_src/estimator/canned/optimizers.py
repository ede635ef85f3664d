"""Optimizers of canned Estimators, by name, by function or as they are."""

from __future__ import annotations

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


def optimizer_of(given: Any, learning_rate: float) -> Any:
    """Returns an optimizer: of a name with a learning rate, or given itself or by a function without arguments."""
    if isinstance(given, str):
        if given not in _BY_NAME:
            raise ValueError(f"Unsupported optimizer name: {given}. Supported names are: {sorted(_BY_NAME)}")
        return _BY_NAME[given](learning_rate=learning_rate)
    made = given() if callable(given) and not isinstance(given, Optimizer) else given
    if not isinstance(made, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {made!r}")
    return made
