"""tf.keras.optimizers: Optimizers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from typing import TYPE_CHECKING as _TYPE_CHECKING

from thalweg._src.keras.optimizers.lookup import (
    deserialize as deserialize,
    get as get,
    serialize as serialize,
)
from thalweg._src.keras.optimizers.moments import (
    Adam as Adam,
    Adamax as Adamax,
    Nadam as Nadam,
)
from thalweg._src.keras.optimizers.optimizer import Optimizer as Optimizer
from thalweg._src.keras.optimizers.optimizers import (
    Adadelta as Adadelta,
    Adagrad as Adagrad,
    Ftrl as Ftrl,
    RMSprop as RMSprop,
    SGD as SGD,
)
from thalweg._src.base.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from thalweg.keras.optimizers import schedules as schedules

__getattr__, __dir__ = _lazy_names(
    __name__,
    ["schedules"],
    {},
)

__all__ = [
    "Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "Optimizer", "RMSprop", "SGD", "deserialize", "get",
    "schedules", "serialize",
]
