"""tf.contrib.opt: more optimizers; L-BFGS, LAMB and accumulation, which TensorFlow does not have, are here too."""

from thalweg._src.client.accumulation import AccumulatingOptimizer
from thalweg._src.client.adam_variants import AdaMaxOptimizer, LazyAdamOptimizer, NadamOptimizer
from thalweg._src.client.decoupled_optimizers import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    LAMBOptimizer,
    LARSOptimizer,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)
from thalweg._src.client.external_optimizers import ExternalOptimizerInterface, ScipyOptimizerInterface
from thalweg._src.client.lbfgs import LBFGSOptimizer
from thalweg._src.client.sign_optimizers import AddSignOptimizer, PowerSignOptimizer
from thalweg._src.client.step_optimizers import AdamGSOptimizer, LazyAdamGSOptimizer, RegAdagradOptimizer
from thalweg._src.client.wrapping_optimizers import (
    DropStaleGradientOptimizer,
    MovingAverageOptimizer,
    MultitaskOptimizerWrapper,
    VariableClippingOptimizer,
    clip_gradients_by_global_norm,
)

__all__ = [
    "AccumulatingOptimizer",
    "AdaMaxOptimizer",
    "AdamGSOptimizer",
    "AdamWOptimizer",
    "AddSignOptimizer",
    "DecoupledWeightDecayExtension",
    "DropStaleGradientOptimizer",
    "ExternalOptimizerInterface",
    "LAMBOptimizer",
    "LARSOptimizer",
    "LBFGSOptimizer",
    "LazyAdamGSOptimizer",
    "LazyAdamOptimizer",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "MultitaskOptimizerWrapper",
    "NadamOptimizer",
    "PowerSignOptimizer",
    "RegAdagradOptimizer",
    "ScipyOptimizerInterface",
    "VariableClippingOptimizer",
    "clip_gradients_by_global_norm",
    "extend_with_decoupled_weight_decay",
]
