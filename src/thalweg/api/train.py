"""tf.train: optimizers, schedules, averages and the global step."""

from typing import Any as _Any

from thalweg.client.decay import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)
from thalweg.client.device_setter import replica_device_setter as replica_device_setter
from thalweg.client.moving_averages import (
    ExponentialMovingAverage,
)
from thalweg.client.optimizer import (
    Optimizer,
)
from thalweg.client.optimizers import (
    AdadeltaOptimizer,
    AdagradOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    RMSPropOptimizer,
)
from thalweg.client.proximal_optimizers import (
    AdagradDAOptimizer as AdagradDAOptimizer,
    ProximalAdagradOptimizer as ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from thalweg.client.training_steps import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from thalweg.graph.graphdef import (
    write_graph,
)
from thalweg.observe.file_writer import summary_iterator as summary_iterator

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "ExponentialMovingAverage",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "RMSPropOptimizer",
    "assert_global_step",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "inverse_time_decay",
    "linear_cosine_decay",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "replica_device_setter",
    "summary_iterator",
    "write_graph",
]

_MESSAGES = {
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
}


def __getattr__(name: str) -> _Any:
    """Returns the messages of training data, which need protobuf."""
    if name in _MESSAGES:
        from thalweg.formats.example import message_class

        return message_class(name)
    raise AttributeError(f"module 'thalweg.train' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MESSAGES})
